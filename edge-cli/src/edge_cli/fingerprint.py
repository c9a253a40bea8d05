"""A release's fingerprint: what it would install, chart files and values, as one digest.

It travels in the description of the Helm revision, which every other way of changing the release (`helm
upgrade`, `helm rollback`, a failed upgrade) replaces: a revision that carries it was made from this content.
"""

import hashlib
import re
from collections.abc import Iterator
from importlib.resources.abc import Traversable

import msgspec
from edge_llm_tests.layer import Release, UpstreamChart

__all__ = ["described", "fingerprint", "fingerprint_of"]

_FORM = b"edge.release/v1"  # a change of what is digested must change every fingerprint
_WRITTEN = re.compile(r"\bsha256:([0-9a-f]{64})\b")


def fingerprint(release: Release) -> str:
    """Hexadecimal SHA-256 over the chart's files (its name and version, if not ours) and the values."""
    digest = hashlib.sha256(_FORM)
    if isinstance(release.chart, UpstreamChart):
        digest.update(b"\0upstream\0" + msgspec.json.encode(release.chart))
    else:
        for path, item in sorted(_files(release.chart, "")):
            content = item.read_bytes()
            digest.update(f"\0{path}\0{len(content)}\0".encode())
            digest.update(content)
    digest.update(b"\0values\0")
    digest.update(msgspec.json.encode(release.values, order="sorted"))
    return digest.hexdigest()


def described(release: Release, digest: str) -> str:
    """The description that a Helm revision of this content carries."""
    return f"edge: {release.layer} layer, content sha256:{digest}"


def fingerprint_of(description: str) -> str | None:
    """The fingerprint in a revision's description; None where the revision was made by other means."""
    found = _WRITTEN.search(description)
    return found[1] if found else None


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for item in folder.iterdir():
        if item.name == "__pycache__":
            continue
        path = f"{prefix}{item.name}"
        if item.is_dir():
            yield from _files(item, f"{path}/")
        else:
            yield path, item
