"""One recording for each reason of host and gpu that no field case and no other neighbour shows."""
# ruff: noqa: E501 - what kernels, drivers and events say stays one line, as it comes

import copy
import re

from below import (
    A100,
    CPU,
    DRIVER,
    DUAL,
    LIGHT,
    LSPCI,
    OPERATOR,
    blind,
    in_report,
    missing,
    offered,
    smi,
    unloaded_module,
    waits,
)
from box import CLAIMS, DAEMONSETS, DEPLOYMENTS, NODES, PODS, SERVICES, SMI, Box, situation

SYSTEMCTL = "command:systemctl show"


def _unit(box: Box, active: str, sub: str, *, loaded: str = "loaded") -> None:
    key = next(each for each in box.reads if each.startswith(SYSTEMCTL))
    box.reads[key]["stdout"] = box.reads[key]["stdout"].replace(
        "LoadState=loaded\nActiveState=active\nSubState=running",
        f"LoadState={loaded}\nActiveState={active}\nSubState={sub}",
        1,
    )
    box.unanswered("api:")


@situation(
    OPERATOR,
    "The table of network neighbours overflows: a flat network of thousands",
    "host",
    says="neighbo",
    never="restart ollama",
)
def neighbours_overflow(box: Box) -> None:
    box.kernel("2026-06-15T11:58:00,000000+00:00 neighbour: arp_cache: neighbor table overflow!")


@situation(
    LIGHT,
    "The card was taken out of the machine",
    "host",
    says="no nvidia card",
    never="nouveau | runtimeclass | device plugin",
)
def card_taken_out(box: Box) -> None:
    unloaded_module(box, built=True)
    box.reads[LSPCI]["stdout"] = ""


@situation(
    LIGHT,
    "The bus reads nothing but ones from the card",
    "host",
    says="bus",
    never="reinstall the driver | device plugin",
)
def card_reads_ones(box: Box) -> None:
    smi(box, 255, "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error\n")
    box.reads[LSPCI]["stdout"] = re.sub(r"\(rev \w+\)", "(rev ff)", box.reads[LSPCI]["stdout"])
    blind(box)


@situation(
    OPERATOR,
    "The driver is older than the card",
    "host",
    says="newer | does not know",
    never="nouveau | runtimeclass",
)
def driver_older_than_card(box: Box) -> None:
    smi(box, 6, "No devices were found\n")
    box.kernel(
        "2026-06-15T06:00:07,191010+00:00 NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85) installed in this system is not supported by the NVIDIA 570.195.03 driver release."
    )
    blind(box)


@situation(
    LIGHT,
    "nvidia-smi finds no devices, and nothing says why",
    "host",
    says="no devices",
    never="runtimeclass | device plugin",
)
def no_devices(box: Box) -> None:
    smi(box, 6, "No devices were found\n")
    blind(box)


@situation(
    LIGHT,
    "nvidia-smi is on no path of the host; the module is loaded and the node offers its card",
    "host",
    outcome="unknown",
    says="path",
    never="reinstall the driver",
)
def smi_not_on_path(box: Box) -> None:
    missing(box, SMI)


@situation(
    LIGHT,
    "The report has a card that is lost",
    "host",
    says="lost",
    never="reinstall the driver | restart the device plugin",
)
def card_lost_in_report(box: Box) -> None:
    in_report(box, ("<product_architecture>", "<state>GPU is lost</state><product_architecture>"))


@situation(
    A100,
    "Uncorrectable errors since the last reset",
    "host",
    says="ecc",
    never="restart the device plugin | num_ctx",
)
def uncorrectable(box: Box) -> None:
    out = box.reads[SMI]["stdout"]
    head, tail = out.split("<volatile>", 1)
    block, rest = tail.split("</volatile>", 1)
    block = re.sub(r"(<[a-z_]*(?:uncorrectable|total)[a-z_]*>)0<", r"\g<1>3<", block)
    box.reads[SMI]["stdout"] = head + "<volatile>" + block + "</volatile>" + rest


@situation(
    LIGHT,
    "The machine slept; since then CUDA fails in every container",
    "host",
    says="suspend",
    never="reinstall the driver | num_ctx",
)
def slept(box: Box) -> None:
    box.kernel(
        "2026-06-15T08:00:00,000000+00:00 PM: suspend entry (deep)",
        "2026-06-15T09:00:00,000000+00:00 PM: suspend exit",
    )
    box.logs(
        "ollama",
        'time=2026-06-15T09:05:00.000Z level=WARN msg="failed to initialize CUDA: unknown error (999)"',
        'time=2026-06-15T09:05:01.000Z level=INFO msg="inference compute" id=cpu library=cpu',
    )
    box.loaded(size_vram=0)


@situation(
    OPERATOR,
    "The card's compute mode is Prohibited",
    "host",
    says="prohibited",
    never="reinstall the driver | num_ctx",
)
def prohibited(box: Box) -> None:
    in_report(box, ("<compute_mode>Default<", "<compute_mode>Prohibited<"))
    box.loaded(size_vram=0)


@situation(
    A100,
    "NVSwitches, and nothing tells whether their fabric manager runs",
    "host",
    outcome="unknown",
    says="fabric",
    never="reinstall the driver",
)
def fabric_untold(box: Box) -> None:
    box.reads[LSPCI]["stdout"] += (
        "0000:07:00.0 Bridge [0680]: NVIDIA Corporation GA100 [A100 NVSwitch] [10de:1af1] (rev a1)\n\tKernel driver in use: nvidia\n"
    )
    box.reads[SMI]["stdout"] = re.sub(
        r"<process_info>.*?</process_info>", "", box.reads[SMI]["stdout"], flags=re.DOTALL
    )


@situation(
    OPERATOR,
    "An image asks for a CUDA that the driver does not have",
    "host",
    says="cuda>=13",
    never="restart the device plugin | num_ctx",
)
def image_too_new(box: Box) -> None:
    said = "failed to create containerd task: OCI runtime create failed: nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.1, please update your driver to a newer version: unknown"
    box.state(
        "ollama",
        waits("CrashLoopBackOff", "back-off"),
        last={"terminated": {"reason": "StartError", "exitCode": 128, "message": said}},
        restarts=6,
    )


@situation(
    LIGHT,
    "A Kepler card: no branch has both the card and what the engine needs",
    "host",
    says="470",
    never="restart the device plugin | num_ctx",
)
def no_branch(box: Box) -> None:
    in_report(box, ("Ada Lovelace", "Kepler"))
    box.reads[SMI]["stdout"] = re.sub(
        r"<driver_version>[^<]*<", "<driver_version>470.256.02<", box.reads[SMI]["stdout"]
    )
    box.loaded(size_vram=0)


@situation(
    OPERATOR,
    "The power supply brakes the card under load",
    "host",
    says="brake",
    never="restart ollama | num_ctx | reinstall",
)
def power_brake(box: Box) -> None:
    in_report(
        box,
        (
            "<clocks_event_reason_hw_power_brake_slowdown>Not Active<",
            "<clocks_event_reason_hw_power_brake_slowdown>Active<",
        ),
    )
    out = re.sub(r"(<utilization>\s*<gpu_util>)\d+ %", r"\g<1>97 %", box.reads[SMI]["stdout"])
    box.reads[SMI]["stdout"] = re.sub(r"(<clocks>\s*<graphics_clock>)\d+ MHz", r"\g<1>420 MHz", out)


@situation(OPERATOR, "The clock of the host is four minutes off, and nothing breaks yet")
def clock_off(box: Box) -> None:
    box.reads[SMI]["stdout"] = re.sub(
        r"<timestamp>[^<]*<", "<timestamp>Mon Jun 15 12:04:10 2026<", box.reads[SMI]["stdout"]
    )


@situation(CPU, "Somebody stopped k3s", "gpu", says="not running", never=DRIVER)
def k3s_stopped(box: Box) -> None:
    _unit(box, "inactive", "dead")


@situation(CPU, "k3s is being started", "gpu", outcome="unknown", says="activating", never=DRIVER)
def k3s_starting(box: Box) -> None:
    _unit(box, "activating", "start")


@situation(
    CPU, "The host has no k3s at all, and no API answers", "gpu", outcome="unknown", says="k3s", never=DRIVER
)
def no_k3s(box: Box) -> None:
    _unit(box, "inactive", "dead", loaded="not-found")


@situation(CPU, "A cluster without a node", "gpu", says="no node", never=DRIVER)
def no_nodes(box: Box) -> None:
    box.items(NODES).clear()
    box.items(PODS).clear()


def _ready(box: Box, status: str | None, message: str = "") -> None:
    conditions = box.items(NODES)[0]["status"]["conditions"]
    for each in list(conditions):
        if each["type"] == "Ready" and status is None:
            conditions.remove(each)
        elif each["type"] == "Ready":
            each |= {"status": status, "reason": "KubeletNotReady", "message": message}


@situation(
    CPU, "The kubelet's runtime does not answer: the node is not Ready", "gpu", says="not ready", never=DRIVER
)
def node_not_ready(box: Box) -> None:
    _ready(
        box, "False", "[container runtime is down, PLEG is not healthy: pleg was last seen active 4m10s ago]"
    )


@situation(
    CPU,
    "A node that has said nothing of itself yet",
    "gpu",
    outcome="unknown",
    says="condition",
    never=DRIVER,
)
def node_without_condition(box: Box) -> None:
    _ready(box, None)


@situation(CPU, "A cluster whose DNS was never installed", "gpu", outcome="unknown", says="dns", never=DRIVER)
def no_dns(box: Box) -> None:
    box.take(SERVICES, "kube-dns")


@situation(
    OPERATOR,
    "The GPU operator is killed at its memory limit",
    "gpu",
    says="operator",
    never=f"{DRIVER} | num_ctx",
)
def operator_crashes(box: Box) -> None:
    pod = next(each for each in box.items(PODS) if each["metadata"]["name"].startswith("gpu-operator-7"))
    box.state(
        pod["metadata"]["name"],
        waits("CrashLoopBackOff", "back-off"),
        last={"terminated": {"reason": "OOMKilled", "exitCode": 137}},
        restarts=20,
    )


def _policy(box: Box, state: str, message: str = "") -> None:
    for each in box.items("api:/apis/nvidia.com/v1/clusterpolicies"):
        each["status"] = {
            "state": state,
            "conditions": [
                {"type": "Ready", "status": "False", "reason": "OperandNotReady", "message": message},
                {"type": "Error", "status": "True", "reason": "ReconcileFailed", "message": message},
            ],
        }


@situation(
    OPERATOR,
    "The GPU operator stops at a kind that telemetry has not installed yet",
    "telemetry",
    says="crd | servicemonitor",
    never=DRIVER,
)
def operator_needs_kind(box: Box) -> None:
    box.take("api:/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "servicemonitors.")
    box.reads["api:/apis/monitoring.coreos.com/v1/servicemonitors"] = {
        "status": 404,
        "body": {"kind": "Status", "code": 404},
        "error": None,
    }
    _policy(box, "notReady", 'no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"')


@situation(
    OPERATOR, "Two ClusterPolicies: the second is ignored", "gpu", says="ignored | older", never=DRIVER
)
def policy_ignored(box: Box) -> None:
    _policy(box, "ignored")


def _driver_pod(box: Box) -> None:
    pod = copy.deepcopy(box.pods("nvidia-device-plugin-daemonset")[0])
    pod["metadata"] |= {
        "name": "nvidia-driver-daemonset-x7k2p",
        "uid": "00000000-0000-4000-8000-00000000d001",
    }
    pod["metadata"]["ownerReferences"] = [
        {"kind": "DaemonSet", "name": "nvidia-driver-daemonset", "controller": True}
    ]
    pod["spec"]["containers"][0] |= {
        "name": "nvidia-driver-ctr",
        "image": "nvcr.io/nvidia/driver:580.95.05-ubuntu24.04",
    }
    pod["spec"].pop("initContainers", None)
    status = pod["status"]
    status.pop("initContainerStatuses", None)
    status["containerStatuses"] = [
        {
            "name": "nvidia-driver-ctr",
            "ready": False,
            "restartCount": 30,
            "state": waits("CrashLoopBackOff"),
            "lastState": {},
        }
    ]
    for each in status["conditions"]:
        if each["type"] in ("Ready", "ContainersReady"):
            each["status"] = "False"
    box.items(PODS).append(pod)


@situation(
    OPERATOR,
    "The operator's driver container fights with the host's driver",
    "gpu",
    says="driver",
    never="reinstall the driver | num_ctx",
)
def two_owners(box: Box) -> None:
    _driver_pod(box)


def _toolkit(box: Box, state: dict[str, dict[str, str]], *lines: str) -> None:
    name = "nvidia-container-toolkit-daemonset"
    box.state(name, state, restarts=9)
    if lines:
        box.logs(name, *lines, replace=True)


@situation(
    OPERATOR, "The image of the container toolkit cannot be pulled", "gpu", says="toolkit", never=DRIVER
)
def toolkit_image(box: Box) -> None:
    _toolkit(box, waits("ImagePullBackOff", "Back-off pulling image"))


@situation(
    OPERATOR, "The container toolkit ends without a word that is known", "gpu", says="toolkit", never=DRIVER
)
def toolkit_ends(box: Box) -> None:
    _toolkit(
        box,
        waits("CrashLoopBackOff", "back-off"),
        'time="2026-06-15T11:56:00Z" level=fatal msg="error running nvidia-toolkit: unable to install toolkit: text file busy"',
    )


@situation(
    OPERATOR,
    "A left-over driver root gives containers the libraries of another driver",
    "gpu",
    says="libraries of another driver",
    never="reboot | reinstall the driver",
)
def left_over_root(box: Box) -> None:
    name = "nvidia-device-plugin-daemonset"
    box.state(
        name,
        waits("CrashLoopBackOff", "back-off"),
        last={"terminated": {"reason": "Error", "exitCode": 1}},
        restarts=9,
    )
    box.logs(
        name,
        "E0615 11:56:00.000000       1 main.go:173] nvml init failed: Driver/library version mismatch",
        replace=True,
    )
    offered(box, 0)


@situation(
    LIGHT,
    "The device plugin's DaemonSet makes no pod, and nothing says why",
    "gpu",
    says="no pod",
    never=DRIVER,
)
def plugin_not_made(box: Box) -> None:
    pod = box.pods("nvdp")[0]
    box.reads.pop(box.log_key(pod), None)
    box.take(PODS, "nvdp")
    box.item(DAEMONSETS, "nvdp")["status"] |= {"currentNumberScheduled": 0, "numberReady": 0}
    offered(box, 0, capacity=1)


def _waiting_claim(box: Box, phase: str) -> None:
    claim = next(each for each in box.items(CLAIMS) if "ollama" in each["metadata"]["name"])
    claim["status"] = {"phase": phase}
    if phase == "Pending":
        claim["spec"].pop("volumeName", None)


@situation(
    CPU, "The provisioner fails to make the volume", "gpu", says="no volume", never=f"{DRIVER} | nvidia"
)
def provisioning_fails(box: Box) -> None:
    _waiting_claim(box, "Pending")
    box.event(
        "PersistentVolumeClaim",
        "llm",
        next(each["metadata"]["name"] for each in box.items(CLAIMS) if "ollama" in each["metadata"]["name"]),
        "ProvisioningFailed",
        'failed to provision volume with StorageClass "local-path": failed to create volume: create process timeout after 120 seconds',
    )
    box.pending("ollama", "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")


@situation(CPU, "The volume of a claim was deleted under it", "gpu", says="lost", never=f"{DRIVER} | nvidia")
def claim_lost(box: Box) -> None:
    _waiting_claim(box, "Lost")


@situation(DUAL, "Both cards are there, and a deployment of somebody's is scaled to nothing: all is well")
def stranger_scaled(box: Box) -> None:
    other = copy.deepcopy(box.item(DEPLOYMENTS, "coredns"))
    other["metadata"] |= {"name": "jupyter", "namespace": "lab"}
    other["spec"]["replicas"] = 0
    box.items(DEPLOYMENTS).append(other)
