"""`inspect FILE`: what a file holds, with the measured mix of its types."""

from gguf_observability.header import Array, Header
from gguf_observability.quantity import shown
from gguf_observability.splits import read_model, sidecars
from gguf_observability.terminal import plain, printable, say

TYPE_CHECKING = False  # what typing has, without the 15 ms of importing it
if TYPE_CHECKING:
    import argparse

__all__ = ["add", "mix", "run", "tokenizer"]


def add(parser: "argparse.ArgumentParser") -> None:
    """The options."""
    parser.add_argument("file", help="a GGUF file; of a split model the first part")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    parser.add_argument("--tensors", action="store_true", help="list every tensor")


def run(options: "argparse.Namespace") -> int:
    """Print it."""
    header = read_model(options.file)
    if options.json:
        import json  # noqa: PLC0415 - the text needs none of it, and it is the larger part of the start

        say(json.dumps(plain(_document(header, tensors=options.tensors)), indent=2))
        return 0
    say("\n".join(_lines(header, tensors=options.tensors)))
    return 0


def mix(header: Header) -> list[tuple[str, int, int]]:
    """Type, elements and bytes of the tensors, the most elements first: measured, whatever the name says."""
    found: dict[str, list[int]] = {}
    for tensor in header.tensors:
        entry = found.setdefault(tensor.type, [0, 0])
        entry[0] += tensor.elements
        entry[1] += tensor.size
    return sorted(((name, *entry) for name, entry in found.items()), key=lambda each: -each[1])  # type: ignore[misc] # a list of two is not known to have two


def _lines(header: Header, *, tensors: bool) -> list[str]:
    elements = sum(tensor.elements for tensor in header.tensors)
    lines = [
        f"{printable(header.path)}",
        f"  GGUF v{header.version}, {shown(header.file_size)}, header {shown(header.data_offset)}",
        f"  {len(header.metadata)} keys, {len(header.tensors)} tensors",
    ]
    if elements:
        bits = header.weights_bytes * 8 / elements
        lines.append(f"  {elements:,} parameters, {shown(header.weights_bytes)}, {bits:.2f} bits a weight")
    for name, count, size in mix(header):
        lines.append(f"    {name:8} {count / elements:7.2%} of parameters  {shown(size):>11}")
    if tokenizer(header):
        lines.append(_tokenizer_line(header))
    beside = sidecars(header.path)
    if beside:
        lines.append(f"  beside it: {', '.join(printable(each) for each in beside)}")
    lines.append("")
    lines += [f"  {printable(key)} = {_value(value)}" for key, value in header.metadata.items()]
    if tensors:
        lines.append("")
        lines += [
            f"  {printable(each.name):40} {each.type:8} {'x'.join(map(str, each.shape)):>20} {each.size:>14,}"
            for each in header.tensors
        ]
    return lines


def tokenizer(header: Header) -> dict[str, object]:
    """What the file says of its tokenizer: model, vocabulary, merges, special tokens; empty without one."""
    prefix = "tokenizer.ggml."
    found: dict[str, object] = {}
    for name, key in (("model", "model"), ("pre", "pre")):
        value = header.metadata.get(prefix + key)
        if isinstance(value, str):
            found[name] = value
    for name, key in (("vocabulary", "tokens"), ("merges", "merges")):
        value = header.metadata.get(prefix + key)
        if isinstance(value, Array):
            found[name] = value.count
    special = {
        key.removeprefix(prefix).removesuffix("_token_id"): value
        for key, value in header.metadata.items()
        if key.startswith(prefix) and key.endswith("_token_id")
    }
    if special:
        found["special"] = special
    if isinstance(header.metadata.get("tokenizer.chat_template"), str):
        found["chat_template_characters"] = len(str(header.metadata["tokenizer.chat_template"]))
    return found


def _tokenizer_line(header: Header) -> str:
    found = tokenizer(header)
    told = [printable(str(found[name]), 40) for name in ("model", "pre") if name in found]
    told += [
        f"{found[name]:,} {what}"
        for name, what in (("vocabulary", "tokens"), ("merges", "merges"))
        if name in found
    ]
    special = found.get("special")
    if isinstance(special, dict):
        told.append(
            " ".join(f"{printable(key, 20)} {printable(str(value), 20)}" for key, value in special.items())
        )
    if "chat_template_characters" in found:
        told.append(f"chat template of {found['chat_template_characters']:,} characters, not rendered")
    return f"  tokenizer: {', '.join(told)}"


def _value(value: object) -> str:
    if isinstance(value, Array):
        if value.values is None or len(value.values) > 8:  # noqa: PLR2004 - what fits on a line
            return f"[{value.count:,} values]"
        return f"[{', '.join(_value(each) for each in value.values)}]"
    return repr(printable(value, 72)) if isinstance(value, str) else str(value)


def _document(header: Header, *, tensors: bool) -> dict[str, object]:
    document: dict[str, object] = {
        "file": header.path,
        "version": header.version,
        "file_bytes": header.file_size,
        "header_bytes": header.data_offset,
        "weights_bytes": header.weights_bytes,
        "parameters": sum(tensor.elements for tensor in header.tensors),
        "tensor_count": len(header.tensors),
        "mix": [{"type": a, "parameters": b, "bytes": c} for a, b, c in mix(header)],
        "tokenizer": tokenizer(header),
        "sidecars": list(sidecars(header.path)),
        "metadata": {key: _plain(value) for key, value in header.metadata.items()},
    }
    if tensors:
        document["tensors"] = [
            {"name": each.name, "type": each.type, "shape": list(each.shape), "bytes": each.size}
            for each in header.tensors
        ]
    return document


def _plain(value: object) -> object:
    if isinstance(value, Array):
        return {"count": value.count} if value.values is None else list(value.values)
    return value
