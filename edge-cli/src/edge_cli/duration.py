"""A length of time as Helm and kubectl write it: `90s`, `5m`, `1h30m`."""

import re

from edge_llm_tests.errors import UsageError

__all__ = ["parse_duration", "spoken"]

_FORM = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_MINUTE_S, _HOUR_S = 60, 3600


def parse_duration(given: str, option: str = "--timeout") -> float:
    """Seconds.

    Raises:
        UsageError: It is not of this form, or nothing.
    """
    match = _FORM.fullmatch(given.strip())
    if match is None or not any(match.groups()):
        raise UsageError(f"{option}: {given!r} is no length of time", "write it like 90s, 5m or 1h30m")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total_s = hours * _HOUR_S + minutes * _MINUTE_S + seconds
    if total_s <= 0:
        raise UsageError(f"{option}: {given!r} is no time at all", "write it like 90s, 5m or 1h30m")
    return total_s


def spoken(seconds: float) -> str:
    """A length of time for people: `12 s`, `5 min`, `1 h 30 min`."""
    whole = round(seconds)
    if whole < 2 * _MINUTE_S:
        return f"{whole} s"
    hours, minutes = divmod(round(whole / _MINUTE_S), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
