"""A survey of the host: what of k3s is there already, whose it is, and what k3s would stand on."""

import os
import platform
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from k3s_nvidia_edge.node.disk import file_sha256
from k3s_nvidia_edge.node.layout import (
    AUDIT_POLICY,
    BINARY,
    CONFIG,
    DATA,
    DATA_DIRECTORIES,
    DROP_INS,
    KUBECONFIG,
    RECORD,
    UNIT,
    below,
    require_inside,
)
from k3s_nvidia_edge.node.record import InstallRecord, load_record
from k3s_nvidia_edge.node.service import Service, ServiceState

__all__ = ["Entry", "Survey", "Trace", "survey"]

_BINARIES = (BINARY, "/usr/bin/k3s", "/opt/bin/k3s")
_UNITS = tuple(
    f"{folder}/{name}.service"
    for folder in ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
    for name in ("k3s", "k3s-agent", "rke2-server", "rke2-agent", "k0scontroller")
)
_SETTINGS = (CONFIG, AUDIT_POLICY, DROP_INS, KUBECONFIG)
_OPEN_TO_ALL = (DROP_INS, KUBECONFIG)
"""What is no sign of another installation beside ours: the administrator's, and what k3s writes."""
_WRITTEN_TO = (BINARY, CONFIG, UNIT, DATA, RECORD)
_OTHERS = (
    "/etc/rancher/rke2",
    "/var/lib/rancher/rke2",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/admin.conf",
    "/var/snap/microk8s",
    "/var/lib/k0s",
)
_PORTS = {6443: "Kubernetes API", 10250: "kubelet", 2379: "etcd", 2380: "etcd"}
_LISTENING = "0A"  # state of a socket in /proc/net/tcp
_RUNTIMES = ("/usr/bin", "/usr/local/bin", "/usr/sbin", "/usr/local/sbin", "/usr/local/nvidia/toolkit")
"""Where k3s looks for runtimes: its own folder of the GPU operator's, and the PATH of the unit."""


class Entry(msgspec.Struct, frozen=True):
    """What stands at a path: a checksum for a file, a target for a link; neither for a folder."""

    mode: int
    sha256: str = ""
    target: str = ""


class Trace(msgspec.Struct, frozen=True):
    """One sign of a cluster that we did not install: what it is, and where."""

    what: str
    where: str


class Survey(msgspec.Struct, frozen=True):
    """What the host showed.

    Attributes:
        machine: What `uname -m` says.
        entries: What stands at the paths that an installation is about.
        traces: Signs of a cluster that is not ours.
        service: State of the k3s service.
        record: What we installed; None for nothing.
        runtimes: Names of the NVIDIA runtimes that k3s would find.
        systemd: Whether systemd runs the host.
        default_route: Whether the host has one; k3s does not start without.
        may_write: Whether this process may change the host.
        read_only: Folders on file systems that nobody may write to.
        selinux_policy: Whether SELinux is off, or has the policy of k3s.
        data: The folders that k3s fills, those with something in them.
    """

    machine: str
    entries: Mapping[str, Entry] = msgspec.field(default_factory=dict)
    traces: tuple[Trace, ...] = ()
    service: ServiceState = msgspec.field(default_factory=ServiceState)
    record: InstallRecord | None = None
    runtimes: frozenset[str] = frozenset()
    systemd: bool = True
    default_route: bool = True
    may_write: bool = True
    read_only: tuple[str, ...] = ()
    selinux_policy: bool = True
    data: tuple[str, ...] = ()


def survey(root: Path, service: Service, paths: Iterable[str]) -> Survey:
    """Look at the host below `root`, at `paths` among others; reads only.

    Raises:
        UsageError: A link leads out of `root`.
    """
    record = load_record(root)
    looked_at = dict.fromkeys((*paths, *(record.files if record else ()), *(record.links if record else ())))
    require_inside(root, (*looked_at, *DATA_DIRECTORIES, RECORD, UNIT))
    closed = {path for path in _WRITTEN_TO if not os.access(_nearest(below(root, path).parent), os.W_OK)}
    read_only = {path for path in closed if _is_read_only(_nearest(below(root, path).parent))}
    entries = {path: entry for path in looked_at if (entry := _entry(below(root, path))) is not None}
    return Survey(
        platform.machine(),
        entries,
        _traces(root, record),
        service.state(),
        record,
        _runtimes(root),
        below(root, "/run/systemd/system").is_dir(),
        _default_route(root),
        closed <= read_only,
        tuple(sorted({str(Path(path).parent) for path in read_only})),
        _selinux_policy(root),
        tuple(path for path in DATA_DIRECTORIES if _something(below(root, path))),
    )


def _selinux_policy(root: Path) -> bool:
    """Whether SELinux lets k3s run: it does not enforce, or the package k3s-selinux is there."""
    try:
        enforces = below(root, "/sys/fs/selinux/enforce").read_text().strip() == "1"
    except OSError:
        return True
    return not enforces or below(root, "/usr/share/selinux/packages/k3s.pp").exists()


def _entry(path: Path) -> Entry | None:
    try:
        seen = path.lstat()
    except OSError:
        return None
    mode = stat.S_IMODE(seen.st_mode)
    if stat.S_ISLNK(seen.st_mode):
        return Entry(mode, target=str(path.readlink()))
    if not stat.S_ISREG(seen.st_mode):
        return Entry(mode)
    try:
        return Entry(mode, file_sha256(path))
    except OSError:
        return Entry(mode, "unreadable")


def _is_read_only(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _nearest(path: Path) -> Path:
    """The folder itself, or the nearest above that is there."""
    return next(each for each in (path, *path.parents) if each.exists())


def _traces(root: Path, record: InstallRecord | None) -> tuple[Trace, ...]:
    ours = {*record.files, *record.links} if record else set()
    data = record.data if record else ()
    found = [
        *(Trace("a k3s program", path) for path in _BINARIES if path not in ours),
        *(Trace("a systemd unit", path) for path in _UNITS if path not in ours),
        *(
            Trace("settings of k3s", path)
            for path in _SETTINGS
            if path not in ours and not (record and path in _OPEN_TO_ALL)
        ),
        *(Trace("data of k3s", path) for path in (DATA,) if path not in data),
        *(Trace("another Kubernetes", path) for path in _OTHERS),
    ]
    there = tuple(each for each in found if _something(below(root, each.where)))
    # what listens is ours where the rest is
    listening = (
        ()
        if record
        else tuple(Trace(f"a listening {_PORTS[port]}", f"port {port}") for port in _listening(root))
    )
    return (*there, *listening)


def _something(path: Path) -> bool:
    """Whether there is more than an empty folder."""
    try:
        return any(path.iterdir()) if path.is_dir() else path.is_symlink() or path.exists()
    except OSError:
        return True


def _listening(root: Path) -> tuple[int, ...]:
    ports: set[int] = set()
    for name in ("tcp", "tcp6"):
        try:
            lines = below(root, f"/proc/net/{name}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 3 and fields[3] == _LISTENING:  # noqa: PLR2004 - the state is the fourth field
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return tuple(port for port in _PORTS if port in ports)


def _runtimes(root: Path) -> frozenset[str]:
    names = {"nvidia-container-runtime": "nvidia", "nvidia-container-runtime.cdi": "nvidia-cdi"}
    return frozenset(
        handler
        for program, handler in names.items()
        for folder in _RUNTIMES
        if os.access(below(root, f"{folder}/{program}"), os.X_OK)
    )


def _default_route(root: Path) -> bool:
    """Whether a default route is there, by IPv4 or IPv6."""
    try:
        v4 = below(root, "/proc/net/route").read_text().splitlines()[1:]
    except OSError:
        v4 = []
    if any(len(fields := line.split()) > 1 and fields[1] == "00000000" for line in v4):
        return True
    try:
        v6 = below(root, "/proc/net/ipv6_route").read_text().splitlines()
    except OSError:
        return False
    for line in v6:
        fields = line.split()
        if len(fields) > 9 and fields[1] == "00" and set(fields[0]) == {"0"} and fields[9] != "lo":  # noqa: PLR2004 - the device is the tenth field
            return True
    return False
