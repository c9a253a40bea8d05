"""The file of a recording: read with an eye to what else it may be, written whole or not at all."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from edge_llm_tests.errors import EvidenceError

__all__ = ["RECORD_STEP", "STANDARD_STREAM", "name_of", "read_document", "write_document"]

RECORD_STEP = "write a new one with `edge evidence record -o FILE`"
STANDARD_STREAM = Path("-")
"""The path that stands for standard input, or output."""
_SIZE_LIMIT_BYTES = 1 << 30  # twenty times a recording of 1,000 nodes; a device would fill the memory
_HEAD_BYTES = 4096
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some editors put it before UTF-8
_OTHER_KINDS = (
    (b"\x1f\x8b", "compressed with gzip", "decompress it first, with `gunzip`"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "decompress it first, with `unzstd`"),
    (b"PK\x03\x04", "a ZIP archive", "take the recording out of it first"),
    (b"\xff\xfe", "UTF-16", "write it as UTF-8"),
    (b"\xfe\xff", "UTF-16", "write it as UTF-8"),
)


def read_document(path: Path) -> Any:
    """The JSON value in the file at `path`; `-` is standard input.

    Raises:
        EvidenceError: It cannot be read, or is no complete JSON document.
    """
    name = name_of(path, "standard input")
    try:
        content = _content(path, name)
    except OSError as error:
        raise EvidenceError(f"{name}: {error.strerror}", RECORD_STEP) from None
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EvidenceError(f"{name}: not a complete JSON document ({error})", RECORD_STEP) from None


def name_of(path: Path, standard_stream: str) -> str:
    """How errors call the file."""
    return standard_stream if path == STANDARD_STREAM else str(path)


def _content(path: Path, name: str) -> bytes:
    if path == STANDARD_STREAM:
        if sys.stdin is None or sys.stdin.closed:
            raise EvidenceError(f"{name} is closed", "give the recording there, or the name of a file")
        return _judged(sys.stdin.buffer.read(_SIZE_LIMIT_BYTES + 1), name)
    with path.open("rb") as file:
        head = _judged(file.read(_HEAD_BYTES), name)  # a gigabyte of something else is not read
        return _judged(head + file.read(_SIZE_LIMIT_BYTES), name)


def _judged(content: bytes, name: str) -> bytes:
    """The content as it is parsed, if it may be JSON at all."""
    for magic, kind, step in _OTHER_KINDS:
        if content.startswith(magic):
            raise EvidenceError(f"{name}: not JSON, but {kind}", step)
    content = content.removeprefix(_BYTE_ORDER_MARK)
    if not content.strip():
        raise EvidenceError(f"{name}: not a complete JSON document (it is empty)", RECORD_STEP)
    if content.startswith(b"\0"):
        raise EvidenceError(f"{name}: not a complete JSON document (it begins with null bytes)", RECORD_STEP)
    if len(content) > _SIZE_LIMIT_BYTES:
        raise EvidenceError(f"{name}: larger than {_SIZE_LIMIT_BYTES >> 20} MiB", RECORD_STEP)
    return content


def write_document(path: Path, document: Any) -> None:
    """Write the JSON value, readable by its owner alone, complete or not at all; `-` is standard output.

    Raises:
        EvidenceError: The file cannot be written.
    """
    content = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    if path == STANDARD_STREAM:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # a pipe, a device: to put a file in its place would take it away
        else:
            _write_whole(path.resolve(), content)
    except OSError as error:
        raise EvidenceError(f"{path}: {error.strerror}", "choose a path that can be written") from None


def _write_whole(path: Path, content: bytes) -> None:
    """Put a file of its owner's alone at `path`, by a name of its own that nobody can have laid there."""
    import tempfile  # noqa: PLC0415 - 5 ms that only a run which writes pays

    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    partial = Path(name)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, no path
            file.write(content)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
