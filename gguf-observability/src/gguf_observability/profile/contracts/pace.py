"""Promises about how steadily the served model works."""

from edge_llm_tests.contract import Result, contract, passed, unknown

from gguf_observability.profile.observe import ProfileState
from gguf_observability.profile.spec import ProfileSpec
from gguf_observability.profile.steadiness import (
    QUEUE_REASONS,
    STEADINESS_REASONS,
    THROTTLE_REASONS,
    diagnose_clocks,
    diagnose_queue,
    diagnose_steadiness,
)

__all__ = ["clocks", "requests", "stable"]


@contract(
    "profile.stable",
    "the served model stays loaded, once: it is not reloaded, doubled or stuck while it should unload",
    reasons=STEADINESS_REASONS,
    after=("model.present", "model.loadable", "serving.answers", "profile.context"),
)
def stable(spec: ProfileSpec, observed: ProfileState) -> Result:
    """By Ollama's account and its log."""
    if (wrong := diagnose_steadiness(spec, observed)) is not None:
        return wrong
    lines, loaded = observed.log.value, observed.loaded.value
    return passed(f"{len(loaded)} model(s) loaded; {len(lines)} log lines show no reload upon reload")


@contract(
    "profile.clocks",
    "no card works at a fraction of its clock because of heat or power",
    reasons=THROTTLE_REASONS,
    required=False,  # host.not-throttled closes the gate; this one tells whoever reads a profile alone
    after=("host.driver-answers", "host.card-healthy", "host.not-throttled"),
    applies=lambda spec: spec.processor == "gpu",
)
def clocks(_spec: ProfileSpec, observed: ProfileState) -> Result:
    """A power cap that its owner set is no fault."""
    if not observed.cards.value:
        return unknown("Unavailable", "this host lists no card, so no clock can be read")
    for card in observed.cards.value:
        if (slowed := diagnose_clocks(card)) is not None:
            return slowed
    return passed(", ".join(f"{card.name} at {card.sm_clock_mhz} MHz" for card in observed.cards.value))


@contract(
    "profile.requests",
    "requests are answered, not refused for a full queue",
    reasons=QUEUE_REASONS,
    after=("serving.answers", "serving.running", "model.loadable", "profile.vram", "profile.processor"),
)
def requests(_spec: ProfileSpec, observed: ProfileState) -> Result:
    """As the last requests in Ollama's log tell."""
    return diagnose_queue(observed)
