"""Bounds of the numbers that a profile may say: what lies outside is a slip of the pen, not a promise."""

from typing import Annotated

from msgspec import Meta

__all__ = ["Count", "Percent", "Positive", "Share"]

Count = Annotated[int, Meta(ge=0, le=10_000_000)]
"""How many, or how much in MiB or tokens; 0 promises nothing."""

Positive = Annotated[int, Meta(ge=1, le=1_000_000)]
"""A length of time in the unit that the name says, or a number that cannot be none."""

Percent = Annotated[int, Meta(ge=0, le=100)]
"""A share in hundredths."""

Share = Annotated[float, Meta(ge=0, le=1)]
"""A share of one."""
