"""The context of the served model, and why it is shorter than promised."""

from edge_llm_tests.contract import Result, failed, unknown
from edge_llm_tests.fields import mapping
from edge_llm_tests.ollama import LoadedModel, loads

from gguf_observability.profile.asked import parameter
from gguf_observability.profile.observe import ProfileState
from gguf_observability.profile.spec import ProfileSpec

__all__ = ["WINDOW_REASONS", "diagnose_window"]

WINDOW_REASONS = ("ContextAlternates", "ContextOfModel", "ContextOfServer", "ContextShort", "ContextUntold")


def diagnose_window(spec: ProfileSpec, observed: ProfileState, model: LoadedModel) -> Result | None:
    """Why a loaded model has less context than promised; None where it has enough."""
    length = model.context_length
    if length is None:
        return unknown("ContextUntold", f"this engine does not tell the context of {model.name}")
    if length >= spec.context_length:
        return None
    promised = spec.context_length
    short = f"{model.name} is loaded with a context of {length} tokens, the profile promises {promised}"
    sizes = {each.context for each in loads(observed.log.or_else(())) if each.context is not None}
    if len(sizes) > 1 and any(size >= spec.context_length for size in sizes):
        return failed(
            "ContextAlternates",
            f"{short}; the log alternates {' and '.join(str(size) for size in sorted(sizes))}: "
            "a client reloads it with its own num_ctx",
            model=model.name,
        )
    trained = _trained(observed)
    if trained is not None and trained < spec.context_length:
        return failed(
            "ContextOfModel",
            f"{short}; it was trained with {trained} tokens, and more is cut in silence",
            model=model.name,
        )
    own = parameter(observed, "num_ctx")
    if own is not None and own < spec.context_length:
        return failed("ContextOfModel", f"{short}; its own parameter num_ctx is {own:.0f}", model=model.name)
    given = observed.setting("OLLAMA_CONTEXT_LENGTH")
    if given.isdecimal() and int(given) < spec.context_length:
        return failed(
            "ContextOfServer", f"{short}; OLLAMA_CONTEXT_LENGTH is {given}", model=model.name, given=given
        )
    return failed("ContextShort", f"{short}; a client's num_ctx or the engine's default", model=model.name)


def _trained(observed: ProfileState) -> int | None:
    if not observed.shown.seen or observed.shown.value.problem is not None:
        return None
    body = observed.shown.value.body
    info = mapping(body, "model_info") if isinstance(body, dict) else {}
    found = [value for key, value in info.items() if key.endswith(".context_length")]
    return found[0] if found and isinstance(found[0], int) else None
