"""The difference between two Helm manifests, object by object; what is secret is hidden, not its change."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from enum import StrEnum
from typing import Any

import msgspec
from edge_llm_tests.redact import redact_text

from edge_cli.concealment import ANOTHER, concealed

__all__ = ["Change", "Kind", "difference"]

_CONTEXT_LINES = 2


class Kind(StrEnum):
    """What happens to an object."""

    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"
    KEEP = "keep"  # it leaves the manifest, and its own annotation says that Helm leaves it in the cluster


class Change(msgspec.Struct, frozen=True):
    """One object that would be another.

    Attributes:
        kind: What happens to it.
        name: `Deployment/ollama`, with its namespace where that is not the release's.
        lines: Lines of a unified diff, for a change.
    """

    kind: Kind
    name: str
    lines: tuple[str, ...] = ()


def difference(before: str, after: str, namespace: str) -> tuple[Change, ...]:
    """What the second manifest changes of what the first made.

    Args:
        before: What is installed; empty for nothing.
        after: What would be.
        namespace: The release's, that names need not repeat.
    """
    old, new = dict(_objects(before, namespace)), dict(_objects(after, namespace))
    changes = []
    for name in sorted({*old, *new}):
        if name not in old:
            changes.append(Change(Kind.ADD, name))
        elif name not in new:
            changes.append(Change(Kind.KEEP if _is_kept(old[name]) else Kind.REMOVE, name))
        elif lines := _lines(old[name], new[name]):
            changes.append(Change(Kind.CHANGE, name, lines))
    return tuple(changes)


def _objects(manifest: str, namespace: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    import yaml  # noqa: PLC0415 - 40 ms that only a plan pays

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for document in yaml.load_all(manifest, Loader=loader):
        if isinstance(document, dict) and "kind" in document:
            metadata = document.get("metadata") or {}
            place = metadata.get("namespace") or namespace
            where = "" if place == namespace else f" in {place}"
            yield f"{document['kind']}/{metadata.get('name', '')}{where}", document


def _is_kept(document: Mapping[str, Any]) -> bool:
    annotations = (document.get("metadata") or {}).get("annotations") or {}
    return annotations.get("helm.sh/resource-policy") == "keep"


def _lines(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    if old == new:
        return ()
    before, after = (_text(each).splitlines() for each in concealed(old, new))
    lines = list(unified_diff(before, after, lineterm="", n=_CONTEXT_LINES))[2:]
    # once more line by line: `password: 12345` is no text, and is one here
    return tuple(line if ANOTHER in line else redact_text(line)[0] for line in lines)


def _text(document: Mapping[str, Any]) -> str:
    import yaml  # noqa: PLC0415 - see `_objects`

    return str(yaml.safe_dump(dict(document), sort_keys=True))
