"""A choice: the value of an option that has a fixed list of them."""

from difflib import get_close_matches

from edge_llm_tests.errors import UsageError

__all__ = ["chosen"]


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
