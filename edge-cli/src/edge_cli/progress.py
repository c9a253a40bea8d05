"""A progress event: what `edge up` or `edge down` is doing now, for whoever shows it."""

from collections.abc import Callable
from enum import StrEnum

import msgspec

__all__ = ["OnProgress", "Progress", "Stage"]


class Stage(StrEnum):
    """Kinds of step."""

    PREPARE = "prepare"
    LOOK = "look"
    INSTALL = "install"
    UNCHANGED = "unchanged"
    WAIT = "wait"
    HOLDS = "holds"
    STOPPED = "stopped"
    REMOVE = "remove"


class Progress(msgspec.Struct, frozen=True):
    """One step.

    Attributes:
        stage: Kind of step.
        layer: Layer that it is about, or what prepares the ground (`sandbox`).
        subject: Release, or the contract that is waited for.
        message: The same for people.
        event: The last event of the cluster about it.
    """

    stage: Stage
    layer: str
    subject: str = ""
    message: str = ""
    event: str = ""


OnProgress = Callable[[Progress], None]
