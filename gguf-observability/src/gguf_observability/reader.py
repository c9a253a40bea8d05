"""A GGUF header, read strictly and lazily: nothing that a file says is believed before it is checked.

Versions 2 and 3, little-endian. Only `pread` touches the file (no mmap: a file that is truncated while open must be an
error, not a signal). Long arrays, such as a vocabulary, are walked and remembered by their place, not kept.
"""

import os
import stat
from collections.abc import Iterator
from struct import Struct, error, unpack_from

from gguf_observability.errors import GgufError
from gguf_observability.tensor_types import REMOVED, TENSOR_TYPES

__all__ = ["Array", "Header", "Tensor", "Value", "read_header"]

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_FIRST_READ_BYTES = 1 << 20
_HEADER_LIMIT_BYTES = 256 << 20
_KEPT_STRING_LIMIT_BYTES = 16 << 20
_KEPT_ARRAY_LIMIT = 4096  # per-layer lists are kept; vocabularies are not
_KEY_LIMIT_BYTES = 65535
_NAME_LIMIT_BYTES = 64
_DIMENSIONS_LIMIT = 4
_ELEMENTS_LIMIT = 1 << 63
_ALIGNMENT_LIMIT = 1 << 20
_KV_MIN_BYTES = 14  # key length, one byte of key, type, one byte of value
_TENSOR_MIN_BYTES = 33  # name length, one byte, dimensions, one dimension, type, offset
_DEFAULT_ALIGNMENT = 32
_COUNT_BELIEVED = 1024  # below it the entries themselves tell more about what is wrong than their number
_BOOL, _STRING, _ARRAY = 7, 8, 9
_SCALARS = {
    0: Struct("<B"),
    1: Struct("<b"),
    2: Struct("<H"),
    3: Struct("<h"),
    4: Struct("<I"),
    5: Struct("<i"),
    6: Struct("<f"),
    7: Struct("<B"),
    10: Struct("<Q"),
    11: Struct("<q"),
    12: Struct("<d"),
}
_U32, _U64 = Struct("<I"), Struct("<Q")

Value = "int | float | bool | str | Array"


class Array:
    """An array of a header: its values where it is short, else its place in the file.

    Attributes:
        type: Number of the element type (8 is string).
        count: How many elements.
        offset: Where its first element begins, in bytes.
        size: Its length in bytes.
        values: The elements, or None where there are more than are kept.
    """

    __slots__ = ("count", "offset", "size", "type", "values")

    def __init__(
        self,
        type_: int,
        count: int,
        offset: int,
        size: int,
        values: "tuple[int | float | bool | str, ...] | None",
    ) -> None:
        self.type = type_
        self.count = count
        self.offset = offset
        self.size = size
        self.values = values


class Tensor:
    """What a header says of one tensor.

    Attributes:
        name: Its name.
        shape: Elements by dimension, fastest first.
        type: Name of its type, for example `Q4_K`.
        offset: Relative to the data section, in bytes.
        size: In bytes.
    """

    __slots__ = ("name", "offset", "shape", "size", "type")

    def __init__(self, name: str, shape: tuple[int, ...], type_: str, offset: int, size: int) -> None:
        self.name = name
        self.shape = shape
        self.type = type_
        self.offset = offset
        self.size = size

    @property
    def elements(self) -> int:
        """How many values it holds."""
        count = 1
        for dimension in self.shape:
            count *= dimension
        return count


class Header:
    """A whole header.

    Attributes:
        path: The file.
        version: 2 or 3.
        metadata: Key to value.
        tensors: In the order of the file.
        data_offset: Where the data section begins, in bytes.
        file_size: In bytes.
        alignment: Of tensor data, in bytes.
    """

    __slots__ = ("alignment", "data_offset", "file_size", "metadata", "path", "tensors", "version")

    def __init__(self, path: str, version: int, file_size: int) -> None:
        self.path = path
        self.version = version
        self.file_size = file_size
        self.metadata: dict[str, int | float | bool | str | Array] = {}
        self.tensors: tuple[Tensor, ...] = ()
        self.data_offset = 0
        self.alignment = _DEFAULT_ALIGNMENT

    @property
    def architecture(self) -> str:
        """`general.architecture`, empty where it is absent."""
        value = self.metadata.get("general.architecture", "")
        return value if isinstance(value, str) else ""

    @property
    def weights_bytes(self) -> int:
        """Sum of the tensors' sizes."""
        return sum(tensor.size for tensor in self.tensors)


class _Cursor:
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
        wanted = min(max(end - have, _FIRST_READ_BYTES, have), self.size - have)
        chunk = os.pread(self.descriptor, wanted, have)
        self.buffer += chunk
        if len(self.buffer) < end:
            raise GgufError("the file was truncated while it was read", self.position)

    def number(self, form: Struct) -> int:
        end = self.position + form.size
        self.reach(end)
        value: int = form.unpack_from(self.buffer, self.position)[0]
        self.position = end
        return value

    def text(self, limit: int, what: str) -> bytes:
        start = self.position
        length = self.number(_U64)
        if length > limit:
            raise GgufError(f"{what} longer than the limit", start, f"{length} bytes, limit {limit}")
        self.reach(self.position + length)
        value = bytes(self.buffer[self.position : self.position + length])
        self.position += length
        return value

    def skip_strings(self, count: int) -> None:
        """Walk over `count` strings, checking that each lies inside the file."""
        unpack, buffer, position, left = _U64.unpack_from, self.buffer, self.position, count
        size = self.size
        while left:
            try:
                while left:
                    (length,) = unpack(buffer, position)
                    if length > size:
                        self.position = position
                        raise GgufError("string longer than the file", position, f"{length} bytes")
                    position += 8 + length
                    left -= 1
            except error:
                self.position = min(position, size)
                self.reach(position + 8)
        self.position = min(position, size)
        self.reach(position)
        self.position = position


def read_header(path: str | os.PathLike[str]) -> Header:
    """The header of a GGUF file.

    Raises:
        GgufError: The file breaks a rule of the format.
        OSError: It cannot be opened.
    """
    name = os.fspath(path)
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise GgufError("not a regular file", 0)
        header = _parse(name, _Cursor(descriptor, before.st_size))
        after = os.fstat(descriptor)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise GgufError("the file changed while it was read", 0)
    except GgufError as broken:
        broken.path = name
        raise
    finally:
        os.close(descriptor)
    return header


def _parse(name: str, cursor: _Cursor) -> Header:
    version = _version(cursor)
    header = Header(name, version, cursor.size)
    tensor_count, kv_count = cursor.number(_U64), cursor.number(_U64)
    left = cursor.size - cursor.position
    if kv_count > _COUNT_BELIEVED and kv_count * _KV_MIN_BYTES > left:
        raise GgufError("more metadata than the file can hold", 16, f"{kv_count} entries")
    if tensor_count > _COUNT_BELIEVED and tensor_count * _TENSOR_MIN_BYTES > left:
        raise GgufError("more tensors than the file can hold", 8, f"{tensor_count} tensors")
    for _ in range(kv_count):
        start = cursor.position
        key = _key(cursor)
        if key in header.metadata:
            raise GgufError("duplicate key", start, repr(key))
        header.metadata[key] = _value(cursor, cursor.number(_U32), start)
        if key == "general.alignment":
            header.alignment = _alignment(header.metadata[key], start)
    infos = list(_tensors(cursor, tensor_count))
    header.data_offset = -(-cursor.position // header.alignment) * header.alignment
    header.tensors = _placed(infos, header)
    return header


def _version(cursor: _Cursor) -> int:
    if cursor.size < 24:  # noqa: PLR2004 - magic, version, two counts
        raise GgufError("shorter than a GGUF header", 0, f"{cursor.size} bytes")
    if cursor.buffer[:4] != _MAGIC:
        raise GgufError("not a GGUF file (magic)", 0)
    cursor.position = 4
    version = cursor.number(_U32)
    if version & 0xFFFF == 0:
        raise GgufError("big-endian file", 4, "convert it to little-endian")
    if version not in _VERSIONS:
        rule = "version 1 is no longer read" if version == 1 else "newer version than this reader knows"
        raise GgufError(rule, 4, f"version {version}")
    return version


def _key(cursor: _Cursor) -> str:
    start = cursor.position
    raw = cursor.text(_KEY_LIMIT_BYTES, "key")
    if not raw:
        raise GgufError("empty key", start)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise GgufError("key is not UTF-8", start) from None


def _value(cursor: _Cursor, type_: int, start: int) -> "int | float | bool | str | Array":
    if type_ == _STRING:
        raw = cursor.text(_KEPT_STRING_LIMIT_BYTES, "string")
        return raw.decode("utf-8", "surrogateescape")
    if type_ == _ARRAY:
        return _array(cursor)
    form = _SCALARS.get(type_)
    if form is None:
        raise GgufError("unknown value type", start, str(type_))
    value = cursor.number(form)
    return _boolean(value, start) if type_ == _BOOL else value


def _boolean(value: int, start: int) -> bool:
    if value > 1:
        raise GgufError("boolean that is neither 0 nor 1", start, str(value))
    return value == 1


def _array(cursor: _Cursor) -> Array:
    start = cursor.position
    type_, count = cursor.number(_U32), cursor.number(_U64)
    if type_ == _ARRAY:
        raise GgufError("array of arrays", start)
    form = _SCALARS.get(type_)
    if form is None and type_ != _STRING:
        raise GgufError("unknown value type", start, str(type_))
    smallest = form.size if form else 8
    if count * smallest > cursor.size - cursor.position:
        raise GgufError("array longer than the file", start, f"{count} elements")
    first = cursor.position
    values: tuple[int | float | bool | str, ...] | None = None
    if form is not None:
        cursor.reach(first + count * form.size)
        if count <= _KEPT_ARRAY_LIMIT:
            values = unpack_from(f"<{count}{form.format[1:]}", cursor.buffer, first)
            if type_ == _BOOL:
                values = tuple(_boolean(int(value), first) for value in values)
        elif type_ == _BOOL and max(cursor.buffer[first : first + count]) > 1:
            raise GgufError("boolean that is neither 0 nor 1", first)
        cursor.position = first + count * form.size
    elif count <= _KEPT_ARRAY_LIMIT:
        values = tuple(
            cursor.text(_KEPT_STRING_LIMIT_BYTES, "string").decode("utf-8", "surrogateescape")
            for _ in range(count)
        )
    else:
        cursor.skip_strings(count)
    return Array(type_, count, first, cursor.position - first, values)


def _alignment(value: "int | float | bool | str | Array", start: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise GgufError("alignment is not a number", start)
    if value < 8 or value > _ALIGNMENT_LIMIT or value & (value - 1):  # noqa: PLR2004 - the format's smallest
        raise GgufError("alignment is not a power of two from 8 to 2^20", start, str(value))
    return value


def _tensors(cursor: _Cursor, count: int) -> Iterator[tuple[Tensor, int]]:
    names: set[str] = set()
    for _ in range(count):
        start = cursor.position
        raw = cursor.text(_NAME_LIMIT_BYTES - 1, "tensor name")
        name = raw.decode("utf-8", "surrogateescape")
        if not name or name in names:
            raise GgufError("duplicate tensor" if name else "empty tensor name", start, repr(name))
        names.add(name)
        dimensions = cursor.number(_U32)
        if not 1 <= dimensions <= _DIMENSIONS_LIMIT:
            raise GgufError("number of dimensions is not 1 to 4", start, str(dimensions))
        shape = tuple(cursor.number(_U64) for _ in range(dimensions))
        number, offset = cursor.number(_U32), cursor.number(_U64)
        yield Tensor(name, shape, *_sized(shape, number, start, offset)), start


def _sized(shape: tuple[int, ...], number: int, start: int, offset: int) -> tuple[str, int, int]:
    known = TENSOR_TYPES.get(number)
    if known is None:
        rule = "removed tensor type" if number in REMOVED else "unknown tensor type"
        raise GgufError(rule, start, str(number))
    type_name, block, size = known
    elements = 1
    for dimension in shape:
        if dimension == 0:
            raise GgufError("dimension of zero", start)
        elements *= dimension
    if elements >= _ELEMENTS_LIMIT:
        raise GgufError("tensor larger than a file can be", start, f"shape {shape}")
    if shape[0] % block:
        raise GgufError("row is not a whole number of blocks", start, f"{shape[0]} of {type_name}")
    return type_name, offset, elements // block * size


def _placed(infos: list[tuple[Tensor, int]], header: Header) -> tuple[Tensor, ...]:
    """The tensors, after checking that they lie in the file and apart from each other."""
    room = header.file_size - header.data_offset
    for tensor, start in infos:
        if tensor.offset % header.alignment:
            raise GgufError("tensor offset is not aligned", start, f"{tensor.name!r} at {tensor.offset}")
        if tensor.offset + tensor.size > room:
            raise GgufError("tensor ends past the file", start, f"{tensor.name!r}")
    end = 0
    for tensor, start in sorted(infos, key=lambda info: info[0].offset):
        if tensor.offset < end:
            raise GgufError("tensors overlap", start, f"{tensor.name!r}")
        end = tensor.offset + tensor.size
    return tuple(tensor for tensor, _ in infos)
