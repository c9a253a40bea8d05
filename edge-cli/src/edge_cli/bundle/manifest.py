"""A bundle's manifest: what is in it, how large, and with which checksums. Whoever made it is not trusted."""

import re
from typing import Literal

import msgspec
from edge_llm_tests.errors import EdgeError, ExitCode

__all__ = ["LIMITS", "NAME", "SCHEMA", "BundleError", "Entry", "Limits", "Manifest", "parse_manifest"]

SCHEMA = "edge.bundle/v1"
NAME = "manifest.json"
_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=@-]*")
_FOLDERS = {"chart": "charts", "image": "images", "model": "models", "k3s": "k3s", "lock": "lock"}
_DEPTH_LIMIT = 8
_PATH_LIMIT = 240
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_BLOB = re.compile(r"models/blobs/sha256-(?P<sha256>[0-9a-f]{64})")  # Ollama goes by the name alone
_TEXT_LIMIT = 300


class BundleError(EdgeError):
    """A bundle is damaged, is not what it says, or tries what it may not."""

    exit_code = ExitCode.USAGE

    def __init__(
        self,
        bundle: object,
        said: str,
        step: str = "nothing of it was kept; fetch it again, and ask who made it if it persists",
    ) -> None:
        super().__init__(f"bundle {bundle}: {said}", step)


class Limits(msgspec.Struct, frozen=True):
    """What a bundle may be at most.

    Attributes:
        manifest_bytes: Size of the manifest.
        entries: Number of entries.
        total_bytes: All entries together, unpacked.
    """

    manifest_bytes: int = 8 << 20
    entries: int = 10_000
    total_bytes: int = 4 << 40


LIMITS = Limits()


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a bundle.

    Attributes:
        path: Where it lies in the bundle, below the folder of its kind.
        kind: What it is.
        size: Bytes.
        sha256: Hexadecimal SHA-256 of the bytes.
        name: Chart, image reference or model that it belongs to; empty for other files.
        version: Version of a chart.
        digest: `sha256:...` of an image's manifest, as a cluster names it.
        index: `sha256:...` of what its reference is in the registry; its archive holds it. Empty for none.
    """

    path: str
    kind: Literal["chart", "image", "model", "k3s", "lock"]
    size: int
    sha256: str
    name: str = ""
    version: str = ""
    digest: str = ""
    index: str = ""


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is in a bundle.

    Attributes:
        schema: `edge.bundle/v1`.
        profile: Profile that it was made for.
        architecture: `amd64` or `arm64`.
        edge_version: Version of the toolkit that made it: its own charts are not in it.
        created_at: When, RFC 3339.
        entries: Its files in the order in which they lie in the archive.
    """

    schema: str
    profile: str
    architecture: str
    edge_version: str
    created_at: str
    entries: tuple[Entry, ...]

    @property
    def total_bytes(self) -> int:
        """Size of all entries, unpacked."""
        return sum(entry.size for entry in self.entries)

    def of(self, kind: str) -> tuple[Entry, ...]:
        """The entries of a kind."""
        return tuple(entry for entry in self.entries if entry.kind == kind)


def parse_manifest(content: bytes, bundle: object, limits: Limits = LIMITS) -> Manifest:
    """The manifest, with every name and number in it checked.

    Args:
        content: Its JSON.
        bundle: What to call the bundle in an error.
        limits: What it may be at most.

    Raises:
        BundleError: It is not one, or names what may not be.
    """
    try:
        schema = msgspec.json.decode(content, type=_Head).schema
        if schema != SCHEMA:
            raise BundleError(bundle, f"its schema is {schema[:80]!r}; this version reads {SCHEMA!r}")
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(bundle, f"its manifest is not right: {str(error)[:_TEXT_LIMIT]}") from None
    _check_numbers(manifest, bundle, limits)
    about = (manifest.profile, manifest.architecture, manifest.edge_version, manifest.created_at)
    if odd := next((each for each in about if not _is_shown(each)), ""):
        raise BundleError(bundle, f"its manifest holds {odd[:80]!r}, which is no name")
    seen: set[str] = set()
    for entry in manifest.entries:
        if said := _wrong(entry):
            raise BundleError(bundle, f"entry {entry.path[:80]!r}: {said}")
        folded = entry.path.casefold()
        if folded in seen:
            raise BundleError(bundle, f"entry {entry.path[:80]!r} is listed twice")
        seen.add(folded)
    for path in seen:
        above = path.rpartition("/")[0]
        while above:
            if above in seen:
                raise BundleError(bundle, f"entry {above[:80]!r} is a file and a folder")
            above = above.rpartition("/")[0]
    return manifest


class _Head(msgspec.Struct):
    schema: str


def _check_numbers(manifest: Manifest, bundle: object, limits: Limits) -> None:
    if len(manifest.entries) > limits.entries:
        raise BundleError(bundle, f"it has {len(manifest.entries)} entries, and {limits.entries} are allowed")
    if any(entry.size < 0 for entry in manifest.entries):
        raise BundleError(bundle, "an entry has a negative size")
    if manifest.total_bytes > limits.total_bytes:
        raise BundleError(
            bundle, f"it unpacks to {manifest.total_bytes} bytes, and {limits.total_bytes} are allowed"
        )


def _wrong(entry: Entry) -> str:
    """Why the entry may not be; empty where it may."""
    folder, *rest = entry.path.split("/")
    if folder != _FOLDERS[entry.kind] or not rest:
        return f"a {entry.kind} lies in {_FOLDERS[entry.kind]}/"
    if len(entry.path) > _PATH_LIMIT or len(rest) > _DEPTH_LIMIT:
        return "its path is too long"
    if not all(_SEGMENT.fullmatch(each) for each in rest):
        return "its path is not one of a bundle (no `..`, no absolute or hidden names)"
    if not _SHA256.fullmatch(entry.sha256):
        return "its checksum is no SHA-256"
    if (blob := _BLOB.fullmatch(entry.path)) and blob["sha256"] != entry.sha256:
        return "its checksum is not the one that its name says"
    if odd := next((each for each in (entry.name, entry.version) if not _is_shown(each)), ""):
        return f"it is of {odd[:80]!r}, which is no name"
    if any(each and not _DIGEST.fullmatch(each) for each in (entry.digest, entry.index)):
        return "its digest is no SHA-256"
    return ""


def _is_shown(text: str) -> bool:
    """Whether it is what a terminal shows on part of a line, and does nothing else with."""
    return len(text) <= _TEXT_LIMIT and text.isprintable()
