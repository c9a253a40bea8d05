"""The beginning of a file, read as far as was asked for and never further than it may be."""

import os
from struct import Struct, error

from gguf_observability.errors import GgufError

__all__ = ["U32", "U64", "Cursor"]

U32, U64 = Struct("<I"), Struct("<Q")
_FIRST_READ_BYTES = 1 << 20
_HEADER_LIMIT_BYTES = 48 << 20  # a vocabulary of 262,144 takes 6.5 MB
_SKIPPED_LIMIT_BYTES = 1 << 20  # no token is longer


class Cursor:
    """The beginning of a file, read as far as was asked for."""

    __slots__ = ("buffer", "descriptor", "position", "size")

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor = descriptor
        self.size = size
        self.position = 0
        self.buffer = bytearray(os.pread(descriptor, min(_FIRST_READ_BYTES, size), 0))

    def reach(self, end: int) -> None:
        """Make the bytes before `end` readable.

        Raises:
            GgufError: The file, or what a header may be, ends before.
        """
        have = len(self.buffer)
        if end <= have:
            return
        if end > self.size:
            raise GgufError(
                "the file ends inside its header", self.position, f"{end} bytes wanted, {self.size} there"
            )
        if end > _HEADER_LIMIT_BYTES:
            raise GgufError("header larger than the limit", self.position, f"{_HEADER_LIMIT_BYTES} bytes")
        while have < end:
            chunk = os.pread(self.descriptor, min(_FIRST_READ_BYTES, self.size - have), have)
            if not chunk:
                raise GgufError("the file was truncated while it was read", self.position)
            self.buffer += chunk
            have += len(chunk)

    def number(self, form: Struct) -> int:
        """The next number of that form."""
        end = self.position + form.size
        self.reach(end)
        value: int = form.unpack_from(self.buffer, self.position)[0]
        self.position = end
        return value

    def text(self, limit: int, what: str) -> bytes:
        """The next string, if it is no longer than `limit` bytes."""
        start = self.position
        length = self.number(U64)
        if length > limit:
            raise GgufError(f"{what} longer than the limit", start, f"{length} bytes, limit {limit}")
        self.reach(self.position + length)
        value = bytes(self.buffer[self.position : self.position + length])
        self.position += length
        return value

    def skip_strings(self, count: int) -> None:
        """Walk over `count` strings, checking that each lies inside the file."""
        unpack, buffer, position, left = U64.unpack_from, self.buffer, self.position, count
        length = 0
        while left:
            done = 0
            try:
                for done in range(left):  # noqa: B007 - how many were read is what counts after an exception
                    (length,) = unpack(buffer, position)
                    position += 8 + length
                left = 0
            except (error, OverflowError, IndexError):
                left -= done
                self._inside(position, length)
                self.position = position
                self.reach(position + 8)
        self._inside(position, length)
        self.reach(position)
        self.position = position

    def _inside(self, end: int, length: int) -> None:
        """Check that a string of `length` bytes that ends at `end` lies in the file."""
        if end > self.size:
            raise GgufError("string longer than the file", end - 8 - length, f"{length} bytes")
        if length > _SKIPPED_LIMIT_BYTES:
            raise GgufError("string longer than the limit", end - 8 - length, f"{length} bytes")
