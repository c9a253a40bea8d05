"""The host's disk: files that are there complete or not at all."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["discarded_unless_done", "file_sha256", "put_bytes", "put_link", "put_stream", "settle"]

_CHUNK_BYTES = 1024 * 1024


def file_sha256(path: Path) -> str:
    """The checksum of a file, hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def put_bytes(path: Path, content: bytes, mode: int) -> None:
    """Write the file; who reads it meanwhile sees the old one or the new one, never a part."""

    def fill(stream: BinaryIO) -> None:
        stream.write(content)

    _put(path, mode, fill)


def put_stream(
    path: Path, source: BinaryIO, mode: int, *, on_bytes: Callable[[int], None] = lambda _: None
) -> str:
    """Write what `source` gives beside `path`, under its name with `.partial`; the checksum of it.

    The caller moves it to its place once the checksum is right (`settle`), inside `discarded_unless_done`.
    """
    digest = hashlib.sha256()
    partial = _partial(path)
    partial.parent.mkdir(parents=True, exist_ok=True)
    written_bytes = 0
    with _created(partial, mode) as stream:
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
            stream.write(chunk)
            written_bytes += len(chunk)
            on_bytes(written_bytes)
        stream.flush()
        os.fsync(stream.fileno())
    return digest.hexdigest()


def settle(path: Path) -> None:
    """Move what `put_stream` wrote to its place."""
    _partial(path).replace(path)
    _sync_folder(path.parent)


@contextmanager
def discarded_unless_done(path: Path) -> Iterator[None]:
    """What `put_stream` writes inside is dropped where it does not come to `settle`, Ctrl-C included."""
    try:
        yield
    finally:
        _partial(path).unlink(missing_ok=True)


def put_link(path: Path, target: str) -> None:
    """Make a symbolic link, in place of an older one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    partial.unlink(missing_ok=True)
    partial.symlink_to(target)
    partial.replace(path)


def _put(path: Path, mode: int, fill: Callable[[BinaryIO], None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    try:
        with _created(partial, mode) as stream:
            fill(stream)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.partial")


def _created(path: Path, mode: int) -> BinaryIO:
    """A new file, from its first byte no more readable than it will be."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    os.fchmod(descriptor, mode)  # whatever the umask
    return os.fdopen(descriptor, "wb")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
