"""Neighbours of the serving rung: where Ollama and Open WebUI are, what keeps them from running."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from box import (
    CLAIMS,
    DEPLOYMENTS,
    EVENTS,
    MONITORS,
    NODES,
    PODS,
    REPLICASETS,
    SERVICES,
    SLICES,
    Box,
    situation,
)

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
PLUGIN = "restart the device plugin | reinstall the device plugin"


def _waits(reason: str, message: str = "") -> dict[str, dict[str, str]]:
    return {"waiting": {"reason": reason, "message": message}}


def _ended(reason: str, code: int, *, at: str = "2026-06-15T11:55:00Z", message: str = "") -> dict:
    return {
        "terminated": {
            "reason": reason,
            "exitCode": code,
            "message": message,
            "startedAt": "2026-06-15T11:54:00Z",
            "finishedAt": at,
        }
    }


def _pull(box: Box, workload: str, said: str) -> None:
    box.state(workload, _waits("ImagePullBackOff", "Back-off pulling image"))
    pod = box.pods(workload)[0]
    meta = pod["metadata"]
    box.event("Pod", meta["namespace"], meta["name"], "Failed", f"Failed to pull image: {said}")


@situation(
    OPERATOR,
    "The tag of the image exists in no registry",
    "serving",
    says="image",
    never=f"{DRIVER} | ollama pull",
)
def image_not_found(box: Box) -> None:
    _pull(box, "ollama", 'rpc error: code = NotFound desc = "docker.io/ollama/ollama:0.99.0": not found')


@situation(CPU, "The anonymous pull limit of the registry", "serving", says="rate | limit", never="nvidia")
def image_rate_limited(box: Box) -> None:
    _pull(
        box,
        "ollama",
        "429 Too Many Requests - Server message: toomanyrequests: You have reached your unauthenticated pull rate limit",
    )


@situation(
    LIGHT,
    "The name of the registry does not resolve on the node",
    "serving",
    "gpu",
    says="registry",
    never=DRIVER,
)
def image_registry_dns(box: Box) -> None:
    _pull(box, "ollama", "dial tcp: lookup registry-1.docker.io on 127.0.0.53:53: no such host")


@situation(
    CPU, "An image for another processor architecture", "serving", says="platform | arch", never="nvidia"
)
def image_other_platform(box: Box) -> None:
    box.state(
        "ollama",
        _waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=ollama"),
        last=_ended("Error", 255),
        restarts=9,
    )
    box.logs("ollama", "exec /bin/ollama: exec format error", replace=True)
    box.logs("ollama", "exec /bin/ollama: exec format error", previous=True)


@situation(
    OPERATOR,
    "The postStart hook pulls before the server listens",
    "serving",
    says="hook",
    never=f"{DRIVER} | {PLUGIN}",
)
def hook_before_server(box: Box) -> None:
    box.state(
        "ollama",
        _waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=ollama"),
        last=_ended("Completed", 0),
        restarts=12,
    )
    pod = box.pods("ollama")[0]["metadata"]
    box.event(
        "Pod",
        "llm",
        pod["name"],
        "FailedPostStartHook",
        "PostStartHook failed: command '/bin/sh -c ollama pull qwen2.5:7b' exited with 1: "
        "Error: could not connect to ollama app, is it running?",
    )


@situation(
    OPERATOR,
    "The liveness probe asks a port that Ollama was moved away from",
    "serving",
    says="probe",
    never=DRIVER,
)
def probe_port(box: Box) -> None:
    box.env("ollama", OLLAMA_HOST="0.0.0.0:8434")
    box.state("ollama", _waits("CrashLoopBackOff"), last=_ended("Error", 2), restarts=21)
    pod = box.pods("ollama")[0]["metadata"]["name"]
    said = 'Liveness probe failed: Get "http://10.42.0.20:11434/": dial tcp 10.42.0.20:11434: connect: connection refused'
    box.event("Pod", "llm", pod, "Unhealthy", said)
    box.event("Pod", "llm", pod, "Killing", "Container ollama failed liveness probe, will be restarted")


@situation(
    OPERATOR,
    "A namespace quota without room for the GPU",
    "serving",
    says="quota",
    never=f"{DRIVER} | {PLUGIN}",
)
def quota(box: Box) -> None:
    box.take_pod("ollama")
    said = 'pods "ollama-5f7c96b8d4-" is forbidden: exceeded quota: gpu-quota, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=0'
    box.event("ReplicaSet", "llm", "ollama-5f7c96b8d4", "FailedCreate", said)


@situation(
    LIGHT, "PodSecurity refuses the pod", "serving", says="podsecurity | admission | refuse", never=DRIVER
)
def pod_security(box: Box) -> None:
    box.take_pod("ollama")
    said = 'pods "ollama-5f7c96b8d4-" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'
    box.event("ReplicaSet", "llm", "ollama-5f7c96b8d4", "FailedCreate", said)


@situation(
    CPU, "The node has too little CPU left for the request", "serving", says="cpu", never="nvidia | driver"
)
def too_little_cpu(box: Box) -> None:
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    )


@situation(
    OPERATOR,
    "A notebook of somebody else holds the only GPU",
    "serving",
    says="jupyter | held",
    never=f"{DRIVER} | {PLUGIN}",
)
def gpu_held(box: Box) -> None:
    other = copy.deepcopy(box.pods("ollama")[0])
    other["metadata"] |= {
        "name": "jupyter-anna-0",
        "namespace": "lab",
        "uid": "33333333-3333-4333-8333-333333333333",
        "labels": {"app": "jupyter"},
        "ownerReferences": [],
    }
    other["spec"]["containers"][0] |= {
        "name": "notebook",
        "image": "quay.io/jupyter/base-notebook:2026",
        "ports": [],
    }
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    )
    box.items(PODS).append(other)
    for key, read in box.reads.items():
        if "DCGM" in key:
            for each in read["body"]["data"]["result"]:
                each["metric"] |= {"exported_pod": "jupyter-anna-0", "exported_namespace": "lab"}


@situation(
    OPERATOR,
    "The claim of the models names a storage class that is not there",
    "serving",
    says="storage | volume",
    never=DRIVER,
)
def no_storage_class(box: Box) -> None:
    claim = box.item(CLAIMS, "ollama")
    claim["spec"]["storageClassName"] = "fast-nvme"
    claim["spec"].pop("volumeName", None)
    claim["status"] = {"phase": "Pending"}
    box.event(
        "PersistentVolumeClaim",
        "llm",
        "ollama",
        "ProvisioningFailed",
        'storageclass.storage.k8s.io "fast-nvme" not found',
    )
    box.pending(
        "ollama", "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    )


@situation(
    OPERATOR,
    "The provisioner itself is down: every claim waits",
    "gpu",
    "serving",
    says="provision | storage | volume",
    never=DRIVER,
)
def provisioner_down(box: Box) -> None:
    box.state("local-path-provisioner", _waits("CrashLoopBackOff"), last=_ended("Error", 1), restarts=40)
    claim = box.item(CLAIMS, "ollama")
    claim["spec"].pop("volumeName", None)
    claim["status"] = {"phase": "Pending"}
    box.event(
        "PersistentVolumeClaim",
        "llm",
        "ollama",
        "ExternalProvisioning",
        "Waiting for a volume to be created either by the external provisioner 'rancher.io/local-path' or manually by the system administrator.",
    )
    box.pending("ollama", "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")


@situation(
    OPERATOR,
    "The node is cordoned, and Ollama was to be replaced",
    "gpu",
    "serving",
    says="cordon | unschedulable",
    never=DRIVER,
)
def cordoned(box: Box) -> None:
    node = box.items(NODES)[0]
    node["spec"]["unschedulable"] = True
    node["spec"]["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 node(s) were unschedulable. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    )


@situation(
    OPERATOR, "A Secret that the pod refers to is missing", "serving", says="secret | refers", never=DRIVER
)
def secret_missing(box: Box) -> None:
    box.state("ollama", _waits("CreateContainerConfigError", 'secret "ollama-registry-key" not found'))


@situation(
    OPERATOR,
    "The old pod hangs in Terminating and holds the GPU",
    "serving",
    says="deleted | terminat",
    never=f"{DRIVER} | {PLUGIN}",
)
def stuck_terminating(box: Box) -> None:
    pod = box.pods("ollama")[0]
    pod["metadata"] |= {"deletionTimestamp": "2026-06-15T11:20:00Z", "deletionGracePeriodSeconds": 30}
    box.state("ollama", {"running": {"startedAt": "2026-06-01T09:02:10Z"}})
    box.item(DEPLOYMENTS, "ollama")["status"] |= {"replicas": 0}


@situation(
    OPERATOR,
    "An init container that waits for ever for its model server",
    "serving",
    says="init",
    never=DRIVER,
)
def init_fails(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["initContainers"] = [
            {
                "name": "fix-permissions",
                "image": "busybox:1.37",
                "command": ["chown", "-R", "0", "/root/.ollama"],
            }
        ]
    for pod in box.pods("ollama"):
        pod["status"]["initContainerStatuses"] = [
            {
                "name": "fix-permissions",
                "image": "busybox:1.37",
                "ready": False,
                "restartCount": 7,
                "state": _waits("CrashLoopBackOff"),
                "lastState": _ended("Error", 1),
            }
        ]
        pod["status"]["phase"] = "Pending"
    box.state("ollama", _waits("PodInitializing"))


@situation(
    OPERATOR,
    "The Service leads to a port on which nothing listens",
    "serving",
    says="port",
    never=f"{DRIVER} | ollama pull",
)
def target_port(box: Box) -> None:
    box.item(SERVICES, "ollama")["spec"]["ports"][0]["targetPort"] = 8080
    box.item(SLICES, "ollama")["ports"][0]["port"] = 8080
    box.unanswered("http:ollama:")


@situation(
    LIGHT,
    "Ollama was told to listen on its loopback",
    "serving",
    says="loopback | listen | ollama_host",
    never=DRIVER,
)
def loopback(box: Box) -> None:
    box.env("ollama", OLLAMA_HOST="127.0.0.1:11434")
    key = box.log_key(box.pods("ollama")[0])
    body = box.reads[key]["body"].replace("Listening on [::]:11434", "Listening on 127.0.0.1:11434")
    box.reads[key]["body"] = body.replace(
        "OLLAMA_HOST:http://0.0.0.0:11434", "OLLAMA_HOST:http://127.0.0.1:11434"
    )
    box.state("ollama", {"running": {"startedAt": "2026-06-01T09:02:10Z"}})
    pod = box.pods("ollama")[0]["metadata"]["name"]
    said = 'Readiness probe failed: Get "http://10.42.0.20:11434/": dial tcp 10.42.0.20:11434: connect: connection refused'
    box.event("Pod", "llm", pod, "Unhealthy", said)


@situation(
    OPERATOR,
    "A NetworkPolicy keeps everybody from Ollama but the kubelet",
    "serving",
    outcome="unknown",
    says="answer | reach | timed out",
    never=f"{DRIVER} | ollama pull",
)
def network_policy(box: Box) -> None:
    box.unanswered("http:ollama:", "timeout")


@situation(
    OPERATOR,
    "The API server finds no endpoint behind a Service whose pod is Ready",
    "serving",
    says="endpoint",
    never=DRIVER,
)
def no_endpoint(box: Box) -> None:
    for each in box.items(SLICES):
        if each["metadata"]["name"].startswith("ollama"):
            each["endpoints"] = []
    for key in box.reads:
        if key.startswith("http:ollama:"):
            box.reads[key] = {
                "status": 503,
                "body": {
                    "kind": "Status",
                    "message": 'no endpoints available for service "ollama"',
                    "reason": "ServiceUnavailable",
                    "code": 503,
                },
                "error": None,
            }


@situation(
    OPERATOR,
    "Open WebUI asks localhost, as in its container guide",
    "serving",
    says="webui | web ui",
    never=f"{DRIVER} | ollama pull | restart ollama",
)
def webui_localhost(box: Box) -> None:
    box.env("open-webui", OLLAMA_BASE_URL="http://localhost:11434")


@situation(
    OPERATOR,
    "Open WebUI still asks the Service of an older release in another namespace",
    "serving",
    says="webui | web ui",
    never=DRIVER,
)
def webui_other_namespace(box: Box) -> None:
    box.env("open-webui", OLLAMA_BASE_URL="http://ollama.ai.svc.cluster.local:11434")


@situation(
    LIGHT,
    "Open WebUI as a StatefulSet, its database locked: it crash-loops",
    "serving",
    says="webui | web ui",
    never=f"{DRIVER} | ollama pull | num_ctx",
)
def webui_statefulset(box: Box) -> None:
    box.take(DEPLOYMENTS, "open-webui")
    box.take(REPLICASETS, "open-webui")
    pod = box.pods("open-webui")[0]
    pod["metadata"]["name"] = "open-webui-0"
    pod["metadata"]["ownerReferences"][0] |= {"kind": "StatefulSet", "name": "open-webui"}
    for each in box.items(SLICES):
        for endpoint in each["endpoints"]:
            if endpoint["targetRef"]["name"].startswith("open-webui"):
                endpoint["targetRef"]["name"] = "open-webui-0"
    box.state("open-webui", _waits("CrashLoopBackOff"), last=_ended("Error", 1), restarts=14)


@situation(
    OPERATOR,
    "Open WebUI is killed for its memory at each upload",
    "serving",
    says="webui | web ui",
    never=f"{DRIVER} | num_ctx | free vram",
)
def webui_oom(box: Box) -> None:
    for spec in box.templates("open-webui"):
        spec["containers"][0]["resources"] = {"limits": {"memory": "512Mi"}}
    box.state("open-webui", _waits("CrashLoopBackOff"), last=_ended("OOMKilled", 137), restarts=6)


@situation(
    OPERATOR,
    "Open WebUI's pod is Ready and its health check answers 500",
    "serving",
    says="webui | web ui",
    never=DRIVER,
)
def webui_unwell(box: Box) -> None:
    box.reads["http:open-webui:/health"] = {"status": 500, "body": "Internal Server Error", "error": None}


@situation(
    OPERATOR,
    "Open WebUI may not be asked by this identity",
    "serving",
    outcome="unknown",
    says="403 | forbidden | right",
    never=DRIVER,
)
def webui_forbidden(box: Box) -> None:
    box.refuse("http:open-webui:/health")


@situation(OPERATOR, "A second Ollama of somebody else, scaled to zero, lies beside")
def second_ollama_idle(box: Box) -> None:
    for key in (DEPLOYMENTS, REPLICASETS):
        other = copy.deepcopy(box.item(key, "ollama"))
        other["metadata"] |= {
            "namespace": "playground",
            "creationTimestamp": "2026-05-01T09:00:00Z",
            "uid": f"9-{key}",
        }
        other["spec"]["replicas"] = 0
        other["status"] = {"replicas": 0}
        box.items(key).append(other)


@situation(
    OPERATOR,
    "An exporter that speaks to Ollama has its name in its image and is broken; nothing promised depends on it",
)
def foreign_exporter_broken(box: Box) -> None:
    pod = copy.deepcopy(box.pods("edge-exporter")[0])
    pod["metadata"] |= {
        "name": "ollama-exporter-1",
        "uid": "44444444-4444-4444-8444-444444444444",
        "labels": {"app": "ollama-exporter"},
        "ownerReferences": [],
    }
    pod["spec"]["containers"][0] |= {
        "name": "ollama-exporter",
        "image": "ghcr.io/someone/ollama-exporter:1",
        "ports": [{"containerPort": 8000}],
    }
    pod["status"]["containerStatuses"][0] |= {
        "name": "ollama-exporter",
        "ready": False,
        "state": _waits("CrashLoopBackOff"),
    }
    pod["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    box.items(PODS).append(pod)


@situation(OPERATOR, "Restarted eleven times by a probe a week ago, quiet and Ready since")
def old_restarts(box: Box) -> None:
    each = box.pods("ollama")[0]["status"]["containerStatuses"][0]
    each |= {"restartCount": 11, "lastState": _ended("Error", 137, at="2026-06-08T03:00:00Z")}


@situation(OPERATOR, "Evicted twice yesterday, its replacement is Ready")
def evicted_yesterday(box: Box) -> None:
    for suffix in ("aaaaa", "bbbbb"):
        pod = box.clone_pod("ollama", suffix)
        pod["metadata"]["creationTimestamp"] = "2026-06-14T09:00:00Z"
        pod["status"] = {
            "phase": "Failed",
            "reason": "Evicted",
            "message": "The node was low on resource: ephemeral-storage.",
            "startTime": "2026-06-14T09:00:00Z",
        }


@situation(
    OPERATOR,
    "The node's disk is full: Ollama is evicted again and again",
    "gpu",
    "host",
    "serving",
    says="disk | evict | pressure",
    never=f"{DRIVER} | {PLUGIN}",
)
def evicted_now(box: Box) -> None:
    node = box.items(NODES)[0]
    for condition in node["status"]["conditions"]:
        if condition["type"] == "DiskPressure":
            condition |= {
                "status": "True",
                "reason": "KubeletHasDiskPressure",
                "message": "kubelet has disk pressure",
            }
    node["spec"]["taints"] = [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]
    for suffix in ("aaaaa", "bbbbb", "ccccc"):
        pod = box.clone_pod("ollama", suffix)
        pod["metadata"]["creationTimestamp"] = "2026-06-15T11:40:00Z"
        pod["status"] = {
            "phase": "Failed",
            "reason": "Evicted",
            "message": "The node was low on resource: ephemeral-storage. Threshold quantity: 48015141200, available: 41201Ki.",
        }
    live = box.items(PODS).index(box.pods("ollama")[0])
    one = box.items(PODS)[live]
    box.items(PODS)[:] = [
        each
        for each in box.items(PODS)
        if not each["metadata"]["name"].startswith("ollama")
        or each is one
        or each["status"].get("reason") == "Evicted"
    ]
    evicted = [each for each in box.items(PODS) if each["status"].get("reason") == "Evicted"]
    box.items(PODS)[:] = [each for each in box.items(PODS) if each["status"].get("reason") != "Evicted"]
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }.",
    )
    box.items(PODS).extend(evicted)


@situation(
    OPERATOR,
    "The driver mismatch shows as Ollama's own container that cannot start",
    "host",
    says="mismatch",
    never=f"{PLUGIN} | reinstall the gpu operator",
)
def mismatch_in_ollama(box: Box) -> None:
    said = (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
        "unable to start container process: error during container init: error running prestart hook #0: exit status 1, "
        "stderr: nvidia-container-cli: initialization error: nvml error: driver/library version mismatch"
    )
    box.state(
        "ollama",
        _waits("CrashLoopBackOff", "back-off"),
        last={
            "terminated": {
                "reason": "StartError",
                "exitCode": 128,
                "message": said,
                "finishedAt": "2026-06-15T11:58:00Z",
            }
        },
        restarts=8,
    )
    box.unanswered("command:nvidia-smi", "timeout")
    box.reads["command:nvidia-smi -q -x"] = {
        "rc": 18,
        "stdout": "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.211\n",
        "stderr": "",
        "error": None,
        "took_s": 0.1,
    }
    box.event("Pod", "llm", box.pods("ollama")[0]["metadata"]["name"], "Failed", said)


@situation(OPERATOR, "Several RuntimeClasses: Ollama has the experimental one, which has a handler too")
def experimental_class(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["runtimeClassName"] = "nvidia-experimental"


@situation(
    DUAL,
    "Ollama asks for four GPUs of a box that has two",
    "serving",
    says="gpu",
    never=f"{DRIVER} | {PLUGIN} | smaller model",
)
def too_many_asked(box: Box) -> None:
    for spec in box.templates("ollama"):
        for part in spec["containers"][0]["resources"].values():
            if "nvidia.com/gpu" in part:
                part["nvidia.com/gpu"] = "4"
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    )


@situation(
    OPERATOR,
    "CUDA_VISIBLE_DEVICES of -1, from a test of the CPU path, was left in the values",
    "serving",
    says="cuda_visible_devices | hide",
    never=f"{DRIVER} | smaller model | num_ctx | kubectl patch | kubectl edit",
)
def devices_hidden(box: Box) -> None:
    box.env("ollama", CUDA_VISIBLE_DEVICES="-1")
    box.loaded(size_vram=0)
    box.empty_card()


@situation(
    OPERATOR,
    "The list of pods is refused to this identity",
    outcome="unknown",
    says="403 | forbidden | right",
    never=f"{DRIVER} | ollama pull | scale",
)
def pods_forbidden(box: Box) -> None:
    box.refuse(PODS)


@situation(
    A100,
    "Events cannot be read; the scheduler's word is in the pod itself",
    "serving",
    says="memory",
    never=DRIVER,
)
def events_unread(box: Box) -> None:
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    )
    box.refuse(EVENTS)


@situation(
    CPU,
    "Nothing of this project is installed yet: a bare k3s",
    "serving",
    says="install | edge up",
    never="nvidia | ollama pull",
    also="telemetry",
)
def bare_cluster(box: Box) -> None:
    for name in ("ollama", "open-webui", "edge-exporter"):
        box.take_pod(name)
        for key in (DEPLOYMENTS, REPLICASETS, SERVICES, SLICES, MONITORS, CLAIMS):
            box.take(key, name)


@situation(
    OPERATOR,
    "The Service of Open WebUI matches no pod after its labels were renamed",
    "serving",
    says="webui | web ui",
    never=f"{DRIVER} | ollama pull",
)
def webui_selector(box: Box) -> None:
    box.item(SERVICES, "open-webui")["spec"]["selector"] = {"app": "open-webui"}
    box.item(SLICES, "open-webui")["endpoints"] = []
    body = {"kind": "Status", "message": 'no endpoints available for service "open-webui"', "code": 503}
    box.reads["http:open-webui:/health"] = {"status": 503, "body": body, "error": None}


@situation(
    LIGHT,
    "The image of Open WebUI's new tag cannot be pulled",
    "serving",
    says="image",
    never=f"{DRIVER} | ollama pull | restart ollama",
)
def webui_image(box: Box) -> None:
    _pull(
        box, "open-webui", 'rpc error: code = NotFound desc = "ghcr.io/open-webui/open-webui:v9": not found'
    )


@situation(CPU, "No node takes Open WebUI; the CPU profile does not promise it")
def webui_not_promised(box: Box) -> None:
    box.pending("open-webui", "0/1 nodes are available: 1 Insufficient memory.")


@situation(
    OPERATOR, "No node takes Open WebUI", "serving", says="webui | web ui", never=f"{DRIVER} | ollama pull"
)
def webui_pending(box: Box) -> None:
    box.pending("open-webui", "0/1 nodes are available: 1 Insufficient memory.")


@situation(
    OPERATOR,
    "A probe kills Ollama, which listens on its loopback",
    "serving",
    says="loopback | listens",
    never=f"{DRIVER} | more time",
)
def loopback_killed(box: Box) -> None:
    loopback(box)
    pod = box.pods("ollama")[0]["metadata"]["name"]
    box.state("ollama", _waits("CrashLoopBackOff"), last=_ended("Error", 2), restarts=21)
    box.event("Pod", "llm", pod, "Killing", "Container ollama failed liveness probe, will be restarted")
