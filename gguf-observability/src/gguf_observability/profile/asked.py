"""What was asked of the served model: context, slots, layers, and the cache that follows."""

import re

from edge_llm_tests.fields import text
from edge_llm_tests.ollama import LoadedModel

from gguf_observability.profile.observe import ProfileState

__all__ = ["asked_for", "parameter", "slots"]


def slots(observed: ProfileState) -> int:
    """How many requests are served at once, each with a context of its own."""
    value = observed.setting("OLLAMA_NUM_PARALLEL")
    return int(value) if value.isdecimal() and int(value) > 0 else 1


def parameter(observed: ProfileState, name: str) -> float | None:
    """A parameter of the model's own, as `/api/show` lists it; None where it has none."""
    if not observed.shown.seen or observed.shown.value.problem is not None:
        return None
    body = observed.shown.value.body
    listed = text(body, "parameters") if isinstance(body, dict) else ""
    found = re.search(rf"^{re.escape(name)}\s+(-?\d+(?:\.\d+)?)\s*$", listed, re.MULTILINE)
    return float(found[1]) if found else None


def asked_for(observed: ProfileState, model: LoadedModel | None) -> str:
    """Context and slots in words."""
    length = model.context_length if model else None
    length_said = length or observed.setting("OLLAMA_CONTEXT_LENGTH") or "the default"
    words = [f"context (num_ctx) {length_said} in {slots(observed)} parallel slot(s)"]
    if (layers := parameter(observed, "num_gpu")) is not None:
        words.append(f"num_gpu {layers:.0f}")
    if (flash := observed.setting("OLLAMA_FLASH_ATTENTION")) in ("0", "false"):
        words.append(f"flash attention off ({flash})")
    return ", ".join(words)
