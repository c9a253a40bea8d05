"""Promises about the machine itself: memory, disks, inotify, clock."""

from datetime import timedelta

from edge_llm_tests import Result, contract, failed, passed, unknown

from k3s_nvidia_edge.host.connections import connection_fault
from k3s_nvidia_edge.host.filesystem import filesystem_fault
from k3s_nvidia_edge.host.memory_fault import kernel_kill
from k3s_nvidia_edge.host.observe import HostState
from k3s_nvidia_edge.host.spec import HostSpec

__all__ = [
    "clock",
    "connections",
    "disk_space",
    "disks_writable",
    "file_watches",
    "inotify_instances",
    "memory_available",
    "memory_headroom",
]

_ZONE_STEP = timedelta(minutes=15)  # every time zone is a multiple of it away from UTC


@contract(
    "host.memory-available",
    "the machine has memory left to answer with",
    reasons=("MemoryExhausted", "KernelKilledForMemory"),
)
def memory_available(spec: HostSpec, observed: HostState) -> Result:
    """Below some MiB everything times out, and no timeout above tells of itself."""
    memory = observed.memory.value
    if memory.available_mib < spec.memory_available_min_mib:
        return failed(
            "MemoryExhausted",
            f"{memory.available_mib} MiB of memory available of {memory.total_mib}: the machine"
            " thrashes, and commands"
            " and API calls time out",
        )
    if killed := kernel_kill(observed):
        return failed("KernelKilledForMemory", f"the machine ran out of memory in the last hour: {killed}")
    return passed(f"{memory.available_mib} MiB available of {memory.total_mib}")


@contract(
    "host.file-watches",
    "programs can watch files",
    reasons=("InotifyExhausted",),
)
def file_watches(spec: HostSpec, observed: HostState) -> Result:
    """A device plugin, a log reader or a configuration reloader that cannot watch its file ends."""
    if complaint := observed.exhausted_watches.or_else(""):
        return failed("InotifyExhausted", f"the host has no inotify instances left: {complaint}")
    return passed(f"{observed.inotify_instances.value} inotify instances per user, and nobody lacks one")


@contract(
    "host.disks-writable",
    "the machine can write to its disks",
    reasons=("FilesystemReadOnly", "DiskFull", "DiskStalls", "DiskFailing"),
)
def disks_writable(spec: HostSpec, observed: HostState) -> Result:
    """A disk that errs makes the kernel mount it read-only: what runs runs on, and nothing new starts."""
    fault = filesystem_fault(observed.recording)
    return fault.result if fault else passed("no file system was made read-only, no disk reports errors")


@contract(
    "host.connections",
    "the kernel can track new connections",
    reasons=("ConntrackFull", "NeighbourTableFull"),
)
def connections(spec: HostSpec, observed: HostState) -> Result:
    """A full table drops packets of whoever comes next: everything above times out at random."""
    fault = connection_fault(observed.recording)
    return fault.result if fault else passed("no table of the kernel's network is full")


@contract(
    "host.memory-headroom",
    "a fair share of memory is available",
    reasons=("MemoryLow",),
    after=("host.memory-available",),
    required=False,
)
def memory_headroom(spec: HostSpec, observed: HostState) -> Result:
    """Early notice."""
    memory = observed.memory.value
    if memory.available_percent < spec.memory_headroom_min_percent:
        return failed("MemoryLow", f"{memory.available_percent:.0f} % of {memory.total_mib} MiB available")
    return passed(f"{memory.available_percent:.0f} % available")


@contract(
    "host.disk-space",
    "every disk has space left",
    reasons=("DiskFilling",),
    required=False,
)
def disk_space(spec: HostSpec, observed: HostState) -> Result:
    """Early notice; when the kubelet acts on it, the node says so."""
    fullest = max(observed.disks.value, key=lambda disk: disk.used_percent)
    if 100 - fullest.used_percent < spec.disk_free_min_percent:
        return failed("DiskFilling", f"{fullest.mount} is {fullest.used_percent} % full", mount=fullest.mount)
    return passed(f"{fullest.mount} is {fullest.used_percent} % full, the others less")


@contract(
    "host.inotify-instances",
    "there are inotify instances for many pods",
    reasons=("InotifyLow",),
    required=False,
)
def inotify_instances(spec: HostSpec, observed: HostState) -> Result:
    """Too few, and log readers and device plugins end with 'too many open files'."""
    instances = observed.inotify_instances.value
    if instances < spec.inotify_instances_min:
        return failed(
            "InotifyLow", f"{instances} inotify instances per user, {spec.inotify_instances_min} are advised"
        )
    return passed(f"{instances} inotify instances per user")


@contract(
    "host.clock",
    "the host's clock is right",
    reasons=("ClockSkewed", "NoClockSeen"),
    required=False,
)
def clock(spec: HostSpec, observed: HostState) -> Result:
    """Compared with the tool's clock, whatever the host's time zone."""
    told = observed.local_clock
    if told is None:
        return unknown("NoClockSeen", "no read of this run tells the host's time")
    away = (told - observed.now.replace(tzinfo=None) + _ZONE_STEP / 2) % _ZONE_STEP - _ZONE_STEP / 2
    if abs(away) > timedelta(seconds=spec.clock_skew_max_s):
        return failed(
            "ClockSkewed", f"the host's clock is {away.total_seconds():.0f} s away from this tool's"
        )
    return passed(f"{abs(away.total_seconds()):.0f} s away")
