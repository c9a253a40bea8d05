"""The programs and files that the sandbox needs from the operating system, and their installation."""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from k3s_nvidia_edge.sandbox.build.errors import BuildError
from k3s_nvidia_edge.sandbox.build.process import Processes
from k3s_nvidia_edge.sandbox.errors import PrerequisiteError

__all__ = ["FOR_BUILD", "FOR_NODE", "Prerequisite", "ensure", "missing"]

SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LOCK_PATIENCE_S: Final = 300  # another package manager at work ends in minutes


class Prerequisite(msgspec.Struct, frozen=True):
    """One thing that the operating system has to provide.

    Attributes:
        name: a program (on PATH or in the system's sbin directories), or an absolute path to a file.
        package: the Debian package that brings it.
        purpose: what it is for, in a few words.
    """

    name: str
    package: str
    purpose: str

    @property
    def present(self) -> bool:
        """Whether this machine has it."""
        if self.name.startswith("/"):
            return Path(self.name).exists()
        return shutil.which(self.name, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}") is not None


FOR_BUILD: Final = (
    Prerequisite("gcc", "gcc", "compiles runc, kine and the pause container"),
    Prerequisite("g++", "g++", "compiles Ollama's engine"),
    Prerequisite("/usr/include/string.h", "libc6-dev", "headers for the compilers"),
    Prerequisite("pkg-config", "pkg-config", "finds libseccomp"),
    Prerequisite("/usr/include/seccomp.h", "libseccomp-dev", "runc filters system calls with it"),
    Prerequisite("mmdebstrap", "mmdebstrap", "makes the base image"),
    Prerequisite(
        "/usr/share/keyrings/debian-archive-keyring.gpg",
        "debian-archive-keyring",
        "verifies the base image's packages",
    ),
    Prerequisite("/etc/ssl/certs/ca-certificates.crt", "ca-certificates", "verifies downloads"),
)

FOR_NODE: Final = (
    Prerequisite("ip", "iproute2", "makes the node's network"),
    Prerequisite("iptables", "iptables", "kube-proxy writes its rules with it"),
    Prerequisite("ipset", "ipset", "the network policy controller writes its sets with it"),
    Prerequisite("conntrack", "conntrack", "kube-proxy clears stale connections with it"),
    Prerequisite("nsenter", "util-linux", "enters the node's namespaces"),
    Prerequisite("unshare", "util-linux", "makes the node's namespaces"),
    Prerequisite("mount", "mount", "mounts the node's file systems"),
    Prerequisite("sysctl", "procps", "sets the node's own kernel parameters"),
    Prerequisite("modprobe", "kmod", "the kubelet and kube-proxy ask it for kernel modules"),
)


def missing(wanted: Iterable[Prerequisite]) -> tuple[Prerequisite, ...]:
    """What of it this machine lacks."""
    return tuple(one for one in wanted if not one.present)


def ensure(
    wanted: Sequence[Prerequisite],
    *,
    log: Path,
    say: Callable[[str], None],
    processes: Processes | None = None,
) -> tuple[str, ...]:
    """Installs what is missing, saying so first; the names of the packages that were installed.

    Raises:
        PrerequisiteError: something is missing and this machine or user cannot install it.
        BuildError: apt-get failed.
    """
    lacking = missing(wanted)
    if not lacking:
        return ()
    packages = tuple(sorted({one.package for one in lacking}))
    if shutil.which("apt-get", path=SYSTEM_PATH) is None:
        raise PrerequisiteError(
            tuple(f"install {one.name} ({one.purpose}; Debian's package {one.package})" for one in lacking)
        )
    if os.geteuid() != 0:
        command = f"apt-get install --no-install-recommends {' '.join(packages)}"
        raise PrerequisiteError((f"run as root: {command}",))
    say(f"installing with apt-get: {' '.join(packages)}")
    _install(packages, log, processes or Processes())
    still = missing(lacking)
    if still:
        raise PrerequisiteError(
            tuple(f"{one.name} is still missing after {one.package} was installed" for one in still)
        )
    return packages


def _install(packages: Sequence[str], log: Path, processes: Processes) -> None:
    """Install, and once more with fresh package lists if the lists at hand are too old or absent."""
    environment = {
        "PATH": SYSTEM_PATH,
        "DEBIAN_FRONTEND": "noninteractive",
        "LC_ALL": "C.UTF-8",
        **{name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")},
    }
    apt = ["apt-get", "-q", "-y", "-o", f"DPkg::Lock::Timeout={LOCK_PATIENCE_S}"]
    install = [*apt, "install", "--no-install-recommends", *packages]
    advice = "check the machine's package sources and network, then run it again"
    try:
        processes.run(install, log=log, environment=environment, next_step=advice)
    except BuildError:
        processes.run([*apt, "update"], log=log, environment=environment, next_step=advice)
        processes.run(install, log=log, environment=environment, next_step=advice)
