"""The record of an installation: which files of the host are ours, and the checksums they had."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from edge_llm_tests.errors import EdgeError

from k3s_nvidia_edge.node.disk import put_bytes
from k3s_nvidia_edge.node.layout import BINARY, DATA_DIRECTORIES, LINKS, RECORD, UNIT, below

__all__ = ["InstallRecord", "load_record", "save_record"]

_SCHEMA = "edge.node/v1"
_PLACES = frozenset((BINARY, UNIT, *LINKS, *DATA_DIRECTORIES))
_FOLDERS = ("/etc/rancher/", "/var/lib/rancher/")


class InstallRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was installed.

    It is written before the first change and after the last: an interrupted run knows what is its own.

    Attributes:
        version: The k3s release.
        profile: The profile that it was installed for.
        complete: Whether the last run came to its end.
        files: Path to the checksums that a file of ours may have: the one it had, the one it gets.
        links: Path to what the link points to.
        directories: Made by us, outermost first; removed when empty.
        data: Folders that were not there before k3s filled them.
        schema: Version of this format.
    """

    version: str
    profile: str
    complete: bool = False
    files: dict[str, tuple[str, ...]] = {}
    links: dict[str, str] = {}
    directories: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    schema: str = _SCHEMA

    def owns(self, path: str, sha256: str) -> bool:
        """Whether the file is as we left it."""
        return sha256 in self.files.get(path, ())


def load_record(root: Path) -> InstallRecord | None:
    """The record on the host; None where nothing was installed by us.

    Raises:
        EdgeError: It is there and cannot be read.
    """
    path = below(root, RECORD)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EdgeError(
            f"{path}: {error.strerror}",
            "run it as root: the record of the installation is root's"
            if isinstance(error, PermissionError)
            else "put it right: it is the record of the installation",
        ) from None
    try:
        record = msgspec.json.decode(content, type=InstallRecord)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EdgeError(
            f"{path}: not a record of an installation ({error})",
            "restore it from a backup; without it nothing of k3s is taken for ours",
        ) from None
    if record.schema != _SCHEMA:
        raise EdgeError(
            f"{path}: schema {record.schema!r}, this version reads {_SCHEMA!r}",
            "use the version of edge that wrote it",
        )
    for named in (*record.files, *record.links, *record.directories, *record.data):
        if not _is_of_k3s(named) or (named in record.data and named not in DATA_DIRECTORIES):
            raise EdgeError(
                f"{path}: it names {named[:80]!r}, which is no place of k3s",
                "restore it from a backup; what it names would be deleted by `edge node uninstall`",
            )
    return record


def _is_of_k3s(path: str) -> bool:
    """Whether an installation of ours may have put something there."""
    if ".." in path.split("/"):
        return False
    return path in _PLACES or f"{path}/".startswith(_FOLDERS)


def save_record(root: Path, record: InstallRecord) -> None:
    """Write the record, complete or not at all, readable by root alone."""
    content = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
    put_bytes(below(root, RECORD), content, 0o600)


def merged(
    one: Mapping[str, tuple[str, ...]], other: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Both, with the checksums of each path joined."""
    paths = dict.fromkeys((*one, *other))
    return {path: tuple(dict.fromkeys((*one.get(path, ()), *other.get(path, ())))) for path in paths}
