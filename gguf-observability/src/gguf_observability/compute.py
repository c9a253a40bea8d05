"""Compute buffers: what the engine reserves for the widest moment of its graph.

Where the architecture's graph is known it is built and allocated as the engine does it, so the figure is the
engine's own; elsewhere the graph of most models of that kind, or a form, gives an idea.
"""

from collections.abc import Mapping
from enum import StrEnum

from gguf_observability.kv_cache import WITHOUT_FLASH, Exactness, KvCache, Serving, known
from gguf_observability.model import Model
from gguf_observability.placement import HOST
from gguf_observability.rotation import quantised
from gguf_observability.term import Term

__all__ = ["Engine", "compute_buffers", "tokens_at_once"]

_ALIGNMENT = 32  # of a tensor in a buffer, in bytes
_COPIES = 4  # of each input, when batches follow each other through several cards
_F32, _F16 = 4, 2
_OFFLOADED = "on cards that leave the host's layers to the host; CUDA may compute those of long prompts too"


class Engine(StrEnum):
    """A line of the engine: its graph, so its compute buffers, differ."""

    B11434 = "b11434"
    B10488 = "b10488"


def tokens_at_once(serving: Serving) -> int:
    """Tokens of one computation: the batch, no more than the context, a multiple of the slots."""
    count = min(serving.batch, serving.cells * serving.streams)
    return -(-count // serving.parallel) * serving.parallel


def compute_buffers(
    model: Model,
    serving: Serving,
    cache: KvCache,
    *,
    vocabulary: int = 0,
    homes: tuple[int, ...] = (),
    cards: int = 0,
    tensors: Mapping[str, tuple[int, ...]] | None = None,
    engine: Engine = Engine.B11434,
) -> Term:
    """The compute buffers of a model whose blocks and output layer are where `homes` says.

    Args:
        model: The model's metadata.
        serving: How it is served.
        cache: Its cache.
        vocabulary: How many tokens it knows.
        homes: The card of each block and, last, of the output layer; -1 is the host. Empty: all on the host.
        cards: How many cards there are.
        tensors: The file's tensors, name to shape; None for a file without any.
        engine: The line of the engine.
    """
    from gguf_observability.graph.allocator import allocate  # noqa: PLC0415 - what only reads headers is quick
    from gguf_observability.graph.architectures import RECIPES, graph_of, stand_in, trust  # noqa: PLC0415 - same
    from gguf_observability.graph.schedule import schedule  # noqa: PLC0415 - same
    from gguf_observability.graph.shape import Plan  # noqa: PLC0415 - same

    if not known(model):
        why = f"the graph of {model.architecture} is not known: the form of most dense models"
        return Term(*_form(model, serving, cache, cards), Exactness.UNSUPPORTED, why)
    mixed = engine is Engine.B11434
    exactness, why = trust(model, mixed=mixed)
    built = model.architecture in RECIPES
    recipe = stand_in(model) if not built and cache.size else None
    if not built and recipe is None:
        return Term(*_form(model, serving, cache, cards), exactness, why)
    if model.architecture == WITHOUT_FLASH:
        serving = serving.without_flash()
    host = cards
    placed = tuple(host if home == HOST else home for home in homes) or (host,) * (model.layers + 1)
    plan = Plan(
        model=model,
        serving=serving,
        cache=cache,
        tokens=tokens_at_once(serving),
        outputs=min(serving.parallel, serving.batch),
        vocabulary=vocabulary,
        homes=placed,
        host=host,
        tensors=tensors or {},
        mixed=mixed,
    )
    graph = graph_of(plan, recipe)
    whole = all(home < host for home in placed)
    nodes, leaves = schedule(graph, cards + 1, _COPIES if cards > 1 and whole else 1)
    *devices, on_host = allocate(nodes, leaves, (_ALIGNMENT,) * (cards + 1))
    if exactness is not Exactness.EXACT:
        return Term(on_host, tuple(devices), exactness, why)
    if not graph.whole:
        exactness, why = Exactness.APPROXIMATE, "so many blocks: of those that look alike some were counted"
    elif not vocabulary:
        exactness, why = Exactness.APPROXIMATE, "the file does not say how many tokens it knows"
    elif cards and model.integer("attention.shared_kv_layers", 0) and _quantised(serving):
        exactness, why = Exactness.APPROXIMATE, "copies of a quantised cache that layers share over devices"
    elif cards and not whole:
        why = _OFFLOADED
    return Term(on_host, tuple(devices), exactness, why)


def _quantised(serving: Serving) -> bool:
    return quantised(serving.cache_k) or quantised(serving.cache_v)


def _form(model: Model, serving: Serving, cache: KvCache, cards: int) -> tuple[int, tuple[int, ...]]:
    """The form of most dense models: gate, up and their product, five streams, and the masks."""
    used = model.integer("expert_used_count", 0)
    width = model.integer("expert_feed_forward_length", 0) * used or model.integer("feed_forward_length", 0)
    width = max(width, model.integer("ssm.inner_size", 0))
    tokens = tokens_at_once(serving)
    seen = serving.cells if cache.size else tokens  # without a cache a token sees those of its batch
    cells = seen
    if any(cache.window.slides):
        cells += serving.sliding_cells(cache.window.tokens) if cache.size else tokens
    size = tokens * (_F32 * (3 * width + 5 * model.embedding) + _F16 * cells)
    if not serving.flash_attention:
        size += tokens * _F32 * seen * max(model.heads, default=0)
    if not cards:
        return size, ()
    return tokens * (4 * _F32 * model.embedding + _F16 * cells), (size,) * cards
