"""What `up` makes on this machine, written down before it is made, so that a later run can undo it.

A process is named by its pid, its start time and its pid namespace together, within one boot: pids are
reused.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from k3s_nvidia_edge.sandbox import wire
from k3s_nvidia_edge.sandbox.errors import RecordError

__all__ = ["Identity", "Record", "boot_id", "read", "remove", "write"]

_START_TIME_FIELD: Final = 21  # of /proc/<pid>/stat, counted from 0; proc(5) counts from 1
_STATE_FIELD: Final = 2


class Identity(msgspec.Struct, frozen=True):
    """One process of one boot."""

    pid: int
    start_ticks: int
    pid_namespace: str
    boot: str

    @classmethod
    def of(cls, pid: int) -> "Identity | None":
        """The identity of the living process that has this pid now."""
        fields = _stat_fields(pid)
        if fields is None or fields[_STATE_FIELD] in "ZX":
            return None
        try:
            namespace = str(Path(f"/proc/{pid}/ns/pid").readlink())
        except OSError:
            return None
        return cls(pid, int(fields[_START_TIME_FIELD]), namespace, boot_id())

    def alive(self) -> bool:
        """Whether that very process still runs."""
        return Identity.of(self.pid) == self


class Record(msgspec.Struct, frozen=True):
    """Everything outside the state directory that exists because of this sandbox.

    Attributes:
        sandbox: random, in the name of every cgroup.
        phase: `starting` until the node's supervisor runs, then `running`.
        init: the node's first process; None until it exists.
        cgroups: directories made for the node.
        link: the host's end of the node's cable.
        networks: ranges for which routes were added.
        modules: kernel modules loaded because they were missing.
    """

    sandbox: str
    boot: str
    started_at: float
    phase: str
    init: Identity | None
    cgroups: tuple[str, ...]
    link: str
    networks: tuple[str, ...]
    modules: tuple[str, ...] = ()

    def with_init(self, init: Identity) -> "Record":
        """The record, once the node's first process exists."""
        return replace(self, init=init)

    def running(self) -> "Record":
        """The record, once the supervisor runs."""
        return replace(self, phase="running")


def boot_id() -> str:
    """The kernel's name for this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _stat_fields(pid: int) -> list[str] | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # the program's name is in parentheses and may hold anything, spaces and parentheses too
    head, _, tail = stat.rpartition(")")
    return [head.split(" ", 1)[0], head, *tail.split()]


def read(path: Path) -> Record | None:
    """The record in a file; None where there is no such file."""
    try:
        return wire.decode(path.read_bytes(), Record)
    except FileNotFoundError:
        return None
    except wire.BadWireError as error:
        raise RecordError(
            f"{path} is not a sandbox record ({error}): "
            "look for leftovers (`ip link show sandbox0`), then remove the file"
        ) from error
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror}") from error


def write(path: Path, record: Record) -> None:
    """Put the record down, whole or not at all, and on the disk before anything that it names is made."""
    fresh = path.with_suffix(".new")
    with fresh.open("wb") as stream:
        stream.write(wire.pretty(record).encode())
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)


def remove(path: Path) -> None:
    """Forget: everything that was recorded is undone."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
