"""The machine that was read, where it is another one than the node with the GPU."""

from edge_llm_tests import Recording
from edge_llm_tests.evidence import HOST_READS
from edge_llm_tests.objects import Node, nodes
from msgspec.structs import replace

from k3s_nvidia_edge.host.kernel_log import KEY as LOG_KEY
from k3s_nvidia_edge.host.module import MODINFO_KEY, driver_module
from k3s_nvidia_edge.host.nvidia_smi import KEY as SMI_KEY
from k3s_nvidia_edge.host.nvidia_smi import SmiAnswer, nvidia_smi
from k3s_nvidia_edge.host.pci import KEY as PCI_KEY
from k3s_nvidia_edge.host.pci import pci_bus
from k3s_nvidia_edge.host.platform import Platform, platform

__all__ = ["gpu_elsewhere", "other_machine", "without_cards", "without_host"]

_RESOURCE_PREFIX = "nvidia.com/"
_OF_CARDS = (
    f"command:{SMI_KEY}",
    f"command:{PCI_KEY}",
    f"command:{MODINFO_KEY}",
    "file:/proc/driver/nvidia/version",
    "file:/proc/modules",
    "glob:/dev/nvidia*",
)


def gpu_elsewhere(recording: Recording) -> str:
    """Name of the node that offers the GPU, where this host has no trace of a card; empty otherwise.

    A workstation with a kubeconfig, or a server whose agents have the cards. A node cannot offer what neither
    bus nor kernel of its machine has, once its device plugin has looked: so it is another machine. Use as
    `recording.view(gpu_elsewhere)`.

    Raises:
        UnseenError: A read that decides was not made, or is damaged.
    """
    if recording.view(platform).or_else(Platform.PCI) is not Platform.PCI:
        return ""
    module = recording.view(driver_module).value
    bus = recording.view(pci_bus)
    if bus.unseen is not None and bus.unseen.reason != "Unavailable":  # without lspci the rest decides
        return ""
    traces = (
        recording.view(nvidia_smi).value.answer is not SmiAnswer.NOT_INSTALLED,
        bus.seen and bus.value.cards,
        module.loaded,
        bool(module.built_version.or_else("")),
        recording.glob("/dev/nvidia*"),
    )
    if any(traces):
        return ""
    return next((node.name for node in recording.view(nodes).value if node.ready and _offers(node)), "")


def other_machine(node: str) -> str:
    """What tells that another machine was read than `node`."""
    return f"this host has no trace of an NVIDIA card, and node {node} offers one: another machine was read"


def without_cards(recording: Recording, node: str) -> Recording:
    """The recording without what this host says of cards and their driver; its log is not `node`'s."""
    kept = {key: each for key, each in recording.reads.items() if key not in _OF_CARDS}
    kept[f"command:{LOG_KEY}"] = {"rc": None, "error": "unreachable", "stderr": other_machine(node)}
    return replace(recording, reads=kept)


def without_host(recording: Recording) -> Recording:
    """The recording without anything of this host."""
    kept = {key: each for key, each in recording.reads.items() if not key.startswith(HOST_READS)}
    return replace(recording, reads=kept)


def _offers(node: Node) -> bool:
    return any(node.offers(name) for name in node.allocatable if name.startswith(_RESOURCE_PREFIX))
