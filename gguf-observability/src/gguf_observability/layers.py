"""How many layers on cards take how much: found in few steps, as each more takes more."""

from collections.abc import Callable

from gguf_observability.engines import shown_by_ollama
from gguf_observability.estimate import Estimate

__all__ = ["most", "nearest"]


def most(at: Callable[[int], Estimate], room: int) -> int:
    """The most layers whose cards take no more than `room` bytes in all; 0 where not even one fits."""
    low, high = 0, at(0).of_layers
    while low < high:
        middle = (low + high + 1) // 2
        if sum(at(middle).device_sizes) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def nearest(at: Callable[[int], Estimate], claimed: int) -> Estimate:
    """The estimate whose share of the cards, as `ollama ps` shows it, is closest to `claimed` bytes."""
    low, high = 1, at(0).of_layers
    while low < high:
        middle = (low + high) // 2
        if shown_by_ollama(at(middle)).vram < claimed:
            low = middle + 1
        else:
            high = middle
    around = [at(each) for each in (low - 1, low) if each]
    return min(around, key=lambda found: abs(shown_by_ollama(found).vram - claimed))
