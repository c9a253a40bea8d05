"""Strict access to fields of raw API objects: absent is the default, mistyped is `MalformedError`.

Kubernetes leaves empty fields out, so absence is an answer. A field of another type is damage: to take it for
empty would be to pass what was not seen.
"""

from collections.abc import Mapping
from typing import Any

__all__ = [
    "MalformedError",
    "flag",
    "integer",
    "mapping",
    "number",
    "objects",
    "optional_text",
    "text",
    "texts",
]


class MalformedError(ValueError):
    """What came back is not of the form that its source promises."""


def _walk(source: object, path: tuple[str, ...]) -> object:
    here = source
    for depth, key in enumerate(path):
        if type(here) is dict:  # what JSON gives; the abstract check is ten times as slow
            here = here.get(key)
        elif here is None:
            return None
        elif isinstance(here, Mapping):
            here = here.get(key)
        else:
            where = ".".join(path[:depth]) or "the body"
            raise MalformedError(f"{where} is {_named(here)}, not an object")
    return here


def _named(value: object) -> str:
    return {str: "a text", list: "a list", dict: "an object", bool: "a boolean"}.get(type(value), repr(value))


def _mistyped(path: tuple[str, ...], value: object, wanted: str) -> MalformedError:
    return MalformedError(f"{'.'.join(path) or 'the body'} is {_named(value)}, not {wanted}")


def optional_text(source: object, *path: str) -> str | None:
    """The text at `path`, or None where it is absent."""
    value = _walk(source, path)
    if value is None or isinstance(value, str):
        return value
    raise _mistyped(path, value, "a text")


def text(source: object, *path: str, default: str = "") -> str:
    """The text at `path`, or `default`."""
    if type(source) is dict and len(path) == 1 and type(value := source.get(path[0])) is str:
        return value  # nearly every field of a large list ends here
    value = optional_text(source, *path)
    return default if value is None else value


def integer(source: object, *path: str, default: int = 0) -> int:
    """The whole number at `path`, or `default`."""
    value = _walk(source, path)
    if value is None:
        return default
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise _mistyped(path, value, "a whole number")


def number(source: object, *path: str, default: float = 0.0) -> float:
    """The number at `path`, or `default`."""
    value = _walk(source, path)
    if value is None:
        return default
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise _mistyped(path, value, "a number")


def flag(source: object, *path: str, default: bool = False) -> bool:
    """The boolean at `path`, or `default`."""
    value = _walk(source, path)
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    raise _mistyped(path, value, "a boolean")


def mapping(source: object, *path: str) -> Mapping[str, Any]:
    """The object at `path`; empty where it is absent."""
    value = _walk(source, path)
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    raise _mistyped(path, value, "an object")


def objects(source: object, *path: str) -> tuple[Mapping[str, Any], ...]:
    """The list of objects at `path`; empty where it is absent."""
    value = _walk(source, path)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _mistyped(path, value, "a list")
    for item in value:
        if not isinstance(item, Mapping):
            raise MalformedError(
                f"an item of {'.'.join(path) or 'the body'} is {_named(item)}, not an object"
            )
    return tuple(value)


def texts(source: object, *path: str) -> tuple[str, ...]:
    """The list of texts at `path`; empty where it is absent."""
    value = _walk(source, path)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _mistyped(path, value, "a list of texts")
    return tuple(value)
