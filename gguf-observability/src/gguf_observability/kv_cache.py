"""The cache of a model: bytes that attention and recurrent layers keep for a context, layer by layer.

Source: llama.cpp b11434, `llama-model.cpp` (`create_memory`), `llama-kv-cache*.cpp`, `llama-memory*.cpp`;
verified against the engine's own allocations (`tests/golden_kv.json`).
"""

from enum import StrEnum

from gguf_observability.architectures import ARCHITECTURES
from gguf_observability.model import Model
from gguf_observability.recurrence import attends, recurs, state_elements
from gguf_observability.serving import Serving
from gguf_observability.sliding import Window, sliding_window
from gguf_observability.tensor_types import block_elements, row_bytes

__all__ = [
    "WITHOUT_FLASH",
    "Exactness",
    "KvCache",
    "LayerCache",
    "Serving",
    "first_shared_layer",
    "is_latent",
    "known",
    "kv_cache",
]

_STATE_BYTES = 4  # recurrent state is always F32

_NO_CACHE = frozenset(
    (
        "bert",
        "nomic-bert",
        "nomic-bert-moe",
        "jina-bert-v2",
        "jina-bert-v3",
        "modern-bert",
        "gemma-embedding",
        "neo-bert",
        "eurobert",
        "dream",
        "llada",
        "llada-moe",
        "rnd1",
        "t5encoder",
        "wavtokenizer-dec",
        "clip",
    )
)
WITHOUT_FLASH = "grok"
"""The engine turns flash attention off for it, whatever is asked for."""

_LIGHTNING = frozenset(("deepseek32", "glm-dsa"))
_SPARSE = "minimax-m3"
_GLM_INDEXES_SOME_FROM = 1048576  # trained for so many tokens, GLM indexes in some layers only
_OWN_KIND = frozenset(
    ("deepseek4", "hy_v4", "dots3note", "nanbeige", "gemma4-assistant", "eagle3", "dflash", "t5")
)
"""Architectures with caches of their own kind: the standard rule gives no more than an idea."""


class Exactness(StrEnum):
    """How far a figure can be trusted."""

    EXACT = "exact"
    APPROXIMATE = "approximate"
    UNSUPPORTED = "unsupported"


class LayerCache:
    """What one layer keeps: `attention` and `recurrent` bytes."""

    __slots__ = ("attention", "recurrent", "slides")

    def __init__(self, attention: int = 0, recurrent: int = 0, *, slides: bool = False) -> None:
        self.attention = attention
        self.recurrent = recurrent
        self.slides = slides

    @property
    def size(self) -> int:
        """Bytes in all."""
        return self.attention + self.recurrent


class KvCache:
    """The cache of a model as it is served.

    Attributes:
        layers: One entry for each trunk layer.
        exactness: How far the sum can be trusted.
        why: What is not exact, empty where all is.
    """

    __slots__ = ("exactness", "layers", "why", "window")

    def __init__(
        self, layers: tuple[LayerCache, ...], exactness: Exactness, why: str, window: Window
    ) -> None:
        self.layers = layers
        self.exactness = exactness
        self.why = why
        self.window = window

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(layer.size for layer in self.layers)


def kv_cache(model: Model, serving: Serving) -> KvCache:
    """The cache that `model` needs when it is served so.

    Raises:
        ModelError: The metadata is incomplete or impossible.
        ValueError: A cache type is unknown, or does not fit the width of a head.
    """
    window = sliding_window(model)
    _check_types(model, serving, window)
    if model.architecture in _NO_CACHE:
        return KvCache((LayerCache(),) * model.trunk_layers, Exactness.EXACT, "", window)
    attention = _attention(model, serving, window)
    recurrent = _recurrent(model, serving)
    layers = tuple(
        LayerCache(kept, state, slides=slides)
        for kept, state, slides in zip(attention, recurrent, window.slides, strict=False)
    )
    exactness, why = _trust(model, window)
    return KvCache(layers[: model.trunk_layers], exactness, why, window)


def _check_types(model: Model, serving: Serving, window: Window) -> None:
    """Refuse cache types as the engine does when it makes a context (`llama_init_from_model`)."""
    if is_latent(model) and serving.cache_k.lower() != serving.cache_v.lower():
        raise ValueError(f"{model.architecture} keeps latents: keys and values have one cache type")
    if not serving.flash_attention:
        return
    if model.architecture == WITHOUT_FLASH and block_elements(serving.cache_v) > 1:
        raise ValueError(f"cache type {serving.cache_v} of the values needs flash attention, not for grok")
    slides = {True, False} & set(window.slides)
    for name, cache_type in (("key_length", serving.cache_k), ("value_length", serving.cache_v)):
        plain, block = model.head_width(name), block_elements(cache_type)
        for width in {model.integer(f"attention.{name}_swa", plain) if each else plain for each in slides}:
            if width % block:
                what = f"{name} {width} is not a multiple of {block}, the block of {cache_type}"
                raise ValueError(f"cache type {cache_type} does not fit: attention.{what}")


def _trust(model: Model, window: Window) -> tuple[Exactness, str]:
    if model.architecture in _OWN_KIND:
        return Exactness.APPROXIMATE, f"{model.architecture} has a cache of its own kind: the standard rule"
    if model.architecture not in ARCHITECTURES | _NO_CACHE:
        return Exactness.UNSUPPORTED, f"the cache of {model.architecture} is not known: the standard rule"
    some = model.architecture == "glm-dsa" and model.context >= _GLM_INDEXES_SOME_FROM
    if some and not model.has("attention.indexer.types"):
        return Exactness.APPROXIMATE, "which layers of glm-dsa have an indexer is not in the file"
    if not window.known:
        tokens = model.integer("attention.sliding_window", 0)
        why = f"whether the engine uses the file's window of {tokens} tokens for {model.architecture}"
        return Exactness.APPROXIMATE, f"{why} is not known: the whole context is counted"
    return Exactness.EXACT, ""


def _attention(model: Model, serving: Serving, window: Window) -> list[int]:
    attention = attends(model)
    shared_from = first_shared_layer(model)
    widths_k, widths_v = _row_widths(model, window)
    if not serving.flash_attention:
        widths_v = [max(widths_v, default=0)] * model.layers
    indexed = _index_rows(model, serving)
    kept = []
    for layer, slides in enumerate(window.slides):
        if layer >= shared_from or not attention[layer] or not widths_k[layer]:
            kept.append(0)
            continue
        cells = serving.sliding_cells(window.tokens) if slides else serving.cells
        row = row_bytes(serving.cache_k, widths_k[layer])
        row += 0 if is_latent(model) else row_bytes(serving.cache_v, widths_v[layer])
        kept.append((row + indexed[layer]) * cells * serving.streams)
    return kept


def known(model: Model) -> bool:
    """Whether the engine's source was read for this architecture."""
    return model.architecture in ARCHITECTURES | _NO_CACHE | _OWN_KIND


def is_latent(model: Model) -> bool:
    """Whether attention keeps one latent row (MLA), so keys and no values."""
    return model.has("attention.key_length_mla") and model.has("attention.value_length_mla")


def _index_rows(model: Model, serving: Serving) -> list[int]:
    """Bytes of a row of the second cache, of a lightning or sparse indexer, for each layer.

    The engine builds it as a cache with one head whose keys have the indexer's width; its values keep the
    model's own width, and exist where the main cache has values.
    """
    if model.architecture not in _LIGHTNING and model.architecture != _SPARSE:
        return [0] * model.layers
    row = row_bytes(serving.cache_k, model.integer("attention.indexer.key_length", lowest=1))
    if not is_latent(model):
        value = model.head_width("value_length")
        row += row_bytes(serving.cache_v, value)
    if model.architecture == _SPARSE:
        dense = model.integer("leading_dense_block_count", 0)
        return [row if layer >= dense else 0 for layer in range(model.layers)]
    if model.architecture == "glm-dsa" and model.has("attention.indexer.types"):
        types = model.by_layer("attention.indexer.types", 1)
        return [row if each else 0 for each in types]
    return [row] * model.layers


def _row_widths(model: Model, window: Window) -> tuple[list[int], list[int]]:
    """Elements of a key row and of a value row, for each layer."""
    key, value = model.head_width("key_length"), model.head_width("value_length")
    key_swa = model.integer("attention.key_length_swa", key)
    value_swa = model.integer("attention.value_length_swa", value)
    heads = model.kv_heads
    keys = [(key_swa if slides else key) * heads[layer] for layer, slides in enumerate(window.slides)]
    values = [(value_swa if slides else value) * heads[layer] for layer, slides in enumerate(window.slides)]
    if is_latent(model):
        keys = [model.integer("attention.key_length") * heads[layer] for layer in range(model.layers)]
    return keys, values


def first_shared_layer(model: Model) -> int:
    """From this layer on, a layer reuses the cache of an earlier one."""
    if model.architecture == "gemma3n":
        return 20  # fixed in the engine
    return model.layers - model.integer("attention.shared_kv_layers", 0, highest=model.layers)


def _recurrent(model: Model, serving: Serving) -> list[int]:
    recurrent = recurs(model)
    if not any(recurrent):
        return [0] * model.layers
    state = state_elements(model) * _STATE_BYTES * serving.parallel
    return [state if each else 0 for each in recurrent]
