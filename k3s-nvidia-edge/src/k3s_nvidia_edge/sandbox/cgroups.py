"""The node's control groups on the host: planned, made, entered, emptied, removed.

cgroup v1 and hybrid machines give the node a directory of its own below the caller's own in every v1
hierarchy. On a unified (v2) machine the directory lies below the nearest ancestor that hands the needed
controllers down. The v2 way follows the kernel's documentation and has never been run: no v2 machine was at
hand.
"""

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from k3s_nvidia_edge.sandbox.errors import StartError

__all__ = [
    "Hierarchy",
    "abandoned",
    "directories",
    "end_processes",
    "hierarchies",
    "is_nodes",
    "make",
    "name_of",
    "remove",
]

_NEEDED_V2: Final = ("cpu", "cpuset", "memory", "pids")  # the kubelet does not start without them
_RMDIR_PAUSE_S: Final = 0.02
_KILL_PATIENCE_S: Final = 5.0


_NAME: Final = re.compile(r"edge-sandbox-[0-9a-f]{8}")
_YOUNG_S: Final = 30.0  # an empty directory may be one that a node is about to enter


class Hierarchy(msgspec.Struct, frozen=True):
    """One mounted hierarchy and the caller's own directory in it.

    Attributes:
        controllers: v1 controllers mounted together (`name=systemd` counts as one); empty for the unified
            hierarchy.
        mount_point: where the hierarchy is mounted.
        own: the caller's directory, below the mount point.
    """

    controllers: tuple[str, ...]
    mount_point: Path
    own: Path

    @property
    def unified(self) -> bool:
        """Whether this is cgroup v2."""
        return not self.controllers

    @property
    def mount_options(self) -> str:
        """What mount(2) wants to hear to mount the same v1 hierarchy elsewhere."""
        named = self.controllers[0].startswith("name=")
        return ",".join(("none", *self.controllers) if named else self.controllers)

    @property
    def directory_name(self) -> str:
        """The name of its mount point below /sys/fs/cgroup."""
        return ",".join(self.controllers).removeprefix("name=")


def hierarchies(self_cgroup: str, mountinfo: str) -> tuple[Hierarchy, ...]:
    """The hierarchies that the node needs, from /proc/self/cgroup and /proc/self/mountinfo.

    All v1 hierarchies where the memory controller is v1 (also on hybrid machines), else the unified one
    alone.
    """
    mounts = tuple(_cgroup_mounts(mountinfo))
    found: list[Hierarchy] = []
    for line in self_cgroup.splitlines():
        _, names, path = line.split(":", 2)
        controllers = tuple(names.split(",")) if names else ()
        for options, root, mount_point in mounts:
            unified = options is None
            if unified != (not controllers) or (options is not None and not set(controllers) <= options):
                continue
            inner = os.path.relpath(path, root)
            if inner.startswith(".."):
                continue  # mounted from a part of the tree that the caller is not in
            found.append(
                Hierarchy(controllers, mount_point, mount_point / inner if inner != "." else mount_point)
            )
            break
    v1 = tuple(hierarchy for hierarchy in found if not hierarchy.unified)
    if any("memory" in hierarchy.controllers for hierarchy in v1):
        return v1
    return tuple(hierarchy for hierarchy in found if hierarchy.unified)


def _cgroup_mounts(mountinfo: str) -> Iterator[tuple[frozenset[str] | None, str, Path]]:
    """Options (None for v2), root and mount point of every cgroup mount."""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, tail = left.split(), right.split()
        if not tail or tail[0] not in ("cgroup", "cgroup2"):
            continue
        options = frozenset(tail[2].split(",")) if tail[0] == "cgroup" else None
        yield options, fields[3], Path(fields[4])


def name_of(sandbox: str) -> str:
    """What the directories of a node are called; `sandbox` is its eight random digits."""
    return f"edge-sandbox-{sandbox}"


def is_nodes(name: str) -> bool:
    """Whether a directory of this name is a node's own."""
    return _NAME.fullmatch(name) is not None


def abandoned(mountinfo: str) -> tuple[Path, ...]:
    """Directories of nodes, wherever they lie, in which nothing runs and into which nothing is on its way."""
    mounts = dict.fromkeys(mount_point for _, _, mount_point in _cgroup_mounts(mountinfo))
    found: dict[Path, None] = {}
    for mount_point in mounts:
        for root, names, _ in os.walk(mount_point):
            nodes = [name for name in names if is_nodes(name)]
            found.update(dict.fromkeys(Path(root, name) for name in nodes))
            names[:] = [name for name in names if name not in nodes]
    return tuple(path for path in found if _empty(path))


def _empty(path: Path) -> bool:
    try:
        age_s = time.time() - path.stat().st_mtime
    except OSError:
        return False
    return age_s > _YOUNG_S and not any(_words(each / "cgroup.procs") for each in _tree(path))


def directories(found: Iterable[Hierarchy], name: str) -> tuple[Path, ...]:
    """The directory that the node gets in each hierarchy."""
    return tuple((_v2_parent(one) if one.unified else one.own) / name for one in found)


def _v2_parent(hierarchy: Hierarchy) -> Path:
    """The nearest directory from the caller's own upwards that hands all needed controllers down."""
    for candidate in (hierarchy.own, *hierarchy.own.parents):
        if set(_NEEDED_V2) <= set(_words(candidate / "cgroup.subtree_control")):
            return candidate
        if candidate == hierarchy.mount_point:
            break
    return hierarchy.mount_point


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except OSError:
        return []


def make(made: Iterable[tuple[Hierarchy, Path]]) -> None:
    """Make the node's directories; whoever enters one finds it usable."""
    for hierarchy, directory in made:
        if hierarchy.unified:
            _enable(directory.parent)
        directory.mkdir(exist_ok=True)
        if "cpuset" in hierarchy.controllers:
            # a v1 cpuset is born empty and takes no process until it has processors and memory
            for name in ("cpuset.cpus", "cpuset.mems"):
                (directory / name).write_text(
                    (directory.parent / name).read_text(encoding="ascii"), encoding="ascii"
                )
            (directory / "cgroup.clone_children").write_text("1", encoding="ascii")


def _enable(parent: Path) -> None:
    missing = [name for name in _NEEDED_V2 if name not in _words(parent / "cgroup.subtree_control")]
    try:
        for name in missing:
            (parent / "cgroup.subtree_control").write_text(f"+{name}", encoding="ascii")
    except OSError as error:
        raise StartError(
            f"cgroup v2: {parent} does not hand down {', '.join(missing)} ({error.strerror}): "
            "run the command in a delegated scope: `systemd-run --scope -p Delegate=yes edge sandbox up`"
        ) from error


def _tree(directory: Path) -> list[Path]:
    """The directory and all below it, deepest first."""
    return [Path(root) for root, _, _ in os.walk(directory, topdown=False)]


def end_processes(made: Iterable[Path]) -> None:
    """End whatever still runs in the node's own directories: nothing else ever enters them."""
    deadline = time.monotonic() + _KILL_PATIENCE_S
    paths = tuple(made)
    while time.monotonic() < deadline:
        pids = {
            int(word)
            for path in paths
            for directory in _tree(path)
            for word in _words(directory / "cgroup.procs")
            if word != "0"  # a process of another pid namespace that this one cannot see
        } - {os.getpid()}
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_RMDIR_PAUSE_S)


def remove(made: Iterable[Path], *, patience_s: float = 2.0) -> tuple[Path, ...]:
    """Remove the node's directories, deepest first; returns those that would not go in time.

    A dead process leaves its cgroup a moment after it left /proc, hence the patience.
    """
    left = tuple(path for path in made if path.exists())
    deadline = time.monotonic() + patience_s
    while left:
        for path in left:
            for directory in _tree(path):
                with contextlib.suppress(OSError):
                    directory.rmdir()
        left = tuple(path for path in left if path.exists())
        if not left or time.monotonic() > deadline:
            break
        time.sleep(_RMDIR_PAUSE_S)
    return left
