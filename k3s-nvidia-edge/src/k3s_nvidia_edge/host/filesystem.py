"""File systems of the machine: whether one became read-only, or the disk below it fails."""

import re
from datetime import timedelta

from edge_llm_tests import Recording
from edge_llm_tests.objects import nodes
from edge_llm_tests.reads import UnseenError

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.host.kernel_log import KernelLog, kernel_log
from k3s_nvidia_edge.host.memory import devices, disks, sources
from k3s_nvidia_edge.host.spare_disk import is_spare, spare_devices
from k3s_nvidia_edge.host.surfaced import unwritable_path

__all__ = ["MOUNTS_PATH", "filesystem_fault", "read_only_mounts"]

MOUNTS_PATH = "/proc/mounts"
_NEEDED = ("/", "/var", "/var/lib", "/var/lib/kubelet")
_NEEDED_BELOW = "/var/lib/rancher"
_PSEUDO = frozenset({"overlay", "tmpfs", "squashfs", "proc", "sysfs", "iso9660", "erofs"})
_FIELDS_MIN = 4
_POOL_FULL = re.compile(r"device-mapper: thin: \S+: (?:switching pool to (?:out-of|read-only)|no free space)")
_BLOCKED = re.compile(
    r"INFO: task (?:jbd2|xfs|btrfs|txg_sync|kworker|k3s|containerd|kubelet|kine|etcd|systemd-journal)\S*:\d+"
    r" blocked for more than"
)
"""Whoever writes for the node; what waits for its card is called otherwise."""

_SILENT = ("unreachable", "timeout")
_SERVER_ERROR = 500
_RECENT = timedelta(hours=1)
_REPORTS = timedelta(minutes=10)  # a kubelet reports every five minutes at least
_READ_ONLY = re.compile(
    r"\((?P<a>[\w.-]+)\): Remounting filesystem read-only"
    r"|BTRFS (?:info|error|warning|critical) \(device (?P<b>[\w.-]+)[^)]*\): forced readonly"
    r"|XFS \((?P<c>[\w.-]+)\): (?:Filesystem has been shut down|log I/O error -5)",
    re.IGNORECASE,
)
_WRITABLE = re.compile(r"\((?P<a>[\w.-]+)\): (?:re-?mounted .*r/w|mounted filesystem .*r/w)", re.IGNORECASE)
_FAILING = re.compile(
    r"I/O error, dev (?P<a>[\w-]+), sector|(?P<b>nvme\d+): Disabling device after reset failure"
    r"|Buffer I/O error on dev (?P<c>[\w-]+),"
    r"|Pool '(?P<pool>[\w.-]+)' has encountered an uncorrectable I/O failure and has been suspended",
    re.IGNORECASE,
)


def read_only_mounts(recording: Recording) -> tuple[str, ...]:
    """Mount points that the cluster writes to and that are read-only now. Use as `recording.view(...)`."""
    found: dict[str, bool] = {}
    for line in recording.file(MOUNTS_PATH).content.splitlines():
        fields = line.split()
        if len(fields) >= _FIELDS_MIN and fields[2] not in _PSEUDO:
            found[fields[1]] = "ro" in fields[3].split(
                ","
            )  # the last of several on one point is the one seen
    if not found:
        raise ValueError("lists no mount")
    return tuple(point for point, read_only in found.items() if read_only and _is_needed(point))


def filesystem_fault(recording: Recording) -> Fault | None:
    """What keeps the machine from writing to its disks; None where nothing was seen to.

    Raises:
        UnseenError: Neither the kernel log nor the mounts were seen, no pod complains, and nothing shows that
            the disk takes what is written.
    """
    log, mounts = recording.view(kernel_log), recording.view(read_only_mounts)
    if mounts.seen and mounts.value:
        return Fault(
            "FilesystemReadOnly",
            f"mounted read-only: {', '.join(mounts.value)}{_cause(log.or_else(KernelLog(())), recording)}",
        )
    if full := _full(recording):
        return Fault(
            "DiskFull",
            f"{full} has no space left, and k3s, which keeps its store there, does not answer",
            {"mount": full},
        )
    if log.seen and not mounts.seen and (said := _remounted(log.value, recording)):
        return Fault("FilesystemReadOnly", f"the kernel made a file system read-only: {said}")
    if log.seen and (stalled := _stalled(log.value, recording)):
        return Fault("DiskStalls", f"what is to be written waits for a disk that does not take it: {stalled}")
    if log.seen and (failing := _failing(log.value, recording)):
        return Fault("DiskFailing", f"the kernel reports I/O errors of a disk: {failing}")
    if complaint := recording.view(unwritable_path).or_else(""):
        return Fault("FilesystemReadOnly", f"pods cannot be started on a read-only file system: {complaint}")
    if not log.seen and not mounts.seen and not recording.view(_written_lately).or_else(default=False):
        raise log.unseen or UnseenError(f"file:{MOUNTS_PATH}", "NotObserved", "the mounts were not read")
    return None


def _written_lately(recording: Recording) -> bool:
    """Whether this one machine's cluster has just kept a report: its store is on the machine's disk."""
    every = recording.view(nodes).value
    heard = every[0].heard if len(every) == 1 else None
    return heard is not None and abs(recording.now - heard) <= _REPORTS


def _full(recording: Recording) -> str:
    """The mount point of a full disk that k3s writes to, where no API answers; empty otherwise."""
    disks_seen = recording.view(disks).or_else(())
    full = [each.mount for each in disks_seen if each.free_kib == 0 and _is_needed(each.mount)]
    return full[0] if full and recording.view(_api_is_silent).or_else(default=False) else ""


def _stalled(log: KernelLog, recording: Recording) -> str:
    """A thin pool without space; or a writer that the kernel found blocked, where no API answers."""
    recent = log.within(recording.now, _RECENT)
    line = recent.last(_POOL_FULL.search)
    if line is None and recording.view(_api_is_silent).or_else(default=False):
        line = recent.last(_BLOCKED.search)
    return line.text.strip()[:200] if line is not None else ""


def _api_is_silent(recording: Recording) -> bool:
    read = recording.api("/readyz")
    return read.error in _SILENT or (read.status or 0) >= _SERVER_ERROR


def _is_needed(mount: str) -> bool:
    return mount in _NEEDED or mount.startswith(_NEEDED_BELOW)


def _cause(log: KernelLog, recording: Recording) -> str:
    said = _remounted(log, recording)
    return f"; the kernel says: {said}" if said else ""


def _remounted(log: KernelLog, recording: Recording) -> str:
    """The newest line that made a file system read-only which was not mounted for writing since."""
    standing: dict[str, str] = {}
    spare = spare_devices(log, recording)
    for line in log.lines:
        if (found := _READ_ONLY.search(line.text)) is not None:
            standing[_device(found)] = line.text.strip()
        elif (found := _WRITABLE.search(line.text)) is not None:
            standing.pop(_device(found), None)
    return next((said for device, said in reversed(standing.items()) if not is_spare(device, spare)), "")


def _failing(log: KernelLog, recording: Recording) -> str:
    """The newest I/O error of the last hour, of a disk that is in use by the machine."""
    used, spare = recording.view(devices).or_else(frozenset()), spare_devices(log, recording)
    pools = frozenset(source.partition("/")[0] for source in recording.view(sources).or_else(()))
    line = log.within(recording.now, _RECENT).last(
        lambda text: (
            (found := _FAILING.search(text)) is not None
            and not is_spare(_device(found), spare)
            and _is_used(found, used, pools)
        )
    )
    return line.text.strip()[:200] if line is not None else ""


def _is_used(found: re.Match[str], used: frozenset[str], pools: frozenset[str]) -> bool:
    if found["pool"]:
        return found["pool"] in pools
    return not used or any(each.startswith(_device(found)) for each in used)


def _device(found: re.Match[str]) -> str:
    return next(name for name in found.groupdict().values() if name)
