"""The terminal: how wide it is, whether it wants colour, and text that is safe to show on it."""

import io
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from typing import TextIO

import msgspec

__all__ = [
    "Color",
    "Page",
    "Paint",
    "choosing_color",
    "open_streams",
    "paint",
    "printable",
    "stdout_page",
    "wrapped",
    "write_document",
]

_WIDTH_ELSEWHERE = 80  # columns where the output is no terminal
_WIDTH_LIMIT = 110  # columns: longer lines of prose are hard to follow


class Color(StrEnum):
    """When to colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


_chosen: ContextVar[Color] = ContextVar("color", default=Color.AUTO)


@contextmanager
def choosing_color(choice: Color) -> Iterator[None]:
    """Colour as `choice` says, inside."""
    token = _chosen.set(choice)
    try:
        yield
    finally:
        _chosen.reset(token)


def wants_color(stream: TextIO) -> bool:
    """Whether `stream` is to be coloured: --color, else NO_COLOR, else whether it is a terminal."""
    choice = _chosen.get()
    if choice is not Color.AUTO:
        return choice is Color.ALWAYS
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


class Paint:
    """Colours for a stream, or none."""

    def __init__(self, *, color: bool, unicode: bool = True) -> None:
        self.color = color
        self.unicode = unicode

    def __call__(self, text: str, *styles: str) -> str:
        """The text in these styles."""
        if not self.color or not styles:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"


PLAIN = Paint(color=False)


def paint(stream: TextIO | None = None) -> Paint:
    """The colours for `stream`, standard output unless given."""
    stream = stream or sys.stdout
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "")
    return Paint(color=wants_color(stream), unicode=encoding.startswith("utf"))


class Page(msgspec.Struct, frozen=True):
    """What an output is shown on.

    Attributes:
        paint: Its colours.
        columns: Columns to fill.
        verbose: Whether what holds is shown as well.
    """

    paint: Paint = PLAIN
    columns: int = _WIDTH_ELSEWHERE
    verbose: bool = False


def open_streams() -> None:
    """Give the process the streams that its caller closed (`>&-`), and let none fail for a character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_document(text: str, *, for_eyes: bool) -> None:
    """Write a whole document to standard output: text in the terminal's encoding, data in UTF-8."""
    if not for_eyes and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(text)
    sys.stdout.flush()


def stdout_page(*, verbose: bool = False) -> Page:
    """Standard output as a page."""
    stream = sys.stdout
    columns = min(shutil.get_terminal_size().columns, _WIDTH_LIMIT) if stream.isatty() else _WIDTH_ELSEWHERE
    return Page(paint(stream), columns, verbose)


def printable(text: str) -> str:
    """The text on one line, without anything that would steer a terminal or hide."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def wrapped(text: str, columns: int, indent: str = "") -> list[str]:
    """The text in lines of at most `columns`, each after `indent`; a long word stays whole."""
    return textwrap.wrap(
        printable(text),
        max(columns, len(indent) + 20),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
