"""A part of the memory, by place, and how far its figure can be trusted."""

from gguf_observability.kv_cache import Exactness

__all__ = ["Term"]


class Term:
    """One part of the memory.

    Attributes:
        host: Bytes in the host's memory.
        devices: Bytes on each card.
        exactness: How far they can be trusted.
        why: What is not exact, empty where all is.
    """

    __slots__ = ("devices", "exactness", "host", "why")

    def __init__(
        self, host: int, devices: tuple[int, ...] = (), exactness: Exactness = Exactness.EXACT, why: str = ""
    ) -> None:
        self.host = host
        self.devices = devices
        self.exactness = exactness
        self.why = why

    @property
    def size(self) -> int:
        """Bytes in all."""
        return self.host + sum(self.devices)
