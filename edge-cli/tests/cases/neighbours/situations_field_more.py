"""More reports of the field on Ollama's pod, Open WebUI and models: the second reading."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from box import CLAIMS, DEPLOYMENTS, NODES, PODS, REPLICASETS, Box, situation
from situations_field_model import BLOB, FAILED, absent, not_loading, pull_job
from situations_field_serving import created_not, ended, waiting

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
BELOW = f"{DRIVER} | restart the device plugin | reinstall the device plugin"


def not_ready(
    pod: dict, state: dict, *, container: int = 0, last: dict | None = None, restarts: int = 0
) -> None:
    """Put one pod's container into a state, and the pod out of readiness."""
    pod["status"]["containerStatuses"][container] |= {
        "state": state,
        "lastState": last or {},
        "ready": False,
        "started": False,
        "restartCount": restarts,
    }
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition |= {
                "status": "False",
                "reason": "ContainersNotReady",
                "lastTransitionTime": "2026-06-15T11:30:00Z",
            }


def second_container(box: Box, name: str, image: str) -> None:
    """A container beside Ollama."""
    for spec in box.templates("ollama"):
        spec["containers"].append({"name": name, "image": image, "resources": {}})
    for pod in box.pods("ollama"):
        pod["status"]["containerStatuses"].append(
            {**copy.deepcopy(pod["status"]["containerStatuses"][0]), "name": name, "image": image}
        )


def engine_on_cpu(box: Box, *lines: str) -> None:
    """An engine that found no GPU at its start, and a model on the CPU."""
    box.loaded(size_vram=0)
    box.empty_card()
    key = box.log_key(box.pods("ollama")[0])
    kept = [
        line for line in box.reads[key]["body"].splitlines() if "CUDA" not in line and "offload" not in line
    ]
    found = 'time=2026-06-15T08:02:22.410Z level=INFO source=types.go:60 msg="inference compute" id=cpu library=cpu compute="" name=cpu description=cpu total="62.7 GiB" available="45.1 GiB"'
    box.reads[key]["body"] = "\n".join([*kept, found, *lines]) + "\n"


def init_container(box: Box, name: str, image: str, status: dict) -> None:
    """An init container of Ollama that does not end well, and a pod that waits for it."""
    for spec in box.templates("ollama"):
        spec["initContainers"] = [{"name": name, "image": image}]
    box.state("ollama", waiting("PodInitializing"))
    for pod in box.pods("ollama"):
        pod["metadata"]["creationTimestamp"] = "2026-06-15T11:00:00Z"
        pod["status"] |= {
            "phase": "Pending",
            "initContainerStatuses": [
                {"name": name, "image": image, "ready": False, "restartCount": 7, "lastState": {}, **status}
            ],
        }


@situation(
    CPU,
    "The new image of a rollout does not come, while the old pod serves on",
    "serving",
    says="image",
    never=f"{BELOW} | nvidia | ollama pull",
)
def rollout_without_image(box: Box) -> None:
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
    newer = copy.deepcopy(box.item(REPLICASETS, "ollama"))
    newer["metadata"] |= {
        "name": "ollama-59d7c8f6b4",
        "uid": "00000000-0000-4000-8000-0000000000b2",
        "creationTimestamp": "2026-06-15T11:29:00Z",
    }
    newer["status"] |= {"readyReplicas": 0, "availableReplicas": 0}
    box.items(REPLICASETS).append(newer)
    pod = box.clone_pod("ollama", "n3w0e")
    pod["metadata"] |= {"name": "ollama-59d7c8f6b4-n3w0e", "creationTimestamp": "2026-06-15T11:29:00Z"}
    pod["metadata"]["ownerReferences"][0] |= {"name": "ollama-59d7c8f6b4", "uid": newer["metadata"]["uid"]}
    pod["status"]["phase"] = "Pending"
    pod["spec"]["containers"][0]["image"] = "docker.io/ollama/ollama:0.40.0"
    not_ready(pod, waiting("ImagePullBackOff", 'Back-off pulling image "docker.io/ollama/ollama:0.40.0"'))
    box.event(
        "Pod",
        "llm",
        "ollama-59d7c8f6b4-n3w0e",
        "Failed",
        'Failed to pull image "docker.io/ollama/ollama:0.40.0": rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/ollama/ollama:0.40.0": failed to resolve reference "docker.io/ollama/ollama:0.40.0": docker.io/ollama/ollama:0.40.0: not found',
    )


@situation(
    CPU,
    "Nothing is left of the node's memory for Ollama's request",
    "serving",
    says="memory",
    never=f"{BELOW} | nvidia | limit",
)
def request_too_large(box: Box) -> None:
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 Insufficient memory. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    )


@situation(
    OPERATOR,
    "The image runs as root and the pod forbids it",
    "serving",
    says="root",
    never=f"{BELOW} | ollama pull | secret",
)
def root_forbidden(box: Box) -> None:
    said = 'container has runAsNonRoot and image will run as root (pod: "ollama-5f7c96b8d4-tz8hk_llm(7b63c286-ba32-4e63-aeb3-62b7a007b05a)", container: ollama)'
    box.state("ollama", waiting("CreateContainerConfigError", said))
    box.event("Pod", "llm", box.pods("ollama")[0]["metadata"]["name"], "Failed", f"Error: {said}")


@situation(
    OPERATOR,
    "The proxy beside Ollama crash-loops: the pod is never Ready",
    "serving",
    says="oauth2-proxy",
    never=f"{BELOW} | ollama pull",
)
def proxy_beside_crashes(box: Box) -> None:
    second_container(box, "oauth2-proxy", "quay.io/oauth2-proxy/oauth2-proxy:v7.9.0")
    box.state(
        "ollama",
        waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=oauth2-proxy"),
        last=ended(
            1,
            "Error",
            "[main.go:59] ERROR: Failed to initialise OAuth2 Proxy: provider missing setting: client-secret or client-secret-file",
        ),
        restarts=12,
        container=1,
    )


@situation(
    CPU,
    "The image of Ollama's init container does not come",
    "serving",
    says="image | init",
    never=f"{BELOW} | nvidia",
)
def init_image(box: Box) -> None:
    init_container(
        box,
        "fix-permissions",
        "docker.io/library/busybox:9.9",
        {"state": waiting("ImagePullBackOff", 'Back-off pulling image "docker.io/library/busybox:9.9"')},
    )
    box.event(
        "Pod",
        "llm",
        box.pods("ollama")[0]["metadata"]["name"],
        "Failed",
        'Failed to pull image "docker.io/library/busybox:9.9": docker.io/library/busybox:9.9: not found',
    )


@situation(
    OPERATOR,
    "The init container that pulls the model is killed for its memory",
    "serving",
    says="memory | oomkilled",
    never=f"{BELOW} | ollama pull",
)
def init_killed(box: Box) -> None:
    init_container(
        box,
        "pull-model",
        "docker.io/ollama/ollama:0.33.0",
        {
            "state": waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=pull-model"),
            "lastState": ended(137, "OOMKilled"),
        },
    )


@situation(
    CPU,
    "Somebody left `sleep infinity` in Ollama's command",
    "serving",
    says="ready | refused",
    never=f"{BELOW} | nvidia | memory limit",
)
def sleeps(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["containers"][0]["command"] = ["sleep", "infinity"]
    box.state("ollama", {"running": {"startedAt": "2026-06-15T11:20:00Z"}})
    box.logs("ollama", replace=True)
    box.event(
        "Pod",
        "llm",
        box.pods("ollama")[0]["metadata"]["name"],
        "Unhealthy",
        'Readiness probe failed: Get "http://10.42.0.20:11434/": dial tcp 10.42.0.20:11434: connect: connection refused',
    )


@situation(
    OPERATOR,
    "A gate of somebody's controller keeps the pod from being Ready",
    "serving",
    says="readiness gate | readinessgate | ready",
    never=f"{BELOW} | ollama pull",
)
def readiness_gate(box: Box) -> None:
    pod = box.pods("ollama")[0]
    pod["spec"]["readinessGates"] = [{"conditionType": "target-health.example.com/llm"}]
    for condition in pod["status"]["conditions"]:
        if condition["type"] == "Ready":
            condition |= {
                "status": "False",
                "reason": "ReadinessGatesNotReady",
                "message": 'corresponding condition of pod readiness gate "target-health.example.com/llm" does not exist.',
                "lastTransitionTime": "2026-06-15T11:00:00Z",
            }
    box.dark("ollama")


@situation(
    OPERATOR,
    "The claim lost its volume: somebody deleted it underneath",
    "gpu",
    "serving",
    says="lost | volume | claim",
    never=f"{DRIVER} | ollama pull",
)
def claim_lost(box: Box) -> None:
    box.item(CLAIMS, "ollama")["status"] = {"phase": "Lost"}
    box.event(
        "PersistentVolumeClaim",
        "llm",
        "ollama",
        "ClaimLost",
        "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
    )
    created_not(
        box,
        "ollama",
        "Unable to attach or mount volumes: unmounted volumes=[ollama-data], unattached volumes=[], failed to process volumes=[ollama-data]: error processing PVC llm/ollama: PVC is not bound",
    )


@situation(
    CPU,
    "The claim wants to be written by many, which local-path does not do",
    "serving",
    "gpu",
    says="access mode | readwritemany | readwriteonce",
    never=f"{BELOW} | nvidia | ollama pull",
)
def access_mode(box: Box) -> None:
    claim = box.item(CLAIMS, "ollama")
    claim["spec"]["accessModes"] = ["ReadWriteMany"]
    claim["spec"].pop("volumeName", None)
    claim["status"] = {"phase": "Pending"}
    box.event(
        "PersistentVolumeClaim",
        "llm",
        "ollama",
        "ProvisioningFailed",
        'failed to provision volume with StorageClass "local-path": NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes',
    )
    box.pending(
        "ollama",
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    )


@situation(
    OPERATOR,
    "The kubelet lost its node: everything on it is unknown",
    "gpu",
    says="node | kubelet",
    never=f"{DRIVER} | ollama pull | servicemonitor",
)
def node_lost(box: Box) -> None:
    node = box.items(NODES)[0]
    for condition in node["status"]["conditions"]:
        condition |= {
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastTransitionTime": "2026-06-15T11:40:00Z",
            "lastHeartbeatTime": "2026-06-15T11:39:00Z",
        }
    node["spec"]["taints"] = [
        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-06-15T11:40:00Z"}
    ]
    for pod in box.items(PODS):
        for condition in pod["status"].get("conditions", []):
            if condition["type"] == "Ready":
                condition |= {"status": "False", "lastTransitionTime": "2026-06-15T11:40:00Z"}
    for service in ("ollama", "prometheus", "alertmanager", "open-webui"):
        box.unanswered(f"http:{service}:", "timeout")
    box.unanswered("api:/api/v1/namespaces/", "timeout")


@situation(
    CPU,
    "Nobody's names are resolved in the cluster: the pull of the model fails, and is no fault of its own",
    "gpu",
    says="dns | coredns",
    never=f"{DRIVER} | nvidia | proxy",
)
def pull_without_dns(box: Box) -> None:
    box.state(
        "coredns",
        waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=coredns"),
        last=ended(1),
        restarts=40,
    )
    absent(box, "qwen2.5:0.5b", "nomic-embed-text:latest")
    pull_job(
        box,
        'Error: pull model manifest: Get "https://registry.ollama.ai/v2/library/qwen2.5/manifests/0.5b": dial tcp: lookup registry.ollama.ai on 10.43.0.10:53: read udp 10.42.0.33:41422->10.43.0.10:53: i/o timeout',
    )


@situation(
    OPERATOR,
    "OLLAMA_KEEP_ALIVE is 0: every request loads the model anew",
    "model",
    "profile",
    says="ollama_keep_alive=0 | ollama_keep_alive is 0",
    never=f"{BELOW} | ollama pull",
)
def keep_alive_zero(box: Box) -> None:
    box.env("ollama", OLLAMA_KEEP_ALIVE="0")
    box.unloaded()


@situation(
    OPERATOR,
    "OLLAMA_KEEP_ALIVE fell back to five minutes when the values were lost",
    "model",
    says="ollama_keep_alive=5m | 5m",
    never=f"{BELOW} | ollama pull",
)
def keep_alive_of_server(box: Box) -> None:
    box.env("ollama", OLLAMA_KEEP_ALIVE="5m")
    box.loaded(expires_at="2026-06-15T12:04:41Z")


@situation(
    LIGHT,
    "The engine runs out of file descriptors while it opens the model",
    "model",
    says="too many open files",
    never=f"{BELOW} | ollama pull | smaller model",
)
def descriptors(box: Box) -> None:
    not_loading(
        box,
        f"llama_model_load: error loading model: failed to open {BLOB}: Too many open files",
        FAILED.format("llama runner process has terminated: exit status 1"),
    )


@situation(
    CPU,
    "The weights cannot be mapped into memory",
    "model",
    "serving",
    says="memory",
    never=f"{BELOW} | nvidia | ollama pull",
)
def not_mapped(box: Box) -> None:
    not_loading(
        box,
        "llama_model_load: error loading model: mmap failed: Cannot allocate memory",
        FAILED.format(f"unable to load model: {BLOB}"),
    )


@situation(
    OPERATOR,
    "The registry of models lets this address pull no more for now",
    "model",
    says="429 | rate | too many requests",
    never=f"{BELOW} | disk",
)
def pull_rate(box: Box) -> None:
    absent(box, "qwen2.5:7b")
    pull_job(
        box,
        'Error: pull model manifest: 429: {"errors":[{"code":"TOOMANYREQUESTS","message":"rate limit exceeded"}]}',
    )


@situation(
    OPERATOR,
    "The model lies behind a sign-on of its registry",
    "model",
    says="401 | credential | sign",
    never=f"{BELOW} | disk",
)
def pull_gated(box: Box) -> None:
    absent(box, "qwen2.5:7b")
    pull_job(box, 'Error: pull model manifest: 401: {"error":"Invalid username or password."}')


@situation(
    OPERATOR,
    "CUDA_VISIBLE_DEVICES names the card of before by its UUID",
    "serving",
    "profile",
    says="cuda_visible_devices",
    never=f"{BELOW} | ollama pull | smaller model",
)
def other_uuid_visible(box: Box) -> None:
    box.env("ollama", CUDA_VISIBLE_DEVICES="GPU-0a1b2c3d-aaaa-bbbb-cccc-0123456789ab")
    engine_on_cpu(box, "load_tensors: offloaded 0/29 layers to GPU")


@situation(
    LIGHT,
    "NVIDIA_VISIBLE_DEVICES is void: the runtime brings nothing",
    "serving",
    says="nvidia_visible_devices",
    never=f"{BELOW} | ollama pull | smaller model",
)
def visible_void(box: Box) -> None:
    box.env("ollama", NVIDIA_VISIBLE_DEVICES="void")
    engine_on_cpu(box)


@situation(
    OPERATOR,
    "An image that somebody built without CUDA",
    "profile",
    "serving",
    says="library=cpu | no gpu | image",
    never=f"{BELOW} | ollama pull | smaller model",
)
def image_without_cuda(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["containers"][0]["image"] = "docker.io/alpine/ollama:0.33.0"
    engine_on_cpu(box)


@situation(OPERATOR, "Open WebUI speaks to Ollama by its OpenAI path alone")
def webui_by_openai(box: Box) -> None:
    for spec in box.templates("open-webui"):
        spec["containers"][0]["env"] = [
            {"name": "ENABLE_OLLAMA_API", "value": "False"},
            {"name": "OPENAI_API_BASE_URL", "value": "http://ollama.llm:11434/v1"},
        ]


@situation(
    OPERATOR,
    "Open WebUI was told to ask no Ollama",
    "serving",
    says="enable_ollama_api",
    never=f"{BELOW} | ollama pull",
)
def webui_asks_none(box: Box) -> None:
    box.env("open-webui", ENABLE_OLLAMA_API="False")


@situation(A100, "A rollout of Open WebUI waits for its image; the old pod serves")
def webui_rollout_waits(box: Box) -> None:
    pod = box.clone_pod("open-webui", "n3w1e")
    pod["metadata"]["creationTimestamp"] = "2026-06-15T11:29:00Z"
    pod["status"]["phase"] = "Pending"
    not_ready(pod, waiting("ImagePullBackOff", "Back-off pulling image"))


@situation(LIGHT, "Companions of Open WebUI that nobody promised crash-loop: its pipelines and its redis")
def webui_companions(box: Box) -> None:
    for name, image in (
        ("open-webui-pipelines-6d5c7f8b9-aaaaa", "ghcr.io/open-webui/pipelines:main"),
        ("open-webui-redis-7f9d8c6b5-bbbbb", "docker.io/library/redis:8.2"),
    ):
        pod = copy.deepcopy(box.pods("open-webui-66")[0])
        pod["metadata"] |= {
            "name": name,
            "uid": f"00000000-0000-4000-8000-00000000{name[-5:]}"[:36],
            "labels": {"app.kubernetes.io/component": name.split("-")[2]},
            "ownerReferences": [],
        }
        pod["spec"]["containers"][0] |= {"name": name.split("-")[2], "image": image, "env": []}
        not_ready(pod, waiting("CrashLoopBackOff", "back-off 5m0s"), last=ended(1), restarts=55)
        box.items(PODS).append(pod)


@situation(OPERATOR, "k3s' own balancer for Ollama's Service finds no free host port")
def balancer_pending(box: Box) -> None:
    pod = copy.deepcopy(box.pods("ollama")[0])
    pod["metadata"] |= {
        "name": "svclb-ollama-1a2b3c4d-zx9cv",
        "namespace": "kube-system",
        "uid": "00000000-0000-4000-8000-0000000000aa",
        "labels": {"app": "svclb-ollama-1a2b3c4d", "svccontroller.k3s.cattle.io/svcname": "ollama"},
        "ownerReferences": [{"kind": "DaemonSet", "name": "svclb-ollama-1a2b3c4d", "controller": True}],
    }
    pod["spec"] = {
        "containers": [
            {
                "name": "lb-tcp-11434",
                "image": "rancher/klipper-lb:v0.4.13",
                "ports": [{"containerPort": 11434, "hostPort": 11434}],
                "resources": {},
            }
        ]
    }
    pod["status"] = {
        "phase": "Pending",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
            }
        ],
    }
    box.items(PODS).append(pod)


@situation(CPU, "An operator for Ollamas, by its name and image much like one, crash-loops")
def ollama_operator(box: Box) -> None:
    pod = copy.deepcopy(box.pods("ollama")[0])
    pod["metadata"] |= {
        "name": "ollama-operator-controller-manager-6c8d7f9b5-qqqqq",
        "namespace": "ollama-operator-system",
        "uid": "00000000-0000-4000-8000-0000000000ab",
        "labels": {"control-plane": "controller-manager"},
        "ownerReferences": [],
    }
    pod["spec"] = {
        "nodeName": "edge-1",
        "containers": [
            {"name": "manager", "image": "ghcr.io/nekomeowww/ollama-operator:0.10.7", "resources": {}}
        ],
    }
    not_ready(pod, waiting("CrashLoopBackOff", "back-off 5m0s"), last=ended(1), restarts=101)
    box.items(PODS).append(pod)


@situation(OPERATOR, "The promised model failed to load three days ago, and was loaded since")
def failed_long_ago(box: Box) -> None:
    key = box.log_key(box.pods("ollama")[0])
    body = box.reads[key]["body"]
    head, mark, tail = body.partition("load_backend: loaded CUDA")
    failed = FAILED.format("llama runner process has terminated: cudaMalloc failed: out of memory").replace(
        "2026-06-15", "2026-06-12"
    )
    box.reads[key]["body"] = (
        f'{head}{failed}\n[GIN] 2026/06/12 - 11:58:20 | 500 |  3.112371221s |      10.42.0.21 | POST     "/api/chat"\n{mark}{tail}'
    )


@situation(LIGHT, "The kernel killed something of another pod at that pod's limit a minute ago")
def kill_of_another(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:58:19,900000+00:00 oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-aa.scope,mems_allowed=0,oom_memcg=/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f0f0f0f_1111_4222_8333_444444444444.slice,task_memcg=/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f0f0f0f_1111_4222_8333_444444444444.slice/cri-containerd-aa.scope,task=node,pid=88123,uid=1000",
        "2026-06-15T11:58:19,900100+00:00 Memory cgroup out of memory: Killed process 88123 (node) total-vm:2097152kB, anon-rss:1048576kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:4096kB oom_score_adj:999",
    )


@situation(A100, "Ollama's claim waits to be enlarged at the next start")
def claim_grows(box: Box) -> None:
    claim = box.item(CLAIMS, "ollama")
    claim["spec"]["resources"]["requests"]["storage"] = "400Gi"
    claim["status"]["conditions"] = [
        {
            "type": "FileSystemResizePending",
            "status": "True",
            "message": "Waiting for user to (re-)start a pod to finish file system resize of volume on node.",
        }
    ]


@situation(OPERATOR, "Half an hour ago the queue was full; since then all is answered")
def refused_before(box: Box) -> None:
    box.logs(
        "ollama",
        *[
            f'[GIN] 2026/06/15 - 11:2{n}:00 | 503 |      31.549µs |      10.42.0.21 | POST     "/api/chat"'
            for n in range(9)
        ],
        *[
            f'[GIN] 2026/06/15 - 11:5{n}:00 | 200 |  1.33154902s |      10.42.0.21 | POST     "/api/chat"'
            for n in range(9)
        ],
    )


@situation(OPERATOR, "The engine crashed once in a request and answers since")
def crashed_once(box: Box) -> None:
    box.logs(
        "ollama",
        'time=2026-06-15T11:40:00.000Z level=ERROR source=server.go:1607 msg="post predict" error="Post \\"http://127.0.0.1:52208/completion\\": EOF"',
        'time=2026-06-15T11:40:00.001Z level=ERROR source=server.go:302 msg="llama runner terminated" error="exit status 2"',
        '[GIN] 2026/06/15 - 11:40:00 | 500 |  3.428625625s |      10.42.0.21 | POST     "/api/chat"',
        'time=2026-06-15T11:40:08.220Z level=INFO source=llama_server.go:610 msg="llama runner started in 2.41 seconds"',
        '[GIN] 2026/06/15 - 11:40:10 | 200 |  2.428625625s |      10.42.0.21 | POST     "/api/chat"',
    )


@situation(OPERATOR, "Blue and green: the idle half of a switched installation is scaled to zero")
def idle_half(box: Box) -> None:
    green = copy.deepcopy(box.item(DEPLOYMENTS, "ollama"))
    green["metadata"] |= {"name": "ollama-green", "uid": "00000000-0000-4000-8000-0000000000ac"}
    green["spec"]["replicas"] = 0
    green["spec"]["selector"]["matchLabels"] = green["spec"]["template"]["metadata"]["labels"] = {
        "app.kubernetes.io/name": "ollama",
        "app.kubernetes.io/instance": "green",
    }
    green["status"] = {"observedGeneration": 1}
    box.items(DEPLOYMENTS).append(green)


@situation(
    OPERATOR,
    "Ollama crashes every quarter of an hour and is Ready in between",
    "serving",
    says="crash | exit code 2",
    never=f"{BELOW} | memory limit | ollama pull",
)
def crashes_between(box: Box) -> None:
    status = box.pods("ollama")[0]["status"]["containerStatuses"][0]
    status |= {
        "restartCount": 112,
        "lastState": ended(2, "Error", "panic: runtime error: index out of range [-1]"),
    }
    status["state"]["running"]["startedAt"] = "2026-06-15T11:55:02Z"


@situation(
    OPERATOR,
    "The machine was rebooted half an hour ago, as every week: containers of before were lost with it",
)
def rebooted(box: Box) -> None:
    for workload in (
        "ollama",
        "open-webui",
        "edge-exporter",
        "prometheus-kube",
        "kube-prometheus-stack-grafana",
    ):
        status = box.pods(workload)[0]["status"]["containerStatuses"][0]
        status |= {
            "restartCount": 9,
            "lastState": {
                "terminated": {
                    "reason": "Unknown",
                    "exitCode": 255,
                    "startedAt": "2026-06-08T09:01:00Z",
                    "finishedAt": "2026-06-15T11:29:00Z",
                }
            },
        }
        status["state"]["running"]["startedAt"] = "2026-06-15T11:30:10Z"
