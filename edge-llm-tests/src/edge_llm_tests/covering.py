"""A rule of redaction: a pattern of text, and what takes the place of its match."""

import re
from collections.abc import Callable

import msgspec

from edge_llm_tests.phrase import Phrase

__all__ = [
    "LINE",
    "START",
    "WORD",
    "Cover",
    "Rule",
    "after",
    "covered_value",
    "marked",
    "rule",
    "value_of",
    "whole",
]

Cover = Callable[["re.Match[str]"], str | None]
"""The text that takes the place of a match, or None where the match is harmless after all."""

START = r"(?:\b|(?<=\\[nrt]))"  # of a word; in a quoted text a line break is a backslash and a letter
_VALUE = (
    # quoted, perhaps inside a quoted text (then the quote has backslashes); quoted and cut off; or one word
    r"(?:(?P<quote>\\{0,6}[\"'])(?P<inner>[^\n]*?)(?<!\\)(?P=quote)|(?P<cut>\\{0,6}[\"'])(?P<rest>[^\n]+)|%s)"
)
WORD = _VALUE % r"(?P<word>[^\s,;&\"'}\])\\]+)"
LINE = _VALUE % r"(?P<word>[^\s\"'][^\n]*)"


class Rule(msgspec.Struct, frozen=True):
    """A phrase that is looked for where one of `needles` stands in the lower-cased text: most have none."""

    needles: tuple[str, ...]
    phrase: Phrase
    cover: Cover


def rule(needles: str, expression: str, cover: Cover, flags: re.RegexFlag = re.NOFLAG) -> Rule:
    """A rule; its needles with spaces between."""
    return Rule(tuple(needles.split()), Phrase(expression, flags), cover)


def marked(kind: str) -> str:
    """What takes the place of a secret."""
    return f"<redacted:{kind}>"


def whole(kind: str) -> Cover:
    """Cover the whole match."""
    return lambda _match: marked(kind)


def after(kind: str) -> Cover:
    """Keep the group `kept`, cover the rest."""
    return lambda match: match["kept"] + marked(kind)


def value_of(match: "re.Match[str]") -> str:
    """What `WORD` or `LINE` matched, without its quotes."""
    return match["inner"] or match["rest"] or match["word"] or ""


def covered_value(match: "re.Match[str]", kind: str) -> str:
    """The match with the value that `WORD` or `LINE` matched covered, between its quotes."""
    opening, closing = match["quote"] or match["cut"] or "", match["quote"] or ""
    return match["kept"] + opening + marked(kind) + closing
