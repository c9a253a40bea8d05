"""What a model's metadata says about its shape: the numbers that memory depends on, checked and by layer."""

from collections.abc import Mapping

from gguf_observability.header import PROJECTOR, Array

__all__ = ["Model", "ModelError"]

_NAME_LIMIT = 64
_LAYER_LIMIT = 4096
_CONTEXT_LIMIT = 1 << 31


class ModelError(ValueError):
    """Metadata that is absent or impossible; the message names the key."""


class Model:
    """The shape of a model.

    Attributes:
        architecture: `general.architecture`.
        layers: Number of blocks, those for multi-token prediction included.
        trunk_layers: Blocks of the trunk alone: these have a cache.
        embedding: Width of the residual stream, in elements.
        context: Length that it was trained for, in tokens.
    """

    def __init__(self, metadata: Mapping[str, object]) -> None:
        self._metadata = metadata
        architecture = metadata.get("general.architecture")
        if not isinstance(architecture, str) or not architecture:
            raise ModelError("general.architecture is absent: not a language model's file")
        if architecture == PROJECTOR:
            why = "a projector; give the model's file, and this one as --mmproj"
            raise ModelError(f"general.architecture is {architecture}: {why}")
        if not (architecture.isascii() and architecture.isprintable()) or len(architecture) > _NAME_LIMIT:
            raise ModelError(
                f"general.architecture is {architecture[:_NAME_LIMIT]!r}: no engine has such a name"
            )
        self.architecture = architecture
        self.layers = self.integer("block_count", lowest=1, highest=_LAYER_LIMIT)
        self.trunk_layers = self.layers - self.integer("nextn_predict_layers", 0, highest=self.layers - 1)
        self.embedding = self.integer("embedding_length", lowest=1)
        self.context = self.integer("context_length", 0, highest=_CONTEXT_LIMIT)

    def raw(self, key: str) -> object:
        """The value of `<architecture>.<key>`, or None."""
        return self._metadata.get(f"{self.architecture}.{key}")

    def has(self, key: str) -> bool:
        """Whether `<architecture>.<key>` is there."""
        return self.raw(key) is not None

    def integer(
        self, key: str, default: int | None = None, *, lowest: int = 0, highest: int = _CONTEXT_LIMIT
    ) -> int:
        """A whole number of the metadata; of a per-layer list the largest.

        Raises:
            ModelError: It is absent without a default, or out of bounds.
        """
        value = self.raw(key)
        if isinstance(value, Array):
            value = max(self._listed(key, value), default=0)
        if value is None:
            if default is None:
                raise ModelError(f"{self.architecture}.{key} is absent")
            return default
        return self._bounded(key, value, lowest, highest)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """A truth value of the metadata."""
        value = self.raw(key)
        return default if value is None else bool(value)

    def decimal(self, key: str, default: float = 0.0) -> float:
        """A number of the metadata that need not be whole.

        Raises:
            ModelError: It is no number.
        """
        value = self.raw(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ModelError(f"{self.architecture}.{key} is {value!r}, not a number")
        return float(value)

    def by_layer(self, key: str, default: int) -> tuple[int, ...]:
        """A whole number for each layer: a list as it is, a single number for all.

        Raises:
            ModelError: The list has another length than there are layers, or a number is out of bounds.
        """
        value = self.raw(key)
        if isinstance(value, Array):
            listed = self._listed(key, value)
            if len(listed) < self.layers:
                raise ModelError(
                    f"{self.architecture}.{key} has {len(listed)} entries for {self.layers} layers"
                )
            return listed[: self.layers]
        single = default if value is None else self._bounded(key, value, 0, _CONTEXT_LIMIT)
        return (single,) * self.layers

    def _listed(self, key: str, value: Array) -> tuple[int, ...]:
        if value.values is None:
            raise ModelError(f"{self.architecture}.{key} is a list of {value.count}")
        return tuple(self._bounded(key, each, 0, _CONTEXT_LIMIT) for each in value.values)

    def _bounded(self, key: str, value: object, lowest: int, highest: int) -> int:
        if not isinstance(value, int):
            raise ModelError(f"{self.architecture}.{key} is {value!r}, not a whole number")
        if not lowest <= value <= highest:
            raise ModelError(f"{self.architecture}.{key} is {value}, not from {lowest} to {highest}")
        return value

    @property
    def heads(self) -> tuple[int, ...]:
        """Attention heads of each layer."""
        return self.by_layer("attention.head_count", 0)

    @property
    def kv_heads(self) -> tuple[int, ...]:
        """Key and value heads of each layer; the attention heads where the file does not say."""
        if self.has("attention.head_count_kv"):
            return self.by_layer("attention.head_count_kv", 0)
        return self.heads

    def head_width(self, key: str) -> int:
        """Width of a head (`key_length` or `value_length`), in elements."""
        heads = max(self.heads, default=0)
        return self.integer(f"attention.{key}", self.embedding // heads if heads else 0)
