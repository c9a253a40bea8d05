"""What differs between two recordings, without what always differs."""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from edge_llm_tests import Recording

__all__ = ["Difference", "compare"]

_ALWAYS_DIFFERS = frozenset(
    {
        "endsAt",
        "evaluationTime",
        "lastEvaluation",
        "lastHeartbeatTime",
        "lastProbeTime",
        "lastScrape",
        "lastScrapeDuration",
        "managedFields",
        "observedGeneration",
        "renewTime",
        "resourceVersion",
        "timestamp",
        "took_s",
        "updatedAt",
    }
)
_LINES_LIMIT = 12  # of a text; more would bury the rest
_FIELDS_LIMIT = 12


class Difference(msgspec.Struct, frozen=True):
    """One read that differs.

    Attributes:
        key: The read.
        how: `only in A`, `only in B` or `differs`.
        details: Lines that say what differs.
    """

    key: str
    how: str
    details: tuple[str, ...] = ()


def compare(one: Recording, other: Recording) -> Iterator[Difference]:
    """The reads that differ, in order of their keys; those of further hosts as `HOST: key`."""
    before, after = one.reads_of_all, other.reads_of_all
    for key in sorted({*before, *after}):
        if key not in after:
            yield Difference(key, "only in A")
        elif key not in before:
            yield Difference(key, "only in B")
        elif details := tuple(_details(before[key], after[key])):
            yield Difference(key, "differs", details)


def _details(one: Any, other: Any) -> Iterator[str]:
    lines = list(_differences(one, other, ""))
    yield from lines[:_FIELDS_LIMIT]
    if len(lines) > _FIELDS_LIMIT:
        yield f"and {len(lines) - _FIELDS_LIMIT} more"


def _differences(one: Any, other: Any, path: str) -> Iterator[str]:
    if one == other:
        return
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for field in dict.fromkeys((*one, *other)):
            if field not in _ALWAYS_DIFFERS:
                where = f"{path}.{field}" if path else str(field)
                yield from _fields(one, other, str(field), where)
    elif isinstance(one, list) and isinstance(other, list):
        yield from _lists(one, other, path)
    elif isinstance(one, str) and isinstance(other, str) and ("\n" in one or "\n" in other):
        yield from _texts(one, other, path)
    else:
        yield f"{path}: {_short(one)} -> {_short(other)}"


def _fields(one: Mapping[str, Any], other: Mapping[str, Any], field: str, where: str) -> Iterator[str]:
    if field not in other:
        yield f"{where}: {_short(one[field])} -> absent"
    elif field not in one:
        yield f"{where}: absent -> {_short(other[field])}"
    else:
        yield from _differences(one[field], other[field], where)


def _lists(one: list[Any], other: list[Any], path: str) -> Iterator[str]:
    before, after = _named(one), _named(other)
    if before is None or after is None:
        if len(one) != len(other):
            yield f"{path}: {len(one)} -> {len(other)} items"
        for index, (left, right) in enumerate(zip(one, other, strict=False)):
            yield from _differences(left, right, f"{path}[{index}]")
        return
    for name in dict.fromkeys((*before, *after)):
        if name not in after:
            yield f"{path}: - {name}"
        elif name not in before:
            yield f"{path}: + {name}"
        else:
            yield from _differences(before[name], after[name], f"{path}[{name}]")


def _named(items: list[Any]) -> dict[str, Any] | None:
    """The items by what they are called, or None where they have no names of their own."""
    named = {}
    for item in items:
        if not isinstance(item, Mapping):
            return None
        metadata = item.get("metadata")
        source = metadata if isinstance(metadata, Mapping) else item
        name = source.get("name") or source.get("type")
        if not isinstance(name, str):
            return None
        namespace = source.get("namespace")
        named[f"{namespace}/{name}" if isinstance(namespace, str) else name] = item
    return named if len(named) == len(items) else None


def _texts(one: str, other: str, path: str) -> Iterator[str]:
    changed = [
        line
        for line in difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=0)
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    yield f"{path}: {len(changed)} lines differ"
    yield from (f"  {line[:160]}" for line in changed[:_LINES_LIMIT])


def _short(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."  # noqa: PLR2004 - columns of a terminal
