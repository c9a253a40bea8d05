"""The image archives that the node is asked to import, and what became of each."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from k3s_nvidia_edge.sandbox import wire
from k3s_nvidia_edge.sandbox.layout import Layout

__all__ = ["Archive", "Outcome", "canonical", "outcomes", "pending"]


class Archive(msgspec.Struct, frozen=True):
    """One image archive; `digest` changes whenever the image does."""

    ref: str
    path: Path
    digest: str


class Outcome(msgspec.Struct, frozen=True):
    """What became of one archive; `error` is empty where the image is in the node."""

    digest: str
    error: str = ""


def outcomes(layout: Layout) -> dict[str, Outcome]:
    """What the node's importer has written down, by image reference."""
    try:
        return wire.decode(layout.imported.read_bytes(), dict[str, Outcome])
    except (OSError, wire.BadWireError):
        return {}  # not started yet: then nothing is imported, which is what is said


def canonical(ref: str) -> str:
    """A reference as containerd spells it: a name without a host is of docker.io."""
    host, slash, _ = ref.partition("/")
    if not slash:
        return f"docker.io/library/{ref}"
    return ref if "." in host or ":" in host or host == "localhost" else f"docker.io/{ref}"


def pending(
    archives: Sequence[Archive], known: Mapping[str, Outcome], stored: frozenset[str]
) -> tuple[Archive, ...]:
    """The archives that still have to be imported, in the given order.

    Args:
        archives: what is asked for.
        known: what the importer has written down in this and earlier runs.
        stored: the references that containerd has, as it spells them.
    """
    return tuple(
        one
        for one in archives
        if canonical(one.ref) not in stored or known.get(one.ref) != Outcome(one.digest)
    )
