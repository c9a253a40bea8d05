"""Language models of blocks with attention and a feed-forward, as the engine builds their graphs.

Follows llama.cpp b11434, `src/models/*.cpp`: what differs between the architectures is in `recipes.py`.
"""

from gguf_observability.graph.attention import attend, gated_by_head, queries_keys_values
from gguf_observability.graph.builder import Graph
from gguf_observability.graph.expert_layers import USED_LIMIT
from gguf_observability.graph.inputs import CacheInputs, embedded
from gguf_observability.graph.latent import latent_attention
from gguf_observability.graph.parts import feed_forward, norm, project
from gguf_observability.graph.per_layer import PerLayer
from gguf_observability.graph.recipe import Recipe
from gguf_observability.graph.recurrent import Copies
from gguf_observability.graph.shape import Plan, kept_layers
from gguf_observability.graph.tensor import Tensor
from gguf_observability.kv_cache import first_shared_layer
from gguf_observability.recurrence import recurs

__all__ = ["Decoder", "decoder"]

_NODES_A_BLOCK = 60


def decoder(plan: Plan, recipe: Recipe) -> Graph:
    """The graph of a model of blocks."""
    return Decoder(plan, recipe).build()


class Decoder:
    """One graph that is being built."""

    def __init__(self, plan: Plan, recipe: Recipe) -> None:
        self.graph, self.plan, self.recipe = Graph(), plan, recipe
        graph = self.graph
        self.depth = plan.model.integer("n_deepstack_layers", 0) if recipe.depth_inputs else 0
        self.stream, self.given = embedded(
            graph, plan, scaled_rows=recipe.scaled_rows and plan.mixed, depth=self.depth
        )
        self.positions = graph.given(plan.tokens * recipe.positions, kind="i32")
        self.scales = graph.given(1, 1, plan.tokens)
        self.inputs = CacheInputs(graph, plan)
        self.wanted = graph.given(plan.outputs, kind="i32")
        self.copies = Copies(graph, plan)
        self.own: PerLayer | None = None
        self.recurs = recurs(plan.model)
        self.last = plan.model.trunk_layers - 1
        self.shared_from = first_shared_layer(plan.model)

    def norm(self, x: Tensor, home: int) -> Tensor:
        """`x` normalised as this architecture does."""
        return norm(self.graph, x, home, self.recipe.norm)

    def build(self) -> Graph:
        """The graph."""
        graph, plan, recipe, stream = self.graph, self.plan, self.recipe, self.stream
        if recipe.scaled_input or (recipe.scaled_rows and not plan.mixed):
            stream = graph.like("scale", stream)
            if recipe.scaled_input == "at-once":
                graph.expand(stream)
        if recipe.bare_embedding_norm:
            stream = graph.like("rms_norm", stream)
        if recipe.embedding_norm:
            stream = self.norm(stream, plan.home(0))
        if plan.has("position_embd.weight", otherwise=recipe.learned_positions):
            table = graph.weight(plan.model.embedding, 1, home=plan.host)
            stream = graph.like("add", stream, graph.rows(table, self.positions))
        used = plan.model.integer("expert_used_count", 0, highest=USED_LIMIT)
        kinds = [self.kind(layer) for layer in range(self.last + 1)]
        layers, graph.whole = kept_layers(kinds, _NODES_A_BLOCK + 2 * used)
        width = plan.model.integer("embedding_length_per_layer_input", 0) if recipe.per_layer else 0
        self.own = PerLayer(graph, plan, stream, width) if width else None
        for layer in layers:
            stream = self.block(layer, stream)
            if layer < self.depth:
                embedding = plan.model.embedding
                more = graph.view(self.given, embedding, plan.tokens, strides=(self.given.strides[1],))
                stream = graph.like("add", stream, more)
        if recipe.selected == "at-end":
            stream.is_output = True  # what a drafter would read
            stream = graph.rows(stream, self.wanted)
        stream = self.norm(stream, plan.homes[-1])
        stream.is_output = True
        if recipe.selected == "after-output-norm":
            stream = graph.rows(stream, self.wanted)
            stream.is_output = True
        if recipe.classified and plan.mixed and plan.has("cls.output.weight", otherwise=True):
            width = plan.rows("cls.output.weight", plan.model.embedding)
            graph.expand(project(graph, stream, width, plan.homes[-1])).is_output = True
        if recipe.scaled_output:
            stream = graph.like("scale", stream)
        home = plan.host if recipe.logits_by_embedding else plan.homes[-1]
        graph.expand(project(graph, stream, plan.vocabulary, home)).is_output = True
        return graph

    def kind(self, layer: int) -> tuple[object, ...]:
        """All in which a block's graph may differ from another's."""
        plan, recipe = self.plan, self.recipe
        return (
            plan.kind(layer),
            layer < self.depth,
            recipe.fused(plan, layer),
            recipe.normed_query(plan, layer),
            recipe.rotary(plan, layer),
            recipe.experts is not None and recipe.experts.on(plan, layer),
            self.recurs[layer],
        )

    def block(self, layer: int, stream: Tensor) -> Tensor:
        """One block: attention, then the feed-forward, or both at once."""
        graph, plan, recipe = self.graph, self.plan, self.recipe
        home, scores = plan.home(layer), None
        if recipe.early_scores:
            scores = project(graph, stream, plan.model.integer("expert_count"), home)
        residual = stream
        seen = self.norm(stream, home) if recipe.norm_before else stream
        given = self.first_half(layer, stream, seen)
        if recipe.state_beside is not None:
            return self.beside(layer, stream, given)
        if recipe.norm_after_attention and recipe.selected == "after-norm":
            given = self.norm(given, home)
        if layer == self.last and recipe.selected in {"after-attention", "after-norm"}:
            given, residual = graph.rows(given, self.wanted), graph.rows(residual, self.wanted)
            scores = None if scores is None else graph.rows(scores, self.wanted)
            if recipe.parallel and not recipe.parallel_norm:
                seen = graph.rows(seen, self.wanted)
        if self.is_parallel():
            return self.side_by_side(layer, seen, given, residual)
        if recipe.norm_after_attention and recipe.selected != "after-norm":
            given = self.norm(given, home)
        if recipe.residual_scaled:
            given = graph.like("scale", given)
        first, second = (residual, given) if recipe.residual_first in {"both", "first"} else (given, residual)
        middle = graph.like("add", first, second)
        return middle if recipe.halves_alone else self.second_half(layer, middle, scores)

    def first_half(self, layer: int, stream: Tensor, seen: Tensor) -> Tensor:
        """What attention, a state, or a feed-forward that stands alone gives."""
        plan, recipe = self.plan, self.recipe
        if recipe.norm_first:
            self.graph.expand(seen)
        if plan.has(f"blk.{layer}.attn_norm_2.weight", otherwise=recipe.second_norm):
            seen = self.norm(stream, plan.home(layer))
        if recipe.halves_alone and not self.recurs[layer] and plan.feed_width(layer):
            return self.feed(layer, seen)
        return self.mixed(layer, seen)

    def second_half(self, layer: int, middle: Tensor, scores: Tensor | None) -> Tensor:
        """The stream after the feed-forward."""
        graph, recipe, home = self.graph, self.recipe, self.plan.home(layer)
        both = recipe.feed_of_two(graph, self.plan, layer, middle) if recipe.feed_of_two else None
        if both is not None:
            given = both
        else:
            given = self.feed(layer, self.norm(middle, home) if recipe.norm_before else middle, scores)
        if recipe.norm_after_feed:
            given = self.norm(given, home)
        if recipe.residual_scaled:
            given = graph.like("scale", given)
        first, second = (middle, given) if recipe.residual_first in {"both", "last"} else (given, middle)
        given = graph.like("add", first, second)
        if self.own is not None:
            given = self.own.add_to(given, layer)
        if recipe.scaled_blocks:
            given = graph.like("mul", given, graph.weight(1, home=home))
        return given

    def beside(self, layer: int, stream: Tensor, given: Tensor) -> Tensor:
        """The stream after attention and a state that read the same, and the feed-forward."""
        graph, plan, home = self.graph, self.plan, self.plan.home(layer)
        state = self.recipe.state_beside
        if state is not None:
            given = graph.like("add", given, state(graph, plan, layer, self.norm(stream, home), self.copies))
        middle = graph.like("add", given, stream)
        if layer == self.last:
            middle = graph.rows(middle, self.wanted)
        return graph.like("add", self.feed(layer, self.norm(middle, home)), middle)

    def is_parallel(self) -> bool:
        """Whether both halves of a block read the same."""
        model, recipe = self.plan.model, self.recipe
        if recipe.parallel_norm:
            return model.flag("use_parallel_residual", default=True)
        return bool(recipe.parallel)

    def side_by_side(self, layer: int, seen: Tensor, given: Tensor, residual: Tensor) -> Tensor:
        """Both halves of a block read the same; how the sums are ordered differs."""
        if self.recipe.parallel_norm:
            seen = self.norm(residual, self.plan.home(layer))
        fed = self.feed(layer, seen)
        first, second, third = {
            "feed-attention-stream": (fed, given, residual),
            "attention-feed-stream": (given, fed, residual),
            "feed-stream-attention": (fed, residual, given),
        }[self.recipe.parallel]
        return self.graph.like("add", self.graph.like("add", first, second), third)

    def mixed(self, layer: int, x: Tensor) -> Tensor:
        """What a block's first half gives: attention, or a state that is brought up to date."""
        graph, plan, recipe = self.graph, self.plan, self.recipe
        if recipe.state is not None and self.recurs[layer]:
            return recipe.state(graph, plan, layer, x, self.copies)
        if recipe.latent:
            return latent_attention(
                graph, plan, self.inputs, layer, x, positions=self.positions, scales=self.scales_of_queries()
            )
        return self.attention(layer, x)

    def attention(self, layer: int, x: Tensor) -> Tensor:
        """What attention adds to the stream."""
        graph, plan, recipe = self.graph, self.plan, self.recipe
        home, normed = plan.home(layer), recipe.normed_query(plan, layer)
        query, keys, values = queries_keys_values(
            graph,
            plan,
            x,
            layer,
            fused=recipe.fused(plan, layer),
            normed_rows=normed == "row",
            gated=recipe.gated_query,
        )
        gate = None
        if recipe.gated_query:
            width, heads = plan.key_width(layer), plan.heads(layer)
            gate = graph.view(query, width, heads, plan.tokens, strides=query.strides[1:3])
            query = graph.view(query, width, heads, plan.tokens, strides=query.strides[1:3])
        if recipe.attention_gate:
            gate = project(graph, x, plan.heads(layer) * plan.value_width(layer), home)
        query, keys, values = self.prepared(layer, query, keys, values)
        embedding, kept = x.shape[0], layer
        shares = self.shares(layer)
        if shares:  # it reads the cache of the last layer of its kind that has one
            kept = max(self.shared_from - (2 if plan.cache.window.slides[layer] else 1), 0)
        given = attend(
            graph,
            plan,
            self.inputs,
            layer,
            (query, None, None) if shares else (query, keys, values),
            cached_layer=kept,
            embedding=embedding,
            capped=recipe.capped,
            project_out=gate is None and not recipe.head_gate and not recipe.inner_norms,
        )
        if recipe.inner_norms:
            return project(graph, self.norm(given, home), embedding, home)
        if recipe.head_gate:
            given = gated_by_head(graph, plan, layer, x, given)
            return project(graph, given, embedding, home)
        if gate is None:
            return given
        if recipe.gated_query:
            gate = graph.cont(gate, gate.shape[0] * gate.shape[1], plan.tokens)
        gated = graph.like("mul", given, graph.like("unary", gate))
        return project(graph, gated, embedding, home)

    def shares(self, layer: int) -> bool:
        """Whether a layer reads the cache of an earlier one."""
        return self.recipe.per_layer and layer >= self.shared_from

    def prepared(
        self, layer: int, query: Tensor, keys: Tensor, values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values as attention reads them: normalised, turned and scaled."""
        graph, plan, recipe = self.graph, self.plan, self.recipe
        home, normed = plan.home(layer), recipe.normed_query(plan, layer)
        turns = recipe.rotary(plan, layer)
        if normed == "head":
            query, keys = self.norm(query, home), self.norm(keys, home)
        if turns:
            query = graph.like("rope", query, self.positions)
            keys = graph.like("rope", keys, self.positions)
        elif recipe.scaled_unturned:
            query = graph.like("mul", query, self.scales)
        by_position = self.scales_of_queries()
        if by_position is not None:
            query = graph.like("mul", query, by_position)
        if normed == "after" and turns:
            query, keys = graph.like("rms_norm", query), graph.like("rms_norm", keys)
        if normed == "late":
            query, keys = self.norm(query, home), self.norm(keys, home)
        if recipe.normed_values:
            values = graph.like("rms_norm", values)
        if recipe.scaled_query:
            query = graph.like("scale", query)
        return query, keys, values

    def scales_of_queries(self) -> Tensor | None:
        """What queries are scaled by, position by position; None where they are not."""
        asked = self.recipe.scaled_by_position
        return self.scales if asked is not None and asked(self.plan) else None

    def feed(self, layer: int, x: Tensor, scores: Tensor | None = None) -> Tensor:
        """What the feed-forward of a block adds to the stream."""
        graph, plan, sparse = self.graph, self.plan, self.recipe.experts
        if sparse is not None and sparse.on(plan, layer):
            return sparse.build(graph, plan, layer, x, gate=self.recipe.gate, scores=scores)
        width = plan.feed_width(layer) // self.recipe.feed_divided
        normed = self.recipe.inner_norms
        return feed_forward(graph, x, width, plan.home(layer), self.recipe.gate, normed=normed)
