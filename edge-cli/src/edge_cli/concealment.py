"""Concealment: two versions of an object without what is secret; that a secret changed still shows."""

import re
from collections.abc import Mapping
from typing import Any

from edge_llm_tests.redact import redact_value

__all__ = ["ANOTHER", "concealed"]

_HIDDEN = "<hidden>"
_CONTENTS = ("data", "stringData")
ANOTHER = ", another value>"
_COVER = re.compile(r"(<(?:redacted:[\w-]+|hidden))>")


def concealed(old: Any, new: Any) -> tuple[Any, Any]:
    """Both without secrets: the contents of Secrets, wherever one stands, and what names or looks say is one.

    Args:
        old: An object as it is.
        new: The same object as it would be; what is covered in both and differs is marked as another value.
    """
    before, after = _covered(old), _covered(new)
    return before, _marked(old, new, before, after)


def _covered(value: Any) -> Any:
    # values as a whole, not line by line of a text: what says that a value is secret stands beside it
    return _emptied(redact_value(value)[0])


def _emptied(value: Any) -> Any:
    """The value with the contents of each Secret in it hidden."""
    if isinstance(value, list):
        return [_emptied(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    if value.get("kind") != "Secret":
        return {key: _emptied(each) for key, each in value.items()}
    hidden = dict(value)
    for section in _CONTENTS:
        if contents := value.get(section):
            hidden[section] = dict.fromkeys(contents, _HIDDEN) if isinstance(contents, Mapping) else _HIDDEN
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("annotations"), Mapping):
        # `last-applied-configuration` repeats the contents
        noted = {
            key: _HIDDEN if str(each)[:1] in ("{", "[") else each
            for key, each in metadata["annotations"].items()
        }
        hidden["metadata"] = {**metadata, "annotations": noted}
    return hidden


def _marked(old: Any, new: Any, before: Any, after: Any) -> Any:
    """`after`, with a word where it covers another value than `before` does."""
    if isinstance(new, Mapping) and isinstance(old, Mapping) and isinstance(before, Mapping):
        return {
            key: _marked(old[key], new[key], before[key], each)
            if key in old and key in new and key in before
            else each
            for key, each in after.items()
        }
    if isinstance(new, list) and isinstance(old, list) and isinstance(before, list):
        pairs = {_place(each, index): (each, before[index]) for index, each in enumerate(old)}
        return [
            _marked(pairs[place][0], each, pairs[place][1], after[index])
            if (place := _place(each, index)) in pairs
            else after[index]
            for index, each in enumerate(new)
        ]
    if isinstance(after, str) and after == before and new != old:
        return _COVER.sub(rf"\1{ANOTHER}", after, count=1)
    return after


def _place(item: Any, index: int) -> str | int:
    """What an item of a list is known by: its name, else where it stands."""
    name = item.get("name") if isinstance(item, Mapping) else None
    return name if isinstance(name, str) else index
