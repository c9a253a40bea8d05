"""Blocks that carry several streams and update one of them: the others are predicted and corrected from it.

Follows llama.cpp b11434, `src/models/gemma3n.cpp`.
"""

from typing import Final

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.decoder import Decoder
from gguf_observability.graph.parts import norm, project
from gguf_observability.graph.per_layer import PerLayer
from gguf_observability.graph.recipe import Recipe
from gguf_observability.graph.shape import Plan, kept_layers
from gguf_observability.graph.tensor import Tensor

__all__ = ["ALTERNATING", "alternating"]

_STREAMS = 4
_RANK = 64  # of the short way around attention
_SPARSE_LAYERS = 10
_NODES_A_BLOCK = 100

ALTERNATING: Final = Recipe(per_layer=True, scaled_rows=True, query_norm="head", normed_values=True)
"""How the blocks' attention is built."""


def alternating(plan: Plan) -> Graph:
    """The graph of a model of such blocks."""
    return _Alternating(plan, ALTERNATING).build()


class _Alternating(Decoder):
    """One graph that is being built."""

    def build(self) -> Graph:
        graph, plan, stream = self.graph, self.plan, self.stream
        if not plan.mixed:
            stream = graph.like("scale", stream)
        width = plan.model.integer("embedding_length_per_layer_input", lowest=1)
        own = PerLayer(graph, plan, stream, width)
        streams = self.opened(stream)
        layers, graph.whole = kept_layers([self.kind(each) for each in range(self.last + 1)], _NODES_A_BLOCK)
        for layer in layers:
            streams = self.updated(layer, streams, own)
        stream = graph.rows(self.closed(streams), self.wanted)
        stream = self.norm(stream, plan.homes[-1])
        stream.is_output = True
        logits = graph.expand(project(graph, stream, plan.vocabulary, plan.homes[-1]))
        logits.is_output = True
        return graph

    def kind(self, layer: int) -> tuple[object, ...]:
        return (*super().kind(layer), layer < _SPARSE_LAYERS, self.shares(layer))

    def opened(self, stream: Tensor) -> Tensor:
        """All streams, made from the first."""
        graph, (embedding, tokens, *_) = self.graph, stream.shape
        wanted = self.magnitude(stream)
        more = graph.new("repeat", (embedding, tokens, _STREAMS - 1, 1), stream)
        more = self.as_large(graph.mul_mat(self.between(), more), wanted)
        return graph.new("concat", (embedding, tokens, _STREAMS, 1), stream, more)

    def closed(self, streams: Tensor) -> Tensor:
        """One stream, the mean of all."""
        graph, (embedding, tokens, *_) = self.graph, streams.shape
        wanted = self.magnitude(self.one_of(streams))
        rest = graph.view(streams, embedding, tokens, _STREAMS - 1, strides=streams.strides[1:3])
        made = self.as_large(graph.mul_mat(self.between(), rest), wanted)
        total = self.one_of(streams)
        for _ in range(_STREAMS - 1):
            total = graph.new("add", total.shape, total, self.one_of(made))
        return graph.like("scale", total)

    def updated(self, layer: int, streams: Tensor, own: PerLayer) -> Tensor:
        """All streams after one block."""
        graph, plan, home = self.graph, self.plan, self.plan.home(layer)
        predicted = self.predicted(layer, streams)
        active = self.one_of(predicted)
        seen = self.norm(active, home)
        beside = project(graph, project(graph, seen, _RANK, home), seen.shape[0], home)
        beside = graph.like("add", self.norm(beside, home), seen)
        given = self.norm(self.attention(layer, seen), home)
        given = graph.new("add", given.shape, given, active)
        middle = graph.like("scale", graph.like("add", given, beside))
        given = self.norm(self.fed(layer, self.norm(middle, home)), home)
        given = graph.like("add", given, middle)
        corrected = self.corrected(layer, predicted, given)
        first = self.one_of(corrected)
        first = graph.new("mul", first.shape, first, graph.weight(first.shape[0], home=home))
        gate = graph.like("unary", project(graph, first, own.width, home))
        first = project(graph, graph.like("mul", gate, own.of(layer)), plan.model.embedding, home)
        first = norm(graph, first, home)
        embedding, tokens, *_ = streams.shape
        kept = self.one_of(corrected)
        rest = graph.view(corrected, embedding, tokens, _STREAMS - 1, strides=corrected.strides[1:3])
        rest = graph.new("add", rest.shape, rest, first)
        return graph.new("concat", streams.shape, kept, rest)

    def predicted(self, layer: int, streams: Tensor) -> Tensor:
        """What each stream is expected to become."""
        graph, home, (_, tokens, *_) = self.graph, self.plan.home(layer), streams.shape
        mix = project(graph, self.modalities(layer, self.one_of(streams)), _STREAMS * _STREAMS, home)
        mix = graph.reshape(mix, _STREAMS, _STREAMS, tokens)
        turned = graph.cont(graph.permute(streams, 1, 2, 0, 3))
        made = graph.cont(graph.permute(graph.mul_mat(turned, mix), 0, 2, 1, 3))
        return graph.like("add", made, streams)

    def corrected(self, layer: int, predicted: Tensor, given: Tensor) -> Tensor:
        """All streams, corrected by what the block made of one."""
        graph, home, (_, tokens, *_) = self.graph, self.plan.home(layer), predicted.shape
        modalities = self.modalities(layer, given)
        news = graph.like("sub", given, self.one_of(predicted))
        shares = graph.like("scale", project(graph, modalities, _STREAMS, home))
        shares = graph.cont(graph.transpose(shares), 1, tokens, _STREAMS)
        news = graph.new("repeat", predicted.shape, news)
        return graph.like("add", graph.like("mul", news, shares), predicted)

    def modalities(self, layer: int, x: Tensor) -> Tensor:
        """How much of each stream a token is."""
        graph, home = self.graph, self.plan.home(layer)
        read = graph.like("scale", self.norm(x, home))
        return graph.like("unary", project(graph, read, _STREAMS, home))

    def fed(self, layer: int, x: Tensor) -> Tensor:
        """What the feed-forward gives; in the first blocks most of its gates are closed."""
        graph, home, width = self.graph, self.plan.home(layer), self.plan.feed_width(layer)
        up, gate = project(graph, x, width, home), project(graph, x, width, home)
        if layer < _SPARSE_LAYERS:
            gate = self.sparse(gate)
        inner = graph.like("mul", up, graph.like("unary", gate))
        return project(graph, inner, x.shape[0], home)

    def sparse(self, x: Tensor) -> Tensor:
        """`x` above its mean and some deviations; zero elsewhere."""
        graph, one = self.graph, (1, *x.shape[1:])
        mean = graph.new("mean", one, x)
        spread = graph.new("sum_rows", one, graph.like("sqr", graph.like("sub", x, mean)))
        spread = graph.like("sqrt", graph.like("scale", spread))
        limit = graph.like("add", mean, graph.like("scale", spread))
        return graph.like("unary", graph.like("sub", x, limit))

    def between(self) -> Tensor:
        """The weights between streams: with the output layer."""
        embedding = self.plan.model.embedding
        return self.graph.weight(embedding, embedding, _STREAMS - 1, home=self.plan.homes[-1])

    def one_of(self, streams: Tensor) -> Tensor:
        """One stream."""
        return self.graph.view(streams, *streams.shape[:2], strides=streams.strides[1:2])

    def magnitude(self, x: Tensor) -> Tensor:
        """How large each token's vector is."""
        square = self.graph.new("sqr", x.shape, x)
        return self.graph.like("sqrt", self.graph.new("sum_rows", (1, *x.shape[1:]), square))

    def as_large(self, x: Tensor, wanted: Tensor) -> Tensor:
        """`x` with the magnitude that is wanted."""
        own = self.magnitude(x)
        return self.graph.like("div", self.graph.like("mul", x, wanted), own)
