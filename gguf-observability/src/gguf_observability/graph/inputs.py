"""What a graph reads: tokens, positions, masks and the places in the caches.

Follows llama.cpp b11434, `src/llama-graph.cpp` (`build_inp_embd`, `build_attn_inp_*`).
"""

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.shape import Plan
from gguf_observability.graph.tensor import Tensor
from gguf_observability.kv_cache import is_latent
from gguf_observability.rotation import rotations

__all__ = ["CacheInputs", "embedded"]


def embedded(graph: Graph, plan: Plan, *, scaled_rows: bool = False, depth: int = 0) -> tuple[Tensor, Tensor]:
    """The embeddings of the batch: of its tokens, of given vectors, or of both, whatever it will be.

    Returns:
        The stream, and the vectors it was cut from if images may add to the first `depth` blocks.
    """
    embedding, tokens = plan.model.embedding, plan.tokens
    width = embedding * (1 + depth)
    table = graph.weight(embedding, plan.vocabulary, home=plan.host)

    def looked_up() -> Tensor:
        rows = graph.rows(table, graph.given(tokens, kind="i32"))
        return graph.new("pad", (width, tokens, 1, 1), rows) if depth else rows

    whole = graph.expand(looked_up())
    graph.expand(graph.given(width, tokens))
    if plan.mixed:
        into = graph.like("dup", graph.given(width, tokens))
        graph.expand(graph.set_rows(into, looked_up(), graph.given(tokens, kind="i64")))
    found = whole
    if depth:
        found = graph.view(whole, embedding, tokens, strides=(whole.strides[1],))
    if scaled_rows:
        found = graph.like("mul", found, graph.given(1, tokens))
    return graph.expand(found), whole


class CacheInputs:
    """What attention reads beside the caches: for layers that see everything, and for those that slide."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        serving = plan.serving
        self._graph = graph
        self._latent = is_latent(plan.model)
        tokens, streams = plan.tokens, serving.streams
        kept = plan.cache
        values = tokens if serving.flash_attention else tokens * plan.widest_values
        window = kept.window.tokens
        self.slides = any(kept.window.slides)
        self._sets = []
        for slides in (False, True) if self.slides else (False,):
            cells = serving.sliding_cells(window) if slides else serving.cells
            key_turn, value_turn = rotations(plan.model, serving, kept, slides=slides)
            self._sets.append(
                (
                    cells,
                    graph.given(tokens, kind="i64"),
                    graph.given(values, kind="i64"),
                    graph.given(
                        cells,
                        tokens // streams,
                        1,
                        streams,
                        kind="f16" if serving.flash_attention else "f32",
                    ),
                    graph.given(key_turn, key_turn) if key_turn else None,
                    graph.given(value_turn, value_turn) if value_turn else None,
                )
            )

    def of(self, *, slides: bool) -> tuple[int, Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
        """Cells, places of keys and of values, mask, rotation of keys and of values."""
        return self._sets[1 if slides and self.slides else 0]
