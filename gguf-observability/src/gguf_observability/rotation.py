"""The matrices that turn keys and values before a cache quantises them.

Source: llama.cpp b10488 and b11434, `llama-kv-cache.cpp` (`build_input_k_rot`, `build_input_v_rot`).
"""

from gguf_observability.kv_cache import KvCache, Serving, is_latent
from gguf_observability.model import Model

__all__ = ["quantised", "rotations"]

_ROTATION = 64


def rotations(model: Model, serving: Serving, cache: KvCache, *, slides: bool) -> tuple[int, int]:
    """Sides of the matrices that turn keys and values of sliding or other layers; 0 for none."""
    if is_latent(model):
        return 0, 0
    key, value = model.head_width("key_length"), model.head_width("value_length")
    if not any(layer.attention and layer.slides == slides for layer in cache.layers):
        return 0, 0
    width = model.integer("attention.key_length_swa", key) if slides else key
    turns_keys = quantised(serving.cache_k) and key % _ROTATION == 0
    turns_values = quantised(serving.cache_v) and value % _ROTATION == 0
    return _rotated(width) if turns_keys else 0, _ROTATION if turns_values else 0


def quantised(cache_type: str) -> bool:
    """Whether a cache of that type holds blocks of small numbers."""
    return cache_type.lower() not in ("f16", "f32", "bf16")


def _rotated(width: int) -> int:
    """The largest 64 times a power of two that divides the width of a head."""
    side = _ROTATION
    while width % (2 * side) == 0:
        side *= 2
    return side
