"""A model in several files (`-00001-of-0000N.gguf`), and the sidecars that lie beside one."""

import os

from gguf_observability.errors import GgufError
from gguf_observability.header import PROJECTOR, Header, Tensor
from gguf_observability.reader import read_header

__all__ = ["read_model", "read_projector", "sidecars"]

_NAME = r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf"
_COUNT_LIMIT = 1024
_SIDECAR_PREFIXES = ("mmproj-", "mtp-")


def read_model(path: str | os.PathLike[str]) -> Header:
    """The header of a model; of one in several files the first one's, with the tensors of all.

    Raises:
        GgufError: A file breaks a rule of the format, or the files do not belong together.
        OSError: One of them cannot be opened.
    """
    first = read_header(path)
    count = _number(first, "split.count")
    if count <= 1:
        return first
    name = os.fspath(path)
    import re  # noqa: PLC0415 - only split files need it, and it takes 10 ms

    found = re.fullmatch(_NAME, name, re.DOTALL)
    if found is None or int(found["count"]) != count:
        raise GgufError("split file whose name does not say so", 0, f"{count} parts", name)
    if count > _COUNT_LIMIT:
        raise GgufError("more parts than a model has", 0, f"{count} parts", name)
    if int(found["number"]) == 1 and _number(first, "split.no") != 0:
        raise GgufError(
            "part in the wrong place", 0, f"split.no {_number(first, 'split.no')} in the first", name
        )
    if int(found["number"]) != 1:
        raise GgufError("not the first part of a split model", 0, f"give {found['stem']}-00001-of-...", name)
    return _joined(first, found["stem"], count)


def read_projector(path: str | os.PathLike[str]) -> Header:
    """The header of a projector, the sidecar of a model that sees or hears.

    Raises:
        GgufError: A file breaks a rule of the format, or is no projector.
        OSError: It cannot be opened.
    """
    found = read_model(path)
    if found.metadata.get("general.type") != "mmproj" and found.architecture != PROJECTOR:
        raise GgufError("not a projector", 0, f"its architecture is {found.architecture!r}", found.path)
    return found


def _joined(first: Header, stem: str, count: int) -> Header:
    tensors: dict[str, Tensor] = {tensor.name: tensor for tensor in first.tensors}
    for index in range(1, count):
        part = read_header(f"{stem}-{index + 1:05d}-of-{count:05d}.gguf")
        if _number(part, "split.no") != index or _number(part, "split.count") != count:
            raise GgufError("part of another split", 0, f"wanted part {index + 1} of {count}", part.path)
        for tensor in part.tensors:
            if tensor.name in tensors:
                raise GgufError("tensor in two parts", 0, repr(tensor.name), part.path)
            tensors[tensor.name] = tensor
        first.file_size += part.file_size
    stated = _number(first, "split.tensors.count")
    if stated and stated != len(tensors):
        raise GgufError("split lacks tensors", 0, f"{stated} promised, {len(tensors)} there", first.path)
    first.tensors = tuple(tensors.values())
    return first


def _number(header: Header, key: str) -> int:
    value = header.metadata.get(key, 0)
    if not isinstance(value, int) or value < 0:
        raise GgufError("split key is not a number from 0", 0, f"{key} {value!r}", header.path)
    return int(value)


def sidecars(path: str) -> tuple[str, ...]:
    """Projectors and drafters that lie in the same folder, by their names."""
    folder = os.path.dirname(path) or "."  # noqa: PTH120 - pathlib costs the start of `inspect` some ms
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - same
    except OSError:
        return ()
    own = os.path.basename(path)  # noqa: PTH119 - same
    return tuple(each for each in names if each.startswith(_SIDECAR_PREFIXES) and each != own)
