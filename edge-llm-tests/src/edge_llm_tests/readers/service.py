"""Reads of a service over HTTP, as recordings keep them."""

from collections.abc import Callable
from typing import Any

import msgspec

from edge_llm_tests.readers.wire import Origin, WireError, get, show_model

__all__ = ["answered", "ask_service"]

_SHOW = "/api/show "
_BODY_LIMIT_BYTES = 16 * 1024 * 1024  # tens of thousands of models; an answer without end fills no memory
_BEGINNING_BYTES = 20


def ask_service(origin: Origin, path: str, deadline_s: float) -> dict[str, Any]:
    """What asking a service directly came to; `/api/show <model>` is Ollama's one question by POST."""

    def ask() -> tuple[int, bytes]:
        if path.startswith(_SHOW):
            status, content = show_model(origin, path.removeprefix(_SHOW), deadline_s, _BODY_LIMIT_BYTES)
        else:
            status, content = get(origin, path, deadline_s, _BODY_LIMIT_BYTES)
        if len(content) > _BODY_LIMIT_BYTES:
            content = content[:_BEGINNING_BYTES] + b"... and more than 16 MiB of it"
        return status, content

    return answered(ask)


def answered(ask: Callable[[], tuple[int, bytes]], *, as_text: bool = False) -> dict[str, Any]:
    """The entry of a recording for one HTTP exchange; the body is JSON where it parses, else text."""
    try:
        status, content = ask()
    except WireError as error:
        return {"status": None, "body": str(error), "error": error.kind}
    return {"status": status, "body": _text(content) if as_text else _parsed(content), "error": None}


def _parsed(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _text(content)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
