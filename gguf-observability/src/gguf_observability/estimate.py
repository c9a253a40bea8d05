"""What a model takes when it is served: weights, cache, compute buffers and output, by place."""

from gguf_observability.compute import Engine, compute_buffers
from gguf_observability.header import Array, Header
from gguf_observability.kv_cache import Exactness, Serving, kv_cache
from gguf_observability.model import Model
from gguf_observability.placement import HOST, offloaded, place
from gguf_observability.term import Term

__all__ = ["Estimate", "Term", "estimate"]

_LOGIT_BYTES = 4


class Estimate:
    """The memory of a model as it is served.

    Attributes:
        weights: Tensors, tied ones counted wherever they are.
        kv_cache: Caches of attention and recurrent state.
        sliding: Of the cache, what sliding layers keep.
        full: Of the cache, what layers that see everything keep.
        compute: Compute buffers.
        output: Logits.
        layers: How many layers are on cards, the output layer included.
        of_layers: How many there are.
        context: Tokens in all, over all slots.
        repacked: Of the weights in the host's memory, what has a buffer of its own there.
    """

    __slots__ = (
        "compute",
        "context",
        "full",
        "kv_cache",
        "layers",
        "of_layers",
        "output",
        "repacked",
        "sliding",
        "weights",
    )

    def __init__(
        self,
        terms: tuple[Term, Term, Term, Term],
        caches: tuple[Term, Term],
        layers: tuple[int, int],
        context: int,
        repacked: int,
    ) -> None:
        self.weights, self.kv_cache, self.compute, self.output = terms
        self.full, self.sliding = caches
        self.layers, self.of_layers = layers
        self.context = context
        self.repacked = repacked

    @property
    def terms(self) -> tuple[tuple[str, Term], ...]:
        """Name and term, in the order of their size in most models."""
        return (
            ("weights", self.weights),
            ("kv_cache", self.kv_cache),
            ("compute", self.compute),
            ("output", self.output),
        )

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(term.size for _, term in self.terms)

    def on_device(self, card: int) -> int:
        """Bytes on one card."""
        return sum(term.devices[card] for _, term in self.terms if card < len(term.devices))

    @property
    def device_sizes(self) -> tuple[int, ...]:
        """Bytes on each card."""
        return tuple(self.on_device(card) for card in range(len(self.weights.devices)))


def vocabulary(header: Header, model: Model) -> int:
    """How many tokens the model knows; 0 where the file does not say."""
    for tensor in header.tensors:
        if tensor.name == "token_embd.weight":
            return tensor.shape[-1]
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, Array):
        return tokens.count
    return model.integer("vocab_size", 0)


def estimate(
    header: Header,
    serving: Serving,
    *,
    gpu_layers: int = 0,
    shares: tuple[float, ...] = (1.0,),
    engine: Engine = Engine.B11434,
) -> Estimate:
    """The memory of the model in `header`, served so.

    Raises:
        ModelError: The metadata is incomplete or impossible.
        ValueError: A cache type is unknown, or does not fit the width of a head.
    """
    model = Model(header.metadata)
    placement = place(header, model, gpu_layers, shares)
    cards = len(placement.device_bytes)
    weights = Term(placement.host_bytes, placement.device_bytes)
    if not header.tensors:
        weights = Term(0, placement.device_bytes, Exactness.UNSUPPORTED, "the file has no tensors")
    cache = kv_cache(model, serving)
    sums: dict[bool, list[int]] = {False: [0] * (cards + 1), True: [0] * (cards + 1)}
    for layer, card in zip(cache.layers, placement.blocks, strict=False):
        sums[layer.slides][cards if card == HOST else card] += layer.size
    full, sliding = (
        Term(sums[slides][cards], tuple(sums[slides][:cards]), cache.exactness, cache.why)
        for slides in (False, True)
    )
    kept = Term(
        full.host + sliding.host,
        tuple(a + b for a, b in zip(full.devices, sliding.devices, strict=True)),
        cache.exactness,
        cache.why,
    )
    words = vocabulary(header, model)
    compute = compute_buffers(
        model,
        serving,
        cache,
        vocabulary=words,
        homes=(*placement.blocks, placement.output),
        cards=cards,
        tensors={tensor.name: tensor.shape for tensor in header.tensors},
        engine=engine,
    )
    output = Term(words * _LOGIT_BYTES * serving.parallel, (0,) * cards)
    if not words:
        output = Term(
            0, (0,) * cards, Exactness.UNSUPPORTED, "the file does not say how many tokens it knows"
        )
    return Estimate(
        (weights, kept, compute, output),
        (full, sliding),
        (offloaded(model.layers, gpu_layers), model.layers + 1),
        serving.context,
        placement.repacked_bytes,
    )
