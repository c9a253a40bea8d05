"""A bundle's archive: a tar compressed with Zstandard, the manifest first, then the entries in its order.

Read as a stream, once, without a look ahead. Names come from the checked manifest, never from the archive:
a member that is not exactly the next entry ends it.
"""

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, cast

import msgspec

from edge_cli.bundle.manifest import LIMITS, NAME, BundleError, Entry, Limits, Manifest, parse_manifest

if TYPE_CHECKING:
    import zstandard

__all__ = ["Sink", "read_bundle", "write_bundle"]

_CHUNK_BYTES = 1 << 20
_LEVEL = 3  # models and layers hardly shrink: more would only take longer
_WINDOW_LIMIT_BYTES = 128 << 20  # memory that unpacking takes at most
_HEADER_LIMIT_BYTES = 64 << 10  # names are short here; a longer header is an attack
_END = bytes.fromhex("28b52ffd2000010000")
"""A Zstandard frame of nothing, read behind the archive: where that was cut off, it does not fit."""
_FILE_TYPES = (tarfile.REGTYPE, tarfile.AREGTYPE)


class Sink(Protocol):
    """Where an entry's bytes go."""

    def write(self, content: bytes, /) -> object:
        """Take some more of them."""
        ...


def write_bundle(
    path: Path,
    manifest: Manifest,
    sources: Iterable[Path],
    tell: Callable[[Entry], None] = lambda _entry: None,
) -> None:
    """Write the archive beside its place, and move it there when it is whole.

    Args:
        path: Where to.
        manifest: What is in it.
        sources: A file for each entry, in the manifest's order.
        tell: Is told of each entry.
    """
    import zstandard  # noqa: PLC0415 - only bundles pay

    part = path.with_name(f".{path.name}.part")
    compressor = zstandard.ZstdCompressor(level=_LEVEL, threads=-1, write_checksum=True)
    try:
        with (
            part.open("wb") as raw,
            compressor.stream_writer(raw, closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT, bufsize=_CHUNK_BYTES) as tar,
        ):
            content = msgspec.json.encode(manifest)
            tar.addfile(_member(NAME, len(content)), io.BytesIO(content))
            for entry, source in zip(manifest.entries, sources, strict=True):
                tell(entry)
                with source.open("rb") as data:
                    tar.addfile(_member(entry.path, entry.size), data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def read_bundle(
    path: Path,
    sink: Callable[[Manifest], Callable[[Entry], Sink]],
    limits: Limits = LIMITS,
    tell: Callable[[Entry], None] = lambda _entry: None,
) -> Manifest:
    """Read the whole archive, hold every byte to the manifest, and hand the entries out.

    Args:
        path: The archive.
        sink: Told of the checked manifest before any entry; says where each entry's bytes go.
        limits: What it may be at most.
        tell: Is told of each entry.

    Raises:
        BundleError: It is damaged, is not what it says, or tries what it may not. What was handed out until
            then is to be thrown away.
    """
    with _opened(path) as stream:
        try:
            return _read(path, stream, sink, limits, tell)
        except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
            raise BundleError(path, f"the archive is damaged or cut off: {error}") from None


def _read(
    path: Path,
    stream: "_Rationed",
    sink: Callable[[Manifest], Callable[[Entry], Sink]],
    limits: Limits,
    tell: Callable[[Entry], None],
) -> Manifest:
    stream.ration(_HEADER_LIMIT_BYTES)
    with tarfile.open(fileobj=stream, mode="r|", bufsize=tarfile.RECORDSIZE) as tar:
        first = _next(tar, stream)
        if first is None or first.name != NAME or first.type not in _FILE_TYPES:
            raise BundleError(path, f"it does not begin with its manifest ({NAME})")
        if first.size > limits.manifest_bytes:
            raise BundleError(
                path, f"its manifest has {first.size} bytes, {limits.manifest_bytes} are allowed"
            )
        stream.ration(first.size + _HEADER_LIMIT_BYTES)
        manifest = parse_manifest(_content(tar, first).read(), path, limits)
        place = sink(manifest)
        for entry in manifest.entries:
            tell(entry)
            _copy(path, tar, stream, entry, place(entry))
        extra = _next(tar, stream)
        if extra is not None:
            raise BundleError(path, f"member {extra.name[:80]!r} is not in its manifest")
    stream.ration(_HEADER_LIMIT_BYTES)
    while padding := stream.read(tarfile.RECORDSIZE):
        if padding.strip(b"\0"):
            raise BundleError(path, "there is something behind the end of the archive")
    return manifest


def _copy(path: Path, tar: tarfile.TarFile, stream: "_Rationed", entry: Entry, out: Sink) -> None:
    """The next member's bytes, if it is exactly the entry."""
    member = _next(tar, stream)
    if member is None:
        raise BundleError(path, f"it is cut off: {entry.path} and what follows is missing")
    if member.name != entry.path:
        raise BundleError(path, f"member {member.name[:80]!r} stands where its manifest has {entry.path!r}")
    if member.type not in _FILE_TYPES or member.linkname or member.sparse is not None:
        raise BundleError(path, f"member {entry.path!r} is no ordinary file")
    if member.size != entry.size:
        raise BundleError(path, f"{entry.path} has {member.size} bytes, its manifest says {entry.size}")
    stream.ration(entry.size + _HEADER_LIMIT_BYTES)
    digest = hashlib.sha256()
    source = _content(tar, member)
    left = entry.size
    while left:
        chunk = source.read(min(left, _CHUNK_BYTES))
        if not chunk:
            raise BundleError(path, f"it is cut off in the middle of {entry.path}")
        digest.update(chunk)
        out.write(chunk)
        left -= len(chunk)
    if digest.hexdigest() != entry.sha256:
        raise BundleError(
            path, f"the SHA-256 of {entry.path} is {digest.hexdigest()}, its manifest says {entry.sha256}"
        )


def _next(tar: tarfile.TarFile, stream: "_Rationed") -> tarfile.TarInfo | None:
    """The next member; a header that is longer than any of ours is refused before it is read."""
    stream.ration(_HEADER_LIMIT_BYTES)
    return tar.next()


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    found = tar.extractfile(member)
    if found is None:
        raise tarfile.ReadError(f"member {member.name[:80]!r} has no content")
    return found


@contextmanager
def _opened(path: Path) -> Iterator["_Rationed"]:
    import zstandard  # noqa: PLC0415 - only bundles pay

    try:
        raw = path.open("rb")
    except OSError as error:
        raise BundleError(path, str(error.strerror), "name a bundle that is there and readable") from None
    with raw:
        unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_LIMIT_BYTES)
        with unpacker.stream_reader(cast("IO[bytes]", _Ended(raw)), read_across_frames=True) as unpacked:
            try:
                yield _Rationed(unpacked)
            except zstandard.ZstdError as error:
                raise BundleError(path, f"it is no Zstandard archive, or damaged: {error}") from None


class _Ended(io.RawIOBase):
    """A file, and an end behind it that goes with a whole archive alone: zstandard takes half of one."""

    def __init__(self, source: IO[bytes]) -> None:
        super().__init__()
        self._source = source
        self._end = _END

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes: of the file, then of the end."""
        if content := self._source.read(size):
            return content
        content, self._end = self._end, b""
        return content


class _Rationed(io.RawIOBase):
    """A stream that gives no more than was allowed: a few bytes that unpack to terabytes end here."""

    def __init__(self, source: "zstandard.ZstdDecompressionReader") -> None:
        super().__init__()
        self._source = source
        self._left = 0

    def ration(self, size: int) -> None:
        """Allow so many bytes from here on, and what tarfile reads ahead."""
        self._left = size + tarfile.RECORDSIZE

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]  # what RawIOBase.read passes
        """Up to as many bytes as the buffer has room for."""
        if not self._left:
            raise tarfile.ReadError("it unpacks to more than its manifest says")
        content = self._source.read(min(len(buffer), self._left))
        self._left -= len(content)
        buffer[: len(content)] = content
        return len(content)


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o644
    return member
