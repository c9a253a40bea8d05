"""Neighbours of the gpu rung: k3s, its network and storage, the runtime, the device plugin, the offer."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from below import CPU, DRIVER, LIGHT, OPERATOR, PLUGIN, stuck, waits
from box import CLAIMS, NODES, PODS, Box, situation

CLASSES = "api:/apis/node.k8s.io/v1/runtimeclasses"


def _condition(box: Box, kind: str, status: str, reason: str, message: str, *, node: int = 0) -> None:
    for each in box.items(NODES)[node]["status"]["conditions"]:
        if each["type"] == kind:
            each |= {
                "status": status,
                "reason": reason,
                "message": message,
                "lastTransitionTime": "2026-06-15T11:20:00Z",
            }


@situation(
    OPERATOR,
    "The node is not Ready: its pod network is not set up",
    "gpu",
    says="cni | network",
    never=DRIVER,
)
def network_not_ready(box: Box) -> None:
    _condition(
        box,
        "Ready",
        "False",
        "KubeletNotReady",
        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
    )


@situation(
    OPERATOR,
    "Somebody cordoned the node for an upgrade and forgot it; all runs on",
    "gpu",
    says="cordon",
    never=f"{DRIVER} | {PLUGIN}",
)
def forgotten_cordon(box: Box) -> None:
    box.items(NODES)[0]["spec"] |= {
        "unschedulable": True,
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
    }


@situation(
    OPERATOR, "The kubelet reports memory pressure", "gpu", "host", says="memory", never=f"{DRIVER} | vram"
)
def memory_pressure(box: Box) -> None:
    _condition(
        box,
        "MemoryPressure",
        "True",
        "KubeletHasInsufficientMemory",
        "kubelet has insufficient memory available",
    )


@situation(LIGHT, "Too many processes: PID pressure", "gpu", says="pid", never=DRIVER)
def pid_pressure(box: Box) -> None:
    _condition(
        box, "PIDPressure", "True", "KubeletHasInsufficientPID", "kubelet has insufficient PID available"
    )


@situation(
    OPERATOR,
    "flannel has lost its subnet file: new pods get no network",
    "gpu",
    says="flannel | subnet.env | network",
    never=f"{DRIVER} | restart ollama",
)
def flannel_subnet(box: Box) -> None:
    stuck(
        box,
        "open-webui",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "8f0": plugin type="flannel" failed (add): failed to load flannel \'subnet.env\' file: open /run/flannel/subnet.env: no such file or directory.',
    )


@situation(
    OPERATOR, "The cluster's DNS crash-loops", "gpu", says="dns", never=f"{DRIVER} | {PLUGIN} | ollama pull"
)
def dns_down(box: Box) -> None:
    box.state(
        "coredns",
        waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=coredns"),
        restarts=21,
    )


@situation(
    CPU,
    "The storage provisioner is gone, and a new claim waits",
    "gpu",
    says="provision | storage | claim",
    never=f"{DRIVER} | nvidia",
)
def no_provisioner(box: Box) -> None:
    box.take(PODS, "local-path-provisioner")
    box.take("api:/apis/apps/v1/deployments", "local-path-provisioner")
    box.take("api:/apis/apps/v1/replicasets", "local-path-provisioner")
    claim = next(each for each in box.items(CLAIMS) if "ollama" in each["metadata"]["name"])
    claim["status"] = {"phase": "Pending"}
    claim["spec"].pop("volumeName", None)
    box.pending("ollama", "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")


@situation(
    OPERATOR,
    "Containerd's sandbox image was collected, and its registry is not reached",
    "gpu",
    says="pause | sandbox",
    never=f"{DRIVER} | ollama pull",
)
def sandbox_image(box: Box) -> None:
    stuck(
        box,
        "edge-exporter",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox image "rancher/mirrored-pause:3.6": failed to pull image "rancher/mirrored-pause:3.6": failed to resolve reference "docker.io/rancher/mirrored-pause:3.6": dial tcp: lookup registry-1.docker.io: Try again',
    )


@situation(
    LIGHT,
    "Two handlers, and the runtime class names the one that is not there",
    "gpu",
    says="handler | runtime",
    never=f"{DRIVER} | {PLUGIN}",
)
def class_of_other_handler(box: Box) -> None:
    box.item(CLASSES, "nvidia")["handler"] = "nvidia-experimental"
    stuck(
        box,
        "ollama",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia-experimental" is configured',
    )


@situation(
    LIGHT,
    "ldconfig fails inside the runtime's hook: GPU containers do not start",
    "gpu",
    says="ldcache | nvidia-container-cli | start",
    never="reinstall the driver | num_ctx",
)
def hook_fails(box: Box) -> None:
    said = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy' nvidia-container-cli: ldcache error: process /sbin/ldconfig.real failed with error code: 127: unknown"
    box.state(
        "ollama",
        waits("CrashLoopBackOff", "back-off"),
        last={"terminated": {"reason": "StartError", "exitCode": 128, "message": said}},
        restarts=6,
    )
    box.state("ollama", waits("RunContainerError", said), restarts=6)


@situation(
    OPERATOR,
    "A container asks for a CDI device that no specification has",
    "gpu",
    says="cdi",
    never="reinstall the driver | num_ctx",
)
def cdi_device_unknown(box: Box) -> None:
    said = "failed to create containerd task: failed to create spec: failed to inject CDI devices: unresolvable CDI devices management.nvidia.com/gpu=all"
    box.state("nvidia-dcgm-exporter", waits("CreateContainerError", said))
    box.state(
        "ollama",
        waits(
            "CreateContainerError",
            said.replace(
                "management.nvidia.com/gpu=all", "nvidia.com/gpu=GPU-3f0f5f2e-7a0d-4c1b-9c55-1d2e3f405162"
            ),
        ),
    )


@situation(
    OPERATOR,
    "The data store of k3s is not in order: the API is not ready",
    "gpu",
    says="etcd | not ready",
    never=f"{DRIVER} | {PLUGIN} | kubeconfig",
)
def datastore_broken(box: Box) -> None:
    box.reads["api:/readyz"] = {
        "status": 500,
        "body": "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\nreadyz check failed\n",
        "error": None,
    }
    for key in list(box.reads):
        if key.startswith("api:/api"):
            box.reads[key] = {
                "status": 500,
                "body": {
                    "kind": "Status",
                    "status": "Failure",
                    "message": "etcdserver: request timed out",
                    "code": 500,
                },
                "error": None,
            }


@situation(
    LIGHT,
    "k3s ends and is started over and over: a flag in its configuration is not known",
    "gpu",
    says="restart | over and over",
    never=f"{DRIVER} | {PLUGIN}",
)
def k3s_restarts(box: Box) -> None:
    key = next(each for each in box.reads if each.startswith("command:systemctl"))
    box.reads[key]["stdout"] = box.reads[key]["stdout"].replace(
        "ActiveState=active\nSubState=running", "ActiveState=activating\nSubState=auto-restart", 1
    )
    box.unanswered("api:")


@situation(
    LIGHT, "Two GPU nodes, and the second is silent", "gpu", says="edge-2", never=f"{DRIVER} | {PLUGIN}"
)
def second_gpu_node_silent(box: Box) -> None:
    node = copy.deepcopy(box.items(NODES)[0])
    node["metadata"] |= {"name": "edge-2", "uid": "00000000-0000-4000-8000-000000000002"}
    box.items(NODES).append(node)
    _condition(box, "Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", node=1)


@situation(
    LIGHT,
    "The container toolkit was removed by an autoremove; running pods run on, the handler's program is gone",
    "gpu",
    says="nvidia-container-runtime | program",
    never=f"{DRIVER} | {PLUGIN}",
)
def toolkit_autoremoved(box: Box) -> None:
    box.reads["glob:/usr/bin/nvidia-container-runtime*"]["paths"] = []
