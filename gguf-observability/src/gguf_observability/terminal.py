"""Text of a file made safe for a terminal, a label or a page: nothing that it says moves a cursor."""

import sys
import unicodedata

TYPE_CHECKING = False  # what typing has, without the 6 ms of importing it
if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["plain", "printable", "say"]

_ENDLESS = float("inf")
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Control, format (bidirectional ones too), surrogates, private, unassigned, separators of lines."""


def say(text: str, to: "TextIO | None" = None) -> None:
    """Write `text` and a line's end: to stdout, or where it is told."""
    (sys.stdout if to is None else to).write(f"{text}\n")


def printable(text: str, limit: int = 200) -> str:
    """`text` with everything that is not plainly visible escaped, cut at `limit` characters."""
    cut = text[:limit]
    if not (cut.isascii() and cut.isprintable()):
        cut = "".join(_shown(each) for each in cut)
    return cut if len(text) <= limit else f"{cut}... ({len(text)} characters)"


def plain(value: object) -> object:
    """A value as any reader of JSON takes it: numbers that are none as text, no bytes that are no text."""
    if isinstance(value, dict):
        return {str(plain(key)): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float) and not -_ENDLESS < value < _ENDLESS:
        return str(value)
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return value


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - widths of the escapes
