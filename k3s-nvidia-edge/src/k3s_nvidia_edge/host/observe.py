"""What was seen of the host: each read parsed once, looked at when a contract asks."""

from datetime import datetime

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.objects import Node, Pod, nodes, pods
from edge_llm_tests.reads import Sight, UnseenError

from k3s_nvidia_edge.host.card import Card
from k3s_nvidia_edge.host.elsewhere import gpu_elsewhere, without_cards
from k3s_nvidia_edge.host.engine import complaint, cuda_failure, engine_version, lost_in_suspend
from k3s_nvidia_edge.host.kernel_log import KernelLog, kernel_log
from k3s_nvidia_edge.host.memory import Disk, Memory, disks, inotify_instances, memory
from k3s_nvidia_edge.host.module import DriverModule, driver_module
from k3s_nvidia_edge.host.nvidia_smi import KEY as SMI_KEY
from k3s_nvidia_edge.host.nvidia_smi import NvidiaSmi, SmiAnswer, nvidia_smi
from k3s_nvidia_edge.host.pci import PciBus, pci_bus
from k3s_nvidia_edge.host.platform import Platform, kernel_release, platform
from k3s_nvidia_edge.host.spec import HostSpec
from k3s_nvidia_edge.host.surfaced import (
    Surfaced,
    exhausted_watches,
    plugin_hardware_xid,
    surfaced,
    unsatisfied_image,
)

__all__ = ["HostState", "device_nodes", "driver_pods", "observe"]

_RESOURCE_PREFIX = "nvidia.com/"
_DRIVER_LABEL = "nvidia.com/cuda.driver-version.full"
_DRIVER_LABEL_MAJOR = "nvidia.com/cuda.driver-version.major"
_READY_FLAG = "/run/nvidia/validations/driver-ready"


class HostState(msgspec.Struct, frozen=True):
    """The host, as the reads show it. What was not read stays a `Sight` that says so."""

    recording: Recording
    elsewhere: str = ""
    """Name of the node that has the GPU, where this host is evidently another machine."""

    @property
    def now(self) -> datetime:
        """Time of the recording."""
        return self.recording.now

    @property
    def smi(self) -> Sight[NvidiaSmi]:
        """What nvidia-smi came to."""
        return self.recording.view(nvidia_smi)

    @property
    def cards(self) -> tuple[Card, ...]:
        """The cards that nvidia-smi lists; none on a host that works without it (Jetson, container).

        Raises:
            UnseenError: nvidia-smi was not seen, or has failed to list a card.
        """
        smi = self.smi.value
        without = smi.answer is SmiAnswer.NOT_INSTALLED
        if smi.cards or (without and (self.platform is Platform.JETSON or self.module.loaded)):
            return smi.cards
        raise UnseenError(f"command:{SMI_KEY}", "Unavailable", f"no card could be looked at: {smi.said}")

    @property
    def bus(self) -> Sight[PciBus]:
        """What lspci shows."""
        return self.recording.view(pci_bus)

    @property
    def log(self) -> Sight[KernelLog]:
        """The kernel log."""
        return self.recording.view(kernel_log)

    @property
    def module(self) -> DriverModule:
        """The driver's kernel module."""
        return self.recording.view(driver_module).value

    @property
    def platform(self) -> Platform:
        """Kind of machine; an ordinary one where the kernel's release was not seen."""
        return self.recording.view(platform).or_else(Platform.PCI)

    @property
    def kernel(self) -> str:
        """Release of the running kernel, for the commands of a remedy."""
        return self.recording.view(kernel_release).or_else("$(uname -r)")

    @property
    def devices(self) -> Sight[frozenset[str]]:
        """Device nodes below /dev."""
        return self.recording.view(device_nodes)

    @property
    def memory(self) -> Sight[Memory]:
        """System memory."""
        return self.recording.view(memory)

    @property
    def disks(self) -> Sight[tuple[Disk, ...]]:
        """Mounted disks."""
        return self.recording.view(disks)

    @property
    def inotify_instances(self) -> Sight[int]:
        """Inotify instances that one user may have."""
        return self.recording.view(inotify_instances)

    @property
    def surfaced(self) -> Surfaced | None:
        """A driver failure that the cluster tells of; None also where the cluster was not seen."""
        return self.recording.view(surfaced).or_else(None)

    @property
    def plugin_hardware_xid(self) -> tuple[int, str] | None:
        """A hardware Xid for which the device plugin has marked a device."""
        return self.recording.view(plugin_hardware_xid).or_else(None)

    @property
    def device_withdrawn(self) -> bool:
        """Whether a node has an NVIDIA resource that it does not offer: the plugin calls it unhealthy."""
        return any(_withdrawn(node) for node in self._nodes)

    @property
    def offers_gpu(self) -> bool:
        """Whether a node offers any NVIDIA resource."""
        return any(_offers(node) for node in self._nodes)

    @property
    def driver_in_container(self) -> bool:
        """Whether a container of the cluster brings the driver, so that the host lacks its programs."""
        return bool(self.recording.view(driver_pods).or_else(()))

    @property
    def container_driver_works(self) -> bool:
        """Whether the container that brings the driver is ready, or the operator has validated it."""
        found = self.recording.view(driver_pods).or_else(())
        if found and all(pod.ready for pod in found):
            return True
        return _READY_FLAG in self.recording.view(_validations).or_else(())

    @property
    def driver_version(self) -> str:
        """The driver's version by the surest witness: nvidia-smi, the loaded module, a node's label.

        Raises:
            UnseenError: None of them was seen.
        """
        smi = self.smi
        if smi.seen and smi.value.driver:
            return smi.value.driver
        loaded = self.module.loaded_version
        if loaded.seen and loaded.value:
            return loaded.value
        for node in self._nodes:
            for label in (_DRIVER_LABEL, _DRIVER_LABEL_MAJOR):
                if isinstance(value := node.labels.get(label), str) and value:
                    return value
        raise smi.unseen or UnseenError(
            "command:nvidia-smi -q -x", "Unavailable", "no driver version was seen"
        )

    @property
    def engine_version(self) -> Sight[tuple[int, int]]:
        """Release of Ollama."""
        return self.recording.view(engine_version)

    @property
    def engine_complaint(self) -> str:
        """The engine's own words that the driver is too old."""
        return self.recording.view(complaint).or_else("")

    @property
    def unsatisfied_image(self) -> str:
        """What a container's image asks of the driver in vain; empty where none does."""
        return self.recording.view(unsatisfied_image).or_else("")

    @property
    def exhausted_watches(self) -> Sight[str]:
        """Who could not watch a file; empty where nobody complains."""
        return self.recording.view(exhausted_watches)

    @property
    def lost_in_suspend(self) -> str:
        """The engine's own words that CUDA fails without a known reason."""
        return self.recording.view(lost_in_suspend).or_else("")

    @property
    def cuda_failure(self) -> str:
        """The engine's words where CUDA does not start; empty where it does."""
        return self.recording.view(cuda_failure).or_else("")

    @property
    def local_clock(self) -> datetime | None:
        """The host's local time at the run, in a zone that is not told."""
        smi = self.smi
        return smi.value.clock if smi.seen else None

    @property
    def _nodes(self) -> tuple[Node, ...]:
        return self.recording.view(nodes).or_else(())


def observe(spec: HostSpec, recording: Recording) -> HostState:
    """The host as the recording shows it."""
    elsewhere = recording.view(gpu_elsewhere).or_else("") if spec.has_gpu else ""
    return HostState(without_cards(recording, elsewhere), elsewhere) if elsewhere else HostState(recording)


def device_nodes(recording: Recording) -> frozenset[str]:
    """NVIDIA device nodes. Use as `recording.view(device_nodes)`."""
    return frozenset(recording.glob("/dev/nvidia*"))


def driver_pods(recording: Recording) -> tuple[Pod, ...]:
    """Pods that build and load the driver from a container. Use as `recording.view(driver_pods)`."""
    return tuple(
        pod
        for pod in recording.view(pods).value
        if pod.name.startswith(("nvidia-driver-", "nvidia-gpu-driver-"))
        and pod.owner
        and pod.owner[0] == "DaemonSet"
    )


def _validations(recording: Recording) -> tuple[str, ...]:
    return recording.glob("/run/nvidia/validations/*")


def _withdrawn(node: Node) -> bool:
    return any(
        node.has(name) > node.offers(name) for name in node.capacity if name.startswith(_RESOURCE_PREFIX)
    )


def _offers(node: Node) -> bool:
    return any(node.offers(name) for name in node.allocatable if name.startswith(_RESOURCE_PREFIX))
