"""The host as a layer: its reads, state, promises."""

from edge_llm_tests import Layer, Recording

from k3s_nvidia_edge.host import connections, filesystem, kernel_log, module, nvidia_smi, pci
from k3s_nvidia_edge.host.contracts import CONTRACTS
from k3s_nvidia_edge.host.observe import observe
from k3s_nvidia_edge.host.spec import HostSpec

__all__ = ["LAYER"]

_MACHINE_READS = (
    f"command:{kernel_log.KEY}",
    "command:df -Pk",
    "file:/proc/meminfo",
    "file:/proc/uptime",
    "file:/proc/sys/kernel/osrelease",
    "file:/proc/sys/fs/inotify/max_user_instances",
)
_CARD_READS = (
    f"command:{nvidia_smi.KEY}",
    f"command:{pci.KEY}",
    f"command:{module.MODINFO_KEY}",
    "file:/proc/driver/nvidia/version",
    "file:/proc/modules",
    "glob:/dev/nvidia*",
)


_REFINED_READS = (
    f"file:{filesystem.MOUNTS_PATH}",
    f"file:{connections.COUNT_PATH}",
    f"file:{connections.LIMIT_PATH}",
)


def _reads(spec: HostSpec, recording: Recording) -> tuple[str, ...]:
    """Core reads; once the host lets itself be read, what proves the same where the kernel log is denied."""
    refined = _REFINED_READS if recording.has(_MACHINE_READS[0]) else ()
    return (*(_CARD_READS if spec.has_gpu else ()), *_MACHINE_READS, *refined)


LAYER = Layer(
    name="host",
    number=0,
    owner="host-admin",
    rungs=("host",),
    spec_type=HostSpec,
    observe=observe,
    contracts=CONTRACTS,
    package="k3s_nvidia_edge",
    reads=_reads,
)
