"""`fit FILE --vram 8GiB`: the largest context, the most layers and the best cache type that fit a card."""

import argparse
from copy import copy

from gguf_observability.commands.serving_options import add_serving, serving_of
from gguf_observability.compute import Engine
from gguf_observability.estimate import Estimate, estimate
from gguf_observability.header import Header
from gguf_observability.kv_cache import kv_cache
from gguf_observability.layers import most
from gguf_observability.model import Model, ModelError
from gguf_observability.quantity import amount, shown
from gguf_observability.splits import read_model
from gguf_observability.terminal import say

__all__ = ["add", "run"]

_UNKNOWN_CONTEXT = 1 << 20  # tokens, where a file does not say for how many it was trained
_STEP = 256  # cells of a cache come in multiples of it
_DEFAULT_CONTEXT = 4096
_RESERVE = "457MiB"  # what Ollama leaves a card for the driver's own
_TYPES = ("f16", "q8_0", "q4_0")
_DOES_NOT_FIT = 3


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("file", help="a GGUF file; of a split model the first part")
    parser.add_argument("--vram", type=_amount, required=True, help="the card's memory, for example 8GiB")
    parser.add_argument(
        "--reserve", type=_amount, default=amount(_RESERVE), help=f"the driver's own (default {_RESERVE})"
    )
    parser.add_argument("--context", type=int, default=_DEFAULT_CONTEXT, help="wanted (default 4096)")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    add_serving(parser)


def _amount(written: str) -> int:
    try:
        return amount(written)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: argparse.Namespace) -> int:
    """Print it; exit 3 where not even the output layer fits."""
    header = read_model(options.file)
    model = Model(header.metadata)
    room = max(options.vram - options.reserve, 0)
    types = _TYPES if options.flash_attention == "on" else ("f16",)
    refused = {each: _refusal(model, options, each) for each in types}
    largest = {
        each: 0 if refused[each] else _largest_context(header, model, options, each, room) for each in types
    }
    layers = _most_layers(header, options, room)
    best = next((each for each in types if largest[each] >= options.context), None)
    total = model.layers + 1
    found = _on_card(header, options, options.context, layers, options.cache_type)
    used = sum(found.device_sizes)
    why = _why(header, options, layers, total, room)
    if options.json:
        import json  # noqa: PLC0415 - only where it is asked for

        told = {"room_bytes": room, "largest_context": largest, "best_cache_type": best, "gpu_layers": layers}
        told |= {"layers": total, "card_bytes": used, "host_bytes": found.size - used, "why": why}
        told |= {"exactness": {f"{name}_bytes": str(term.exactness) for name, term in found.terms}}
        told |= {"why_not_exact": {f"{name}_bytes": term.why for name, term in found.terms if term.why}}
        say(json.dumps(told, indent=2))
    else:
        say(f"room: {shown(room)} of {shown(options.vram)}; {shown(options.reserve)} are the driver's")
        for each, context in largest.items():
            why_none = f": {refused[each]}" if refused[each] else ""
            say(f"  all layers, cache {each:5} largest context {context or 'none'}{why_none}")
        say(f"  context {options.context}, cache {options.cache_type}: {layers} of {total} layers fit, {why}")
        say(f"  best cache type for all layers at {options.context}: {best or 'none fits'}")
        say(f"  card {shown(used)}, host {shown(found.size - used)}")
        for name, term in found.terms:
            if term.why:
                say(f"  {name}: {term.exactness}: {term.why}")
    return 0 if layers else _DOES_NOT_FIT


def _on_card(
    header: Header, options: argparse.Namespace, context: int, layers: int, cache_type: str
) -> Estimate:
    serving = serving_of(_with_type(options, cache_type), context)
    return estimate(header, serving, gpu_layers=layers, engine=Engine(options.engine))


def _with_type(options: argparse.Namespace, cache_type: str) -> argparse.Namespace:
    asked = copy(options)
    asked.cache_type = cache_type
    return asked


def _refusal(model: Model, options: argparse.Namespace, cache_type: str) -> str:
    """Why the engine takes no such cache for this model, empty where it does."""
    try:
        kv_cache(model, serving_of(_with_type(options, cache_type), _STEP))
    except ModelError:
        raise
    except ValueError as error:
        return str(error)
    return ""


def _largest_context(
    header: Header, model: Model, options: argparse.Namespace, cache_type: str, room: int
) -> int:
    """The largest context with all layers on the card; 0 where none fits. Memory grows with the context."""
    trained = (model.context or _UNKNOWN_CONTEXT) * options.parallel
    low, high = 0, -(-trained // _STEP)
    while low < high:
        middle = (low + high + 1) // 2
        found = _on_card(header, options, middle * _STEP, model.layers + 1, cache_type)
        if sum(found.device_sizes) <= room:
            low = middle
        else:
            high = middle - 1
    return int(min(low * _STEP, trained))


def _most_layers(header: Header, options: argparse.Namespace, room: int) -> int:
    def at(layers: int) -> Estimate:
        return _on_card(header, options, options.context, layers, options.cache_type)

    return most(at, room)


def _why(header: Header, options: argparse.Namespace, layers: int, total: int, room: int) -> str:
    if layers == total:
        return "all of them"
    more = _on_card(header, options, options.context, layers + 1, options.cache_type)
    parts = ", ".join(f"{name} {shown(term.devices[0])}" for name, term in more.terms if term.devices)
    over = sum(more.device_sizes) - room
    return f"one more would be {shown(over)} too much ({parts})"
