"""What this machine must have before a node can start: checked all at once, reported in one error.

Programs are declared by `build/prerequisites.py`; here are root, the kernel, room and limits.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from k3s_nvidia_edge.sandbox import cgroups, kernel
from k3s_nvidia_edge.sandbox.build.prerequisites import FOR_NODE, missing
from k3s_nvidia_edge.sandbox.command import CommandError, run
from k3s_nvidia_edge.sandbox.errors import PrerequisiteError

__all__ = ["Machine", "check", "inspect", "lacking", "load_modules"]

_NAMESPACES: Final = ("mnt", "net", "pid", "uts", "ipc", "cgroup")
_CONTROLLERS: Final = ("cpu", "cpuset", "memory", "pids")
_CAPABILITIES: Final = {"CAP_NET_ADMIN": 12, "CAP_SYS_CHROOT": 18, "CAP_SYS_ADMIN": 21, "CAP_MKNOD": 27}
_MODULES: Final = {
    "overlay": "overlayfs, for containers",
    "br_netfilter": "bridge netfilter, for cluster addresses",
}
_FREE_BYTES: Final = 3_000_000_000  # the images of a full stack, unpacked
_FREE_MEMORY_BYTES: Final = 2_000_000_000  # the node itself takes 0.8 GB
_INOTIFY_INSTANCES: Final = 40  # a node with a full stack held 24 to 30
_NO_UPPER_LAYER: Final = ("overlay", "nfs", "nfs4", "cifs", "fuseblk", "vfat", "9p", "virtiofs")
_MODPROBE_TIMEOUT_S: Final = 20.0


class Machine(msgspec.Struct, frozen=True):
    """The facts that decide whether, and how, a node can run here.

    Attributes:
        file_system: kind of the file system that the state directory lies on.
        modules_loadable: whether the kernel can load modules at all.
    """

    root: bool
    capabilities: frozenset[int]
    namespaces: frozenset[str]
    overlay: bool
    bridge_netfilter: bool
    modules_loadable: bool
    hierarchies: tuple[cgroups.Hierarchy, ...]
    controllers: frozenset[str]
    file_system: str
    free_bytes: int
    free_memory_bytes: int
    inotify_limit: int
    inotify_used: int
    absent_programs: tuple[str, ...]

    @property
    def may_raise_limits(self) -> bool:
        """CAP_SYS_RESOURCE: runc may lower oom_score_adj, and limits may be raised."""
        return kernel.CAP_SYS_RESOURCE in self.capabilities


def inspect(state_dir: Path) -> Machine:
    """Look at this machine."""
    mountinfo = _read("/proc/self/mountinfo")
    found = cgroups.hierarchies(_read("/proc/self/cgroup"), mountinfo)
    near = _existing(state_dir)
    return Machine(
        root=os.geteuid() == 0,
        capabilities=kernel.effective_capabilities(_read("/proc/self/status")),
        namespaces=frozenset(name for name in _NAMESPACES if Path(f"/proc/self/ns/{name}").exists()),
        overlay="\toverlay\n" in _read("/proc/filesystems"),
        bridge_netfilter=Path("/proc/sys/net/bridge/bridge-nf-call-iptables").exists(),
        modules_loadable=Path("/proc/modules").exists(),
        hierarchies=found,
        controllers=_controllers(found),
        file_system=file_system_of(near, mountinfo),
        free_bytes=shutil.disk_usage(near).free,
        free_memory_bytes=_memory(_read("/proc/meminfo")),
        inotify_limit=int(_read("/proc/sys/fs/inotify/max_user_instances") or 0),
        inotify_used=_inotify_used(),
        absent_programs=tuple(
            f"{one.name} ({one.purpose}): apt-get install {one.package}" for one in missing(FOR_NODE)
        ),
    )


def lacking(machine: Machine, state_dir: Path) -> Iterator[str]:
    """One line for each thing that this machine lacks, with its next step."""
    if not machine.root:
        yield "root is needed for namespaces, mounts and the network: run it with sudo"
        return  # the rest looks different to root
    for name, number in _CAPABILITIES.items():
        if number not in machine.capabilities:
            yield f"{name} is missing although this is root: leave this container, or give it that capability"
    for name in _NAMESPACES:
        if name not in machine.namespaces:
            yield f"the kernel has no {name} namespaces: use a kernel with CONFIG_NAMESPACES and its parts"
    for module, purpose in _absent_modules(machine).items():
        yield f"the kernel has no {module} ({purpose}) and cannot load it: use a kernel with it"
    for name in _CONTROLLERS:
        if name not in machine.controllers:
            yield f"cgroup controller {name} is not mounted or not handed down: mount it below /sys/fs/cgroup"
    if machine.file_system in _NO_UPPER_LAYER:
        yield (
            f"{state_dir} lies on {machine.file_system}, which cannot hold container layers: "
            "choose a directory on a disk with --state-dir"
        )
    if machine.free_bytes < _FREE_BYTES:
        free, needed = machine.free_bytes / 1e9, _FREE_BYTES / 1e9
        yield f"{state_dir} has {free:.1f} GB free, {needed:.0f} GB are needed: make room"
    if machine.free_memory_bytes < _FREE_MEMORY_BYTES:
        free, needed = machine.free_memory_bytes / 1e9, _FREE_MEMORY_BYTES / 1e9
        yield f"{free:.1f} GB of memory are available, {needed:.0f} GB are needed: stop something"
    if machine.inotify_limit - machine.inotify_used < _INOTIFY_INSTANCES:
        yield (
            f"{machine.inotify_used} of {machine.inotify_limit} inotify instances are in use and "
            f"{_INOTIFY_INSTANCES} are needed: sysctl fs.inotify.max_user_instances=512"
        )
    yield from machine.absent_programs


def check(machine: Machine, state_dir: Path, files: Iterable[Path]) -> None:
    """Raise one PrerequisiteError that lists everything; `files` are the programs that the node starts."""
    absent = [path for path in files if not path.exists()]
    found = [*lacking(machine, state_dir)]
    if absent:
        names = ", ".join(sorted(path.name for path in absent))
        found.append(f"not built yet in {absent[0].parent}: {names}: run `edge sandbox build`")
    if found:
        raise PrerequisiteError(tuple(found))


def _absent_modules(machine: Machine) -> dict[str, str]:
    there = {"overlay": machine.overlay, "br_netfilter": machine.bridge_netfilter}
    return {name: purpose for name, purpose in _MODULES.items() if not there[name]}


def load_modules(machine: Machine) -> tuple[str, ...]:
    """Load the kernel modules that are missing; returns those that are there now.

    Never run where anything was loaded: the kernel at hand had everything built in.
    """
    if not machine.root or not machine.modules_loadable:
        return ()
    loaded: list[str] = []
    for name in _absent_modules(machine):
        try:
            run(["modprobe", name], timeout_s=_MODPROBE_TIMEOUT_S)
        except CommandError:
            continue  # said by the check that follows
        loaded.append(name)
    return tuple(loaded)


def unload_modules(names: Sequence[str]) -> None:
    """Unload what `load_modules` loaded; a module that something uses by now stays."""
    for name in names:
        run(["modprobe", "--remove", name], timeout_s=_MODPROBE_TIMEOUT_S, check=False)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _existing(path: Path) -> Path:
    """The path itself or the nearest directory above it that exists."""
    return next(one for one in (path, *path.parents) if one.exists())


def _controllers(found: Iterable[cgroups.Hierarchy]) -> frozenset[str]:
    names: set[str] = set()
    for one in found:
        if one.unified:
            # what the top has can be handed down; whether it may be is seen when it is tried
            names.update(_read(str(one.mount_point / "cgroup.controllers")).split())
        names.update(one.controllers)
    return frozenset(names)


def _memory(meminfo: str) -> int:
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def _inotify_used() -> int:
    """Inotify instances of root's processes; those of a process that ends meanwhile do not count."""
    used = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid != 0:
                continue
            handles = (str(handle.readlink()) for handle in (process / "fd").iterdir())
            used += sum(target == "anon_inode:inotify" for target in handles)
        except OSError:
            continue
    return used


def file_system_of(path: Path, mountinfo: str) -> str:
    """The kind of the file system that a path lies on, by the longest mount point above it."""
    best, kind = "", ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right:  # noqa: PLR2004 - the mount point is the fifth field
            continue
        point = fields[4].encode().decode("unicode_escape")  # a space is written \040
        if (path == Path(point) or Path(point) in path.parents) and len(point) >= len(best):
            best, kind = point, right.split()[0]
    return kind
