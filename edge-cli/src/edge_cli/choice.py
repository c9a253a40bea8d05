"""A choice: the value of an option that has a fixed list of them."""

from difflib import get_close_matches

from edge_llm_tests.errors import UsageError
from edge_llm_tests.layer import Layer

__all__ = ["chosen", "layers_up_to"]


def chosen(option: str, given: str, allowed: tuple[str, ...]) -> str:
    """The value, if it is one of those allowed.

    Raises:
        UsageError: It is not; the nearest is named.
    """
    if given in allowed:
        return given
    near = get_close_matches(given, allowed, n=1)
    step = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(allowed)}"
    raise UsageError(f"{option} {given}: no such choice", step)


def layers_up_to(name: str | None, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The layers up to the one of that name; all of them for None.

    Raises:
        UsageError: There is no such layer.
    """
    if name is None:
        return layers
    names = tuple(layer.name for layer in layers)
    return layers[: names.index(chosen("--to", name, names)) + 1]
