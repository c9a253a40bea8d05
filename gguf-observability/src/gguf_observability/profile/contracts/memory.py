"""Promises about where the served model is and how much memory it takes."""

from edge_llm_tests.contract import Result, contract, passed

from gguf_observability.profile.observe import MIB, ProfileState
from gguf_observability.profile.placement import (
    PLACEMENT_REASONS,
    diagnose_cpu,
    diagnose_gpu,
    diagnose_last_load,
    not_loaded,
)
from gguf_observability.profile.room import ROOM_REASONS, diagnose_room
from gguf_observability.profile.spec import ProfileSpec
from gguf_observability.profile.window import WINDOW_REASONS, diagnose_window

__all__ = ["context", "processor", "vram"]

_LOADED = ("model.resident", "model.loadable", "model.present", "serving.answers")


@contract(
    "profile.processor",
    "the served model runs on the promised processor, and the card proves it",
    reasons=PLACEMENT_REASONS,
    after=(
        *_LOADED,
        "serving.gpu-request",
        "gpu.sandboxes",
        "gpu.allocatable",
        "gpu.runtime-handler",
        "host.driver-answers",
        "host.driver-fit",
        "host.device-nodes",
        "host.fabric",
        "host.card-healthy",
    ),
    applies=lambda spec: spec.processor != "",
)
def processor(spec: ProfileSpec, observed: ProfileState) -> Result:
    """By Ollama's account, and by the memory that the card shows."""
    found = observed.subjects
    if not found:
        return diagnose_last_load(spec, observed)
    diagnose = diagnose_cpu if spec.processor == "cpu" else diagnose_gpu
    for model in found:
        if (wrong := diagnose(spec, observed, model)) is not None:
            return wrong
    where = "the CPU" if spec.processor == "cpu" else "the card"
    return passed(f"{', '.join(each.name for each in found)} on {where}")


@contract(
    "profile.context",
    "the served model has at least the promised context",
    reasons=("NothingLoaded", *WINDOW_REASONS),
    after=_LOADED,
    applies=lambda spec: spec.context_length > 0,
)
def context(spec: ProfileSpec, observed: ProfileState) -> Result:
    """In tokens of one slot."""
    found = observed.subjects
    if not found:
        return not_loaded(spec, observed)
    for model in found:
        if (wrong := diagnose_window(spec, observed, model)) is not None:
            return wrong
    return passed(", ".join(f"{each.name}: {each.context_length} tokens" for each in found))


@contract(
    "profile.vram",
    "the card has room for the served model, it stays below its ceiling, and its memory is accounted for",
    reasons=ROOM_REASONS,
    after=(*_LOADED, "profile.processor", "host.card-healthy", "host.driver-answers", "gpu.sandboxes"),
    applies=lambda spec: spec.processor == "gpu",
)
def vram(spec: ProfileSpec, observed: ProfileState) -> Result:
    """Everyone who holds memory of the card is named."""
    if (wrong := diagnose_room(spec, observed)) is not None:
        return wrong
    loaded = observed.loaded.value
    _ = observed.cards.value
    held = ", ".join(str(each) for each in observed.holders) or "this host lists no process of the card"
    return passed(f"{sum(each.vram_bytes for each in loaded) / MIB:.0f} MiB by Ollama's account; {held}")
