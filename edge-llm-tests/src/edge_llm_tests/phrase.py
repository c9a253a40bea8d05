"""Words to look for, compiled when they are first looked for: most faults never happen on a given machine."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property

import msgspec

__all__ = ["Phrase"]


class Phrase(msgspec.Struct, frozen=True, dict=True):
    """A regular expression.

    Attributes:
        pattern: What `re.compile` takes.
        flags: Its flags.
    """

    pattern: str
    flags: re.RegexFlag = re.NOFLAG

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    def search(self, text: str) -> re.Match[str] | None:
        """The first place in a text."""
        return self._compiled.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """The beginning of a text."""
        return self._compiled.match(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Every place in a text."""
        return self._compiled.finditer(text)

    def findall(self, text: str) -> list[str] | list[tuple[str, ...]]:
        """What every place in a text says."""
        return self._compiled.findall(text)

    def sub(self, replacement: Callable[[re.Match[str]], str], text: str) -> str:
        """The text with something else in every place."""
        return self._compiled.sub(replacement, text)
