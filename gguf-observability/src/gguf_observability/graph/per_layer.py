"""Embeddings of tokens for every block, beside those of the stream.

Follows llama.cpp b11434, `src/models/gemma4.cpp` (`build_inp_per_layer`, `project_per_layer_inputs`).
"""

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.parts import norm, project
from gguf_observability.graph.shape import Plan
from gguf_observability.graph.tensor import Tensor

__all__ = ["PerLayer"]


class PerLayer:
    """The embeddings of a batch for every block.

    Attributes:
        width: Elements of one, for one block.
    """

    def __init__(self, graph: Graph, plan: Plan, stream: Tensor, width: int) -> None:
        self._graph, self._plan, self.width = graph, plan, width
        layers, tokens, first = plan.model.trunk_layers, plan.tokens, plan.home(0)
        table = graph.weight(width * layers, plan.vocabulary, home=plan.host)
        found = graph.rows(table, graph.given(tokens, kind="i32"))
        found = graph.expand(graph.like("scale", graph.reshape(found, width, layers, tokens)))
        made = graph.like("scale", project(graph, stream, width * layers, first))
        made = norm(graph, graph.reshape(made, width, layers, tokens), first)
        both = graph.like("scale", graph.like("add", made, found))
        self._all = graph.cont(graph.permute(both, 0, 2, 1, 3))

    def add_to(self, stream: Tensor, layer: int) -> Tensor:
        """The stream with a block's own embeddings added."""
        graph, home = self._graph, self._plan.home(layer)
        gate = graph.like("unary", project(graph, stream, self.width, home))
        own = self.of(layer)
        given = norm(graph, project(graph, graph.like("mul", gate, own), stream.shape[0], home), home)
        return graph.like("add", stream, given)

    def of(self, _layer: int) -> Tensor:
        """A block's own embeddings."""
        return self._graph.view(self._all, self.width, self._plan.tokens, strides=(self._all.strides[1],))
