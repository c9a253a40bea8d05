"""Sliding-window attention: which layers see only a window, and how large it is.

Source: llama.cpp b11434, `src/models/*.cpp` and `llama-hparams.cpp` (`set_swa_pattern`).
"""

from gguf_observability.header import Array
from gguf_observability.model import Model

__all__ = ["Window", "sliding_window"]

_PATTERNS = {
    "gemma2": 2,
    "gemma3": 6,
    "gemma3n": 5,
    "gpt-oss": 2,
    "cohere2": 4,
    "llama4": 4,
    "olmo2": 4,
    "exaone4": 4,
    "smallthinker": 4,
    "afmoe": 4,
    "plamo3": 8,
    "muse-glimmer": 4,
}
"""Every n-th layer sees everything, where the file does not say otherwise."""

_DENSE_FIRST = frozenset(("smallthinker",))
_DEFAULT_WINDOWS = {"gemma2": 4096, "exaone4": 4096}
_LISTED = frozenset(("gemma4", "mimo2", "step35", "granite-swa", "spark2.5", "laguna"))
_IGNORED = frozenset(("llama", "mistral", "mistral3", "phi3", "qwen2", "qwen2moe", "qwen3", "qwen3moe"))
"""Architectures whose `attention.sliding_window` the engine does not use."""

_EXAONE4_SLIDING_LAYERS = 64  # the small EXAONE 4 has no sliding layers
_LLAMA4_CHUNK = 8192


class Window:
    """The window of a model.

    Attributes:
        tokens: Its size; 0 where no layer slides.
        slides: Whether each layer slides.
        known: Whether the architecture's rule is known; False if the file has a window nobody here knows.
    """

    __slots__ = ("known", "slides", "tokens")

    def __init__(self, tokens: int, slides: tuple[bool, ...], *, known: bool = True) -> None:
        self.tokens = tokens
        self.slides = slides
        self.known = known


def sliding_window(model: Model) -> Window:
    """Which layers of `model` slide, and over how many tokens."""
    nowhere = (False,) * model.layers
    architecture = model.architecture
    if architecture in _IGNORED:
        return Window(0, nowhere)
    tokens = model.integer("attention.sliding_window", _DEFAULT_WINDOWS.get(architecture, 0))
    if architecture == "llama4":
        tokens = model.integer("attention.chunk_size", _LLAMA4_CHUNK)
    if architecture == "exaone4" and model.layers != _EXAONE4_SLIDING_LAYERS:
        tokens = 0
    if tokens == 0:
        return Window(0, nowhere)
    stated = model.raw("attention.sliding_window_pattern")
    if isinstance(stated, Array):
        pattern = model.by_layer("attention.sliding_window_pattern", 0)
        return Window(tokens, tuple(bool(each) for each in pattern))
    known = architecture in _PATTERNS or architecture in _LISTED or stated is not None
    every = model.integer("attention.sliding_window_pattern", _PATTERNS.get(architecture, 0))
    if not known or every == 0:
        return Window(0, nowhere, known=False)
    dense = 0 if architecture in _DENSE_FIRST else every - 1
    return Window(tokens, tuple(layer % every != dense for layer in range(model.layers)))
