"""The node's root file system: a scratch layer above the host's, with /dev, /proc, /sys and /run of its own.

Built by the node's first process in its own mount namespace. Whatever the node writes outside its state
directory (mount points, /etc, /opt) lands in the scratch layer, in memory, and is gone with the node: nothing
of it reaches the host.
"""

import os
import stat
from pathlib import Path
from typing import Final

from k3s_nvidia_edge.sandbox import kernel
from k3s_nvidia_edge.sandbox.addresses import NODE_IP, NODE_NAME
from k3s_nvidia_edge.sandbox.inside.stage import MODULES, REAL_MODULES
from k3s_nvidia_edge.sandbox.layout import BIN_INSIDE, CNI_INSIDE, INSIDE, K3S_INSIDE, MODELS_INSIDE, Layout
from k3s_nvidia_edge.sandbox.plan import RootPlan

__all__ = ["enter"]

_SCRATCH_OPTIONS: Final = "mode=755,size=1g"
_DEVICES: Final = (
    ("null", 1, 3, 0o666),
    ("zero", 1, 5, 0o666),
    ("full", 1, 7, 0o666),
    ("random", 1, 8, 0o666),
    ("urandom", 1, 9, 0o666),
    ("kmsg", 1, 11, 0o644),
    ("tty", 5, 0, 0o666),
    ("fuse", 10, 229, 0o666),
)
_DEVICE_LINKS: Final = (
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
)
# The kubelet sets these when they differ, and they belong to the whole machine: it finds files that already
# agree with it.
_KUBELET_SYSCTLS: Final = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


def enter(plan: RootPlan) -> None:
    """Build the root file system and make it this process's root."""
    layout = Layout(plan.state_dir)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)  # nothing below is seen by the host
    kernel.mount("tmpfs", layout.scratch, "tmpfs", data=_SCRATCH_OPTIONS)
    os.chdir(layout.scratch)
    for name in ("upper", "work", "merged"):
        Path(name).mkdir()
    # relative names: a comma or colon in the state directory's path would break the option string
    kernel.mount("overlay", "merged", "overlay", data="lowerdir=/,upperdir=upper,workdir=work")
    for number, path in enumerate(plan.overlaid):  # a layer does not reach across the host's mount points
        upper, work = Path(f"upper{number}"), Path(f"work{number}")
        upper.mkdir()
        work.mkdir()
        target = Path("merged") / _inner(path)
        kernel.mount("overlay", target, "overlay", data=f"lowerdir={path},upperdir={upper},workdir={work}")
    os.chdir("merged")
    _pseudo_file_systems(plan)
    _host_directories(plan, layout)
    kernel.pivot_root(".", ".")
    kernel.unmount(".")  # the old root lies below the new one at the same place
    os.chdir("/")
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_SHARED)  # the kubelet wants to hand mounts on
    _devices()
    _sysctls()
    _modules()
    _names()


def _inner(path: Path) -> Path:
    """A path of the node, relative to the new root that is the working directory."""
    return path.relative_to("/")


def _bind(source: Path, target: Path, *, writable: bool = True) -> None:
    inner = _inner(target)
    inner.mkdir(parents=True, exist_ok=True)
    kernel.bind(source, inner, writable=writable)


def _host_directories(plan: RootPlan, layout: Layout) -> None:
    for path in plan.same_path:
        _bind(path, path, writable=False)
    _bind(plan.bin_dir, BIN_INSIDE, writable=False)
    _bind(plan.cni_dir, CNI_INSIDE, writable=False)
    for model in plan.models:
        inner = _inner(MODELS_INSIDE / model.name)
        inner.parent.mkdir(parents=True, exist_ok=True)
        inner.touch()
        kernel.bind(model, inner, writable=False)
    _bind(layout.state_dir, INSIDE)
    _bind(layout.k3s, K3S_INSIDE)
    _bind(layout.state_dir / "kubelet", Path("/var/lib/kubelet"))
    _bind(layout.state_dir / "cni", Path("/var/lib/cni"))
    _bind(layout.log / "pods", Path("/var/log/pods"))
    _bind(layout.log / "containers", Path("/var/log/containers"))


def _pseudo_file_systems(plan: RootPlan) -> None:
    kernel.mount("proc", "proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    # read-only: sysfs is the whole machine's, and nothing in the node has business there but below
    # /sys/fs/cgroup
    kernel.mount(
        "sysfs", "sys", "sysfs", kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    )
    if plan.cgroup_v1:
        kernel.mount("tmpfs", "sys/fs/cgroup", "tmpfs", data="mode=755")
        for one in plan.cgroup_v1:
            target = Path("sys/fs/cgroup") / one.name
            target.mkdir()
            kernel.mount("cgroup", target, "cgroup", data=one.options)  # rooted at this cgroup namespace
            for alone in one.name.split(",") if "," in one.name else ():
                (target.parent / alone).symlink_to(one.name)
    else:
        kernel.mount("cgroup2", "sys/fs/cgroup", "cgroup2")
        _delegate_unified(Path("sys/fs/cgroup"))
    for name, options in (("run", "mode=755"), ("tmp", "mode=1777"), ("dev", "mode=755")):
        kernel.mount("tmpfs", name, "tmpfs", data=options)
    if Path("proc/driver").is_dir():
        kernel.mount("tmpfs", "proc/driver", "tmpfs", data="mode=755")


def _delegate_unified(root: Path) -> None:
    """Hand controllers down, which a v2 cgroup may only do when it holds no process. Never run."""
    (root / "init").mkdir(exist_ok=True)
    (root / "init" / "cgroup.procs").write_text("0", encoding="ascii")
    for name in (root / "cgroup.controllers").read_text(encoding="ascii").split():
        (root / "cgroup.subtree_control").write_text(f"+{name}", encoding="ascii")


def _devices() -> None:
    """A /dev of its own, without the host's disks and cards."""
    dev = Path("/dev")
    os.umask(0)
    for name, major, minor, mode in _DEVICES:
        os.mknod(dev / name, stat.S_IFCHR | mode, os.makedev(major, minor))
    os.umask(0o022)
    for name, target in _DEVICE_LINKS:
        (dev / name).symlink_to(target)
    for name, kind, options in (
        ("pts", "devpts", "newinstance,ptmxmode=0666,mode=620"),
        ("shm", "tmpfs", "mode=1777"),
        ("mqueue", "mqueue", ""),
    ):
        (dev / name).mkdir()
        kernel.mount(kind, dev / name, kind, data=options)


def _sysctls() -> None:
    """The machine's settings, read-only; those that the kubelet insists on, as files that agree with it."""
    values = Path("/run/edge/sysctl")
    values.mkdir(parents=True)
    for name in ("kernel", "vm", "fs"):
        kernel.bind(f"/proc/sys/{name}", f"/proc/sys/{name}", writable=False)
    for name, value in _KUBELET_SYSCTLS.items():
        stand_in = values / name.replace("/", ".")
        stand_in.write_text(f"{value}\n", encoding="ascii")
        kernel.bind(stand_in, f"/proc/sys/{name}")


def _modules() -> None:
    """A /proc/modules that the simulation may add to, where the kernel has modules at all."""
    listed = Path("/proc/modules")
    if listed.exists():
        REAL_MODULES.write_text(listed.read_text(encoding="utf-8"), encoding="utf-8")
        MODULES.write_text(listed.read_text(encoding="utf-8"), encoding="utf-8")
        kernel.bind(MODULES, listed)


def _names() -> None:
    etc = Path("/etc")
    for name, text in (
        ("hostname", f"{NODE_NAME}\n"),
        ("hosts", f"127.0.0.1 localhost\n{NODE_IP} {NODE_NAME}\n"),
        ("resolv.conf", "# the node has no upstream resolver\n"),
    ):
        (etc / name).unlink(missing_ok=True)  # may be a link into /run
        (etc / name).write_text(text, encoding="utf-8")
    for name, target in (("run", "../run"), ("lock", "../run/lock")):
        link = Path("/var") / name
        # relative, so that it leads into the node for a reader that looks through /proc/<pid>/root
        if link.is_symlink():
            link.unlink()
            link.symlink_to(target)
