"""Models whose feed-forward is a choice of experts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from gguf_observability.graph.expert_layers import ExpertLayers
from gguf_observability.graph.places import (
    after_leading,
    interleaved,
    interleaved_after_leading,
    scaled_by_temperature,
    slides_or_none_does,
)
from gguf_observability.graph.recipe import Recipe
from gguf_observability.graph.shape import Plan

__all__ = ["EXPERTS", "LEADING", "PER_EXPERT", "feed_width", "of_used", "shared_width"]

_WITHOUT_WINDOW_LAYERS = 4
_UNNORMED_EXPERTS = 128  # Llama 4 Maverick; Scout, with 16, normalises queries and keys


def feed_width(plan: Plan) -> int:
    """The width of the feed-forward that the file names."""
    return plan.model.integer("feed_forward_length", 0)


def of_used(plan: Plan) -> int:
    """The width that the file names for one expert, or its part of the feed-forward."""
    model = plan.model
    named = model.integer("expert_feed_forward_length", 0)
    return named or model.integer("feed_forward_length") // model.integer("expert_used_count", lowest=1)


def shared_width(plan: Plan) -> int:
    """The width that the file names for the experts that compute every token."""
    return plan.model.integer("expert_shared_feed_forward_length", 0)


def _shared_or_feed(plan: Plan) -> int:
    return shared_width(plan) or feed_width(plan)


def _one(plan: Plan) -> int:
    return plan.model.integer("expert_feed_forward_length", 0)


def _counted(plan: Plan) -> int:
    return _one(plan) * plan.model.integer("expert_shared_count", 0)


def _turned_llama4(_plan: Plan, layer: int) -> bool:
    return (layer + 1) % 4 != 0


def _turned_smallthinker(plan: Plan, layer: int) -> bool:
    return (
        plan.model.layers == _WITHOUT_WINDOW_LAYERS
        or not any(plan.cache.window.slides)
        or layer % _WITHOUT_WINDOW_LAYERS != 0
    )


def _normed_llama4(plan: Plan) -> bool:
    return plan.model.integer("expert_count", 0) != _UNNORMED_EXPERTS


LEADING: Final = ExpertLayers(
    sparse=after_leading, gating="", normed=None, biased=True, shared="after", shared_width=_counted
)
PER_EXPERT: Final = ExpertLayers(scaled=True, expert_width=of_used)
_NAMED: Callable[[Plan], int] = feed_width

EXPERTS: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        "afmoe": Recipe(
            scaled_input="later",
            attention_gate=True,
            query_norm="head",
            norm_after_attention=True,
            norm_after_feed=True,
            selected="after-norm",
            rotary=_turned_llama4,
            experts=LEADING,
        ),
        "bailingmoe": Recipe(experts=ExpertLayers(normed=None, shared="after", shared_width=_counted)),
        "bailingmoe2": Recipe(fused_query=True, query_norm="head", experts=LEADING),
        "dbrx": Recipe(norm="norm", fused_query=True, experts=ExpertLayers(expert_width=_NAMED)),
        "deepseek": Recipe(
            experts=ExpertLayers(sparse=after_leading, normed=False, shared="after", shared_width=_counted)
        ),
        "deepseek2": Recipe(latent=True, experts=LEADING, scaled_by_position=scaled_by_temperature),
        "mistral4": Recipe(
            latent=True, experts=replace(LEADING, fused=True), scaled_by_position=scaled_by_temperature
        ),
        "grok": Recipe(
            scaled_input="later",
            norm_after_attention=True,
            norm_after_feed=True,
            capped=True,
            experts=ExpertLayers(
                expert_width=_NAMED, shared="first", shared_width=feed_width, shared_weight="ffn_up"
            ),
        ),
        "step35": Recipe(
            query_norm="head",
            head_gate=True,
            selected="at-end",
            experts=ExpertLayers(
                gating="",
                normed=None,
                biased=True,
                shared="after",
                shared_width=shared_width,
            ),
        ),
        "dots1": Recipe(query_norm="head", experts=LEADING),
        "ernie4_5-moe": Recipe(
            experts=ExpertLayers(
                sparse=interleaved_after_leading, biased=True, shared="after", shared_width=shared_width
            )
        ),
        "exaone-moe": Recipe(query_norm="head", rotary=slides_or_none_does, experts=LEADING),
        "glm4moe": Recipe(query_norm="head", experts=LEADING),
        "gpt-oss": Recipe(selected="at-end", experts=ExpertLayers(normed=False, gating="softmax-weight")),
        "granitemoe": Recipe(
            residual_scaled=True,
            scaled_input="at-once",
            experts=ExpertLayers(expert_width=_NAMED, shared="after", shared_width=shared_width),
        ),
        "hunyuan-moe": Recipe(
            query_norm="late",
            experts=ExpertLayers(expert_width=_NAMED, shared="before", shared_width=_shared_or_feed),
        ),
        "llama": Recipe(
            experts=ExpertLayers(scaled=True, expert_width=_NAMED, shared="after", shared_width=shared_width)
        ),
        "llama4": Recipe(
            query_norm="after",
            query_norm_if=_normed_llama4,
            scaled_unturned=True,
            rotary=_turned_llama4,
            experts=ExpertLayers(
                sparse=interleaved,
                normed=False,
                gating="sigmoid",
                before=True,
                shared="after",
                shared_width=_one,
            ),
        ),
        "mellum": Recipe(query_norm="head", experts=PER_EXPERT),
        "mimo2": Recipe(experts=ExpertLayers(gating="sigmoid", biased=True)),
        "minimax-m2": Recipe(
            query_norm="row", experts=ExpertLayers(gating="", biased=True, expert_width=_NAMED)
        ),
        "olmoe": Recipe(query_norm="row", experts=ExpertLayers(normed=False, expert_width=_NAMED)),
        "phimoe": Recipe(
            residual_first="last",
            scaled_query=True,
            gate="fused",
            experts=ExpertLayers(expert_width=_NAMED),
        ),
        "qwen2moe": Recipe(
            experts=ExpertLayers(
                normed=False, expert_width=of_used, shared="gated-div", shared_width=_shared_or_feed
            )
        ),
        "qwen3moe": Recipe(query_norm="head", experts=PER_EXPERT),
        "qwen3vlmoe": Recipe(
            positions=4,
            depth_inputs=True,
            query_norm="head",
            experts=ExpertLayers(expert_width=of_used),
        ),
        "smallthinker": Recipe(
            early_scores=True, rotary=_turned_smallthinker, experts=ExpertLayers(gating="")
        ),
    }
)
