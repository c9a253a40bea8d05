"""Makes GGUF files, whole and broken, for tests."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gguf_observability.header import Array
from gguf_observability.model import Model

GOLDEN = json.loads((Path(__file__).parent / "golden_kv.json").read_text())


def string(text: str | bytes) -> bytes:
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(raw)) + raw


def header(tensors: int, pairs: int, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, pairs)


def tensor(name: str, shape: Sequence[int], type_: int, offset: int) -> bytes:
    shaped = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return string(name) + shaped + struct.pack("<IQ", type_, offset)


def value(content: Any) -> bytes:
    if isinstance(content, bool):
        return struct.pack("<IB", 7, content)
    if isinstance(content, int):
        return struct.pack("<II", 4, content)
    if isinstance(content, float):
        return struct.pack("<If", 6, content)
    if isinstance(content, str):
        return struct.pack("<I", 8) + string(content)
    if content and isinstance(content[0], str):
        return struct.pack("<IIQ", 9, 8, len(content)) + b"".join(string(each) for each in content)
    if content and isinstance(content[0], bool):
        return struct.pack("<IIQ", 9, 7, len(content)) + bytes(content)
    return struct.pack(f"<IIQ{len(content)}I", 9, 4, len(content), *content)


def pair(key: str, content: Any) -> bytes:
    return string(key) + value(content)


def gguf(
    metadata: Mapping[str, Any], tensors: Sequence[tuple[str, Sequence[int]]] = (), version: int = 3
) -> bytes:
    """A well-formed file with F32 tensors of zeros."""
    pairs = b"".join(pair(key, content) for key, content in metadata.items())
    infos, offset = b"", 0
    for name, shape in tensors:
        infos += tensor(name, shape, 0, offset)
        size = 4
        for dimension in shape:
            size *= dimension
        offset += -(-size // 32) * 32
    head = header(len(tensors), len(metadata), version) + pairs + infos
    return head + bytes(-len(head) % 32) + bytes(offset)


def model_file(architecture: str, shape: Mapping[str, Any], **more: Any) -> bytes:
    keys = {f"{architecture}.{key}": content for key, content in shape.items()}
    return gguf({"general.architecture": architecture, **keys}, **more)


def model_of(architecture: str, metadata: Mapping[str, Any]) -> Model:
    """A model as its header tells of it, without a file."""
    found: dict[str, object] = {"general.architecture": architecture}
    for key, content in metadata.items():
        listed = isinstance(content, list)
        found[f"{architecture}.{key}"] = Array(4, len(content), 0, 0, tuple(content)) if listed else content
    return Model(found)


def golden_file(name: str) -> bytes:
    entry = GOLDEN["models"][name]
    return model_file(entry["architecture"], entry["metadata"])


_NESTED = b"".join(struct.pack("<IQ", 9, 1) for _ in range(20000))
_KEY_U32 = string("k") + struct.pack("<II", 4, 1)

MALFORMED: dict[str, tuple[bytes, str]] = {
    "array length 2^63": (
        header(0, 1) + string("a") + struct.pack("<IIQ", 9, 8, 1 << 63),
        "array longer than the file",
    ),
    "pairs 2^63": (header(0, 1 << 63), "more metadata than the file can hold"),
    "tensors 2^63": (header(1 << 63, 0), "more tensors than the file can hold"),
    "string length 2^63": (header(0, 1) + struct.pack("<Q", 1 << 63), "key longer than the limit"),
    "arrays nested 20000 deep": (
        header(0, 1) + string("a") + struct.pack("<I", 9) + _NESTED + struct.pack("<IQI", 4, 1, 1),
        "array of arrays",
    ),
    "array of 2^40 bytes": (
        header(0, 1) + string("a") + struct.pack("<IIQ", 9, 0, 1 << 40),
        "array longer than the file",
    ),
    "alignment 0": (
        header(0, 1) + pair("general.alignment", 0),
        "alignment is not a power of two from 8 to 2^20",
    ),
    "alignment text": (header(0, 1) + pair("general.alignment", "32"), "alignment is not a number"),
    "alignment 2^31": (
        header(1, 1) + pair("general.alignment", 1 << 31) + tensor("t", [4], 0, 0),
        "alignment is not a power of two from 8 to 2^20",
    ),
    "alignment u64": (
        header(0, 1) + string("general.alignment") + struct.pack("<IQ", 10, 32),
        "alignment is not of type u32",
    ),
    "version 0": (header(0, 0, 0), "version 0 is no longer read"),
    "key twice": (header(0, 2) + _KEY_U32 * 2, "duplicate key"),
    "tensor twice": (header(2, 0) + tensor("t", [8], 0, 0) * 2 + bytes(200), "duplicate tensor"),
    "dimensions overflow": (
        header(1, 0) + tensor("t", [1 << 33, 1 << 33], 0, 0) + bytes(64),
        "tensor larger than a file can be",
    ),
    "a million dimensions": (
        header(1, 0) + string("t") + struct.pack("<I", 1000000),
        "number of dimensions is not 1 to 4",
    ),
    "tensor type 9999": (header(1, 0) + tensor("t", [32], 9999, 0) + bytes(128), "unknown tensor type"),
    "removed type 31": (header(1, 0) + tensor("t", [32], 31, 0) + bytes(128), "removed tensor type"),
    "tensor past the end": (
        header(1, 0) + tensor("t", [32], 0, 1 << 40) + bytes(128),
        "tensor ends past the file",
    ),
    "row of 33": (
        header(1, 0) + tensor("t", [33], 2, 0) + bytes(128),
        "row is not a whole number of blocks",
    ),
    "value type 99": (header(0, 1) + string("a") + struct.pack("<I", 99), "unknown value type"),
    "boolean 2": (
        header(0, 1) + string("b") + struct.pack("<IB", 7, 2),
        "boolean that is neither 0 nor 1",
    ),
    "key not UTF-8": (
        header(0, 1) + string(b"\xff\xfe") + struct.pack("<II", 4, 1),
        "key is not UTF-8",
    ),
    "empty key": (header(0, 1) + string("") + struct.pack("<II", 4, 1), "empty key"),
    "version 1": (header(0, 0, 1), "version 1 is no longer read"),
    "version 4": (header(0, 0, 4), "newer version than this reader knows"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian file"),
    "four bytes": (b"GGUF", "shorter than a GGUF header"),
    "no bytes": (b"", "shorter than a GGUF header"),
}
"""By name: the file, and the rule that it breaks."""
