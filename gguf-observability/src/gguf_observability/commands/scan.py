"""`scan FOLDER`: every GGUF file below folders, a line each: an Ollama's blobs, a store of models."""

import argparse
import os
import stat
from collections.abc import Iterator

from gguf_observability.commands.inspect import mix
from gguf_observability.errors import GgufError
from gguf_observability.progress import followed
from gguf_observability.quantity import shown
from gguf_observability.reader import read_header
from gguf_observability.terminal import plain, printable, say

__all__ = ["add", "run"]

_MAGIC = b"GGUF"
_BROKEN = 3


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("folder", nargs="+", help="a folder, or a file")
    parser.add_argument("--json", action="store_true", help="one JSON document a line instead of text")


def run(options: argparse.Namespace) -> int:
    """Say one line a file; exit 3 where one breaks a rule of the format."""
    import json  # noqa: PLC0415 - only where it is asked for

    files = [each for folder in options.folder for each in _files(folder)]
    broken = 0
    for told in followed(map(_told, files), "files", len(files)):
        broken += "error" in told
        say(json.dumps(plain(told)) if options.json else _line(told))
    if not options.json:
        say(f"{len(files)} files, {broken} broken")
    return _BROKEN if broken else 0


def _files(folder: str) -> Iterator[str]:
    """Regular files that begin as GGUF, in the order of their names; links are not followed."""
    if not os.path.isdir(folder):  # noqa: PTH112 - a string is kept
        os.stat(folder)  # noqa: PTH116 - what is not there is an error that names it
        yield folder
        return
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)  # noqa: PTH118 - same
            if _begins_as_gguf(path):
                yield path


def _begins_as_gguf(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and os.pread(descriptor, 4, 0) == _MAGIC
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _told(path: str) -> dict[str, object]:
    try:
        header = read_header(path)
    except (GgufError, OSError) as error:
        return {"file": path, "error": str(error)}
    found = mix(header)
    context = header.metadata.get(f"{header.architecture}.context_length", 0)
    return {
        "file": path,
        "architecture": header.architecture,
        "parameters": sum(tensor.elements for tensor in header.tensors),
        "file_bytes": header.file_size,
        "weights_bytes": header.weights_bytes,
        "most_of": found[0][0] if found else "",
        "context": context if isinstance(context, int) else 0,
    }


def _line(told: dict[str, object]) -> str:
    if "error" in told:
        return f"broken: {printable(str(told['error']), 400)}"
    size = told["file_bytes"]
    file, kind = printable(str(told["file"]), 400), printable(str(told["architecture"]), 24)
    return (
        f"{kind:16} {told['parameters']:>16,} {told['most_of']:>8} "
        f"{shown(size if isinstance(size, int) else 0):>11} {told['context']:>9}  {file}"
    )
