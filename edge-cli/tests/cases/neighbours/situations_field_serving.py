"""Reports of the field on Ollama's pod and its Service, each with the words that were reported."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy
from typing import Any

from box import CLAIMS, DEPLOYMENTS, EVENTS, NODES, PODS, REPLICASETS, SERVICES, SLICES, SMI, Box, situation

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
BELOW = f"{DRIVER} | restart the device plugin | reinstall the device plugin"
BACKOFF = "back-off 5m0s restarting failed container=ollama"


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    """A container that waits."""
    return {"waiting": {"reason": reason, "message": message}}


def ended(code: int, reason: str = "Error", message: str = "") -> dict[str, Any]:
    """A container that ended five minutes ago."""
    return {
        "terminated": {
            "reason": reason,
            "exitCode": code,
            "message": message,
            "startedAt": "2026-06-15T11:54:50Z",
            "finishedAt": "2026-06-15T11:55:00Z",
        }
    }


def crashes(box: Box, workload: str, *lines: str, code: int = 1) -> None:
    """A crash loop whose container says some lines and ends."""
    box.state(workload, waiting("CrashLoopBackOff", BACKOFF), last=ended(code), restarts=9)
    box.logs(workload, *lines, replace=True)
    box.logs(workload, *lines, previous=True)


def created_not(box: Box, workload: str, said: str, reason: str = "FailedMount") -> None:
    """A pod that stays in ContainerCreating, with what the kubelet says of it."""
    box.state(workload, waiting("ContainerCreating"))
    for pod in box.pods(workload):
        pod["metadata"]["creationTimestamp"] = "2026-06-15T11:30:00Z"
        box.event("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"], reason, said)


def refused(box: Box, said: str) -> None:
    """Ollama's ReplicaSet may not make its pod."""
    name = box.item(REPLICASETS, "ollama")["metadata"]["name"]
    box.take_pod("ollama")
    box.event("ReplicaSet", "llm", name, "FailedCreate", said)


def as_statefulset(box: Box) -> None:
    """Ollama as a StatefulSet, as the manifests of Open WebUI have it."""
    old = box.pods("ollama")[0]["metadata"]["name"]
    whole = {key.replace(old, "ollama-0"): read for key, read in box.reads.items()}
    box.whole["reads"] = whole
    pod = box.pods("ollama")[0]
    pod["metadata"] |= {
        "name": "ollama-0",
        "labels": {"app.kubernetes.io/name": "ollama", "app.kubernetes.io/instance": "ollama"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "ollama", "controller": True}
        ],
    }
    for volume in pod["spec"]["volumes"]:
        volume["persistentVolumeClaim"] = {"claimName": "ollama-volume-ollama-0"}
    box.item(CLAIMS, "ollama")["metadata"]["name"] = "ollama-volume-ollama-0"
    for each in box.items(SLICES):
        for endpoint in each["endpoints"] or []:
            if endpoint["targetRef"]["name"] == old:
                endpoint["targetRef"]["name"] = "ollama-0"
    box.take(DEPLOYMENTS, "ollama")
    box.take(REPLICASETS, "ollama")
    for key, read in box.reads.items():
        if "DCGM" in key and read["body"]:
            for each in read["body"]["data"]["result"]:
                if each["metric"].get("exported_pod") == old:
                    each["metric"]["exported_pod"] = "ollama-0"


# otwld/ollama-helm#130, ollama/ollama#10332
@situation(
    CPU,
    "Ollama may not run as root, and its home is not its own",
    "serving",
    says="permission | may not write | home | runasuser",
    never=f"{BELOW} | ollama pull | memory limit | nvidia",
)
def home_not_writable(box: Box) -> None:
    crashes(
        box,
        "ollama",
        "Couldn't find '/.ollama/id_ed25519'. Generating new private key.",
        "Error: could not create directory mkdir /.ollama: permission denied",
    )


# truenas/apps#3232
@situation(
    LIGHT,
    "The directory of Ollama may not be traversed by its user",
    "serving",
    says="permission | may not",
    never=f"{BELOW} | ollama pull | memory limit",
)
def store_not_traversable(box: Box) -> None:
    crashes(
        box, "ollama", "Error: mkdir /root/.ollama: permission denied: ensure path elements are traversable"
    )


@situation(
    OPERATOR,
    "The root file system of the container is read-only and the store is no volume",
    "serving",
    says="read-only | volume | write",
    never=f"{BELOW} | ollama pull | memory limit",
)
def root_read_only(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["volumes"] = []
        spec["containers"][0] |= {"volumeMounts": [], "securityContext": {"readOnlyRootFilesystem": True}}
    crashes(
        box,
        "ollama",
        "Couldn't find '/root/.ollama/id_ed25519'. Generating new private key.",
        "Error: could not create directory mkdir /root/.ollama: read-only file system",
    )


# dust-tt/dust#7395, vllm-project/production-stack#616
@situation(
    LIGHT,
    "The store is an emptyDir: the kubelet evicts the pod at its own limit of local storage, again and again",
    "serving",
    says="ephemeral | local storage",
    never=f"{BELOW} | cordon | docker system prune",
)
def evicted_by_own_limit(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["volumes"] = [{"name": "ollama-data", "emptyDir": {}}]
        spec["containers"][0]["resources"]["limits"]["ephemeral-storage"] = "4Gi"
    said = "Pod ephemeral local storage usage exceeds the total limit of containers 4Gi. "
    for suffix, at in (("aaaaa", "11:20"), ("bbbbb", "11:34"), ("ccccc", "11:48")):
        ghost = box.clone_pod("ollama", suffix)
        ghost["metadata"]["creationTimestamp"] = f"2026-06-15T{at}:00Z"
        ghost["status"] = {
            "phase": "Failed",
            "reason": "Evicted",
            "message": said,
            "startTime": f"2026-06-15T{at}:05Z",
        }
        box.event("Pod", "llm", ghost["metadata"]["name"], "Evicted", said)
    live = box.pods("ollama")[0]
    live["metadata"]["creationTimestamp"] = "2026-06-15T11:58:00Z"
    live["status"]["startTime"] = "2026-06-15T11:58:00Z"
    live["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] = "2026-06-15T11:58:05Z"
    for model in ("qwen2.5:7b", "nomic-embed-text:latest"):
        box.reads[f"http:ollama:/api/show {model}"] = {
            "status": 404,
            "body": {"error": f"model '{model}' not found"},
            "error": None,
        }
    box.reads["http:ollama:/api/tags"]["body"]["models"] = []
    box.unloaded()


# freenas-provisioner#44, wso2/kubernetes-apim#612
@situation(
    OPERATOR,
    "The node cannot mount NFS: the helper program is not installed",
    "serving",
    "host",
    says="mount | nfs",
    never=f"{BELOW} | ollama pull | delete the claim",
)
def nfs_helper_missing(box: Box) -> None:
    created_not(
        box,
        "ollama",
        'MountVolume.SetUp failed for volume "ollama-models" : mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs 192.0.2.40:/export/models /var/lib/kubelet/pods/7b63c286/volumes/kubernetes.io~nfs/ollama-models\nOutput: mount: /var/lib/kubelet/pods/7b63c286/volumes/kubernetes.io~nfs/ollama-models: bad option; for several filesystems (e.g. nfs, cifs) you might need a /sbin/mount.<type> helper program.',
    )


# grafana/helm-charts#146, the same with Ollama
@situation(
    DUAL,
    "The new pod of a rolling update waits for the volume that the old pod has",
    "serving",
    says="volume | recreate | attach",
    never=f"{BELOW} | ollama pull | delete the claim",
)
def volume_held_by_old_pod(box: Box) -> None:
    deployment = box.item(DEPLOYMENTS, "ollama")
    deployment["spec"]["strategy"] = {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    }
    deployment["metadata"]["generation"] = 2
    deployment["status"] |= {
        "observedGeneration": 2,
        "replicas": 2,
        "updatedReplicas": 1,
        "unavailableReplicas": 1,
    }
    deployment["status"]["conditions"] = [
        *[each for each in deployment["status"]["conditions"] if each["type"] == "Available"],
        {
            "type": "Progressing",
            "status": "False",
            "reason": "ProgressDeadlineExceeded",
            "message": 'ReplicaSet "ollama-7c9f8d5b66" has timed out progressing.',
            "lastTransitionTime": "2026-06-15T11:40:00Z",
            "lastUpdateTime": "2026-06-15T11:40:00Z",
        },
    ]
    newer = copy.deepcopy(box.item(REPLICASETS, "ollama"))
    newer["metadata"] |= {
        "name": "ollama-7c9f8d5b66",
        "uid": "00000000-0000-4000-8000-0000000000b1",
        "creationTimestamp": "2026-06-15T11:29:00Z",
        "annotations": {"deployment.kubernetes.io/revision": "2"},
    }
    newer["status"] |= {"readyReplicas": 0, "availableReplicas": 0}
    box.items(REPLICASETS).append(newer)
    pod = box.clone_pod("ollama", "n3w0e")
    pod["metadata"] |= {"name": "ollama-7c9f8d5b66-n3w0e", "creationTimestamp": "2026-06-15T11:29:00Z"}
    pod["metadata"]["labels"] |= {"pod-template-hash": "7c9f8d5b66"}
    pod["metadata"]["ownerReferences"][0] |= {"name": "ollama-7c9f8d5b66", "uid": newer["metadata"]["uid"]}
    pod["status"] |= {"phase": "Pending", "podIP": ""}
    pod["status"]["containerStatuses"][0] |= {
        "state": waiting("ContainerCreating"),
        "ready": False,
        "started": False,
    }
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition |= {"status": "False", "reason": "ContainersNotReady"}
    box.event(
        "Pod",
        "llm",
        "ollama-7c9f8d5b66-n3w0e",
        "FailedAttachVolume",
        'Multi-Attach error for volume "pvc-12e9c372-3ea7-4522-aade-28be303775e4" Volume is already used by pod(s) ollama-5f7c96b8d4-tz8hk',
    )


@situation(
    OPERATOR,
    "A training job of a higher priority preempted Ollama and holds the GPU",
    "serving",
    says="train | held | preempt",
    never=BELOW,
)
def preempted(box: Box) -> None:
    other = copy.deepcopy(box.pods("ollama")[0])
    other["metadata"] |= {
        "name": "finetune-9xk2c",
        "namespace": "research",
        "uid": "33333333-3333-4333-8333-333333333399",
        "labels": {"job-name": "finetune"},
        "creationTimestamp": "2026-06-15T11:00:00Z",
        "ownerReferences": [{"kind": "Job", "name": "finetune", "controller": True}],
    }
    other["spec"] |= {"priority": 100000, "priorityClassName": "training"}
    other["spec"]["containers"][0] |= {
        "name": "train",
        "image": "nvcr.io/nvidia/pytorch:26.04-py3",
        "ports": [],
    }
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    )
    box.event(
        "Pod",
        "llm",
        "ollama-5f7c96b8d4-q8w2z",
        "Preempted",
        "Preempted by pod 33333333-3333-4333-8333-333333333399 on node edge-1",
    )
    box.items(PODS).append(other)
    for key, read in box.reads.items():
        if "DCGM" in key:
            for each in read["body"]["data"]["result"]:
                each["metric"] |= {"exported_pod": "finetune-9xk2c", "exported_namespace": "research"}


@situation(
    OPERATOR,
    "A policy engine refuses the pod by its admission webhook",
    "serving",
    says="admission | policy | webhook",
    never=f"{BELOW} | quota",
)
def policy_refuses(box: Box) -> None:
    refused(
        box,
        "admission webhook \"validate.kyverno.svc-fail\" denied the request: \n\nresource Pod/llm/ollama-5f7c96b8d4- was blocked due to the following policies \n\nrequire-run-as-nonroot:\n  run-as-non-root: 'validation error: Running as root is not allowed.'",
    )


@situation(
    CPU,
    "The pod names a priority class that does not exist",
    "serving",
    says="priorityclass | priority class",
    never=f"{BELOW} | quota | nvidia",
)
def priority_class_missing(box: Box) -> None:
    refused(box, 'pods "ollama-5f7c96b8d4-" is forbidden: no PriorityClass with name llm-critical was found')


@situation(
    OPERATOR,
    "A LimitRange allows a container less memory than Ollama's limit",
    "serving",
    says="limit",
    never=BELOW,
)
def limit_range(box: Box) -> None:
    refused(
        box,
        'pods "ollama-5f7c96b8d4-x7k2p" is forbidden: maximum memory usage per Container is 8Gi, but limit is 24Gi',
    )


@situation(
    CPU,
    "The liveness probe kills Ollama whenever it computes: it answers too late",
    "serving",
    says="probe",
    never=f"{BELOW} | memory limit | nvidia",
)
def probed_to_death_under_load(box: Box) -> None:
    pod = box.pods("ollama")[0]
    status = pod["status"]["containerStatuses"][0]
    status |= {"restartCount": 14, "lastState": ended(0, "Completed")}
    status["state"]["running"]["startedAt"] = "2026-06-15T11:55:02Z"
    name = pod["metadata"]["name"]
    said = 'Liveness probe failed: Get "http://10.42.0.20:11434/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    box.event("Pod", "llm", name, "Unhealthy", said)
    box.event("Pod", "llm", name, "Killing", "Container ollama failed liveness probe, will be restarted")


@situation(
    CPU,
    "The pod network of the node is not set up: no sandbox can be made",
    "gpu",
    says="network | flannel | cni",
    never=f"{DRIVER} | ollama pull | nvidia",
)
def network_not_ready(box: Box) -> None:
    created_not(
        box,
        "ollama",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "0c6f8e1a": plugin type="flannel" failed (add): failed to load flannel \'subnet.env\' file: open /run/flannel/subnet.env: no such file or directory. Check the flannel pod log for this node.',
        "FailedCreatePodSandBox",
    )


@situation(
    OPERATOR,
    "The node has no address left for a pod",
    "gpu",
    says="address | network",
    never=f"{DRIVER} | ollama pull",
)
def no_address_left(box: Box) -> None:
    created_not(
        box,
        "ollama",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "5d1c7e20": plugin type="flannel" failed (add): failed to delegate add: failed to allocate for range 0: no IP addresses available in range set: 10.42.0.1-10.42.0.254',
        "FailedCreatePodSandBox",
    )


# NVIDIA/nvidia-container-toolkit#152
@situation(
    LIGHT,
    "The image asks for a newer CUDA than the host's driver has",
    "host",
    "serving",
    says="driver | cuda",
    never="restart the device plugin | ollama pull | memory limit",
)
def cuda_requirement(box: Box) -> None:
    for key in (
        SMI,
        "command:modinfo -F version nvidia",
        "file:/proc/driver/nvidia/version",
        "command:dmesg --time-format iso",
    ):
        for part in ("stdout", "text"):
            if part in box.reads[key]:
                text = box.reads[key][part].replace("570.195.03", "560.35.05")
                box.reads[key][part] = text.replace(">12.8<", ">12.6<")
    said = (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "
        "error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\n"
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer version, or use an earlier cuda container: unknown"
    )
    box.state("ollama", waiting("RunContainerError", said), last=ended(128, "StartError", said), restarts=7)
    pod = box.pods("ollama")[0]["metadata"]["name"]
    box.event("Pod", "llm", pod, "Failed", f"Error: {said}")


@situation(
    OPERATOR,
    "OLLAMA_HOST names the Service: the server tries to listen on an address that is not its own",
    "serving",
    says="ollama_host | address | listen",
    never=f"{BELOW} | memory limit | ollama pull",
)
def listens_on_service_address(box: Box) -> None:
    box.env("ollama", OLLAMA_HOST="http://ollama.llm.svc:11434")
    crashes(box, "ollama", "Error: listen tcp 10.43.101.11:11434: bind: cannot assign requested address")


@situation(
    CPU,
    "Ollama as a StatefulSet crashes over a value that it cannot read",
    "serving",
    says="crash | ends | exits | fails",
    never=f"{BELOW} | nvidia | deployment/ollama",
)
def statefulset_crashes(box: Box) -> None:
    as_statefulset(box)
    crashes(box, "ollama", "Error: listen tcp: lookup tcp/11434tcp: unknown port")


@situation(
    CPU,
    "Ollama as a StatefulSet whose claim finds no storage class",
    "serving",
    says="volume | claim | storage",
    never=f"{BELOW} | nvidia",
)
def statefulset_without_volume(box: Box) -> None:
    as_statefulset(box)
    claim = box.item(CLAIMS, "ollama-volume")
    claim["spec"]["storageClassName"] = "longhorn"
    claim["spec"].pop("volumeName", None)
    claim["status"] = {"phase": "Pending"}
    box.event(
        "PersistentVolumeClaim",
        "llm",
        "ollama-volume-ollama-0",
        "ProvisioningFailed",
        'storageclass.storage.k8s.io "longhorn" not found',
    )
    box.pending(
        "ollama",
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    )


@situation(
    OPERATOR,
    "The layers of the image do not come: the way to the registry's store times out",
    "serving",
    says="registry | image | network",
    never=f"{BELOW} | ollama pull",
)
def image_times_out(box: Box) -> None:
    box.state(
        "ollama", waiting("ImagePullBackOff", 'Back-off pulling image "docker.io/ollama/ollama:0.33.0"')
    )
    pod = box.pods("ollama")[0]["metadata"]["name"]
    said = 'Failed to pull image "docker.io/ollama/ollama:0.33.0": failed to pull and unpack image "docker.io/ollama/ollama:0.33.0": failed to copy: httpReadSeeker: failed open: failed to do request: Get "https://production.cloudflare.docker.com/registry-v2/docker/registry/v2/blobs/sha256/ab/data": dial tcp 104.16.99.215:443: i/o timeout'
    box.event("Pod", "llm", pod, "Failed", said)
    box.event("Pod", "llm", pod, "Failed", "Error: ImagePullBackOff")


@situation(
    OPERATOR,
    "The Service names a port of the container that the pod does not have",
    "serving",
    says="port",
    never=f"{BELOW} | ollama pull",
)
def port_name_gone(box: Box) -> None:
    box.item(SERVICES, "ollama")["spec"]["ports"][0]["targetPort"] = "ollama-http"
    for each in box.items(SLICES):
        if each["metadata"]["labels"].get("kubernetes.io/service-name") == "ollama":
            each["ports"] = None
            each["endpoints"] = []
    box.unanswered("http:ollama:")


@situation(
    OPERATOR,
    "The ConfigMap of the model files is missing",
    "serving",
    says="configmap | volume",
    never=f"{BELOW} | ollama pull | storage class",
)
def config_map_missing(box: Box) -> None:
    created_not(
        box,
        "ollama",
        'MountVolume.SetUp failed for volume "modelfiles" : configmap "ollama-modelfiles" not found',
    )


@situation(
    LIGHT,
    "The sub-path of the models' volume cannot be prepared",
    "serving",
    says="subpath | volume",
    never=f"{BELOW} | ollama pull",
)
def sub_path(box: Box) -> None:
    said = 'failed to prepare subPath for volumeMount "ollama-data" of container "ollama"'
    box.state("ollama", waiting("CreateContainerConfigError", said))
    box.event("Pod", "llm", box.pods("ollama")[0]["metadata"]["name"], "Failed", f"Error: {said}")


@situation(
    OPERATOR,
    "The topology manager refuses every pod of Ollama: no run, only failed ones",
    "serving",
    "gpu",
    says="topology | admission",
    never=f"{DRIVER} | ollama pull",
)
def topology_refuses(box: Box) -> None:
    for suffix in ("aaaaa", "bbbbb", "ccccc"):
        box.clone_pod("ollama", suffix)
    box.dark("ollama")
    for pod in box.pods("ollama"):
        said = "Pod was rejected: Resources cannot be allocated with Topology locality"
        pod["metadata"]["creationTimestamp"] = "2026-06-15T11:50:00Z"
        pod["status"] = {
            "phase": "Failed",
            "reason": "TopologyAffinityError",
            "message": said,
            "startTime": "2026-06-15T11:50:00Z",
        }
        box.event("Pod", "llm", pod["metadata"]["name"], "TopologyAffinityError", said)
    for each in box.items(SLICES):
        if each["metadata"]["labels"].get("kubernetes.io/service-name") == "ollama":
            each["endpoints"] = []


@situation(
    OPERATOR,
    "The node ran out of memory for its pods: Ollama was evicted, and waits for the taint to go",
    "gpu",
    "host",
    "serving",
    says="memory",
    never=f"{DRIVER} | ollama pull | docker system prune",
)
def evicted_for_memory(box: Box) -> None:
    node = box.items(NODES)[0]
    for condition in node["status"]["conditions"]:
        if condition["type"] == "MemoryPressure":
            condition |= {
                "status": "True",
                "reason": "KubeletHasInsufficientMemory",
                "message": "kubelet has insufficient memory available",
                "lastTransitionTime": "2026-06-15T11:50:00Z",
            }
    node["spec"]["taints"] = [{"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}]
    ghost = box.clone_pod("ollama", "gh0st")
    ghost["status"] = {
        "phase": "Failed",
        "reason": "Evicted",
        "message": "The node was low on resource: memory. Threshold quantity: 100Mi, available: 88344Ki. Container ollama was using 21908344Ki, request is 8Gi, has larger consumption of memory. ",
        "startTime": "2026-06-01T09:00:00Z",
    }
    waits = "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/memory-pressure: }. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    box.items(PODS).remove(ghost)
    box.pending("ollama", waits)
    box.items(PODS).append(ghost)
    box.items(EVENTS).append(
        {
            "metadata": {"name": "edge-1.e1", "namespace": "default"},
            "involvedObject": {"kind": "Node", "name": "edge-1"},
            "reason": "EvictionThresholdMet",
            "message": "Attempting to reclaim memory",
            "type": "Warning",
            "count": 3,
            "firstTimestamp": "2026-06-15T11:50:00Z",
            "lastTimestamp": "2026-06-15T11:57:00Z",
            "source": {"component": "kubelet", "host": "edge-1"},
        }
    )


# rancher/local-path-provisioner#192
@situation(
    CPU,
    "The provisioner's own helper pod does not come up: every new volume times out",
    "gpu",
    "serving",
    says="provision | helper | storage",
    never=f"{DRIVER} | nvidia | ollama pull",
)
def provisioner_helper_hangs(box: Box) -> None:
    claim = box.item(CLAIMS, "ollama")
    claim["spec"].pop("volumeName", None)
    claim["status"] = {"phase": "Pending"}
    volume = "pvc-12e9c372-3ea7-4522-aade-28be303775e4"
    box.event(
        "PersistentVolumeClaim",
        "llm",
        "ollama",
        "ProvisioningFailed",
        f'failed to provision volume with StorageClass "local-path": failed to create volume {volume}: create process timeout after 120 seconds',
    )
    box.pending(
        "ollama",
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    )
    helper = copy.deepcopy(box.pods("local-path-provisioner")[0])
    helper["metadata"] |= {
        "name": f"helper-pod-create-{volume}",
        "uid": "00000000-0000-4000-8000-0000000000c1",
        "labels": {},
        "ownerReferences": [],
        "creationTimestamp": "2026-06-15T11:57:00Z",
    }
    helper["spec"]["containers"][0] |= {
        "name": "helper-pod",
        "image": "rancher/mirrored-library-busybox:1.37.0",
    }
    helper["status"] |= {"phase": "Pending"}
    helper["status"]["containerStatuses"][0] |= {
        "name": "helper-pod",
        "ready": False,
        "started": False,
        "state": waiting(
            "ImagePullBackOff", 'Back-off pulling image "rancher/mirrored-library-busybox:1.37.0"'
        ),
    }
    for condition in helper["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition |= {"status": "False", "reason": "ContainersNotReady"}
    box.items(PODS).append(helper)
