"""Sliding-window attention: which layers see only a window, and how large it is.

Source: llama.cpp b11434, `src/models/*.cpp` and `llama-hparams.cpp` (`set_swa_pattern`).
"""

from gguf_observability.architectures import ARCHITECTURES
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
    "exaone-moe": 4,
    "cohere2moe": 4,
    "laguna": 4,
    "mellum": 4,
}
"""Every n-th layer sees everything, where the file does not say otherwise."""

_DENSE_FIRST = frozenset(("smallthinker", "cohere2moe", "laguna"))
_DEFAULT_WINDOWS = {"gemma2": 4096, "exaone4": 4096, "exaone-moe": 128}
_LISTED = frozenset(("gemma4", "mimo2", "step35", "granite_swa", "spark2_5"))
"""Architectures whose file lists by layer what slides."""

_EXAONE4_SLIDING_LAYERS = 64  # the small EXAONE 4 has no sliding layers
_FIXED_WINDOWS = {"llama4": 8192, "smallthinker": 4096}
"""The engine takes these where the file names a window, and llama4 also where it names none."""


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
    tokens = _tokens(model)
    nowhere = Window(0, (False,) * model.layers)
    if tokens == 0:
        return nowhere
    architecture = model.architecture
    if architecture == "lfm2":  # every attention layer slides; the others have no attention
        return Window(tokens, tuple(heads != 0 for heads in model.kv_heads))
    if architecture not in _PATTERNS and architecture not in _LISTED:
        # an architecture that the engine knows takes the whole context, whatever the file names
        known = architecture in ARCHITECTURES
        return Window(0, nowhere.slides, known=known)
    stated = model.raw("attention.sliding_window_pattern")
    if isinstance(stated, Array):
        pattern = model.by_layer("attention.sliding_window_pattern", 0)
        return Window(tokens, tuple(bool(each) for each in pattern))
    every = model.integer("attention.sliding_window_pattern", _PATTERNS.get(architecture, 0))
    if every == 0:
        return Window(0, nowhere.slides, known=False)
    dense = 0 if architecture in _DENSE_FIRST else every - 1
    trunk = model.trunk_layers
    return Window(tokens, tuple(layer < trunk and layer % every != dense for layer in range(model.layers)))


def _tokens(model: Model) -> int:
    """The window that the engine takes; 0 for none."""
    architecture = model.architecture
    if architecture == "exaone4" and model.trunk_layers != _EXAONE4_SLIDING_LAYERS:
        return 0
    stated = model.integer("attention.sliding_window", _DEFAULT_WINDOWS.get(architecture, 0))
    fixed = _FIXED_WINDOWS.get(architecture)
    if fixed is None:
        return stated
    absent_counts = architecture == "llama4" and not model.has("attention.sliding_window")
    return fixed if stated or absent_counts else 0
