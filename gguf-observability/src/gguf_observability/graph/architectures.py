"""The architectures whose graphs are known, and what of a file may make a graph another one.

Follows llama.cpp b11434, `src/models/*.cpp`; each was compared with the engine's own buffers, on the host and
over cards.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gguf_observability.graph.alternating import ALTERNATING, alternating
from gguf_observability.graph.builder import Graph
from gguf_observability.graph.decoder import decoder
from gguf_observability.graph.dense_models import DENSE
from gguf_observability.graph.expert_models import EXPERTS, LEADING, PER_EXPERT
from gguf_observability.graph.recipe import Recipe
from gguf_observability.graph.shape import Plan
from gguf_observability.graph.state_models import STATES
from gguf_observability.kv_cache import Exactness
from gguf_observability.model import Model
from gguf_observability.recurrence import recurs

__all__ = ["RECIPES", "graph_of", "stand_in", "trust"]

_ALTERNATING: Final = "gemma3n"
RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {**DENSE, **EXPERTS, **STATES, _ALTERNATING: ALTERNATING}
)
_CHANGED: Final = frozenset(("jais2",))
"""Their graphs were others in b10488."""
_UNKNOWN_PARTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "granite": ("n_deepstack_layers",),
        "granitehybrid": ("n_deepstack_layers",),
        "granitemoe": ("n_deepstack_layers",),
        "lfm2": ("attention.sliding_window",),
    }
)
"""Keys, by architecture, that add parts to a graph that are not built here."""


def trust(model: Model, *, mixed: bool) -> tuple[Exactness, str]:
    """How far the graph built for a model is the engine's, and what is not exact."""
    architecture = model.architecture
    if architecture not in RECIPES:
        return (
            Exactness.APPROXIMATE,
            f"the graph of {architecture} is not built: that of most models of its kind",
        )
    for key in _UNKNOWN_PARTS.get(architecture, ()):
        if model.decimal(key):
            return Exactness.APPROXIMATE, f"what {architecture}.{key} adds to the graph is not built"
    if not mixed and architecture in _CHANGED:
        return Exactness.APPROXIMATE, f"the graph of {architecture} was another one before b11434"
    return Exactness.EXACT, ""


def stand_in(model: Model) -> Recipe | None:
    """The recipe of models of the same kind, for an architecture without one; None for recurrent ones."""
    if any(recurs(model)) or not max(model.kv_heads, default=0):
        return None
    experts = None
    if model.integer("expert_count", 0):
        experts = LEADING if model.integer("leading_dense_block_count", 0) else PER_EXPERT
    return Recipe(latent=model.has("attention.kv_lora_rank"), experts=experts)


def graph_of(plan: Plan, recipe: Recipe | None = None) -> Graph:
    """The graph of a model, as the engine reserves memory for it; by `recipe` where none is its own."""
    if recipe is not None:
        return decoder(plan, recipe)
    if plan.model.architecture == _ALTERNATING:
        return alternating(plan)
    return decoder(plan, RECIPES[plan.model.architecture])
