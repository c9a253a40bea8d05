"""Gated delta nets: a state that each token corrects by what it holds for its key.

Follows llama.cpp b11434, `src/models/qwen3next.cpp`, `qwen35.cpp` and `delta-net-base.cpp`.
"""

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.parts import norm, project
from gguf_observability.graph.recurrent import Copies, caches, convolve, convolved, state_of
from gguf_observability.graph.shape import Plan
from gguf_observability.graph.tensor import Tensor

__all__ = ["delta_net"]

_F32 = 4
_JOINED = "qwen3next"
"""It makes decay and strength in one product, and repeats keys and queries for every head of values."""


def delta_net(graph: Graph, plan: Plan, layer: int, x: Tensor, copies: Copies) -> Tensor:
    """A gated delta net."""
    model, home, sequences = plan.model, plan.home(layer), plan.serving.parallel
    kernel, inner = model.integer("ssm.conv_kernel", lowest=1), model.integer("ssm.inner_size")
    width, heads = model.integer("ssm.state_size"), model.integer("ssm.group_count", lowest=1)
    values = model.integer("ssm.time_step_rank", lowest=1)
    value, tokens = inner // values, plan.tokens // sequences
    wide = inner + 2 * heads * width
    row, states = caches(graph, plan, layer, (kernel - 1) * wide, value * value * values)
    mixed = graph.reshape(project(graph, x, wide, home), wide, tokens, sequences)
    gate = project(graph, x, inner, home)
    before = graph.reshape(state_of(graph, plan, row, copies), kernel - 1, wide, sequences)
    both = convolved(graph, row, before, graph.transpose(mixed), kernel=kernel, slot=False)
    kept = state_of(graph, plan, states, copies)
    seen = graph.like("unary", convolve(graph, both, kernel, home))

    def part(size: int, count: int) -> Tensor:
        return graph.view(seen, size, count, tokens, sequences, strides=(_F32 * size, *seen.strides[1:3]))

    query, key, shown = part(width, heads), part(width, heads), part(value, values)
    repeats = values // heads if model.architecture == _JOINED else 1
    query, key = _unit(graph, query, repeats), _unit(graph, key, repeats)
    decay, strength = _gates(graph, plan, layer, x)
    cells = graph.reshape(kept, value, value, values, sequences)
    shape = (inner, plan.tokens + value * sequences, 1, 1)
    given = graph.new("gated_delta_net", shape, query, key, shown, decay, strength, cells)
    size = value * value * values * sequences
    step = _F32 * value
    steps = (step, step * value, step * value * values)
    fresh = graph.view(given, value, value, values, sequences, strides=steps)
    graph.expand(graph.copy(fresh, graph.view(states, size)))
    steps = (step, step * values, step * values * tokens)
    y = norm(graph, graph.view(given, value, values, tokens, sequences, strides=steps), home)
    y = graph.like("mul", y, graph.like("unary", graph.reshape(gate, value, values, tokens, sequences)))
    out = project(graph, graph.reshape(y, inner, tokens, sequences), x.shape[0], home)
    return graph.reshape(out, x.shape[0], plan.tokens)


def _unit(graph: Graph, x: Tensor, repeats: int) -> Tensor:
    """Queries or keys of length one, each as often as heads of values share it."""
    flat = graph.like("scale", graph.like("rms_norm", x))
    if repeats == 1:
        return flat
    width, heads, tokens, sequences = flat.shape
    flat = graph.reshape(flat, width, 1, heads, tokens * sequences)
    many = graph.new("repeat", (width, repeats, heads, tokens * sequences), flat)
    return graph.reshape(many, width, heads * repeats, tokens, sequences)


def _gates(graph: Graph, plan: Plan, layer: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """How much a token lets the state fade, and how strongly it corrects it."""
    model, home, sequences = plan.model, plan.home(layer), plan.serving.parallel
    values, heads = model.integer("ssm.time_step_rank", lowest=1), model.integer("ssm.group_count", lowest=1)
    tokens = plan.tokens // sequences
    if model.architecture == _JOINED:
        ratio = values // heads
        scores = graph.reshape(project(graph, x, 2 * values, home), 2 * ratio, heads, tokens, sequences)
        cut = [
            graph.view(scores, ratio, heads, tokens, sequences, strides=scores.strides[1:]) for _ in range(2)
        ]
        decay = graph.like("unary", graph.cont(cut[0], values, tokens, sequences))
        strength = graph.like("unary", graph.cont(cut[1]))
        strength = graph.reshape(strength, 1, values, tokens, sequences)
    else:
        strength = graph.reshape(project(graph, x, values, home), 1, values, tokens, sequences)
        strength = graph.like("unary", strength)
        alpha = graph.reshape(project(graph, x, values, home), values, tokens, sequences)
        decay = graph.like("unary", graph.like("add", alpha, graph.weight(values, home=home)))
    decay = graph.like("mul", decay, graph.weight(values, home=home))
    return graph.reshape(decay, 1, values, tokens, sequences), strength
