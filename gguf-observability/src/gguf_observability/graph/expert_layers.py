"""Layers of experts: which layers have them, what they are in a given model, and the experts beside them.

Follows llama.cpp b11434, `src/models/*.cpp` and `src/llama-model.cpp` (what of them the metadata says).
"""

from collections.abc import Callable
from dataclasses import dataclass

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.experts import Experts, experts
from gguf_observability.graph.parts import feed_forward, project
from gguf_observability.graph.places import every_layer
from gguf_observability.graph.shape import Plan
from gguf_observability.graph.tensor import Tensor

__all__ = ["USED_LIMIT", "ExpertLayers"]

USED_LIMIT = 512
"""Of experts that compute one token: the engine takes no more."""

_GATINGS = {1: "softmax", 2: "sigmoid", 3: "softmax-weight", 4: "sqrt-softplus"}


@dataclass(frozen=True)
class ExpertLayers:
    """What an architecture's layers of experts are.

    Attributes:
        sparse: Whether a layer has experts.
        gating: How they are chosen; empty where the file says.
        normed: Whether their weights are made to sum up to one; None where the file says.
        biased: Whether a bias takes part in the choice.
        scaled: Whether files without tensors give each expert a scale.
        before: Whether weights are applied to what the experts read.
        gated: Whether an expert has a gate.
        squared: Whether an expert without one squares what it activates.
        shared: How experts that compute every token are added: empty, `after`, `before` (the order of work),
            `gated-div` or `gated` (each with a gate of their own), `first` (added to by the others).
        shared_width: Of their feed-forward.
        shared_weight: The name of its upward weight.
        narrowed: Whether experts may work on a narrower stream than the model's.
        expert_width: Of one expert's feed-forward.
        fused: Whether files without tensors have gate and up of an expert in one product.
        default_gating: What it is where the file should say and does not.
    """

    sparse: Callable[[Plan, int], bool] = every_layer
    gating: str = "softmax"
    normed: bool | None = True
    biased: bool = False
    scaled: bool = False
    before: bool = False
    gated: bool = True
    squared: bool = False
    shared: str = ""
    shared_width: Callable[[Plan], int] | None = None
    shared_weight: str = "ffn_up_shexp"
    narrowed: bool = False
    expert_width: Callable[[Plan], int] | None = None
    fused: bool = False
    default_gating: str = "softmax"

    def on(self, plan: Plan, layer: int) -> bool:
        """Whether a layer has experts."""
        if not plan.model.integer("expert_count", 0):
            return False
        return plan.has(f"blk.{layer}.ffn_gate_inp.weight", otherwise=self.sparse(plan, layer))

    def of(self, plan: Plan, layer: int) -> Experts:
        """The experts of a layer."""
        model = plan.model
        scale = model.decimal("expert_weights_scale")
        count, used = (
            model.integer("expert_count"),
            model.integer("expert_used_count", lowest=1, highest=USED_LIMIT),
        )
        named = model.integer("expert_feed_forward_length", 0) or model.integer("feed_forward_length", 0)
        width = self.expert_width(plan) if self.expert_width else named
        fused = plan.has(f"blk.{layer}.ffn_gate_up_exps.weight", otherwise=self.fused)
        gating = self.gating or _GATINGS.get(model.integer("expert_gating_func", 0), self.default_gating)
        return Experts(
            count=count,
            used=used,
            width=plan.rows(f"blk.{layer}.ffn_up_exps.weight", width),
            gating=gating,
            normed=model.flag("expert_weights_norm") if self.normed is None else self.normed,
            scaled=plan.has(f"blk.{layer}.ffn_up_exps.scale", otherwise=self.scaled),
            scaled_down=plan.has(f"blk.{layer}.ffn_down_exps.scale", otherwise=self.scaled),
            biased=plan.has(f"blk.{layer}.exp_probs_b.bias", otherwise=self.biased),
            groups=model.integer("expert_group_count", 0),
            groups_used=model.integer("expert_group_used_count", 0),
            before=self.before,
            gated=self.gated,
            squared=self.squared,
            fused=fused,
            weighted=scale not in (0.0, 1.0),
        )

    def build(
        self,
        graph: Graph,
        plan: Plan,
        layer: int,
        x: Tensor,
        *,
        gate: str,
        scores: Tensor | None = None,
    ) -> Tensor:
        """What the experts of a layer give, with those that compute every token."""
        home = plan.home(layer)
        width = self.shared_width(plan) if self.shared and self.shared_width else 0
        width = plan.rows(f"blk.{layer}.{self.shared_weight}.weight", 0 if plan.tensors else width)
        more = feed_forward(graph, x, width, home, gate) if width and self.shared == "before" else None
        given = self._narrowed(graph, plan, layer, x) if self.narrowed else None
        given = given or experts(graph, x, self.of(plan, layer), home, scores)
        if not width:
            return given
        if more is None:
            more = feed_forward(graph, x, width, home, gate)
        if self.shared.startswith("gated"):
            score = project(graph, x, 1, home)
            once = graph.like("unary", score)
            more = graph.like(
                "mul", more, graph.like("div", once, score) if self.shared == "gated-div" else once
            )
        if self.shared == "first":
            return graph.like("scale", graph.like("add", more, given))
        return graph.like("add", given, more)

    def _narrowed(self, graph: Graph, plan: Plan, layer: int, x: Tensor) -> Tensor | None:
        """What the experts give who work on a narrower stream; None where these do not."""
        if not plan.has(f"blk.{layer}.ffn_latent_down.weight", otherwise=True):
            return None
        spec, home, embedding = self.of(plan, layer), plan.home(layer), x.shape[0]
        scores = project(graph, x, spec.count, home)
        width = plan.model.integer("moe_latent_size", 0) or embedding
        given = experts(graph, project(graph, x, width, home), spec, home, scores)
        return project(graph, given, embedding, home)
