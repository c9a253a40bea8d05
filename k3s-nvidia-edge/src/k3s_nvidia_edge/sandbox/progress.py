"""A progress event: what the sandbox is doing now, for whoever shows it."""

from collections.abc import Callable
from typing import Final

import msgspec

__all__ = ["OnProgress", "Progress", "silent"]


class Progress(msgspec.Struct, frozen=True):
    """One step of `up` or `down`.

    Attributes:
        step: a stable word for the step (`preflight`, `clear`, `network`, `node`, `api`, `ready`, ...).
        message: the same for people.
        elapsed_s: seconds since the call began.
    """

    step: str
    message: str
    elapsed_s: float


OnProgress = Callable[[Progress], None]


def _ignore(event: Progress) -> None:
    """A listener that does not listen."""


silent: Final[OnProgress] = _ignore
