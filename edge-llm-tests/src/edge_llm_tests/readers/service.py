"""Reads of a service over HTTP, as recordings keep them."""

from collections.abc import Callable
from typing import Any

import msgspec

from edge_llm_tests.readers.wire import Origin, WireError, get, show_model

__all__ = ["answered", "ask_service"]

_SHOW = "/api/show "


def ask_service(origin: Origin, path: str, deadline_s: float) -> dict[str, Any]:
    """What asking a service directly came to; `/api/show <model>` is Ollama's one question by POST."""
    if path.startswith(_SHOW):
        return answered(lambda: show_model(origin, path.removeprefix(_SHOW), deadline_s))
    return answered(lambda: get(origin, path, deadline_s))


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
