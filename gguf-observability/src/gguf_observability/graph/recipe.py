"""How one architecture's blocks differ from another's."""

from collections.abc import Callable
from dataclasses import dataclass

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.expert_layers import ExpertLayers
from gguf_observability.graph.places import every_layer
from gguf_observability.graph.recurrent import Copies
from gguf_observability.graph.shape import Plan
from gguf_observability.graph.tensor import Tensor

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """The switches of a model of blocks.

    Attributes:
        norm: `rms_norm` or `norm`.
        norm_before: Whether what a half reads is normalised.
        norm_after_attention: Whether what attention gives is normalised.
        norm_after_feed: Whether what the feed-forward gives is normalised.
        query_norm: `head` (each head's queries and keys), `row` (before they are cut into heads), `after`
            (after they are turned, without a weight) or empty.
        query_norm_if: Whether a model does that at all, None for always.
        rotary: Whether a layer turns queries and keys by position.
        scaled_query: Whether queries are scaled before attention.
        fused_query: Whether files without tensors have queries, keys and values in one product.
        feed_divided: By how much the file's width of the feed-forward is too large.
        gate: Of the feed-forward: `par`, `fused`, `none` or `square`.
        parallel: Whether both halves read the same: `attention-first` or `stream-first` (order of the sums).
        parallel_norm: Whether the feed-forward reads a norm of its own then, and the file says whether.
        residual_scaled: Whether what a half gives is scaled.
        positions: Numbers of a token's position.
        learned_positions: Whether positions are looked up.
        embedding_norm: Whether embeddings are normalised.
        bare_embedding_norm: Whether they are, without a weight.
        scaled_input: Whether embeddings are scaled: `at-once` (before anything else), `later`, or not.
        classified: Whether files may have a product beside the logits, of classes.
        scaled_output: Whether what logits are made from is scaled.
        logits_by_embedding: Whether the host's table of tokens makes the logits, wherever the output is.
        scaled_blocks: Whether what a block gives is scaled by a weight.
        scaled_rows: Whether only those of tokens are: one more input.
        capped: Whether attention's scores are bounded (without flash attention only).
        scaled_unturned: Whether queries that are not turned are scaled by position instead.
        early_scores: Whether experts are chosen by what attention reads.
        scaled_by_position: Whether queries of this model are scaled by position, None for never.
        attention_gate: Whether what attention gives is gated before it is projected.
        head_gate: Whether it is, by one number a head.
        inner_norms: Whether what attention and the feed-forward give is normalised before it is projected.
        selected: When wanted tokens are picked in the last block: `after-attention`, `after-norm` (of
            what attention gives), `at-end` or `after-output-norm`.
        norm_first: Whether what a half reads is normalised before its states are fetched.
        residual_first: Which sums of a block start with the stream: none, `first`, `last` or `both`.
        latent: Whether keys and values are compressed.
        state: What a recurrent layer computes, None where there are none.
        state_beside: What is computed beside attention in every block, None for nothing.
        halves_alone: Whether a block has a state, attention or a feed-forward, and only one of them.
        gated_query: Whether a gate comes with the queries.
        per_layer: Whether blocks may have embeddings of their own, and share caches.
        normed_values: Whether values are normalised, without a weight.
        bare_norms: Whether norms have no weights.
        depth_inputs: Whether images may add to the stream of the first blocks: one more vector for each.
        second_norm: Whether a file without tensors gives attention a norm of its own.
        experts: What its layers of experts are, None for a dense model.
        feed_of_two: The feed-forward of a block with experts that stand beside a dense one, None elsewhere.
    """

    norm: str = "rms_norm"
    norm_before: bool = True
    norm_after_attention: bool = False
    norm_after_feed: bool = False
    query_norm: str = ""
    query_norm_if: Callable[[Plan], bool] | None = None
    rotary: Callable[[Plan, int], bool] = every_layer
    scaled_query: bool = False
    fused_query: bool = False
    feed_divided: int = 1
    gate: str = "par"
    parallel: str = ""
    parallel_norm: bool = False
    residual_scaled: bool = False
    positions: int = 1
    learned_positions: bool = False
    embedding_norm: bool = False
    bare_embedding_norm: bool = False
    scaled_input: str = ""
    classified: bool = False
    scaled_output: bool = False
    logits_by_embedding: bool = False
    scaled_blocks: bool = False
    scaled_rows: bool = False
    capped: bool = False
    scaled_unturned: bool = False
    early_scores: bool = False
    scaled_by_position: Callable[[Plan], bool] | None = None
    attention_gate: bool = False
    head_gate: bool = False
    inner_norms: bool = False
    selected: str = "after-attention"
    norm_first: bool = False
    residual_first: str = ""
    latent: bool = False
    state: Callable[[Graph, Plan, int, Tensor, Copies], Tensor] | None = None
    state_beside: Callable[[Graph, Plan, int, Tensor, Copies], Tensor] | None = None
    halves_alone: bool = False
    gated_query: bool = False
    per_layer: bool = False
    normed_values: bool = False
    bare_norms: bool = False
    depth_inputs: bool = False
    second_norm: bool = False
    experts: ExpertLayers | None = None
    feed_of_two: Callable[[Graph, Plan, int, Tensor], Tensor | None] | None = None

    def fused(self, plan: Plan, layer: int) -> bool:
        """Whether queries, keys and values are one product in this file."""
        return plan.has(f"blk.{layer}.attn_qkv.weight", otherwise=self.fused_query)

    def normed_query(self, plan: Plan, layer: int) -> str:
        """How queries and keys of a layer are normalised in this file, empty for not at all."""
        if not self.query_norm or (self.query_norm_if is not None and not self.query_norm_if(plan)):
            return ""
        if self.query_norm == "after":
            return self.query_norm
        return self.query_norm if plan.has(f"blk.{layer}.attn_q_norm.weight", otherwise=True) else ""
