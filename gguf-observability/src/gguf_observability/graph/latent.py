"""Latent attention: keys and values that are compressed, kept so or unfolded again.

Follows llama.cpp b11434, `src/models/deepseek2.cpp`.
"""

from gguf_observability.graph.attention import attend, attend_latent
from gguf_observability.graph.builder import Graph
from gguf_observability.graph.inputs import CacheInputs
from gguf_observability.graph.parts import norm, project
from gguf_observability.graph.shape import Plan
from gguf_observability.graph.tensor import Tensor
from gguf_observability.kv_cache import is_latent

__all__ = ["latent_attention"]

_F32 = 4


def latent_attention(
    graph: Graph,
    plan: Plan,
    inputs: CacheInputs,
    layer: int,
    x: Tensor,
    *,
    positions: Tensor,
    scales: Tensor | None = None,
) -> Tensor:
    """What attention of that kind adds to the stream; `scales` are those of the queries, if there are any."""
    model, home, tokens, heads = plan.model, plan.home(layer), plan.tokens, plan.heads(layer)
    latent = is_latent(model)
    key = model.integer("attention.key_length_mla") if latent else model.head_width("key_length")
    value = model.integer("attention.value_length_mla") if latent else model.head_width("value_length")
    turned, rank = model.integer("rope.dimension_count"), model.integer("attention.kv_lora_rank")
    plain = key - turned
    query_rank = model.integer("attention.q_lora_rank", 0)
    read = x
    if plan.has(f"blk.{layer}.attn_q_a.weight", otherwise=query_rank > 0):
        read = norm(graph, project(graph, x, query_rank, home), home)
    query = graph.reshape(project(graph, read, heads * key, home), key, heads, tokens)
    packed = project(graph, x, rank + turned, home)
    step = packed.strides[1]
    squeezed = graph.view(packed, rank, tokens, strides=(step,))
    place = graph.view(packed, turned, 1, tokens, strides=(step, step))
    if not latent:
        query = _turned_query(graph, plan, query, positions, turned)
        place = graph.like("rope", place, positions)
        squeezed = norm(graph, squeezed, home)
        whole = project(graph, squeezed, heads * (plain + value), home)
        steps = (_F32 * (plain + value), whole.strides[1])
        shown = graph.view(whole, plain, heads, tokens, strides=steps)
        values = graph.cont(graph.view(whole, value, heads, tokens, strides=steps))
        repeated = graph.new("repeat", (turned, heads, tokens, 1), place)
        keys = graph.new("concat", (key, heads, tokens, 1), shown, repeated)
        query = query if scales is None else graph.like("mul", query, scales)
        return attend(graph, plan, inputs, layer, (query, keys, values), embedding=x.shape[0])
    steps = query.strides[1:3]
    free = graph.permute(graph.view(query, plain, heads, tokens, strides=steps), 0, 2, 1, 3)
    absorbed = graph.mul_mat(graph.weight(plain, rank, heads, home=home), free)
    absorbed = graph.permute(absorbed, 0, 2, 1, 3)
    bound = graph.like("rope", graph.view(query, turned, heads, tokens, strides=steps), positions)
    query = graph.new("concat", (rank + turned, heads, tokens, 1), absorbed, bound)
    query = query if scales is None else graph.like("mul", query, scales)
    values = graph.reshape(norm(graph, squeezed, home), rank, 1, tokens)
    place = graph.like("rope", place, positions)
    keys = graph.new("concat", (rank + turned, 1, tokens, 1), values, place)
    unfolded = graph.weight(rank, value, heads, home=home)
    return attend_latent(
        graph, plan, inputs, layer, (query, keys, values), unfolded=unfolded, embedding=x.shape[0]
    )


def _turned_query(graph: Graph, plan: Plan, query: Tensor, positions: Tensor, turned: int) -> Tensor:
    """Queries with the last `turned` elements of each head turned; before b11434 they were cut off."""
    if plan.mixed:
        return graph.like("rope", query, positions)
    key, heads, tokens, _ = query.shape
    steps = query.strides[1:3]
    free = graph.view(query, key - turned, heads, tokens, strides=steps)
    bound = graph.like("rope", graph.view(query, turned, heads, tokens, strides=steps), positions)
    return graph.new("concat", (key, heads, tokens, 1), free, bound)
