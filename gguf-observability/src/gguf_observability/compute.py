"""Compute buffers: what the engine reserves for the widest moment of its graph, per token computed at once.

Found in the allocations of llama.cpp b11434 (`tests/golden_kv.json`) and b10488 (the engine of Ollama 0.33).
Exact for dense models; an expert layer's peak depends on how the allocator packs it and is approximate.
"""

from enum import Enum, StrEnum, auto

from gguf_observability.kv_cache import Exactness, KvCache, Serving, is_latent
from gguf_observability.model import Model
from gguf_observability.recurrence import recurs
from gguf_observability.rotation import quantised, rotation_bytes
from gguf_observability.sliding import sliding_window
from gguf_observability.term import Term

__all__ = ["Engine", "compute_buffers", "tokens_at_once"]

_ALIGNMENT = 32  # of a tensor in a host buffer, in bytes
_F32, _F16, _I64 = 4, 2, 8
_SPLIT_BYTES = 64  # seen whenever the tokens are no multiple of 8: two more paddings
_PARALLEL_RESIDUAL = frozenset(("cohere2",))
_UNGATED = frozenset(
    (
        "bloom",
        "codeshell",
        "falcon",
        "gpt2",
        "gptj",
        "gptneox",
        "jais",
        "mpt",
        "nemotron",
        "nemotron_h",
        "orion",
        "phi2",
        "starcoder",
        "starcoder2",
    )
)
"""Their feed-forward has no gate: one wide product at a time, not three."""
_EXPERTS_AS_WIDE = frozenset(("hunyuan-moe", "jamba", "minimax-01", "minimax-m2", "olmoe"))
"""Their experts are as wide as the feed-forward that the file names."""
_SCALED_INPUT = frozenset(("gemma3", "gemma4"))
"""These have one more number for each token among their inputs."""
_POST_NORMS = frozenset(("gemma2", "gemma3", "gemma4"))
_LANE = 8
_WIDE_FFN = 2  # the form holds where the feed-forward is at least so many times the embedding
_VERIFIED = frozenset(
    (
        "llama",
        "qwen2",
        "qwen3",
        "gemma",
        "gemma2",
        "gemma3",
        "gemma4",
        "phi3",
        "cohere2",
        "command-r",
        "olmo2",
        "exaone4",
        "starcoder2",
        "smollm3",
        "seed_oss",
        "granite",
        "internlm2",
        "stablelm",
        "gpt2",
        "nemotron",
        "falcon",
        "lfm2",
    )
)
"""Architectures whose allocations the dense form was compared with, to the byte."""

_WITHOUT_FLASH = frozenset(("llama", "qwen2", "gemma2", "gemma3", "gemma4"))
"""Those of them that were compared without flash attention, on b11434."""


class Engine(StrEnum):
    """A line of the engine: its graph, so its compute buffers, differ."""

    B11434 = "b11434"
    B10488 = "b10488"


class _Place(Enum):
    """What part of the graph a buffer is for."""

    ALONE = auto()
    """All of it, on one device."""
    WHOLE_CARD = auto()
    """Everything but the look-up of tokens, on a card."""
    PART_CARD = auto()
    """Some blocks, on a card."""
    LOOK_UP = auto()
    """The look-up of tokens, in the host's memory."""


def tokens_at_once(serving: Serving) -> int:
    """Tokens of one computation: the batch, no more than the context, a multiple of the streams."""
    count = min(serving.ubatch, serving.cells * serving.streams)
    return -(-count // serving.streams) * serving.streams


def compute_buffers(
    model: Model,
    serving: Serving,
    cache: KvCache,
    *,
    vocabulary: int = 0,
    blocks: tuple[int, ...] = (),
    engine: Engine = Engine.B11434,
) -> Term:
    """The compute buffers where each of `blocks` cards has so many blocks; empty: all in the host's memory.

    A card that has no block and is the last has the output layer alone.
    """
    exactness, why = _trust(model, serving, engine)

    def peak(place: _Place) -> int:
        return _peak(model, serving, cache, engine, place)

    if not blocks:
        return Term(peak(_Place.ALONE), (), exactness, why)
    whole = sum(blocks) == model.layers
    on_card = peak(_Place.WHOLE_CARD if whole else _Place.PART_CARD)
    devices = [on_card if count else 0 for count in blocks]
    if not blocks[-1]:
        devices[-1] = _output_only(serving, model, vocabulary)
    host = peak(_Place.LOOK_UP if whole else _Place.ALONE)
    if len(blocks) > 1:
        exactness, why = _weaker(exactness), why or "several cards: copies for pipelining are not counted"
    elif not whole:
        exactness, why = _weaker(exactness), why or "the host's share of a partial offload is an upper bound"
    elif engine is Engine.B10488:
        exactness, why = _weaker(exactness), why or "offload was compared on b11434 alone"
    return Term(host, tuple(devices), exactness, why)


def _weaker(exactness: Exactness) -> Exactness:
    return Exactness.APPROXIMATE if exactness is Exactness.EXACT else exactness


def _trust(model: Model, serving: Serving, engine: Engine) -> tuple[Exactness, str]:
    if model.integer("expert_count", 0):
        return (
            Exactness.APPROXIMATE,
            "mixture of experts: exact where it was compared, elsewhere it may be off",
        )
    if is_latent(model):
        return Exactness.APPROXIMATE, "latent attention: compared on one model alone"
    if model.architecture not in _VERIFIED:
        return Exactness.APPROXIMATE, f"the dense form was not compared with {model.architecture}"
    if _feed_forward(model) < _WIDE_FFN * model.embedding and not _other_peak(model):
        return Exactness.APPROXIMATE, "a narrow feed-forward: the peak lies elsewhere"
    if not serving.flash_attention and (engine is Engine.B10488 or model.architecture not in _WITHOUT_FLASH):
        return Exactness.APPROXIMATE, "without flash attention: compared on few architectures, on b11434"
    if model.architecture == "lfm2" and model.integer("attention.sliding_window", 0):
        return Exactness.APPROXIMATE, "short convolutions with a window were not compared"
    if engine is Engine.B10488:
        return _trust_b10488(model, serving)
    return Exactness.EXACT, ""


def _trust_b10488(model: Model, serving: Serving) -> tuple[Exactness, str]:
    if any(recurs(model)):
        return Exactness.APPROXIMATE, "recurrent layers were compared on b11434 alone"
    small = {quantised(serving.cache_k), quantised(serving.cache_v)}
    if True in small and (len(small) > 1 or any(sliding_window(model).slides)):
        return Exactness.APPROXIMATE, "a quantised cache beside windows, or keys and values that differ"
    return Exactness.EXACT, ""


def _feed_forward(model: Model) -> int:
    return model.integer("feed_forward_length", 0)


def _values_width(model: Model) -> int:
    """Elements that attention hands on for a token."""
    return max(model.heads, default=0) * model.head_width("value_length")


def _elements(model: Model, serving: Serving, engine: Engine, place: _Place) -> int:
    """Elements a token at the widest moment."""
    embedding = model.embedding
    feed = _feed_elements(model)
    other = _other_peak(model)
    if place is _Place.LOOK_UP:
        return 4 * embedding
    if place is not _Place.ALONE:
        left = 4 if place is _Place.WHOLE_CARD else 2
        return other - (5 - left) * embedding if other else feed + left * embedding
    if other:
        return other
    more = embedding if model.architecture in _PARALLEL_RESIDUAL else 0
    if engine is Engine.B10488:
        # values that are turned back before they are quantised leave a hole that attention's result fits in
        reused = quantised(serving.cache_v) and not any(sliding_window(model).slides)
        return feed + 3 * embedding + (0 if reused else _values_width(model)) + more
    return feed + 5 * embedding + more


def _feed_elements(model: Model) -> int:
    """Elements a token of the widest feed-forward: gate, up and their product, of all experts in use."""
    dense = (1 if model.architecture in _UNGATED else 3) * _feed_forward(model)
    if not model.integer("expert_count", 0):
        return dense
    own = 0 if model.architecture in _EXPERTS_AS_WIDE else model.integer("expert_feed_forward_length", 0)
    width, used = own or _feed_forward(model), model.integer("expert_used_count", 1)
    experts = 3 * used * width
    if 2 * width < model.embedding:  # what the experts give back does not fit where gate and up were
        experts += used * model.embedding
    leading = model.integer("leading_dense_block_count", 0) > 0
    return max(experts, dense) if leading and own else experts


def _other_peak(model: Model) -> int:
    """Elements a token of a peak that is not a dense feed-forward; 0 where that one is the peak."""
    embedding = model.embedding
    if is_latent(model):
        heads = max(model.heads)
        key, per_head = model.integer("attention.key_length"), model.integer("attention.key_length_mla")
        return 5 * embedding + heads * (2 * key + per_head)
    if not _feed_forward(model):
        inner, state = model.integer("ssm.inner_size", 0), model.integer("ssm.state_size", 0)
        return embedding + 7 * inner + 4 * state if inner else 0
    return 0


def _indices(model: Model, cache: KvCache) -> int:
    """Whole numbers of 64 bits a token that say where its keys and values go."""
    if not any(layer.attention for layer in cache.layers):
        return 0
    caches = 2 if any(cache.window.slides) else 1
    return (1 if is_latent(model) else 2) * caches


def _peak(model: Model, serving: Serving, cache: KvCache, engine: Engine, place: _Place) -> int:
    """Bytes of one buffer: the widest moment, the inputs and the mask."""
    tokens = tokens_at_once(serving)
    indices = _indices(model, cache)
    cells = serving.cells if indices else 0
    slides = indices and any(cache.window.slides)
    if slides:
        cells += serving.sliding_cells(cache.window.tokens)
    size = _ALIGNMENT + (_ALIGNMENT if any(recurs(model)) else 0)
    size += indices * _aligned(_I64 * tokens) + _inputs(model, tokens, engine, place)
    size += _SPLIT_BYTES if tokens % _LANE else 0
    elements = _elements(model, serving, engine, place)
    plain = _F32 * tokens * elements + _F16 * tokens * cells
    if not serving.flash_attention and indices and place is not _Place.LOOK_UP:
        scores = _attention_elements(model, serving) + cells - (4 if slides else 2)
        plain = _F32 * tokens * max(elements + cells, scores)
    return size + plain + rotation_bytes(model, serving, cache)


def _inputs(model: Model, tokens: int, engine: Engine, place: _Place) -> int:
    """Bytes of token numbers, positions and scales; a card does not hold all of them."""
    one = _aligned(_F32 * tokens)
    scaled = one if model.architecture in _SCALED_INPUT and engine is Engine.B11434 else 0
    if place is _Place.PART_CARD:
        return one
    if place is _Place.WHOLE_CARD:
        return 3 * one + scaled
    positions = 4 if engine is Engine.B11434 else 1
    return one + _aligned(_F32 * positions * tokens) + scaled


def _attention_elements(model: Model, serving: Serving) -> int:
    """Elements a token when every head's scores stand in memory: there is no flash attention."""
    heads = max(model.heads)
    residual = 5 if model.architecture in _POST_NORMS else 4
    queries = heads * model.head_width("key_length")
    keys = max(model.kv_heads) * model.head_width("key_length")
    return heads * serving.cells + residual * model.embedding + 2 * queries + 2 * keys


def _output_only(serving: Serving, model: Model, vocabulary: int) -> int:
    """Bytes on a card that has the output layer alone: the logits and what they are made of."""
    return _F32 * serving.parallel * (vocabulary + model.embedding)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
