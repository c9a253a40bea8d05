"""Hands that break a machine below serving: its driver, its cards, what the node offers."""

from box import DAEMONSETS, DMESG, NODES, PODS, SMI, Box

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
LSPCI = "command:lspci -Dnnk -d 10de:"
MODINFO = "command:modinfo -F version nvidia"
MODULES = "file:/proc/modules"
LOADED = "file:/proc/driver/nvidia/version"
KERNEL = "file:/proc/sys/kernel/osrelease"
DEVICES = "glob:/dev/nvidia*"
CDI = "glob:/var/run/cdi/*"
DF = "command:df -Pk"
UNITS = (
    "command:systemctl show k3s k3s-agent containerd docker"
    " --property=Id,LoadState,ActiveState,SubState,ActiveEnterTimestamp"
)
CONFIG = "file:/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    " Make sure that the latest NVIDIA driver is installed and running.\n"
)
DRIVER = "reinstall the driver | install the driver"
PLUGIN = "restart the device plugin | reinstall the device plugin"
RECENT = "2026-06-15T11:2"


def smi(box: Box, rc: int, said: str) -> None:
    """What nvidia-smi says in place of its report."""
    box.reads[SMI] = {"rc": rc, "stdout": said, "stderr": "", "error": None, "took_s": 0.1}


def missing(box: Box, key: str) -> None:
    """A command or a file that is not there."""
    if key.startswith("command:"):
        box.reads[key] = {"rc": None, "stdout": "", "stderr": "", "error": "not-found", "took_s": 0.0}
    else:
        box.reads[key] = {"text": None, "mtime": None, "error": "not-found"}


def unloaded_module(box: Box, *, built: bool) -> None:
    """No NVIDIA module in the kernel, with all that follows up to the serving pod."""
    smi(box, 9, NO_DRIVER)
    missing(box, LOADED)
    kept = [line for line in box.reads[MODULES]["text"].splitlines() if not line.startswith("nvidia")]
    box.reads[MODULES]["text"] = "\n".join(kept) + "\n"
    box.reads[DEVICES]["paths"] = []
    box.reads[LSPCI]["stdout"] = box.reads[LSPCI]["stdout"].replace("\tKernel driver in use: nvidia\n", "")
    if not built:
        box.reads[MODINFO] = {
            "rc": 1,
            "stdout": "",
            "stderr": "modinfo: ERROR: Module nvidia not found.\n",
            "error": None,
            "took_s": 0.1,
        }
    lines = [line for line in box.reads[DMESG]["stdout"].splitlines() if "nvidia" not in line.lower()]
    box.reads[DMESG]["stdout"] = "\n".join(lines) + "\n"
    blind(box)


def blind(box: Box) -> None:
    """A device plugin that finds no driver, a node that offers nothing, a serving pod that waits."""
    name = next(
        pod["metadata"]["name"]
        for pod in box.items("api:/api/v1/pods")
        if "device-plugin" in pod["metadata"]["name"]
    )
    box.state(
        name,
        {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}},
        last={"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "2026-06-15T11:56:00Z"}},
        restarts=12,
    )
    box.logs(
        name,
        "E0615 11:56:00.000000       1 factory.go:112] Incompatible strategy detected auto",
        "error starting plugins: unable to create plugin manager: invalid device discovery strategy",
        replace=True,
    )
    offered(box, 0)


def offered(box: Box, count: int, *, capacity: int | None = None, node: int = 0) -> None:
    """What the node has and offers of whole GPUs; without any, the serving pod gets no place."""
    status = box.items(NODES)[node]["status"]
    status["allocatable"]["nvidia.com/gpu"] = str(count)
    status["capacity"]["nvidia.com/gpu"] = str(count if capacity is None else capacity)
    if not count:
        box.pending("ollama", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")


def xid(box: Box, number: int, detail: str, *, at: str = "2026-06-15T11:20:11,000000+00:00") -> None:
    """An Xid in the kernel's log."""
    box.kernel(f"{at} NVRM: Xid (PCI:0000:01:00): {number}, {detail}")


def bus_lost(box: Box) -> None:
    """A card that the bus no longer shows, beneath a driver that is still loaded."""
    box.reads[LSPCI]["stdout"] = ""
    smi(box, 6, "No devices were found\n")
    offered(box, 0, capacity=1)


def in_report(box: Box, *changes: tuple[str, str]) -> None:
    """Other words in nvidia-smi's report."""
    for before, after in changes:
        assert before in box.reads[SMI]["stdout"], before
        box.reads[SMI]["stdout"] = box.reads[SMI]["stdout"].replace(before, after)


def stuck(box: Box, workload: str, said: str, *, reason: str = "FailedCreatePodSandBox") -> None:
    """A pod that does not start, and what the kubelet says of it."""
    box.state(workload, {"waiting": {"reason": "ContainerCreating"}})
    pod = box.pods(workload)[0]
    box.event("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"], reason, said)


def waits(reason: str, message: str = "") -> dict[str, dict[str, str]]:
    """The state of a container that waits."""
    return {"waiting": {"reason": reason, "message": message}}


def plugin_name(box: Box) -> str:
    """Name of the device plugin's pod."""
    return next(
        str(pod["metadata"]["name"]) for pod in box.items(PODS) if "device-plugin" in pod["metadata"]["name"]
    )


def crash(box: Box, *lines: str, restarts: int = 12, offer: int = 0) -> None:
    """A device plugin that ends again and again with these last lines, and what the node offers meanwhile."""
    name = plugin_name(box)
    box.state(
        name,
        waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=nvidia-device-plugin"),
        last={"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "2026-06-15T11:56:00Z"}},
        restarts=restarts,
    )
    box.logs(name, *lines, replace=True)
    offered(box, offer)


def failing(
    box: Box, workload: str, said: str, *, reason: str = "RunContainerError", event: str = "Failed"
) -> None:
    """A container that the runtime does not start, in its words."""
    box.state(workload, waits(reason, said), restarts=5)
    pod = box.pods(workload)[0]
    box.event("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"], event, f"Error: {said}")


def gone_daemonset(box: Box, name: str) -> None:
    """A DaemonSet that wants no pod on any node."""
    box.take(PODS, name)
    for each in box.items(DAEMONSETS):
        if each["metadata"]["name"].startswith(name):
            each["status"] |= {
                "currentNumberScheduled": 0,
                "desiredNumberScheduled": 0,
                "numberReady": 0,
                "updatedNumberScheduled": 0,
                "numberAvailable": 0,
            }


def ready(box: Box, status: str, reason: str, message: str, *, beat: str | None = None) -> None:
    """What the first node says of its readiness, and when it was heard of last."""
    for each in box.items(NODES)[0]["status"]["conditions"]:
        if each["type"] == "Ready":
            each |= {
                "status": status,
                "reason": reason,
                "message": message,
                "lastTransitionTime": "2026-06-15T11:20:00Z",
            }
        if beat:
            each["lastHeartbeatTime"] = beat


def windows(box: Box) -> None:
    """WSL2: no PCI device, no module, the card is lent by Windows."""
    box.reads[LSPCI] = {"rc": 0, "stdout": "", "stderr": "", "error": None, "took_s": 0.0}
    box.reads[KERNEL]["text"] = "6.6.87.2-microsoft-standard-WSL2\n"
    missing(box, LOADED)
    missing(box, MODINFO)
    box.reads[MODULES]["text"] = "overlay 217088 46 - Live 0x0000000000000000\n"
    box.reads[DEVICES]["paths"] = []
    box.reads[DMESG]["stdout"] = (
        "2026-06-01T06:00:00,000000+00:00 Linux version 6.6.87.2-microsoft-standard-WSL2 (root@builder)\n"
    )
