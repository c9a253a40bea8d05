"""A removal of k3s: what `edge` installed and nobody edited since; data stays unless it is told to go."""

import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from edge_llm_tests.errors import EdgeError

from k3s_nvidia_edge.node.disk import file_sha256
from k3s_nvidia_edge.node.installation import Host
from k3s_nvidia_edge.node.layout import (
    DATA_DIRECTORIES,
    KUBECONFIG,
    LOCK,
    RECORD,
    SERVICE,
    UNIT,
    below,
    require_inside,
)
from k3s_nvidia_edge.node.record import InstallRecord, load_record, save_record

__all__ = ["Removal", "forget", "removable", "remove"]

_MOUNTS = "/proc/self/mounts"
_UNMOUNT_DEADLINE_S = 20.0
_MOUNTED_BY_K3S = ("/run/k3s/", "/run/netns/cni-", "/var/lib/kubelet/pods/", "/var/lib/kubelet/plugins/")
"""What begins so was mounted for a pod; a disk of the operator's never is."""


@dataclass
class Removal:
    """What goes, or went, and what stays.

    Attributes:
        files: Files, links and folders of ours, in the order of going.
        data: Folders that k3s filled, which go with `purge`.
        kept: Path to the reason why it stays.
    """

    files: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


def removable(host: Host, *, purge: bool) -> tuple[InstallRecord | None, Removal]:
    """What a removal would do; the record is None where nothing was installed by us. Reads only.

    Raises:
        UsageError: A link leads out of the host's root.
    """
    record = load_record(host.root)
    found = Removal()
    if record is None:
        return None, found
    require_inside(host.root, (*record.files, *record.links, *record.directories, *DATA_DIRECTORIES, RECORD))
    for path, sums in reversed(record.files.items()):
        here = below(host.root, path)
        if not here.is_file():
            continue
        if file_sha256(here) in sums:
            found.files.append(path)
        else:
            found.kept[path] = "it was edited since it was installed"
    for path, target in record.links.items():
        here = below(host.root, path)
        if here.is_symlink() and str(here.readlink()) == target:
            found.files.append(path)
        elif here.exists():
            found.kept[path] = "it is no longer the link that was installed"
    if below(host.root, KUBECONFIG).exists():
        found.files.append(KUBECONFIG)  # k3s writes it at each start
    there = [path for path in record.data if below(host.root, path).exists()]
    if purge:
        found.data = there
    else:
        found.kept.update(dict.fromkeys(there, "data of the cluster (`--purge` deletes it)"))
    return record, found


def remove(host: Host, record: InstallRecord, found: Removal, tell: Callable[[str], None]) -> None:
    """Stop the service, then take away what `removable` found; interrupted, the next run goes on.

    Raises:
        EdgeError: The service does not stop, a file cannot be removed, or something is mounted in the data.
    """
    for path in found.data:
        if below(host.root, path).is_symlink():  # said before anything is stopped
            raise EdgeError(
                f"{below(host.root, path)} is a link, not a folder", "remove it and what it points to by hand"
            )
    with host.alone():
        unit = below(host.root, UNIT).exists()
        if unit or host.service.state().active not in ("inactive", "failed"):
            tell(f"{SERVICE} is stopped and disabled")
            host.service.stop(unit=unit)
        _unmount(host.root, tell)
        try:
            for path in found.data:
                tell(path)
                _delete_tree(host.root, path)
            for path in found.files:
                tell(path)
                below(host.root, path).unlink(missing_ok=True)
            disks = frozenset(_mounted(host.root, record.directories))
            for path in reversed(record.directories):
                with suppress(OSError):  # not empty, or gone
                    if path not in disks:
                        below(host.root, path).rmdir()
        except OSError as error:
            raise EdgeError(
                f"{error.filename}: {error.strerror}", "put it right and run the same again"
            ) from None
        host.service.reload()
        _remember(host.root, record, found)


def forget(host: Host, record: InstallRecord, found: Removal) -> None:
    """Bring the record to what is left, where somebody took everything away by hand."""
    with host.alone():
        _remember(host.root, record, found)


def _delete_tree(root: Path, path: str) -> None:
    """Delete a folder of data, unless something is mounted in it: that is somebody's volume."""
    here = below(root, path)
    if mounted := _mounted(root, (f"{path}/",)):
        raise EdgeError(
            f"{mounted[0]} is still mounted, and {here} is not deleted with a volume in it",
            f"unmount it (`umount {mounted[0]}`) and run the same again",
        )
    for child in here.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        else:
            child.unlink()
    if not _mounted(root, (path,)):  # a disk of its own stays mounted, empty
        here.rmdir()


def _mounted(root: Path, beginnings: tuple[str, ...]) -> list[str]:
    """Mount points that begin with one of these, innermost first."""
    try:
        lines = below(root, _MOUNTS).read_text().splitlines()
    except OSError:
        return []
    points = {fields[1].replace("\\040", " ") for line in lines if len(fields := line.split()) > 1}
    return sorted((point for point in points if point.startswith(beginnings)), reverse=True)


def _unmount(root: Path, tell: Callable[[str], None]) -> None:
    """Unmount what was mounted for pods; what does not let go is named by who would delete it."""
    for point in _mounted(root, _MOUNTED_BY_K3S):
        tell(f"umount {point}")
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603 - a fixed program, no shell
                ["umount", below(root, point)],  # noqa: S607 - the host's own
                capture_output=True,
                timeout=_UNMOUNT_DEADLINE_S,
                check=False,
            )


def _remember(root: Path, record: InstallRecord, found: Removal) -> None:
    """Forget the installation; what stays of it is remembered as ours, so that the next one takes it up."""
    left = tuple(path for path in record.data if below(root, path).exists())
    edited = {path: sums for path, sums in record.files.items() if path in found.kept}
    if left or edited:
        folders = tuple(path for path in record.directories if below(root, path).exists())
        rest = {"complete": True, "files": edited, "links": {}, "directories": folders, "data": left}
        save_record(root, msgspec.structs.replace(record, **rest))
        return
    below(root, RECORD).unlink(missing_ok=True)
    below(root, LOCK).unlink(missing_ok=True)
    with suppress(OSError):  # there is more in it
        below(root, RECORD).parent.rmdir()
