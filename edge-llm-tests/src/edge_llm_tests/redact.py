"""Redaction: what must not be written down is replaced by `<redacted:kind>`, and counted.

It stands at the write boundary: recordings before they are saved, documents before they are printed. What
contracts need (digests, UIDs, versions, image names, resource names) stays as it is.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from edge_llm_tests.covering import marked
from edge_llm_tests.evidence import Recording
from edge_llm_tests.prompt_patterns import redact_modelfile
from edge_llm_tests.secret_names import field_says_secret, flag_says_secret, variable_says_secret
from edge_llm_tests.secret_patterns import redact_text

__all__ = ["redact", "redact_quotable", "redact_text", "redact_value"]

_PROMPT_FIELDS = frozenset(("prompt", "completion", "system_prompt"))
_SPOKEN_FIELDS = frozenset(("content", "thinking", "reasoning", "reasoning_content"))
"""What a message of a role, or a piece of one as it streams, says."""
_ASKED_FIELDS = frozenset(("input", "suffix", "instructions"))
"""What a model is asked, beside its name."""
_SAID_IN = frozenset(
    (
        "conditions",
        "containerStatuses",
        "initContainerStatuses",
        "lastState",
        "message",
        "note",
        "state",
        "status",
        "terminated",
        "waiting",
    )
)
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_SMALL = ("http:ollama:", "http:open-webui:")
_SAID_DEPTH = 5  # status, containerStatuses, state, waiting, message
_DEPTH_LIMIT = 200  # deeper than any API object; what lies below is not kept at all


def redact(recording: Recording) -> Recording:
    """The recording with everything covered that must not be written down."""
    walk = _Walk()
    return replace(
        recording,
        reads=walk.value(dict(recording.reads)),
        nodes=walk.value(dict(recording.nodes)),
        context=walk.text(recording.context),
        profile=walk.text(recording.profile),
        host=walk.text(recording.host),
        recorded_at=walk.text(recording.recorded_at),
        tool=walk.value(dict(recording.tool)),
        redactions=recording.redactions + walk.count,
    )


def redact_quotable(recording: Recording) -> Recording:
    """The recording with everything covered that a judge's message may quote.

    A quotation may begin or end in the middle of a secret, where no pattern knows it any more. What judges
    quote is logs, output, files, small answers, and what pods and events say of themselves; to cover the
    rest of ten thousand pods would take longer than to judge them.
    """
    walk = _Walk()
    return replace(
        recording, reads={key: _quotable(key, entry, walk) for key, entry in recording.reads.items()}
    )


def _quotable(key: str, entry: Any, walk: "_Walk") -> Any:
    if not isinstance(entry, Mapping):
        return entry
    body = entry.get("body")
    if not isinstance(body, (Mapping, list)) or key.startswith(_SMALL):
        return walk.value(entry)
    if not isinstance(body, Mapping) or body.get("kind") not in ("PodList", "EventList"):
        return entry
    items = body.get("items")
    if not isinstance(items, list):
        return entry
    return {**entry, "body": {**body, "items": [_said(each, walk, 0) for each in items]}}


def _said(value: Any, walk: "_Walk", depth: int) -> Any:
    """The object with its messages covered; only where they stand, since most of an object is none."""
    if not isinstance(value, Mapping) or depth > _SAID_DEPTH:
        return value
    covered = dict(value)
    for key in _SAID_IN.intersection(value):
        inner = value[key]
        if isinstance(inner, list):
            covered[key] = [_said(each, walk, depth + 1) for each in inner]
        else:
            covered[key] = walk.text(inner) if isinstance(inner, str) else _said(inner, walk, depth + 1)
    return covered


def redact_value(value: Any) -> tuple[Any, int]:
    """A JSON value with everything covered, and how many values that were."""
    walk = _Walk()
    return walk.value(value), walk.count


class _Walk:
    """One pass over a JSON value, counting."""

    def __init__(self) -> None:
        self.count = 0

    def value(self, value: Any, depth: int = 0) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if depth > _DEPTH_LIMIT:
            return self._cover("too-deep")
        if isinstance(value, Mapping):
            return self._mapping(value, depth + 1)
        if isinstance(value, (list, tuple)):
            return self._list(value, depth + 1)
        return value

    def text(self, text: str) -> str:
        if text[:1] in ("{", "["):  # an annotation or a log line may hold a whole object
            try:
                parsed = msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError):
                parsed = None
            if isinstance(parsed, (dict, list)):
                before = self.count
                covered = self.value(parsed, 1)
                if self.count > before:
                    return msgspec.json.encode(covered).decode()
        covered_text, count = redact_text(text)
        self.count += count
        return covered_text

    def _cover(self, kind: str) -> str:
        self.count += 1
        return marked(kind)

    def _list(
        self, values: Any, depth: int, source: Mapping[str, Any] = _NOTHING, key: str = ""
    ) -> list[Any]:
        covered: list[Any] = []
        flag = ""
        for value in values:
            if isinstance(value, str) and flag_says_secret(flag, value):
                covered.append(self._cover("secret"))
            elif isinstance(value, str) and (kind := _kind(source, key, value)):
                covered.append(self._cover(kind))
            else:
                covered.append(self.value(value, depth))
            flag = value if isinstance(value, str) else ""
        return covered

    def _mapping(self, source: Mapping[str, Any], depth: int) -> dict[str, Any]:
        covered: dict[str, Any] = {}
        for key, value in source.items():
            if isinstance(value, str):
                kind = _kind(source, key, value)
                covered[self.text(key)] = self._cover(kind) if kind else self._field(key, value)
            elif isinstance(value, list):
                covered[self.text(key)] = self._list(value, depth + 1, source, key)
            elif isinstance(value, Mapping) and (kind := _kind_of_all(source, key, value)):
                covered[self.text(key)] = self._all(value, kind)
            else:
                covered[self.text(key)] = self.value(value, depth)
        return covered

    def _all(self, values: Mapping[str, Any], kind: str) -> dict[str, Any]:
        before = marked(kind)
        return {
            self.text(key): value if value in (None, "", before) else self._cover(kind)
            for key, value in values.items()
        }

    def _field(self, key: str, value: str) -> str:
        if key == "modelfile":
            value, count = redact_modelfile(value)
            self.count += count
        return self.text(value)


def _kind(source: Mapping[str, Any], key: str, value: str) -> str | None:
    """What the field `key` of `source` holds that must not be written down, or None."""
    if not value or value.startswith("<redacted:"):
        return None
    if key == "value" and isinstance(source.get("name"), str):
        return "env" if variable_says_secret(source["name"], value) else None
    if field_says_secret(key, value):
        return "secret"
    said = (
        key in _PROMPT_FIELDS
        or (key in _SPOKEN_FIELDS and "role" in source)
        or (key in _ASKED_FIELDS and "model" in source)
        or (key in ("documents", "query") and "documents" in source and "query" in source)
        or (key == "arguments" and "name" in source)
        or (key == "response" and "done" in source)
        or (key == "system" and ("modelfile" in source or "prompt" in source))
        or (key == "text" and source.get("type") in ("text", "input_text", "output_text"))
    )
    return "prompt" if said else None


def _kind_of_all(source: Mapping[str, Any], key: str, value: Mapping[str, Any]) -> str | None:
    """What every field of the object `key` of `source` holds that must not be written down, or None."""
    if key in ("data", "stringData") and source.get("kind") == "Secret":
        return "secret"
    if key == "arguments" and "name" in source:  # of a tool that a model calls
        return "prompt"
    return "prompt" if key == "delta" and _SPOKEN_FIELDS.intersection(value) else None
