"""JSON between the sandbox's own processes and runs: strict, typed, with paths as text."""

from pathlib import Path
from typing import Any, TypeVar

import msgspec

__all__ = ["BadWireError", "decode", "encode", "pretty"]

T = TypeVar("T")

BadWireError = msgspec.MsgspecError  # what `decode` raises


def encode(value: object) -> bytes:
    """A value on one line."""
    return msgspec.json.encode(value, enc_hook=_text)


def pretty(value: object) -> str:
    """A value for people who look into the state directory."""
    return msgspec.json.format(encode(value), indent=1).decode() + "\n"


def decode(content: bytes, kind: type[T]) -> T:
    """A value of this type; BadWireError where the text is anything else."""
    return msgspec.json.decode(content, type=kind, dec_hook=_path)


def _text(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"no JSON for {type(value).__name__}")


def _path(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError(f"no {kind.__name__} from JSON")
