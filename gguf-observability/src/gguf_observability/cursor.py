"""The header of a file, read as it is walked: what was walked over is forgotten."""

import os
from struct import Struct, error

from gguf_observability.errors import GgufError

__all__ = ["U32", "U64", "Cursor"]

U32, U64 = Struct("<I"), Struct("<Q")
_CHUNK_BYTES = 1 << 20
_FORGET_BYTES = 4 << 20
_HEADER_LIMIT_BYTES = 48 << 20  # a vocabulary of 262,144 takes 6.5 MB
_SKIPPED_LIMIT_BYTES = 1 << 20  # no token is longer


class Cursor:
    """A place in the header of a file.

    Attributes:
        position: Where in the file, in bytes.
        size: Of the file, in bytes.
    """

    __slots__ = ("_base", "_buffer", "_descriptor", "position", "size")

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self.size = size
        self.position = 0
        self._base = 0
        self._buffer = bytearray(os.pread(descriptor, min(_CHUNK_BYTES, size), 0))

    def _reach(self, end: int) -> None:
        """Make the bytes from the position to `end` readable.

        Raises:
            GgufError: The file, or what a header may be, ends before.
        """
        have = self._base + len(self._buffer)
        if end <= have:
            return
        if end > self.size:
            raise GgufError(
                "the file ends inside its header", self.position, f"{end} bytes wanted, {self.size} there"
            )
        if end > _HEADER_LIMIT_BYTES:
            raise GgufError("header larger than the limit", self.position, f"{_HEADER_LIMIT_BYTES} bytes")
        walked = self.position - self._base
        if walked >= _FORGET_BYTES:
            del self._buffer[:walked]
            self._base = self.position
        while have < end:
            chunk = os.pread(self._descriptor, min(_CHUNK_BYTES, self.size - have), have)
            if not chunk:
                raise GgufError("the file was truncated while it was read", self.position)
            self._buffer += chunk
            have += len(chunk)

    def number(self, form: Struct) -> int:
        """The next number of that form."""
        end = self.position + form.size
        if end > self._base + len(self._buffer):
            self._reach(end)
        value: int = form.unpack_from(self._buffer, self.position - self._base)[0]
        self.position = end
        return value

    def numbers(self, form: Struct) -> tuple[int, ...]:
        """The next numbers of that form."""
        end = self.position + form.size
        if end > self._base + len(self._buffer):
            self._reach(end)
        values = form.unpack_from(self._buffer, self.position - self._base)
        self.position = end
        return values

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        self._reach(self.position + count)
        start = self.position - self._base
        self.position += count
        return bytes(self._buffer[start : start + count])

    def text(self, limit: int, what: str) -> bytes:
        """The next string, if it is no longer than `limit` bytes."""
        start = self.position
        length = self.number(U64)
        if length > limit:
            raise GgufError(f"{what} longer than the limit", start, f"{length} bytes, limit {limit}")
        return self.take(length)

    def skip(self, count: int) -> None:
        """Walk over `count` bytes that nobody needs."""
        end = self.position + count
        if end > _HEADER_LIMIT_BYTES:
            raise GgufError("header larger than the limit", self.position, f"{_HEADER_LIMIT_BYTES} bytes")
        if end > self._base + len(self._buffer):
            self._buffer, self._base = bytearray(), end
        self.position = end

    def only(self, allowed: bytes, count: int) -> bool:
        """Whether the next `count` bytes are all among `allowed`; they are walked over."""
        while count:
            part = self.take(min(count, _CHUNK_BYTES))
            if sum(map(part.count, allowed)) != len(part):
                return False
            count -= len(part)
        return True

    def skip_strings(self, count: int) -> None:
        """Walk over `count` strings, checking that each lies inside the file."""
        unpack, left, length = U64.unpack_from, count, 0
        while left:
            buffer, done = self._buffer, 0
            place = self.position - self._base
            try:
                for done in range(left):  # noqa: B007 - how many were read is what counts after an exception
                    (length,) = unpack(buffer, place)
                    place += 8 + length
                left = 0
            except (error, OverflowError, IndexError):
                left -= done
            end = self._base + place
            if end > self.size:
                raise GgufError("string longer than the file", end - 8 - length, f"{length} bytes")
            if length > _SKIPPED_LIMIT_BYTES:
                raise GgufError("string longer than the limit", end - 8 - length, f"{length} bytes")
            known = self._base + len(buffer)
            if end > known:  # its end is not read yet: go there from what is
                self.position = known
                self._reach(end)
            self.position = end
            if left:
                self._reach(end + 8)
