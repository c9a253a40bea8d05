"""Predicted and observed bytes of served models, as gauges for an exporter.

The exporter asks for them by `memory_gauges`; it adds names and help of its own and registers nothing here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from edge_llm_tests import Recording
from edge_llm_tests.ollama import loaded_models
from edge_llm_tests.reads import UnseenError

from gguf_observability.compute import Engine
from gguf_observability.engines import engine_of, shown_by_ollama
from gguf_observability.estimate import estimate
from gguf_observability.kv_cache import Serving
from gguf_observability.served import batch_size, observe_served
from gguf_observability.terminal import printable

__all__ = ["Gauge", "memory_gauges"]


@dataclass(frozen=True, slots=True)
class Gauge:
    """One value.

    Attributes:
        labels: `model`, `kind` (`predicted` or `observed`), `part` (`weights`, `kv_cache`, `compute`,
            `output`, `shown`) and `place` (`all`, `cards`).
        size_bytes: The value.
    """

    labels: Mapping[str, str]
    size_bytes: int


def memory_gauges(
    recording: Recording, *, ubatch: int | None = None, cache_type: str = "f16", blobs: str = ""
) -> tuple[Gauge, ...]:
    """Gauges of every loaded model whose `/api/show` is in the recording; none for others.

    What `ollama ps` shows is `observed`; beside it `predicted`, the same sum by the engine's rules, and each
    part. A model that cannot be predicted (unknown tensors, metadata that is not whole) is only observed.

    Args:
        recording: With `/api/version`, `/api/ps` and `/api/show <model>` of Ollama.
        ubatch: Tokens computed at once; None for the model's own `num_batch`, or what Ollama takes.
        cache_type: `OLLAMA_KV_CACHE_TYPE`.
        blobs: Where Ollama's blobs are seen from here; empty if they are not.
    """
    return tuple(_all(recording, ubatch, cache_type, blobs))


def _all(recording: Recording, ubatch: int | None, cache_type: str, blobs: str) -> Iterator[Gauge]:
    for loaded in loaded_models(recording):
        name = printable(loaded.name)
        yield _gauge(name, "observed", "shown", "all", loaded.size_bytes)
        yield _gauge(name, "observed", "shown", "cards", loaded.vram_bytes)
        if loaded.vram_bytes not in (0, loaded.size_bytes) or not loaded.context_length:
            continue  # how many layers are on the card is nowhere told
        try:
            served = observe_served(recording, loaded.name, blobs)
            slot = loaded.context_length
            batch = ubatch or batch_size(served, slot)
            serving = Serving(slot, ubatch=batch, cache_k=cache_type, cache_v=cache_type)
            engine = engine_of(served.version) or Engine.B10488
            layers = 1 << 20 if loaded.vram_bytes else 0
            found = estimate(served.header, serving, gpu_layers=layers, engine=engine)
        except (UnseenError, ValueError):
            continue
        if not served.header.tensors:
            continue
        seen = shown_by_ollama(found)
        yield _gauge(name, "predicted", "shown", "all", seen.size)
        yield _gauge(name, "predicted", "shown", "cards", seen.vram)
        for part, term in found.terms:
            yield _gauge(name, "predicted", part, "all", term.size)
            yield _gauge(name, "predicted", part, "cards", sum(term.devices))


def _gauge(model: str, kind: str, part: str, place: str, size: int) -> Gauge:
    return Gauge({"model": model, "kind": kind, "part": part, "place": place}, size)
