"""The matrices that turn keys and values before a cache quantises them.

Source: llama.cpp b10488 and b11434, `llama-kv-cache.cpp` (`build_input_k_rot`, `build_input_v_rot`).
"""

from gguf_observability.kv_cache import KvCache, Serving, is_latent
from gguf_observability.model import Model

__all__ = ["quantised", "rotation_bytes"]

_F32 = 4
_ROTATION = 64


def rotation_bytes(model: Model, serving: Serving, cache: KvCache) -> int:
    """Bytes of the matrices that turn keys and values before they are quantised."""
    if is_latent(model):
        return 0
    key, value = model.head_width("key_length"), model.head_width("value_length")
    small = [quantised(each) for each in (serving.cache_k, serving.cache_v)]
    kept = [layer.slides for layer in cache.layers if layer.attention]
    size = 0
    for slides in {*kept}:
        width = model.integer("attention.key_length_swa", key) if slides else key
        if small[0] and key % _ROTATION == 0:
            size += _F32 * _rotated(width) ** 2
        if small[1] and value % _ROTATION == 0:
            size += _F32 * _ROTATION**2
    return size


def quantised(cache_type: str) -> bool:
    """Whether a cache of that type holds blocks of small numbers."""
    return cache_type.lower() not in ("f16", "f32", "bf16")


def _rotated(width: int) -> int:
    """The largest 64 times a power of two that divides the width of a head."""
    side = _ROTATION
    while width % (2 * side) == 0:
        side *= 2
    return side
