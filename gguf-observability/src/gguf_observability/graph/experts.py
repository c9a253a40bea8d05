"""A choice of experts instead of one feed-forward, as the engine builds it.

Follows llama.cpp b11434, `src/llama-graph.cpp` (`build_moe_ffn`); biases, added in place, are left out.
"""

from dataclasses import dataclass

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.parts import project
from gguf_observability.graph.tensor import Tensor

__all__ = ["Experts", "experts"]


@dataclass(frozen=True)
class Experts:
    """A layer of experts.

    Attributes:
        count: How many there are.
        used: How many compute each token.
        width: Of each one's feed-forward.
        gating: `softmax`, `sigmoid`, `softmax-weight` or `sqrt-softplus`.
        normed: Whether their weights are made to sum up to one.
        scaled: Whether what each expert makes of its input has a scale of its own.
        scaled_down: Whether what each one gives has.
        biased: Whether a bias takes part in the choice.
        groups: Groups of experts of which some are chosen first; 0 or 1 for none.
        groups_used: How many groups.
        before: Whether the weights are applied to what the experts read.
        gated: Whether an expert has a gate.
        squared: Whether an expert without one squares what it activates.
        weighted: Whether the weights of all are scaled once more.
        fused: Whether gate and up are one product.
    """

    count: int
    used: int
    width: int
    gating: str = "softmax"
    normed: bool = False
    scaled: bool = False
    scaled_down: bool = False
    biased: bool = False
    groups: int = 0
    groups_used: int = 0
    before: bool = False
    gated: bool = True
    squared: bool = False
    fused: bool = False
    weighted: bool = False


def experts(graph: Graph, x: Tensor, spec: Experts, home: int, logits: Tensor | None = None) -> Tensor:
    """What the chosen experts give, summed."""
    embedding, tokens = x.shape[0], x.shape[1]
    scores = logits if logits is not None else project(graph, x, spec.count, home)
    chosen, weights = _chosen(graph, spec, scores, tokens, home)
    graph.expand(weights)
    inner = graph.reshape(x, embedding, 1, tokens)
    if spec.before:
        repeated = graph.new("repeat", (embedding, spec.used, tokens, 1), inner)
        inner = graph.like("mul", repeated, weights)
    inner = _inside(graph, inner, spec, chosen, home)
    given = _by_expert(graph, inner, spec, chosen, width=embedding, home=home, scaled=spec.scaled_down)
    if not spec.before:
        given = graph.like("mul", given, weights)
    graph.expand(given)
    views = []
    for _ in range(spec.used):
        views.append(graph.view(given, embedding, tokens, strides=(given.strides[2],)))
        graph.expand(views[-1])
    total = views[0]
    for each in views[1:]:
        total = graph.expand(graph.new("add", total.shape, total, each))
    return graph.cont(total) if spec.used == 1 else total


def _chances(graph: Graph, spec: Experts, scores: Tensor) -> Tensor:
    if spec.gating == "softmax":
        return graph.like("soft_max", scores)
    if spec.gating == "sigmoid":
        return graph.like("unary", scores)
    if spec.gating == "sqrt-softplus":
        return graph.like("sqrt", graph.like("unary", scores))
    return scores


def _chosen(graph: Graph, spec: Experts, scores: Tensor, tokens: int, home: int) -> tuple[Tensor, Tensor]:
    """Which experts compute each token, and the weight of what each gives."""
    chances = _chances(graph, spec, scores)
    choice = scores if spec.before else chances
    if spec.biased and not spec.before:
        choice = graph.like("add", chances, graph.weight(spec.count, home=home))
    if spec.groups > 1:
        choice = _grouped(graph, choice, spec, tokens)
    chosen = _top(graph, choice, spec.used)
    weights = graph.rows(graph.reshape(chances, 1, spec.count, tokens), chosen)
    if spec.gating == "softmax-weight":
        weights = graph.like("soft_max", graph.reshape(weights, spec.used, tokens))
        weights = graph.reshape(weights, 1, spec.used, tokens)
    if spec.normed:
        weights = graph.reshape(weights, spec.used, tokens)
        total = graph.like("clamp", graph.new("sum_rows", (1, tokens, 1, 1), weights))
        weights = graph.reshape(graph.like("div", weights, total), 1, spec.used, tokens)
    if spec.weighted:
        weights = graph.like("scale", weights)
    return chosen, weights


def _inside(graph: Graph, x: Tensor, spec: Experts, chosen: Tensor, home: int) -> Tensor:
    if spec.fused:
        both = _by_expert(graph, x, spec, chosen, width=2 * spec.width, home=home, scaled=spec.scaled)
        strides = both.strides[1:3]
        gate = graph.view(both, spec.width, both.shape[1], both.shape[2], strides=strides)
        up = graph.view(both, spec.width, both.shape[1], both.shape[2], strides=strides)
        return graph.new("glu", gate.shape, gate, up)
    up = _by_expert(graph, x, spec, chosen, width=spec.width, home=home, scaled=spec.scaled)
    if not spec.gated:
        inner = graph.like("unary", up)
        return graph.like("sqr", inner) if spec.squared else inner
    gate = _by_expert(graph, x, spec, chosen, width=spec.width, home=home, scaled=spec.scaled)
    return graph.like("glu", gate, up)


def _by_expert(
    graph: Graph, x: Tensor, spec: Experts, chosen: Tensor, *, width: int, home: int, scaled: bool
) -> Tensor:
    weights = graph.weight(x.shape[0], width, spec.count, home=home)
    given = graph.mul_mat_id(weights, x, chosen)
    if not scaled:
        return given
    scale = graph.reshape(graph.weight(spec.count, home=home), 1, spec.count)
    tokens = x.shape[2]
    repeated = graph.new("repeat", (1, spec.count, tokens, 1), scale)
    return graph.like("mul", given, graph.rows(repeated, chosen))


def _top(graph: Graph, scores: Tensor, count: int) -> Tensor:
    order = graph.new("argsort", scores.shape, scores, kind="i32")
    return graph.view(order, count, *scores.shape[1:], strides=order.strides[1:])


def _grouped(graph: Graph, choice: Tensor, spec: Experts, tokens: int) -> Tensor:
    """The choice with the experts of all but the best groups left out."""
    each = spec.count // spec.groups
    grouped = graph.reshape(choice, each, spec.groups, tokens)
    best = _top(graph, grouped, 2)
    scores = graph.rows(graph.reshape(grouped, 1, each, spec.groups, tokens), best)
    scores = graph.reshape(scores, scores.shape[1], scores.shape[2], scores.shape[3])
    total = graph.new("sum_rows", (1, spec.groups, tokens, 1), scores)
    chosen = _top(graph, graph.reshape(total, spec.groups, tokens), spec.groups_used)
    kept = graph.rows(grouped, chosen)
    masked = graph.set_rows(graph.like("fill", grouped), kept, chosen)
    return graph.reshape(masked, spec.count, tokens)
