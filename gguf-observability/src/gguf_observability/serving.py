"""How a model is served: what the engine is asked for, and how it rounds that.

Source: llama.cpp b11434, `llama-context.cpp` and `common/arg.cpp`.
"""

from copy import copy

__all__ = ["CACHE_TYPES", "Serving"]

_PAD = 256  # cells of a stream come in multiples of it
CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
"""What llama-server takes as `--cache-type-k` and `--cache-type-v`; Ollama takes three of them."""

_LIMITS = {"context": 1 << 31, "parallel": 256, "ubatch": 1 << 31}
"""The most slots are the engine's; the others are the range of its numbers."""


class Serving:
    """How a model is served.

    Attributes:
        context: Tokens in all, over all slots.
        parallel: Slots.
        ubatch: Tokens computed at once; sliding caches and compute buffers grow with it.
        cache_k: Type of the keys, for example `f16`, `q8_0`.
        cache_v: Type of the values.
        unified: One stream for all slots, or one for each.
        swa_full: Keep the whole context for sliding layers too.
        flash_attention: Whether flash attention is on.
    """

    __slots__ = (
        "cache_k",
        "cache_v",
        "context",
        "flash_attention",
        "parallel",
        "swa_full",
        "ubatch",
        "unified",
    )

    def __init__(
        self,
        context: int,
        *,
        parallel: int = 1,
        ubatch: int = 512,
        cache_k: str = "f16",
        cache_v: str = "f16",
        unified: bool = False,
        swa_full: bool = False,
        flash_attention: bool = True,
    ) -> None:
        for name, value in (("context", context), ("parallel", parallel), ("ubatch", ubatch)):
            if not 1 <= value <= _LIMITS[name]:
                raise ValueError(f"{name} is {value}: give a number from 1 to {_LIMITS[name]}")
        for cache_type in (cache_k, cache_v):
            if cache_type.lower() not in CACHE_TYPES:
                raise ValueError(f"cache type {cache_type!r}: the engine takes {', '.join(CACHE_TYPES)}")
        if not flash_attention and cache_v.lower() not in ("f16", "f32", "bf16"):
            raise ValueError(f"cache type {cache_v} of the values needs flash attention")
        self.context = context
        self.parallel = parallel
        self.ubatch = ubatch
        self.cache_k = cache_k
        self.cache_v = cache_v
        self.unified = unified
        self.swa_full = swa_full
        self.flash_attention = flash_attention

    def without_flash(self) -> "Serving":
        """The same without flash attention."""
        changed = copy(self)
        changed.flash_attention = False
        return changed

    @property
    def batch(self) -> int:
        """Tokens computed at once: no more than were asked for as context, before that is padded."""
        return min(self.ubatch, self.context)

    @property
    def streams(self) -> int:
        """Separate caches."""
        return 1 if self.unified else self.parallel

    @property
    def cells(self) -> int:
        """Cells of one stream, for a layer that sees everything."""
        padded = _padded(self.context)
        return padded if self.unified else _padded(padded // self.parallel)

    def sliding_cells(self, window: int) -> int:
        """Cells of one stream, for a layer that sees a window."""
        if self.swa_full:
            return self.cells
        slots = self.parallel if self.unified else 1
        return _padded(min(self.cells, window * slots + self.batch))


def _padded(count: int) -> int:
    return -(-count // _PAD) * _PAD
