"""What installed packages add to the toolkit, by entry point; their metadata is read once a process."""

import threading
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import Any

__all__ = ["extensions"]

_reading = threading.Lock()


def extensions(group: str) -> EntryPoints:
    """The entry points of a group, unloaded."""
    with _reading:  # a target is looked for while the layers load; the second waits rather than reads again
        found: EntryPoints = _all().select(group=group)
    return found


@cache
def _all() -> Any:
    return entry_points()  # what can be selected from is of another type before Python 3.12
