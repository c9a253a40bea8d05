"""`estimate FILE`: the memory that it takes when it is served, at one point or over contexts and offloads."""

import argparse

from gguf_observability.commands.serving_options import add_serving, serving_of
from gguf_observability.compute import Engine
from gguf_observability.engines import shown_by_ollama
from gguf_observability.estimate import Estimate, estimate
from gguf_observability.header import Header
from gguf_observability.kv_cache import Serving
from gguf_observability.model import Model
from gguf_observability.quantity import shown
from gguf_observability.splits import read_model, read_projector
from gguf_observability.terminal import say

__all__ = ["add", "document", "run"]

_CONTEXTS = (2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144)
_BAR = 40


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("file", help="a GGUF file; of a split model the first part")
    parser.add_argument("--context", type=int, help="tokens in all; without it a table over contexts")
    parser.add_argument(
        "--gpu-layers",
        type=int,
        default=0,
        help="layers on cards, the output one included; -1 for all of them",
    )
    parser.add_argument(
        "--split", default="1", help="shares of several cards, for example 24,12 (default one card)"
    )
    parser.add_argument("--mmproj", help="the projector's file, a sidecar")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    add_serving(parser)


def run(options: argparse.Namespace) -> int:
    """Print it."""
    header = read_model(options.file)
    if options.context is None:
        say("\n".join(_table(header, options)))
        return 0
    found = _at(header, serving_of(options, options.context), options, options.gpu_layers)
    projector = read_projector(options.mmproj).weights_bytes if options.mmproj else None
    if options.json:
        import json  # noqa: PLC0415 - only where it is asked for

        say(json.dumps(document(found, options.engine, projector), indent=2))
        return 0
    say("\n".join(_lines(found, projector)))
    return 0


def _at(header: Header, serving: Serving, options: argparse.Namespace, layers: int) -> Estimate:
    engine = Engine(options.engine)
    return estimate(header, serving, gpu_layers=layers, shares=_shares(options.split), engine=engine)


def _shares(written: str) -> tuple[float, ...]:
    try:
        shares = tuple(float(each) for each in written.split(","))
    except ValueError:
        raise ValueError(f"--split {written}: write shares as 24,12") from None
    if not all(0 < each < float("inf") for each in shares):
        raise ValueError(f"--split {written}: each share is a number above 0")
    return shares


def document(found: Estimate, engine: str, projector: int | None = None) -> dict[str, object]:
    """The estimate as JSON has it."""
    told: dict[str, object] = {f"{name}_bytes": term.size for name, term in found.terms}
    told["total_bytes"] = found.size + (projector or 0)
    told["exactness"] = {f"{name}_bytes": str(term.exactness) for name, term in found.terms}
    told["why"] = {f"{name}_bytes": term.why for name, term in found.terms if term.why}
    told["host"] = {f"{name}_bytes": term.host for name, term in found.terms}
    told["devices"] = [
        {f"{name}_bytes": term.devices[card] for name, term in found.terms}
        for card in range(len(found.device_sizes))
    ]
    told["gpu_layers"], told["layers"], told["engine"] = found.layers, found.of_layers, engine
    if projector is not None:
        told["projector_bytes"] = projector
        told["exactness"] |= {"projector_bytes": "approximate"}  # type: ignore[operator] # a dict, see above
        told["why"] |= {"projector_bytes": "its weights alone; its compute buffer is not known"}  # type: ignore[operator] # same
    seen = shown_by_ollama(found)
    told["ollama_ps"] = {
        "size_bytes": seen.size,
        "vram_bytes": seen.vram,
        "processor": seen.processor,
        "distortions": list(seen.distortions),
    }
    return told


def _lines(found: Estimate, projector: int | None) -> list[str]:
    cards = range(len(found.device_sizes))
    head = f"{'':10} {'bytes':>16} {'':>11} {'host':>11}" + "".join(
        f" {f'card {card}':>11}" for card in cards
    )
    lines = [f"{found.layers} of {found.of_layers} layers on cards", "", head]
    for name, term in found.terms:
        places = "".join(f" {shown(size):>11}" for size in (term.host, *term.devices))
        lines.append(f"{name:10} {term.size:>16,} {shown(term.size):>11}{places}  {term.exactness}")
    if projector is not None:
        lines.append(
            f"{'projector':10} {projector:>16,} {shown(projector):>11}  approximate: its weights alone"
        )
    total = found.size + (projector or 0)
    lines.append(f"{'total':10} {total:>16,} {shown(total):>11}")
    lines += [f"  {name}: {term.why}" for name, term in found.terms if term.why]
    seen = shown_by_ollama(found)
    lines += ["", f"ollama ps will show {seen.size:,} bytes ({shown(seen.size)}), {seen.processor}"]
    lines += [f"  {each}" for each in seen.distortions]
    return lines


def _table(header: Header, options: argparse.Namespace) -> list[str]:
    model = Model(header.metadata)
    contexts = [each for each in _CONTEXTS if not model.context or each <= model.context]
    contexts = contexts or [model.context]
    total = model.layers + 1
    offloads = sorted({0, total // 2, total})
    lines = [f"{'context':>8}" + "".join(f" {f'{each} on card':>14} {'host':>11}" for each in offloads)]
    whole = []
    for context in contexts:
        row = f"{context:>8}"
        for layers in offloads:
            found = _at(header, serving_of(options, context), options, layers)
            cards = sum(found.device_sizes)
            row += f" {shown(cards):>14} {shown(found.size - cards):>11}"
        whole.append(found)
        lines.append(row)
    widest = max(each.size for each in whole)
    lines += ["", "all layers on the card:  # weights  = cache  + compute and output"]
    for context, found in zip(contexts, whole, strict=True):
        weights = round(found.weights.size / widest * _BAR)
        cache = round(found.kv_cache.size / widest * _BAR)
        rest = round((found.compute.size + found.output.size) / widest * _BAR)
        bar = "#" * weights + "=" * cache + "+" * rest
        lines.append(f"{context:>8} {bar:{_BAR + 2}} {shown(found.size)}")
    lines += [f"  {name}: {term.exactness}: {term.why}" for name, term in found.terms if term.why]
    return lines
