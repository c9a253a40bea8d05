"""Models of blocks with attention and a dense feed-forward."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gguf_observability.graph.beside_experts import dense_and_experts
from gguf_observability.graph.places import no_layer, scaled_by_temperature, slides, slides_or_none_does
from gguf_observability.graph.recipe import Recipe
from gguf_observability.graph.shape import Plan

__all__ = ["DENSE"]

_ROTARY_BAICHUAN_LAYERS = 32
_NORMED_COMMAND_LAYERS = 64
_PLAIN = Recipe()
_NORMED = Recipe(query_norm="head")
_NEOX = Recipe(norm="norm", gate="none")
_LEARNED = Recipe(norm="norm", gate="none", learned_positions=True, rotary=no_layer, fused_query=True)


def _three_of_four(_plan: Plan, layer: int) -> bool:
    return (layer + 1) % 4 != 0


def _smaller_baichuan(plan: Plan, _layer: int) -> bool:
    return plan.model.layers == _ROTARY_BAICHUAN_LAYERS


def _larger_command(plan: Plan) -> bool:
    return bool(plan.tensors) or plan.model.layers >= _NORMED_COMMAND_LAYERS


DENSE: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "qwen2",
                "seed_oss",
                "internlm2",
                "ernie4_5",
                "xverse",
                "exaone",
                "nanbeige",
                "pangu-embedded",
            ),
            _PLAIN,
        ),
        "mistral3": Recipe(scaled_by_position=scaled_by_temperature),
        "bitnet": Recipe(inner_norms=True, logits_by_embedding=True),
        "minicpm3": Recipe(latent=True, residual_scaled=True, scaled_input="later", scaled_output=True),
        "openelm": Recipe(fused_query=True, query_norm="head", residual_first="first"),
        "apertus": Recipe(query_norm="head", gate="none"),
        "arcee": Recipe(gate="square"),
        "baichuan": Recipe(rotary=_smaller_baichuan),
        "bloom": Recipe(norm="norm", gate="none", embedding_norm=True, rotary=no_layer, fused_query=True),
        "chatglm": Recipe(gate="fused"),
        "codeshell": _NEOX,
        "cohere2": Recipe(norm="norm", parallel="feed-stream-attention", rotary=slides),
        "command-r": Recipe(
            norm="norm",
            query_norm="head",
            query_norm_if=_larger_command,
            parallel="feed-stream-attention",
        ),
        "exaone4": Recipe(
            norm_before=False,
            norm_after_attention=True,
            norm_after_feed=True,
            query_norm="head",
            rotary=slides_or_none_does,
        ),
        "falcon": Recipe(
            norm="norm", gate="none", parallel="feed-attention-stream", fused_query=True, second_norm=True
        ),
        "gemma": Recipe(scaled_input="later", scaled_query=True),
        "gemma2": Recipe(
            norm_after_attention=True,
            norm_after_feed=True,
            scaled_input="later",
            scaled_query=True,
            capped=True,
        ),
        "gemma3": Recipe(
            norm_after_attention=True,
            norm_after_feed=True,
            scaled_rows=True,
            scaled_query=True,
            query_norm="head",
        ),
        "gemma4": Recipe(
            feed_of_two=dense_and_experts,
            per_layer=True,
            scaled_blocks=True,
            selected="after-output-norm",
            scaled_rows=True,
            query_norm="head",
            normed_values=True,
            norm_after_attention=True,
            norm_after_feed=True,
        ),
        "glm4": Recipe(norm_after_attention=True, norm_after_feed=True, gate="fused"),
        "gpt2": _LEARNED,
        "gptneox": Recipe(
            norm="norm",
            gate="none",
            fused_query=True,
            parallel="feed-stream-attention",
            parallel_norm=True,
        ),
        "granite": Recipe(residual_scaled=True, scaled_input="at-once"),
        "hunyuan-dense": Recipe(query_norm="late"),
        "jais": Recipe(norm="norm", rotary=no_layer, fused_query=True),
        "jais2": Recipe(norm="norm", gate="square"),
        "maincoder": Recipe(query_norm="late"),
        "minicpm": Recipe(scaled_input="at-once", residual_scaled=True),
        "mpt": _LEARNED,
        "muse-glimmer": Recipe(
            bare_embedding_norm=True,
            attention_gate=True,
            query_norm="head",
            norm_after_attention=True,
            norm_after_feed=True,
            selected="after-norm",
            rotary=slides,
        ),
        "hunyuan_vl": Recipe(positions=4, query_norm="late"),
        "nemotron": Recipe(norm="norm", gate="square"),
        "olmo": Recipe(norm="bare_norm"),
        "olmo2": Recipe(norm_before=False, norm_after_attention=True, norm_after_feed=True, query_norm="row"),
        "orion": Recipe(norm="norm"),
        "paddleocr": Recipe(positions=4),
        "phi2": Recipe(norm="norm", gate="none", parallel="attention-feed-stream", scaled_query=True),
        "phi3": Recipe(residual_first="last", scaled_query=True, gate="fused"),
        "plamo": Recipe(parallel="feed-attention-stream"),
        "plamo3": Recipe(
            norm_after_attention=True,
            norm_after_feed=True,
            query_norm="head",
            fused_query=True,
            gate="fused",
        ),
        "qwen": Recipe(feed_divided=2, fused_query=True),
        "qwen2vl": Recipe(positions=4),
        "qwen3": _NORMED,
        "qwen3vl": Recipe(positions=4, depth_inputs=True, query_norm="head"),
        "refact": Recipe(rotary=no_layer),
        "smollm3": Recipe(rotary=_three_of_four),
        "stablelm": Recipe(norm="norm", query_norm="head"),
        "starcoder": _LEARNED,
        "starcoder2": _NEOX,
    }
)
