"""The few system calls of Linux that Python 3.11 does not offer, with its errors."""

import ctypes
import os
from pathlib import Path
from typing import Final

__all__ = [
    "CAP_SYS_RESOURCE",
    "bind",
    "effective_capabilities",
    "mount",
    "pivot_root",
    "read_only",
    "unmount",
    "unshare",
]

# linux/sched.h
CLONE_NEWNS: Final = 0x00020000
CLONE_NEWCGROUP: Final = 0x02000000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000

# linux/mount.h
MS_RDONLY: Final = 1
MS_NOSUID: Final = 2
MS_NOEXEC: Final = 8
MS_NODEV: Final = 4
MS_REMOUNT: Final = 32
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
MS_SHARED: Final = 1 << 20
MNT_DETACH: Final = 2

CAP_SYS_RESOURCE: Final = 24  # linux/capability.h

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones."""
    _check(_libc.unshare(flags), "unshare")


def mount(source: Path | str, target: Path | str, kind: str | None, flags: int = 0, data: str = "") -> None:
    """A file system, mounted."""
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    _check(result, f"mount {kind or source} on {target}")


def bind(source: Path | str, target: Path | str, *, writable: bool = True) -> None:
    """A bind mount of a file, or of a directory without what is mounted below it."""
    mount(source, target, None, MS_BIND)
    if not writable:
        read_only(target)


def read_only(target: Path | str) -> None:
    """An existing bind mount, made read-only."""
    mount("none", target, None, MS_BIND | MS_REMOUNT | MS_RDONLY)


def unmount(target: Path | str) -> None:
    """A lazy unmount: gone from the tree at once, from the kernel when nothing uses it."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount {target}")


def pivot_root(new_root: Path | str, put_old: Path | str) -> None:
    """The mount namespace's root, exchanged."""
    _check(_libc.pivot_root(os.fsencode(new_root), os.fsencode(put_old)), f"pivot_root {new_root}")


def effective_capabilities(status: str) -> frozenset[int]:
    """The effective capabilities in the text of a /proc/<pid>/status."""
    for line in status.splitlines():
        if line.startswith("CapEff:"):
            mask = int(line.split()[1], 16)
            return frozenset(number for number in range(mask.bit_length()) if mask >> number & 1)
    return frozenset()
