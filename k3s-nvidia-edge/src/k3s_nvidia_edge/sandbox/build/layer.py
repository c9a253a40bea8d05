"""A layer of a container image: an uncompressed tar file whose bytes depend on nothing but what is in it."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["Layer", "LayerFile", "describe", "tree", "write_layer"]

CHUNK_BYTES: Final = 1 << 20


class LayerFile(msgspec.Struct, frozen=True):
    """One file, directory or symbolic link of a layer.

    Attributes:
        name: its path in the image, without the leading slash.
        source: the file on disk, or its whole content; None for directories and links.
        link: where a symbolic link points.
        mode: permission bits; everything belongs to root.
    """

    name: str
    source: Path | bytes | None = None
    link: str = ""
    mode: int = 0o644


class Layer(msgspec.Struct, frozen=True):
    """A layer on disk."""

    path: Path
    digest: str
    size: int


def tree(source: Path, name: str) -> Iterator[LayerFile]:
    """Everything below a directory, to be found below `name` in the image."""
    for directory, folders, files in os.walk(source):
        folders.sort()
        here = Path(directory)
        for entry in sorted((*folders, *files)):
            path = here / entry
            inside = f"{name}/{path.relative_to(source)}"
            if path.is_symlink():
                yield LayerFile(inside, link=str(path.readlink()))
            elif path.is_file():
                yield LayerFile(inside, source=path, mode=0o755 if os.access(path, os.X_OK) else 0o644)


def write_layer(path: Path, files: Iterable[LayerFile]) -> Layer:
    """Write the files in the order of their names, with all directories above them; no times, no owners."""
    named = {file.name: file for file in files}
    for name in list(named):
        for above in Path(name).parents:
            if str(above) != ".":
                named.setdefault(str(above), LayerFile(str(above), mode=0o755))
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(named):
            _add(tar, named[name])
    return describe(path)


def describe(path: Path) -> Layer:
    """The layer that a tar file is; its digest is kept beside it, because layers are large and read often."""
    note = path.with_name(f"{path.name}.json")
    size = path.stat().st_size
    if note.exists():
        known = json.loads(note.read_text(encoding="utf-8"))
        if known["size"] == size:
            return Layer(path, str(known["digest"]), size)
    digest = hashlib.sha256()
    with path.open("rb") as data:
        while chunk := data.read(CHUNK_BYTES):
            digest.update(chunk)
    layer = Layer(path, f"sha256:{digest.hexdigest()}", size)
    note.write_text(json.dumps({"digest": layer.digest, "size": size}), encoding="utf-8")
    return layer


def _add(tar: tarfile.TarFile, file: LayerFile) -> None:
    """One member, with everything that varies between machines left out."""
    member = tarfile.TarInfo(file.name)
    member.mode = file.mode
    if file.link:
        member.type, member.linkname, member.mode = tarfile.SYMTYPE, file.link, 0o777
        tar.addfile(member)
    elif file.source is None:
        member.type = tarfile.DIRTYPE
        tar.addfile(member)
    elif isinstance(file.source, bytes):
        member.size = len(file.source)
        tar.addfile(member, io.BytesIO(file.source))
    else:
        member.size = file.source.stat().st_size
        with file.source.open("rb") as data:
            tar.addfile(member, data)
