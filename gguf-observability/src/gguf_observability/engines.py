"""What Ollama will say of a model: `ollama ps` adds up lines of the engine's log, with known distortions.

Source: Ollama v0.33 (`llm/`), its issues, and observation. The llama-server line began with v0.30.
"""

import re

from gguf_observability.compute import Engine
from gguf_observability.estimate import Estimate
from gguf_observability.header import Header
from gguf_observability.model import Model

__all__ = ["Shown", "engine_of", "guessed_before_load", "shown_by_ollama"]

_MIB = 1 << 20
_LLAMA_SERVER_LINE = (0, 30)
_B11434_LINE = (0, 34)
_VERSION = re.compile(r"(\d+)\.(\d+)")


class Shown:
    """What `ollama ps` shows.

    Attributes:
        size: SIZE, in bytes.
        vram: What of it is on cards, by its account.
        distortions: Why this is not what the memory is, one sentence each.
    """

    __slots__ = ("distortions", "size", "vram")

    def __init__(self, size: int, vram: int, distortions: tuple[str, ...]) -> None:
        self.size = size
        self.vram = vram
        self.distortions = distortions

    @property
    def processor(self) -> str:
        """PROCESSOR, in Ollama's words."""
        if self.vram == 0:
            return "100% CPU"
        if self.vram == self.size:
            return "100% GPU"
        if self.vram > self.size:
            return "Unknown"
        host = round((self.size - self.vram) / self.size * 100)
        return f"{host}%/{100 - host}% CPU/GPU"


def engine_of(version: str) -> Engine | None:
    """The engine of an Ollama version; None for the older line, which has an engine of its own."""
    found = _VERSION.match(version)
    if found is None:
        return None
    number = (int(found[1]), int(found[2]))
    if number < _LLAMA_SERVER_LINE:
        return None
    return Engine.B11434 if number >= _B11434_LINE else Engine.B10488


def shown_by_ollama(estimate: Estimate) -> Shown:
    """What `ollama ps` of the llama-server line will show for a model that is loaded so."""
    distortions = []
    cache_hosts, cache_cards = [estimate.full.host], [estimate.full.devices]
    if estimate.sliding.size:
        # one log line for each cache, the same key: the last one, of sliding layers, is kept
        cache_hosts, cache_cards = [estimate.sliding.host], [estimate.sliding.devices]
        distortions.append(
            f"{estimate.full.size} bytes of cache are left out: the line of sliding layers replaces the other"
        )
    hosts = [
        estimate.weights.host - estimate.repacked,
        estimate.repacked,
        *cache_hosts,
        estimate.compute.host,
        estimate.output.host,
    ]
    cards = [*estimate.weights.devices, *estimate.compute.devices]
    cards += [size for devices in cache_cards for size in devices]
    vram = sum(_logged(size) for size in cards)
    size = vram + sum(_logged(each) for each in hosts)
    if estimate.layers == estimate.of_layers and vram:
        distortions.append(f"{size - vram} bytes in the host's memory are not shown: all layers are on cards")
        size = vram
    return Shown(size, vram, tuple(distortions))


def _logged(size: int) -> int:
    """A size as it comes back from a log line, which has two decimals of a MiB."""
    return int(round(size / _MIB, 2) * _MIB)


def guessed_before_load(header: Header, model: Model, context: int) -> int:
    """What Ollama guesses before it loads: the usual formula, blind to windows, latents and cache types.

    The older line (before v0.30) shows figures of this kind: approximate.
    """
    heads = max(model.heads, default=0)
    width = model.embedding // heads if heads else 0
    kept = min(model.kv_heads, default=0) or 1
    return (header.file_size or header.weights_bytes) + 2 * model.layers * kept * width * context * 2
