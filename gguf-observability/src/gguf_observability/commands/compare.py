"""`compare A B`: two files side by side, by what their memory depends on."""

import argparse

from gguf_observability.commands.inspect import mix
from gguf_observability.commands.serving_options import add_serving, serving_of
from gguf_observability.compute import Engine
from gguf_observability.estimate import estimate
from gguf_observability.header import Array, Header
from gguf_observability.quantity import shown
from gguf_observability.splits import read_model
from gguf_observability.terminal import printable, say

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("first", help="a GGUF file")
    parser.add_argument("second", help="another")
    parser.add_argument("--context", type=int, default=4096, help="tokens in all (default 4096)")
    add_serving(parser)


def run(options: argparse.Namespace) -> int:
    """Print it."""
    headers = [read_model(options.first), read_model(options.second)]
    serving = serving_of(options, options.context)
    found = [estimate(each, serving, engine=Engine(options.engine)) for each in headers]
    say(f"{'':12} {printable(headers[0].path, 34):>36} {printable(headers[1].path, 34):>36}")
    for index, (name, term) in enumerate(found[0].terms):
        say(f"{name:12} {shown(term.size):>36} {shown(found[1].terms[index][1].size):>36}")
    say(f"{'total':12} {shown(found[0].size):>36} {shown(found[1].size):>36}")
    for header, each in zip(headers, found, strict=True):
        for name, term in each.terms:
            if term.why:
                say(f"  {printable(header.path, 34)}: {name}: {term.exactness}: {term.why}")
    say(f"{'types':12} {_types(headers[0]):>36} {_types(headers[1]):>36}")
    differing = [key for key in _keys(headers) if _told(headers[0], key) != _told(headers[1], key)]
    say(f"\n{len(differing)} keys differ")
    for key in differing:
        say(f"  {printable(key)}: {_told(headers[0], key)} | {_told(headers[1], key)}")
    return 0


def _types(header: Header) -> str:
    elements = sum(tensor.elements for tensor in header.tensors) or 1
    return " ".join(f"{name} {count / elements:.0%}" for name, count, _ in mix(header)[:3])


def _keys(headers: list[Header]) -> list[str]:
    return list(headers[0].metadata | headers[1].metadata)


def _told(header: Header, key: str) -> str:
    value = header.metadata.get(key)
    if isinstance(value, Array):
        return f"[{value.count} values]" if value.values is None else printable(str(list(value.values)), 60)
    return "-" if value is None else printable(str(value), 60)
