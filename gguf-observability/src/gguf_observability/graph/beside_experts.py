"""A feed-forward of two: a dense one and experts, each normalised for itself before they are added.

Follows llama.cpp b11434, `src/models/gemma4.cpp`.
"""

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.experts import Experts, experts
from gguf_observability.graph.parts import feed_forward, norm, project
from gguf_observability.graph.shape import Plan
from gguf_observability.graph.tensor import Tensor

__all__ = ["dense_and_experts"]


def dense_and_experts(graph: Graph, plan: Plan, layer: int, stream: Tensor) -> Tensor | None:
    """What both give, from the stream before it is normalised; None for a block without experts."""
    model, home = plan.model, plan.home(layer)
    count = model.integer("expert_count", 0)
    if not count or not plan.has(f"blk.{layer}.ffn_gate_inp.weight", otherwise=True):
        return None
    dense = feed_forward(graph, norm(graph, stream, home), plan.feed_width(layer), home)
    dense = norm(graph, dense, home)
    seen = norm(graph, stream, home)
    read = graph.like("scale", graph.like("rms_norm", stream))
    read = graph.like("mul", read, graph.weight(stream.shape[0], home=home))
    scores = project(graph, read, count, home)
    spec = Experts(
        count=count,
        used=model.integer("expert_used_count", lowest=1),
        width=plan.rows(f"blk.{layer}.ffn_up_exps.weight", model.integer("expert_feed_forward_length", 0)),
        normed=True,
        fused=plan.has(f"blk.{layer}.ffn_gate_up_exps.weight", otherwise=True),
        scaled=plan.has(f"blk.{layer}.ffn_up_exps.scale", otherwise=False),
        scaled_down=plan.has(f"blk.{layer}.ffn_down_exps.scale", otherwise=True),
    )
    given = norm(graph, experts(graph, seen, spec, home, scores), home)
    return graph.like("add", dense, given)
