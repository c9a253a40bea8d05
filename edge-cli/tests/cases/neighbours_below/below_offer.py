"""Neighbours of the gpu rung: the device plugin, the operator, and what the node offers."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

from below import A100, DRIVER, DUAL, LIGHT, OPERATOR, in_report, offered, stuck, waits
from box import DAEMONSETS, NODES, Box, situation

POLICIES = "api:/apis/nvidia.com/v1/clusterpolicies"


@situation(
    LIGHT,
    "The device plugin's DaemonSet was deleted; the node still shows its capacity and offers none",
    "gpu",
    says="device plugin",
    never=f"{DRIVER} | runtimeclass",
)
def plugin_deleted(box: Box) -> None:
    box.take_pod("nvdp-nvidia-device-plugin")
    box.take(DAEMONSETS, "nvdp")
    offered(box, 0, capacity=1)


@situation(
    LIGHT,
    "The device plugin's image cannot be pulled: the registry's name was mistyped",
    "gpu",
    says="image | pull",
    never=f"{DRIVER} | runtimeclass",
)
def plugin_image(box: Box) -> None:
    box.state(
        "nvdp-nvidia-device-plugin",
        waits("ImagePullBackOff", 'Back-off pulling image "nvcr.io/nvidia/k8s-device-plugn:v0.17.4"'),
    )
    offered(box, 0)


@situation(
    OPERATOR,
    "A time-slicing configuration that the plugin cannot read",
    "gpu",
    says="config",
    never=f"{DRIVER} | runtimeclass | driver upgrade",
)
def plugin_config_unreadable(box: Box) -> None:
    box.state(
        "nvidia-device-plugin-daemonset",
        waits("CrashLoopBackOff", "back-off 5m0s"),
        last={"terminated": {"reason": "Error", "exitCode": 1}},
        restarts=9,
    )
    box.logs(
        "nvidia-device-plugin-daemonset",
        "I0615 11:56:00.000000       1 main.go:317] Loading configuration.",
        'E0615 11:56:00.000001       1 main.go:173] error starting plugins: unable to load config: unable to finalize config: unable to parse config file: error parsing config file: unmarshal error: error unmarshaling JSON: while decoding JSON: unknown field "resource"',
        replace=True,
    )
    offered(box, 0)


@situation(OPERATOR, "The plugin's ConfigMap does not exist", "gpu", says="configmap | config", never=DRIVER)
def plugin_config_missing(box: Box) -> None:
    stuck(
        box,
        "nvidia-device-plugin-daemonset",
        'MountVolume.SetUp failed for volume "time-slicing-config" : configmap "time-slicing-config" not found',
        reason="FailedMount",
    )
    offered(box, 0)


@situation(
    OPERATOR,
    "The plugin runs, and the kubelet forgot it: 0 of 0, without a word of it in the log",
    "gpu",
    says="allocatable | offer",
    never=f"{DRIVER} | runtimeclass",
)
def plugin_forgotten(box: Box) -> None:
    offered(box, 0)


@situation(
    OPERATOR,
    "A GPU label that the operator's DaemonSets ask for was taken off the node",
    "gpu",
    says="label",
    never=f"{DRIVER} | runtimeclass",
)
def operator_label_off(box: Box) -> None:
    labels = box.items(NODES)[0]["metadata"]["labels"]
    labels["nvidia.com/gpu.deploy.device-plugin"] = "false"
    box.take_pod("nvidia-device-plugin-daemonset")
    box.item(DAEMONSETS, "nvidia-device-plugin")["status"] |= {
        "desiredNumberScheduled": 0,
        "currentNumberScheduled": 0,
        "numberReady": 0,
    }
    offered(box, 0)


@situation(
    DUAL,
    "Half of the cards are withdrawn for an application's Xid",
    "gpu",
    says="unhealthy",
    never="replace the card | reinstall the driver",
)
def one_withdrawn(box: Box) -> None:
    box.kernel(
        "2026-06-15T09:20:11,000000+00:00 NVRM: Xid (PCI:0000:01:00): 69, pid=48211, name=llama-server, Class Error: ChId 0008"
    )
    box.logs(
        "nvidia-device-plugin",
        "W0615 09:20:11.100000       1 health.go:151] XidCriticalError: Xid=69 on Device=GPU-3f0f5f2e-7a0d-4c1b-9c55-1d2e3f405162; marking device as unhealthy.",
        "I0615 09:20:11.100100       1 server.go:222] 'nvidia.com/gpu' device marked unhealthy: GPU-3f0f5f2e-7a0d-4c1b-9c55-1d2e3f405162",
    )
    offered(box, 1, capacity=2)


@situation(
    A100,
    "MIG was enabled and no device was ever made",
    "gpu",
    says="mig",
    never="reinstall the driver | num_ctx",
)
def mig_without_devices(box: Box) -> None:
    in_report(
        box,
        ("<current_mig>Disabled<", "<current_mig>Enabled<"),
        ("<pending_mig>Disabled<", "<pending_mig>Enabled<"),
    )
    offered(box, 0)


@situation(
    OPERATOR,
    "The operator's validator finds no CUDA, all else is green",
    "gpu",
    says="validat | policy",
    never="reinstall the driver | runtimeclass",
)
def validator_fails(box: Box) -> None:
    policy = box.items(POLICIES)[0]
    policy["status"] = {
        "state": "notReady",
        "namespace": "gpu-operator",
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "OperandNotReady",
                "message": "states not ready: [state-operator-validation]",
                "lastTransitionTime": "2026-06-15T11:00:00Z",
            }
        ],
    }
