"""What of a header is kept in memory, and how much of it may be."""

from gguf_observability.errors import GgufError

__all__ = ["Kept"]

_KEPT_LIMIT_BYTES = 8 << 20  # of all keys and values together: beyond it a file is no model's
_KEPT_ARRAY_LIMIT = 4096  # per-layer lists are kept; vocabularies are not
_KEPT_ARRAYS_LIMIT = 65536  # elements of all of them: of more, longer ones are not kept
_KEPT_STRINGS_LIMIT = 8192  # of these, strings: languages, tags, labels
_WALKED_LIMIT = 2 << 20  # strings in arrays: vocabularies and merges have a million at most


class Kept:
    """What a header has cost so far: bytes of text, elements of arrays, strings walked over."""

    __slots__ = ("bytes", "elements", "strings", "walked")

    def __init__(self) -> None:
        self.bytes = self.elements = self.strings = self.walked = 0

    def text(self, size: int, start: int) -> None:
        """Count `size` bytes of text that are kept."""
        self.bytes += size
        if self.bytes > _KEPT_LIMIT_BYTES:
            raise GgufError("more text than the limit", start, f"limit {_KEPT_LIMIT_BYTES} bytes")

    def array(self, count: int) -> bool:
        """Whether an array of `count` elements is kept."""
        if count > _KEPT_ARRAY_LIMIT or self.elements + count > _KEPT_ARRAYS_LIMIT:
            return False
        self.elements += count
        return True

    def listed(self, count: int) -> bool:
        """Whether an array of `count` strings is kept."""
        if self.strings + count > _KEPT_STRINGS_LIMIT or not self.array(count):
            return False
        self.strings += count
        return True

    def walk(self, count: int, start: int) -> None:
        """Count `count` strings that are walked over."""
        self.walked += count
        if self.walked > _WALKED_LIMIT:
            raise GgufError("more strings than the limit", start, f"limit {_WALKED_LIMIT}")
