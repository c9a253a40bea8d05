"""Layers with a state instead of a cache that grows: Mamba and short convolutions.

Follows llama.cpp b11434, `src/llama-graph.cpp` (`build_rs`), `src/models/mamba-base.cpp`
and `lfm2.cpp`.
"""

from collections.abc import Callable

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.parts import norm, project
from gguf_observability.graph.shape import Plan
from gguf_observability.graph.tensor import Tensor

__all__ = ["Copies", "caches", "convolve", "convolved", "mamba", "mamba2", "short_convolution", "state_of"]

_F32 = 4


class Copies:
    """Which states the sequences of a batch go on from.

    Attributes:
        all: Those of all sequences.
        mine: Those of the batch.
        others: Those that are only moved.
    """

    __slots__ = ("all", "mine", "others")

    def __init__(self, graph: Graph, plan: Plan) -> None:
        sequences = plan.serving.parallel
        self.all = graph.given(sequences, kind="i32")
        self.mine = graph.view(self.all, sequences)
        self.others = graph.view(self.all, sequences - 1 if plan.mixed else 0)


def state_of(
    graph: Graph,
    plan: Plan,
    cache: Tensor,
    copies: Copies,
    read: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Tensor:
    """The states of this batch's sequences; `read` computes with them where they are instead of copying."""
    size, sequences = cache.shape[0], plan.serving.parallel
    states = graph.reshape(cache, size, sequences)
    zeroed = graph.view(states, size)
    cleared = Tensor("scale", zeroed.shape, (zeroed,), strides=zeroed.strides, root=cache)
    graph.expand(cleared)
    if not plan.mixed:  # before b11434 nothing was prepared for what is only moved
        given = graph.expand((read or graph.rows)(states, copies.mine))
        found = graph.rows(states, copies.others)
    elif read is None:
        found = graph.rows(states, copies.all)
        given = graph.expand(graph.view(found, size, sequences, strides=(found.strides[1],)))
    else:
        given = graph.expand(read(states, copies.mine))
        found = graph.rows(states, copies.others)
    extra = graph.view(found, size, 0, strides=(_F32 * size,))
    graph.expand(graph.copy(extra, graph.view(cache, size, 0, strides=(_F32 * size,))))
    return given


def caches(graph: Graph, plan: Plan, layer: int, *sizes: int) -> list[Tensor]:
    """A block's states of so many elements for each sequence."""
    return [graph.kept(size, plan.serving.parallel, home=plan.home(layer)) for size in sizes]


def convolved(graph: Graph, cache: Tensor, states: Tensor, x: Tensor, *, kernel: int, slot: bool) -> Tensor:
    """`x` after the states of its convolution, which are brought up to date; not yet convolved."""
    width, sequences = x.shape[1], cache.shape[1]
    both = graph.new("concat", (kernel - 1 + x.shape[0], width, sequences, 1), states, x)
    last = graph.view(both, kernel - 1, width, sequences, strides=both.strides[1:3])
    size = (kernel - 1) * width
    if slot:
        into = graph.view(cache, size, sequences, strides=(cache.strides[1],))
    else:
        into = graph.view(cache, size * sequences)
    graph.expand(graph.copy(last, into))
    return both


def convolve(graph: Graph, both: Tensor, kernel: int, home: int) -> Tensor:
    """A convolution over what `convolved` gave."""
    width = both.shape[1]
    shape = (width, both.shape[0] - kernel + 1, both.shape[2], 1)
    return graph.new("ssm_conv", shape, both, graph.weight(kernel, width, home=home))


def mamba(graph: Graph, plan: Plan, layer: int, x: Tensor, copies: Copies) -> Tensor:
    """A Mamba layer."""
    model, home, sequences = plan.model, plan.home(layer), plan.serving.parallel
    kernel, inner = model.integer("ssm.conv_kernel"), model.integer("ssm.inner_size")
    state, rank = model.integer("ssm.state_size"), model.integer("ssm.time_step_rank")
    tokens = plan.tokens // sequences
    row, states = caches(graph, plan, layer, (kernel - 1) * inner, state * inner)
    before = graph.reshape(state_of(graph, plan, row, copies), kernel - 1, inner, sequences)
    both = project(graph, graph.reshape(x, x.shape[0], tokens, sequences), 2 * inner, home)
    steps = both.strides[1:3]
    read = graph.view(both, inner, tokens, sequences, strides=steps)
    gate = graph.view(both, inner, tokens, sequences, strides=steps)
    wide = convolved(graph, row, before, graph.transpose(read), kernel=kernel, slot=False)
    seen = graph.like("unary", convolve(graph, wide, kernel, home))
    parts = project(graph, seen, rank + 2 * state, home)
    delta = graph.view(parts, rank, tokens, sequences, strides=parts.strides[1:3])
    b, c = (
        graph.view(parts, state, 1, tokens, sequences, strides=(_F32 * state, *parts.strides[1:3]))
        for _ in range(2)
    )
    if plan.has(f"blk.{layer}.ssm_dt_norm.weight", otherwise=model.architecture == "jamba"):
        delta, b, c = (norm(graph, each, home) for each in (delta, b, c))
    elif plan.mixed:
        delta = graph.cont(delta)
    delta = project(graph, delta, inner, home)
    heads = graph.reshape(seen, 1, inner, tokens, sequences)

    def scan(kept: Tensor, which: Tensor) -> Tensor:
        shown = graph.reshape(kept, state, 1, inner, sequences)
        size = inner * plan.tokens + state * inner * sequences
        a = graph.weight(state, inner, home=home)
        return graph.new("ssm_scan", (size, 1, 1, 1), shown, heads, delta, a, b, c, which)

    given = state_of(graph, plan, states, copies, scan)
    size = state * inner * sequences
    graph.expand(graph.copy(graph.view(given, size), graph.view(states, size)))
    y = graph.view(given, inner, tokens, sequences, strides=(_F32 * inner, _F32 * inner * tokens))
    y = graph.like("add", y, graph.like("mul", seen, graph.weight(inner, home=home)))
    y = graph.like("glu", graph.cont(gate), y)
    out = project(graph, y, x.shape[0], home)
    return graph.reshape(out, x.shape[0], plan.tokens)


def mamba2(graph: Graph, plan: Plan, layer: int, x: Tensor, copies: Copies) -> Tensor:
    """A Mamba 2 layer."""
    model, home, sequences = plan.model, plan.home(layer), plan.serving.parallel
    kernel, inner = model.integer("ssm.conv_kernel"), model.integer("ssm.inner_size")
    state, heads = model.integer("ssm.state_size"), model.integer("ssm.time_step_rank", lowest=1)
    groups, width, tokens = (
        model.integer("ssm.group_count", lowest=1),
        inner // heads,
        plan.tokens // sequences,
    )
    wide = inner + 2 * groups * state
    row, states = caches(graph, plan, layer, (kernel - 1) * wide, state * inner)
    before = graph.reshape(state_of(graph, plan, row, copies), kernel - 1, wide, sequences)
    whole = x if plan.mixed else graph.reshape(x, x.shape[0], tokens, sequences)
    whole = project(graph, whole, inner + wide + heads, home)
    whole = graph.reshape(whole, whole.shape[0], tokens, sequences) if plan.mixed else whole
    steps = whole.strides[1:3]
    gate = graph.view(whole, width, heads, tokens, sequences, strides=(_F32 * width, *steps))
    read = graph.view(whole, wide, tokens, sequences, strides=steps)
    delta = graph.view(whole, heads, tokens, sequences, strides=steps)
    both = convolved(graph, row, before, graph.transpose(read), kernel=kernel, slot=True)
    seen = graph.like("unary", convolve(graph, both, kernel, home))
    steps = seen.strides[1:3]
    shown = graph.view(seen, width, heads, tokens, sequences, strides=(_F32 * width, *steps))
    b, c = (
        graph.view(seen, state, groups, tokens, sequences, strides=(_F32 * state, *steps)) for _ in range(2)
    )
    delta = graph.like("add", graph.cont(delta), graph.weight(heads, home=home))

    def scan(kept: Tensor, which: Tensor) -> Tensor:
        cells = graph.reshape(kept, state, width, heads, sequences)
        size = inner * plan.tokens + state * inner * sequences
        a = graph.weight(1, heads, home=home)
        return graph.new("ssm_scan", (size, 1, 1, 1), cells, shown, delta, a, b, c, which)

    given = state_of(graph, plan, states, copies, scan)
    size = state * inner
    step = _F32 * size
    graph.expand(
        graph.copy(
            graph.view(given, size, sequences, 1, strides=(step, step * sequences)),
            graph.view(states, size, sequences, 1, strides=(states.strides[1], step * sequences)),
        )
    )
    step = _F32 * width
    y = graph.view(
        given, width, heads, tokens, sequences, strides=(step, heads * step, tokens * heads * step)
    )
    y = graph.like("add", y, graph.like("mul", shown, graph.weight(1, heads, home=home)))
    y = graph.like("glu", graph.cont(gate), y)
    if plan.has(f"blk.{layer}.ssm_norm.weight", otherwise=True):
        y = norm(graph, graph.reshape(y, inner // groups, groups, tokens, sequences), home)
    if plan.mixed:
        return project(graph, graph.reshape(y, inner, plan.tokens), x.shape[0], home)
    out = project(graph, graph.reshape(y, inner, tokens, sequences), x.shape[0], home)
    return graph.reshape(out, x.shape[0], plan.tokens)


def short_convolution(graph: Graph, plan: Plan, layer: int, x: Tensor, copies: Copies) -> Tensor:
    """A gated convolution over a few tokens."""
    home, sequences = plan.home(layer), plan.serving.parallel
    kernel, embedding = plan.model.integer("shortconv.l_cache", lowest=1), x.shape[0]
    tokens = plan.tokens // sequences
    whole = project(graph, graph.reshape(x, embedding, tokens, sequences), 3 * embedding, home)
    b, c, read = (
        graph.view(whole, embedding, tokens, sequences, strides=whole.strides[1:3]) for _ in range(3)
    )
    gated = graph.transpose(graph.new("mul", b.shape, b, read))
    (row,) = caches(graph, plan, layer, (kernel - 1) * embedding)
    before = graph.reshape(state_of(graph, plan, row, copies), kernel - 1, embedding, sequences)
    both = convolved(graph, row, before, gated, kernel=kernel, slot=plan.mixed)
    y = graph.new("mul", c.shape, c, convolve(graph, both, kernel, home))
    out = project(graph, y, embedding, home)
    return graph.reshape(out, embedding, plan.tokens)
