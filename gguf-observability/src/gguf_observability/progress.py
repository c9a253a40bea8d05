"""How far long work is, on a terminal alone: nothing of it reaches a pipe or a file."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["followed"]

T = TypeVar("T")

_SHORT = 50
"""Work of fewer steps is over before anybody looks."""


def followed(steps: Iterable[T], what: str, count: int) -> Iterable[T]:
    """`count` steps, with a bar on stderr while somebody goes through them, if it is a terminal."""
    return _drawn(steps, what, count) if count >= _SHORT and sys.stderr.isatty() else steps


def _drawn(steps: Iterable[T], what: str, count: int) -> Iterator[T]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal pays for it
    from rich.progress import track  # noqa: PLC0415 - same

    console = Console(stderr=True)
    yield from track(steps, description=what, total=count, console=console, transient=True)
