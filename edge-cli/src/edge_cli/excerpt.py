"""An excerpt of a read: the part that a finding speaks of, short enough to show."""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from edge_llm_tests.evidence import Recording
from edge_llm_tests.redact import redact_text, redact_value

__all__ = ["Excerpt", "excerpt"]

_LINES_LIMIT = 24
_COLUMNS_LIMIT = 240
_OBJECTS_LIMIT = 2
_WORD = re.compile(r"[A-Za-z0-9][\w./:-]{4,}")
_HOUSEKEEPING = frozenset(("managedFields", "uid", "resourceVersion", "ownerReferences", "generation"))


class Excerpt(msgspec.Struct, frozen=True):
    """Part of a read.

    Attributes:
        key: The read.
        came_to: Exit code, HTTP status or error, in words.
        text: What it said, the part that matters.
    """

    key: str
    came_to: str
    text: str


def excerpt(recording: Recording, key: str, message: str) -> Excerpt:
    """What the read `key` came to, around what `message` speaks of; without secrets."""
    entry = recording.reads.get(key)
    if not isinstance(entry, Mapping):
        return Excerpt(key, "not read" if entry is None else "damaged", "")
    words = {word.strip(".:/-") for word in _WORD.findall(message)}
    return Excerpt(key, _came_to(entry), _said(entry, words))


def _came_to(entry: Mapping[str, Any]) -> str:
    if isinstance(entry.get("error"), str):
        return str(entry["error"])
    for field, word in (("status", "HTTP"), ("rc", "exit code")):
        if entry.get(field) is not None:
            return f"{word} {entry[field]}"
    return "read"


def _said(entry: Mapping[str, Any], words: set[str]) -> str:
    texts = [
        entry[field] for field in ("stdout", "stderr", "text", "body") if isinstance(entry.get(field), str)
    ]
    if texts:
        return _lines(redact_text("\n".join(texts))[0].splitlines(), words)
    if isinstance(entry.get("paths"), list):
        return _lines([str(path) for path in redact_value(entry["paths"])[0]], words)
    body = entry.get("body")
    if isinstance(body, Mapping) and isinstance(body.get("items"), list):
        return _objects(body["items"], words)
    return "" if body is None else _lines(_pretty(body), words, first=True)


def _lines(lines: list[str], words: set[str], *, first: bool = False) -> str:
    """The lines that speak of `words`, with a neighbour each; else the last lines, or the first."""
    hits = [number for number, line in enumerate(lines) if any(word in line for word in words)]
    if len(lines) <= _LINES_LIMIT:
        kept = list(range(len(lines)))
    elif hits:
        around = {near for hit in hits for near in (hit - 1, hit, hit + 1) if 0 <= near < len(lines)}
        kept = sorted(around)[:_LINES_LIMIT]
    else:
        kept = list(range(_LINES_LIMIT) if first else range(len(lines) - _LINES_LIMIT, len(lines)))
    shown = []
    before = -1
    for number in kept:
        if number > before + 1:
            shown.append("…")
        shown.append(lines[number][:_COLUMNS_LIMIT])
        before = number
    return "\n".join([*shown, "…"] if before < len(lines) - 1 else shown)


def _objects(items: list[Any], words: set[str]) -> str:
    """The objects of a list that are named in `words`, else the names of all."""
    named = [(_name(item), item) for item in items]
    spoken_of = [item for name, item in named if name and any(name in word or word in name for word in words)]
    if not spoken_of:
        names = ", ".join(name or "?" for name, _ in named[:_LINES_LIMIT])
        objects = "object" if len(items) == 1 else "objects"
        return redact_text(f"{len(items)} {objects}: {names}")[0][: 4 * _COLUMNS_LIMIT]
    shown = [_lines(_pretty(item), words, first=True) for item in spoken_of[:_OBJECTS_LIMIT]]
    rest = len(spoken_of) - len(shown)
    return "\n---\n".join((*shown, f"and {rest} more") if rest else shown)


def _name(item: Any) -> str:
    metadata = item.get("metadata") if isinstance(item, Mapping) else None
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""


def _pretty(value: Any) -> list[str]:
    covered, _ = redact_value(_tidy(value, 0))
    return json.dumps(covered, indent=1, ensure_ascii=False, default=str).splitlines()


def _tidy(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping) and depth < 20:  # noqa: PLR2004 - deeper than any API object
        return {key: _tidy(inner, depth + 1) for key, inner in value.items() if key not in _HOUSEKEEPING}
    return value
