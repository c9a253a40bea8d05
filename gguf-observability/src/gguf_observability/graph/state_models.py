"""Models with recurrent layers, alone or between layers of attention."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gguf_observability.graph.delta_net import delta_net
from gguf_observability.graph.expert_layers import ExpertLayers
from gguf_observability.graph.expert_models import feed_width, of_used, shared_width
from gguf_observability.graph.places import after_leading, no_layer
from gguf_observability.graph.recipe import Recipe
from gguf_observability.graph.recurrent import mamba, mamba2, short_convolution
from gguf_observability.graph.shape import Plan

__all__ = ["STATES"]


def _shared_or_feed(plan: Plan) -> int:
    return shared_width(plan) or feed_width(plan)


_GATED: Final = ExpertLayers(scaled=True, expert_width=of_used, shared="gated", shared_width=_shared_or_feed)

STATES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        "falcon-h1": Recipe(state_beside=mamba2),
        "granitehybrid": Recipe(
            state=mamba2,
            residual_scaled=True,
            scaled_input="at-once",
            experts=ExpertLayers(expert_width=feed_width, shared="after", shared_width=shared_width),
        ),
        "jamba": Recipe(
            residual_first="both",
            state=mamba,
            rotary=no_layer,
            experts=ExpertLayers(normed=False, expert_width=feed_width),
        ),
        "lfm2": Recipe(state=short_convolution, residual_first="both", query_norm="head"),
        "lfm2moe": Recipe(
            state=short_convolution,
            residual_first="both",
            query_norm="head",
            experts=ExpertLayers(sparse=after_leading, gating="", biased=True),
        ),
        "mamba": Recipe(state=mamba, halves_alone=True),
        "mamba2": Recipe(state=mamba2, halves_alone=True),
        "nemotron_h": Recipe(
            halves_alone=True,
            state=mamba2,
            rotary=no_layer,
            gate="square",
            selected="after-output-norm",
        ),
        "nemotron_h_moe": Recipe(
            halves_alone=True,
            state=mamba2,
            rotary=no_layer,
            gate="square",
            selected="after-output-norm",
            experts=ExpertLayers(
                gating="sigmoid",
                normed=None,
                biased=True,
                gated=False,
                squared=True,
                scaled=True,
                narrowed=True,
                shared="after",
                shared_width=shared_width,
            ),
        ),
        "qwen35": Recipe(
            classified=True,
            selected="after-output-norm",
            norm_first=True,
            positions=4,
            state=delta_net,
            gated_query=True,
            query_norm="head",
        ),
        "qwen35moe": Recipe(
            selected="after-output-norm",
            norm_first=True,
            positions=4,
            state=delta_net,
            gated_query=True,
            query_norm="head",
            experts=_GATED,
        ),
        "qwen3next": Recipe(
            selected="after-output-norm",
            norm_first=True,
            state=delta_net,
            gated_query=True,
            query_norm="head",
            experts=_GATED,
        ),
    }
)
