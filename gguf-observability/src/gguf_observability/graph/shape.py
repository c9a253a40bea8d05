"""What a graph is built for: the model's numbers by layer, how it is served, and where each layer is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gguf_observability.kv_cache import KvCache, Serving
from gguf_observability.model import Model

__all__ = ["Plan", "kept_layers"]

_NODES = 20_000  # a model of 80 layers with 10 experts a token has 6,000
_KEPT = 256
_REPEATS = 2
_AROUND = 3  # so many blocks before one decide how it finds the memory


@dataclass(frozen=True)
class Plan:
    """One graph to build.

    Attributes:
        model: The model's metadata.
        serving: How it is served.
        cache: Its cache.
        tokens: Tokens computed at once.
        outputs: Tokens whose logits are wanted.
        vocabulary: How many tokens the model knows.
        homes: The backend of each block; the last entry is the output layer's.
        host: The number of the host among the backends.
        tensors: The tensors that the file has, name to shape; empty where it has none.
        mixed: Whether the engine prepares for tokens and given embeddings in one batch (from b11434 on).
    """

    model: Model
    serving: Serving
    cache: KvCache
    tokens: int
    outputs: int
    vocabulary: int
    homes: tuple[int, ...]
    host: int
    tensors: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    mixed: bool = True

    def has(self, name: str, *, otherwise: bool) -> bool:
        """Whether the file has a tensor of that name; `otherwise` for a file without any tensor."""
        return name in self.tensors if self.tensors else otherwise

    def rows(self, name: str, otherwise: int) -> int:
        """Rows of a weight; `otherwise` where the file has none of that name."""
        shape = self.tensors.get(name, ())
        return shape[1] if len(shape) > 1 else otherwise

    def home(self, layer: int) -> int:
        """The backend of a block."""
        return self.homes[layer]

    def heads(self, layer: int) -> int:
        """Attention heads of a block."""
        return self._heads[layer]

    def kv_heads(self, layer: int) -> int:
        """Heads of keys and values of a block."""
        return self._kv_heads[layer]

    def key_width(self, layer: int) -> int:
        """Elements of a head's key."""
        return self._width("key_length", layer)

    def value_width(self, layer: int) -> int:
        """Elements of a head's value."""
        return self._width("value_length", layer)

    def _width(self, name: str, layer: int) -> int:
        plain, sliding = self._widths[name]
        return sliding if self.cache.window.slides[layer] else plain

    @cached_property
    def _widths(self) -> Mapping[str, tuple[int, int]]:
        """Of keys and values: the width of a head, and of one that slides."""
        found = {}
        for name in ("key_length", "value_length"):
            plain = self.model.head_width(name)
            found[name] = (plain, self.model.integer(f"attention.{name}_swa", plain))
        return found

    @property
    def widest_values(self) -> int:
        """Elements of the widest row of values: without flash attention every layer's row is that wide."""
        return max(self.value_width(each) * self.kv_heads(each) for each in range(self.model.layers))

    def feed_width(self, layer: int) -> int:
        """The width of a block's dense feed-forward."""
        return self.rows(f"blk.{layer}.ffn_up.weight", self._feeds[layer])

    def kind(self, layer: int) -> tuple[object, ...]:
        """What a block's place, heads, widths and tensors are."""
        prefix = f"blk.{layer}."
        names = self._named.get(layer, ())
        return (
            self.home(layer),
            self.heads(layer),
            self.kv_heads(layer),
            self.key_width(layer),
            self.value_width(layer),
            self.cache.window.slides[layer],
            self._feeds[layer],
            tuple((name.removeprefix(prefix), self.tensors[name]) for name in names),
        )

    @cached_property
    def _heads(self) -> tuple[int, ...]:
        return self.model.heads

    @cached_property
    def _kv_heads(self) -> tuple[int, ...]:
        return self.model.kv_heads

    @cached_property
    def _feeds(self) -> tuple[int, ...]:
        return self.model.by_layer("feed_forward_length", 0)

    @cached_property
    def _named(self) -> Mapping[int, list[str]]:
        """The names of each block's tensors."""
        names: dict[int, list[str]] = {}
        for name in sorted(self.tensors):
            if name.startswith("blk."):
                number = name[4:].partition(".")[0]
                if number.isdecimal():
                    names.setdefault(int(number), []).append(name)
        return names


def kept_layers(kinds: Sequence[object], work: int) -> tuple[list[int], bool]:
    """The blocks to build, and whether these are all.

    A model of very many nodes is not built whole: of blocks that look alike, with what is around them, only a
    few are, as what they take hardly grows once they were there.

    Args:
        kinds: What differs between blocks.
        work: Nodes of one block, about.
    """
    if len(kinds) * work <= _NODES:
        return list(range(len(kinds))), True
    seen: dict[tuple[object, ...], int] = {}
    kept = []
    for layer in range(len(kinds)):
        around = tuple(kinds[max(0, layer - _AROUND) : layer + 1])
        seen[around] = seen.get(around, 0) + 1
        if seen[around] <= _REPEATS or layer == len(kinds) - 1:
            kept.append(layer)
    return kept[:_KEPT], False
