"""Memory, disks and inotify of the host."""

import re

import msgspec
from edge_llm_tests import Recording

__all__ = ["Disk", "Memory", "devices", "disks", "inotify_instances", "memory", "mount_points", "sources"]

_FIELD = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)
_DF_COLUMNS = 6
_NO_DISKS = (
    "tmpfs",
    "devtmpfs",
    "overlay",
    "shm",
    "udev",
    "none",
    "efivarfs",
)  # an overlay counts where it is /


class Memory(msgspec.Struct, frozen=True):
    """System memory, MiB."""

    total_mib: int
    available_mib: int

    @property
    def available_percent(self) -> float:
        """Available share."""
        return 100 * self.available_mib / max(self.total_mib, 1)


class Disk(msgspec.Struct, frozen=True):
    """One mounted filesystem."""

    mount: str
    used_percent: int
    free_kib: int | None = None


def memory(recording: Recording) -> Memory:
    """System memory. Use as `recording.view(memory)`."""
    fields = {name: int(value) for name, value in _FIELD.findall(recording.file("/proc/meminfo").content)}
    return Memory(fields["MemTotal"] // 1024, fields["MemAvailable"] // 1024)


def disks(recording: Recording) -> tuple[Disk, ...]:
    """The mounted disks. Use as `recording.view(disks)`."""
    found: dict[str, Disk] = {}
    for line in recording.command("df -Pk").output.splitlines()[1:]:
        columns = line.split(None, _DF_COLUMNS - 1)
        if len(columns) != _DF_COLUMNS or not columns[4].endswith("%"):
            continue
        if columns[0] not in _NO_DISKS or columns[5] == "/":
            free = int(columns[3]) if columns[3].isdecimal() else None
            found.setdefault(columns[0], Disk(columns[5], int(columns[4].rstrip("%")), free))
    if not found:
        raise ValueError("lists no disk")
    return tuple(found.values())


def devices(recording: Recording) -> frozenset[str]:
    """Names of the block devices that are mounted, such as `nvme0n1p2`; none where a mapper hides them.

    Use as `recording.view(devices)`.
    """
    names = [line.split()[0] for line in recording.command("df -Pk").output.splitlines()[1:] if line.strip()]
    if any(name.startswith("/dev/mapper/") for name in names):
        return frozenset()
    return frozenset(name.removeprefix("/dev/") for name in names if name.startswith("/dev/"))


def sources(recording: Recording) -> tuple[str, ...]:
    """What is mounted, as `df` names it: a device, a data set of a pool. Use as `recording.view(sources)`."""
    lines = recording.command("df -Pk").output.splitlines()[1:]
    return tuple(line.split()[0] for line in lines if line.strip())


def mount_points(recording: Recording) -> dict[str, str]:
    """Mount points by the names of their block devices; a mapper's are left out.

    Use as `recording.view(mount_points)`.
    """
    lines = [line.split() for line in recording.command("df -Pk").output.splitlines()[1:]]
    return {
        columns[0].removeprefix("/dev/"): columns[-1]
        for columns in lines
        if len(columns) >= _DF_COLUMNS and columns[0].startswith("/dev/") and "mapper" not in columns[0]
    }


def inotify_instances(recording: Recording) -> int:
    """How many inotify instances one user may have. Use as `recording.view(inotify_instances)`."""
    return int(recording.file("/proc/sys/fs/inotify/max_user_instances").content)
