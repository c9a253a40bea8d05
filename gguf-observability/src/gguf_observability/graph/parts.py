"""The pieces that language models are made of, as the engine builds them.

Follows llama.cpp b11434, `src/llama-graph.cpp` (`build_norm`, `build_ffn`, `build_attn_mha`).
Scales and biases are left out: the allocator computes them in place, so they take nothing.
"""

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.tensor import Tensor

__all__ = ["attention_core", "feed_forward", "norm", "project", "turned"]


def norm(graph: Graph, x: Tensor, home: int, kind: str = "rms_norm") -> Tensor:
    """`x` normalised and scaled by a weight; a `bare_norm` has none."""
    if kind == "bare_norm":
        return graph.like("norm", x)
    return graph.like("mul", graph.like(kind, x), graph.weight(x.shape[0], home=home))


def project(graph: Graph, x: Tensor, width: int, home: int) -> Tensor:
    """`x` times a weight: `width` elements a token."""
    return graph.mul_mat(graph.weight(x.shape[0], width, home=home), x)


def feed_forward(
    graph: Graph, x: Tensor, width: int, home: int, gate: str = "par", *, normed: bool = False
) -> Tensor:
    """The dense feed-forward; `gate` is `par`, `fused` (gate and up in one product) or `none`.

    With `normed` it is normalised before it is projected back.
    """
    embedding = x.shape[0]
    if gate == "fused":
        both = project(graph, x, 2 * width, home)
        inner = graph.new("glu", (width, *both.shape[1:]), both)
    elif gate == "par":
        # the engine makes `up` first, yet visits the gate first
        up = project(graph, x, width, home)
        inner = graph.like("glu", project(graph, x, width, home), up)
    else:
        inner = graph.like("unary", project(graph, x, width, home))
        if gate == "square":
            inner = graph.like("sqr", inner)
    if normed:
        inner = norm(graph, inner, home)
    return project(graph, inner, embedding, home)


def turned(graph: Graph, x: Tensor, rotation: Tensor) -> Tensor:
    """`x` turned by a matrix, before it is quantised."""
    side = rotation.shape[0]
    packed = x.strides == Tensor("none", x.shape, kind=x.kind).strides
    flat = (graph.reshape if packed else graph.cont)(x, side, x.elements // side)
    return graph.reshape(graph.mul_mat(rotation, flat), *x.shape)


def attention_core(
    graph: Graph,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    *,
    flash: bool,
    turned_values: bool,
    decompress: Tensor | None = None,
    capped: bool = False,
) -> Tensor:
    """Attention over what the cache keeps: `key` and `value` are views of it, by head, cell and stream."""
    streams = key.shape[3]
    a, b, c, _ = query.shape
    steps = (query.strides[1], query.strides[2], query.strides[2] * (c // streams))
    query = graph.view(query, a, b, c // streams, streams, strides=steps)
    query, key, value = (graph.permute(each, 0, 2, 1, 3) for each in (query, key, value))
    if flash:
        if turned_values:
            value = graph.transpose(value)
        if key.kind == "f32":
            key = graph.cast(key, "f16")
        if value.kind == "f32":
            value = graph.cast(value, "f16")
        shape = (value.shape[0], query.shape[2], query.shape[1], query.shape[3])
        given = graph.new("flash_attn_ext", shape, query, key, value, mask)
        if decompress is not None:
            given = graph.mul_mat(decompress, graph.permute(given, 0, 2, 1, 3))
            given = graph.cont(graph.permute(given, 0, 2, 1, 3))
        d, e, f, g = given.shape
        return graph.expand(graph.reshape(given, d * e, f * g))
    scores = graph.mul_mat(key, query)
    if capped:
        scores = graph.like("scale", graph.like("unary", graph.like("scale", scores)))
    scores = graph.like("soft_max", scores, mask)
    if not turned_values:
        value = graph.cont(graph.transpose(value))
    given = graph.mul_mat(value, scores)
    if decompress is not None:
        given = graph.mul_mat(decompress, given)
    given = graph.permute(given, 0, 2, 1, 3)
    d, e, f, g = given.shape
    return graph.expand(graph.cont(given, d * e, f * g))
