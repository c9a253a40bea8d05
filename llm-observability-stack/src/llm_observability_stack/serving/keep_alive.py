"""How long the server itself keeps a model loaded, by its setting."""

import re

from llm_observability_stack.serving.observe import ServingState

__all__ = ["short_keep_alive"]

_SETTING = "OLLAMA_KEEP_ALIVE"
_TOLD = re.compile(rf"\b{_SETTING}:(\S+)")
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_FOR_EVER_SECONDS = 30 * 24 * 3600.0
"""As for an expiry: beyond a month counts as for ever."""


def short_keep_alive(observed: ServingState) -> str:
    """The server's own setting, where it unloads models after a while; empty where it does not."""
    asking = observed.asking
    given = asking.container.env.get(_SETTING, "") if asking is not None else ""
    if not given:  # what the engine said at its start is what it goes by; its default is five minutes
        told = (match[1] for line in observed.log.or_else(()) if (match := _TOLD.search(line.raw)))
        given = next(told, "")
    seconds = _seconds(given.strip("\"' "))
    return (
        f"{_SETTING}={given} is the server's own"
        if seconds is not None and seconds < _FOR_EVER_SECONDS
        else ""
    )


def _seconds(given: str) -> float | None:
    """A Go duration or a number of seconds; None for ever, or where it is neither."""
    if not given or given.startswith("-"):
        return None
    if given.isdecimal():
        return float(given)
    parts = _PART.findall(given)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) if parts else None
