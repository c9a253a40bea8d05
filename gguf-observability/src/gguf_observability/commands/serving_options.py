"""How a model is served, as options of several commands."""

import argparse

from gguf_observability.compute import Engine
from gguf_observability.kv_cache import Serving

__all__ = ["add_serving", "serving_of"]


def add_serving(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--parallel", type=int, default=1, help="slots (default 1)")
    parser.add_argument("--ubatch", type=int, default=512, help="tokens computed at once (default 512)")
    parser.add_argument("--cache-type", default="f16", help="f16, q8_0, q4_0, ... (default f16)")
    parser.add_argument("--flash-attention", choices=("on", "off"), default="on")
    parser.add_argument("--unified", action="store_true", help="one cache for all slots")
    parser.add_argument("--swa-full", action="store_true", help="whole caches for sliding layers too")
    parser.add_argument(
        "--engine",
        choices=[each.value for each in Engine],
        default=Engine.B11434.value,
        help="build of llama.cpp; Ollama 0.33 has b10488 (default b11434)",
    )


def serving_of(options: argparse.Namespace, context: int) -> Serving:
    """The serving that the options describe.

    Raises:
        ValueError: They contradict each other.
    """
    return Serving(
        context,
        parallel=options.parallel,
        ubatch=options.ubatch,
        cache_k=options.cache_type,
        cache_v=options.cache_type,
        unified=options.unified,
        swa_full=options.swa_full,
        flash_attention=options.flash_attention == "on",
    )
