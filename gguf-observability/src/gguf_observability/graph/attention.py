"""Attention with a cache, as the engine builds it.

Follows llama.cpp b11434, `src/llama-graph.cpp` (`build_qkv`, `build_attn`) and `src/llama-kv-cache.cpp`.
"""

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.inputs import CacheInputs
from gguf_observability.graph.parts import attention_core, norm, project, turned
from gguf_observability.graph.shape import Plan
from gguf_observability.graph.tensor import TYPE_BYTES, Tensor

__all__ = ["attend", "attend_latent", "gated_by_head", "queries_keys_values"]


def queries_keys_values(
    graph: Graph,
    plan: Plan,
    x: Tensor,
    layer: int,
    *,
    fused: bool,
    normed_rows: bool = False,
    gated: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values by head; with `normed_rows` queries and keys are normalised before."""
    home, tokens = plan.home(layer), x.shape[1]
    heads, kept_heads = plan.heads(layer), plan.kv_heads(layer)
    key, value = plan.key_width(layer), plan.value_width(layer)
    asked = 2 * key if gated else key
    widths = (heads * asked, kept_heads * key, kept_heads * value)
    if fused:
        whole = project(graph, x, sum(widths), home)
        step = whole.strides[1]
        if normed_rows:
            views = [graph.cont(graph.view(whole, width, tokens, strides=(step,))) for width in widths]
        else:
            shapes = ((key, heads), (key, kept_heads), (value, kept_heads))
            return tuple(  # type: ignore[return-value] # three of them, as above
                graph.view(whole, width, count, tokens, strides=(4 * width, step)) for width, count in shapes
            )
    else:
        views = [project(graph, x, width, home) for width in widths]
        if not plan.has(f"blk.{layer}.attn_v.weight", otherwise=True):
            views[2] = views[1]  # values are the keys, before these are turned
    if normed_rows:
        views[0], views[1] = norm(graph, views[0], home), norm(graph, views[1], home)
    return (
        graph.reshape(views[0], asked, heads, tokens),
        graph.reshape(views[1], key, kept_heads, tokens),
        graph.reshape(views[2], value, kept_heads, tokens),
    )


def attend(
    graph: Graph,
    plan: Plan,
    inputs: CacheInputs,
    layer: int,
    qkv: tuple[Tensor, Tensor | None, Tensor | None],
    *,
    embedding: int,
    project_out: bool = True,
    capped: bool = False,
    cached_layer: int | None = None,
) -> Tensor:
    """What attention adds to the stream; without new keys and values a layer reads another one's cache."""
    query, keys, values = qkv
    slides = plan.cache.window.slides[layer]
    cells, key_places, value_places, mask, key_turn, value_turn = inputs.of(slides=slides)
    if key_turn is not None:
        query = turned(graph, query, key_turn)
        keys = turned(graph, keys, key_turn) if keys is not None else None
    if value_turn is not None and values is not None:
        values = turned(graph, values, value_turn)
    order = (query, keys, values) if inputs.slides else (query, values, keys)
    for each in order:
        if each is not None:
            graph.expand(each)
    kept = cached_layer if cached_layer is not None else layer
    home, streams, flash = plan.home(kept), plan.serving.streams, plan.serving.flash_attention
    heads, key, value = plan.kv_heads(kept), plan.key_width(kept), plan.value_width(kept)
    row = heads * value if flash else plan.widest_values
    key_cache = graph.kept(heads * key, cells, streams, home=home, kind=_kind(plan.serving.cache_k))
    value_cache = graph.kept(row, cells, streams, home=home, kind=_kind(plan.serving.cache_v))
    if keys is not None:
        _store(graph, keys, key_cache, key_places)
    if values is not None:
        if flash:
            _store(graph, values, value_cache, value_places)
        else:
            _store_turned(graph, values, value_cache, value_places)
    shown_key = _cached(graph, key_cache, key, heads)
    if flash:
        shown_value = _cached(graph, value_cache, value, heads)
    else:
        element = TYPE_BYTES[value_cache.kind]
        steps = (element * cells * value, element * cells, element * cells * row)
        shown_value = graph.view(value_cache, cells, heads, value, streams, strides=steps)
    given = attention_core(
        graph, query, shown_key, shown_value, mask, flash=flash, turned_values=not flash, capped=capped
    )
    if value_turn is not None:
        given = turned(graph, given, value_turn)
    return project(graph, given, embedding, plan.home(layer)) if project_out else given


def attend_latent(
    graph: Graph,
    plan: Plan,
    inputs: CacheInputs,
    layer: int,
    qkv: tuple[Tensor, Tensor, Tensor],
    *,
    unfolded: Tensor,
    embedding: int,
) -> Tensor:
    """What latent attention adds to the stream: only keys are kept, and values are a part of them."""
    query, keys, values = qkv
    cells, places, _, mask, _, _ = inputs.of(slides=False)
    for each in (query, values, keys):
        graph.expand(each)
    home, streams = plan.home(layer), plan.serving.streams
    width, kept = keys.shape[0], plan.kv_heads(layer)
    cache = graph.kept(kept * width, cells, streams, home=home, kind=_kind(plan.serving.cache_k))
    _store(graph, keys, cache, places)
    shown = _cached(graph, cache, width, kept)
    part = graph.view(shown, values.shape[0], *shown.shape[1:], strides=shown.strides[1:])
    given = attention_core(
        graph,
        query,
        shown,
        part,
        mask,
        flash=plan.serving.flash_attention,
        turned_values=False,
        decompress=unfolded,
    )
    return project(graph, given, embedding, home)


def gated_by_head(graph: Graph, plan: Plan, layer: int, x: Tensor, given: Tensor) -> Tensor:
    """What attention gave, each head of it times one number, if this file has such gates."""
    if not plan.has(f"blk.{layer}.attn_gate.weight", otherwise=True):
        return given
    heads, width = plan.heads(layer), plan.value_width(layer)
    gate = graph.like("unary", project(graph, x, heads, plan.home(layer)))
    heads_apart = graph.reshape(given, width, heads, plan.tokens)
    gated = graph.like("mul", heads_apart, graph.reshape(gate, 1, heads, plan.tokens))
    return graph.reshape(gated, width * heads, plan.tokens)


def _cached(graph: Graph, cache: Tensor, width: int, heads: int) -> Tensor:
    step, cells, streams = cache.strides[1], cache.shape[1], cache.shape[2]
    element = TYPE_BYTES[cache.kind]
    return graph.view(cache, width, heads, cells, streams, strides=(element * width, step, step * cells))


def _kind(cache_type: str) -> str:
    """What the graph makes of a cache's type: only full floats are cast before flash attention."""
    return "f32" if cache_type.lower() == "f32" else "f16"


def _store(graph: Graph, x: Tensor, cache: Tensor, places: Tensor) -> None:
    flat = graph.view(x, x.shape[0] * x.shape[1], x.shape[2], strides=(x.strides[2],))
    graph.expand(graph.set_rows(_joined(graph, cache), flat, places))


def _store_turned(graph: Graph, x: Tensor, cache: Tensor, places: Tensor) -> None:
    width, tokens = x.shape[0] * x.shape[1], x.shape[2]
    flat = (graph.reshape if x.strides[2] == 4 * width else graph.cont)(x, width, tokens)
    if width < cache.shape[0]:
        flat = graph.new("pad", (cache.shape[0], tokens, 1, 1), flat)
    flat = graph.reshape(flat, 1, flat.elements)
    graph.expand(graph.set_rows(graph.reshape(cache, 1, cache.elements), flat, places))


def _joined(graph: Graph, cache: Tensor) -> Tensor:
    if cache.shape[2] == 1:
        return cache
    return graph.reshape(cache, cache.shape[0], cache.shape[1] * cache.shape[2])
