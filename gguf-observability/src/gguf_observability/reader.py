"""A GGUF header, read strictly and lazily: nothing that a file says is believed before it is checked.

Versions 2 and 3, little-endian. Only `pread` touches the file (no mmap: a file that is truncated while open
must be an error, not a signal). Long arrays, such as a vocabulary, are walked and remembered by their place.
"""

import os
import stat
from struct import Struct, unpack

from gguf_observability.cursor import U32, U64, Cursor
from gguf_observability.errors import GgufError
from gguf_observability.header import Array, Header, Tensor, Value
from gguf_observability.kept import Kept
from gguf_observability.tensor_types import REMOVED, TENSOR_TYPES

TYPE_CHECKING = False  # what typing has, without the 4 ms of importing it
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Array", "Header", "Tensor", "Value", "read_header"]

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_KEPT_STRING_LIMIT_BYTES = 4 << 20  # chat templates have some ten thousand
_BOOLEANS_LIMIT = 1 << 20  # in an array: one a layer, or one a token
_PAIRS_LIMIT = 4096  # the largest models have some hundred
_TENSORS_LIMIT = 16384  # the largest models have some thousand
_ENTRY_BYTES = 200  # what a pair takes beside its text, about
_KEY_LIMIT_BYTES = 65535
_NAME_LIMIT_BYTES = 64
_DIMENSIONS_LIMIT = 4
_ELEMENTS_LIMIT = 1 << 63
_ALIGNMENT_LIMIT = 1 << 20
_KV_MIN_BYTES = 14  # key length, one byte of key, type, one byte of value
_TENSOR_MIN_BYTES = 33  # name length, one byte, dimensions, one dimension, type, offset
_COUNT_BELIEVED = 1024  # below it the entries themselves tell more about what is wrong than their number
_U32, _BOOL, _STRING, _ARRAY = 4, 7, 8, 9
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

_PLACES = tuple(Struct(f"<{dimensions}QIQ") for dimensions in range(1, _DIMENSIONS_LIMIT + 1))
"""Of tensors of one to four dimensions: these, the type and the offset."""


def read_header(path: str | os.PathLike[str]) -> Header:
    """The header of a GGUF file.

    Raises:
        GgufError: The file breaks a rule of the format.
        OSError: It cannot be opened.
    """
    name = os.fspath(path)
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return _unchanged(name, descriptor)
    except GgufError as broken:
        broken.path = name
        raise
    finally:
        os.close(descriptor)


def _unchanged(name: str, descriptor: int) -> Header:
    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        raise GgufError("not a regular file", 0)
    header = _parse(name, Cursor(descriptor, before.st_size))
    after = os.fstat(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise GgufError("the file changed while it was read", 0)
    return header


def _parse(name: str, cursor: Cursor) -> Header:
    version = _version(cursor)
    header = Header(name, version, cursor.size)
    tensor_count, kv_count = cursor.number(U64), cursor.number(U64)
    left = cursor.size - cursor.position
    if kv_count > _COUNT_BELIEVED and kv_count * _KV_MIN_BYTES > left:
        raise GgufError("more metadata than the file can hold", 16, f"{kv_count} entries")
    if tensor_count > _COUNT_BELIEVED and tensor_count * _TENSOR_MIN_BYTES > left:
        raise GgufError("more tensors than the file can hold", 8, f"{tensor_count} tensors")
    if kv_count > _PAIRS_LIMIT:
        raise GgufError("more metadata than the limit", 16, f"{kv_count} entries")
    if tensor_count > _TENSORS_LIMIT:
        raise GgufError("more tensors than the limit", 8, f"{tensor_count} tensors")
    kept = Kept()
    for _ in range(kv_count):
        start = cursor.position
        key = _key(cursor)
        if key in header.metadata:
            raise GgufError("duplicate key", start, repr(key))
        kept.text(len(key) + _ENTRY_BYTES, start)
        type_ = cursor.number(U32)
        header.metadata[key] = _value(cursor, type_, start, kept)
        if key == "general.alignment":
            header.alignment = _alignment(header.metadata[key], type_, start)
    infos = list(_tensors(cursor, tensor_count))
    header.data_offset = -(-cursor.position // header.alignment) * header.alignment
    header.tensors = _placed(infos, header)
    return header


def _version(cursor: Cursor) -> int:
    if cursor.size < 24:  # noqa: PLR2004 - magic, version, two counts
        raise GgufError("shorter than a GGUF header", 0, f"{cursor.size} bytes")
    if cursor.take(4) != _MAGIC:
        raise GgufError("not a GGUF file (magic)", 0)
    version = cursor.number(U32)
    if version & 0xFFFF == 0 and version:
        raise GgufError("big-endian file", 4, "convert it to little-endian")
    if version not in _VERSIONS:
        older = version < _VERSIONS[0]
        rule = f"version {version} is no longer read" if older else "newer version than this reader knows"
        raise GgufError(rule, 4, f"version {version}")
    return version


def _key(cursor: Cursor) -> str:
    start = cursor.position
    raw = cursor.text(_KEY_LIMIT_BYTES, "key")
    if not raw:
        raise GgufError("empty key", start)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise GgufError("key is not UTF-8", start) from None


def _value(cursor: Cursor, type_: int, start: int, kept: Kept) -> Value:
    if type_ == _STRING:
        raw = cursor.text(_KEPT_STRING_LIMIT_BYTES, "string")
        kept.text(len(raw), start)
        return raw.decode("utf-8", "surrogateescape")
    if type_ == _ARRAY:
        return _array(cursor, kept)
    form = _SCALARS.get(type_)
    if form is None:
        raise GgufError("unknown value type", start, str(type_))
    value = cursor.number(form)
    return _boolean(value, start) if type_ == _BOOL else value


def _boolean(value: int, start: int) -> bool:
    if value > 1:
        raise GgufError("boolean that is neither 0 nor 1", start, str(value))
    return value == 1


def _array(cursor: Cursor, kept: Kept) -> Array:
    start = cursor.position
    type_, count = cursor.number(U32), cursor.number(U64)
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
        values = _numbers(cursor, form, count, type_, kept)
    elif kept.listed(count):
        listed = []
        for _ in range(count):
            raw = cursor.text(_KEPT_STRING_LIMIT_BYTES, "string")
            kept.text(len(raw), first)
            listed.append(raw.decode("utf-8", "surrogateescape"))
        values = tuple(listed)
    else:
        kept.walk(count, start)
        cursor.skip_strings(count)
    return Array(type_, count, first, cursor.position - first, values)


def _numbers(
    cursor: Cursor, form: Struct, count: int, type_: int, kept: Kept
) -> tuple[int | float | bool, ...] | None:
    """An array of numbers or truth values; None where it is too long to be kept."""
    first = cursor.position
    if kept.array(count):
        values = unpack(f"<{count}{form.format[1:]}", cursor.take(count * form.size))
        return tuple(_boolean(int(value), first) for value in values) if type_ == _BOOL else values
    if type_ != _BOOL:
        cursor.skip(count * form.size)
    elif count > _BOOLEANS_LIMIT:
        raise GgufError("array longer than the limit", first, f"{count} truth values")
    elif not cursor.only(b"\0\1", count):
        raise GgufError("boolean that is neither 0 nor 1", first)
    return None


def _alignment(value: Value, type_: int, start: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise GgufError("alignment is not a number", start)
    if type_ != _U32:
        raise GgufError("alignment is not of type u32", start, f"type {type_}")
    if value < 8 or value > _ALIGNMENT_LIMIT or value & (value - 1):  # noqa: PLR2004 - the format's smallest
        raise GgufError("alignment is not a power of two from 8 to 2^20", start, str(value))
    return value


def _tensors(cursor: Cursor, count: int) -> "Iterator[tuple[Tensor, int]]":
    names: set[str] = set()
    for _ in range(count):
        start = cursor.position
        raw = cursor.text(_NAME_LIMIT_BYTES - 1, "tensor name")
        name = raw.decode("utf-8", "surrogateescape")
        if not name or name in names:
            raise GgufError("duplicate tensor" if name else "empty tensor name", start, repr(name))
        names.add(name)
        dimensions = cursor.number(U32)
        if not 1 <= dimensions <= _DIMENSIONS_LIMIT:
            raise GgufError("number of dimensions is not 1 to 4", start, str(dimensions))
        *shape, number, offset = cursor.numbers(_PLACES[dimensions - 1])
        yield Tensor(name, tuple(shape), *_sized(tuple(shape), number, start, offset)), start


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
