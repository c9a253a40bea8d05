"""Room on the card: failed allocations, the ceiling, memory that nobody accounts for."""

from edge_llm_tests.contract import Result, failed
from edge_llm_tests.ollama import FailureKind, standing_failure

from gguf_observability.profile.asked import asked_for
from gguf_observability.profile.observe import MIB, ProfileState, total
from gguf_observability.profile.spec import ProfileSpec

__all__ = ["ROOM_REASONS", "diagnose_room"]

ROOM_REASONS = ("OutOfMemory", "CardHeldByOthers", "OverCeiling", "Unaccounted")
_SAID_LIMIT = 200
_FOREIGN_SHARE = 0.25
"""From this share of the card on, what others hold is taken for the reason of a failed allocation."""


def diagnose_room(spec: ProfileSpec, observed: ProfileState) -> Result | None:
    """What is wrong with the card's memory; None where nothing is."""
    if not observed.subjects:
        if (failure := standing_failure(observed.log.or_else(()))) is not None and (
            failure.kind is FailureKind.CARD_MEMORY
        ):
            return _out_of_memory(observed, failure.said)
    elif (over := _over_ceiling(spec, observed)) is not None:
        return over
    return _unaccounted(spec, observed)


def _out_of_memory(observed: ProfileState, said: str) -> Result:
    memory = observed.memory_mib
    foreign = sorted(observed.foreign, key=lambda each: -(each.memory_mib or 0.0))
    held = total(each.memory_mib for each in foreign) or 0.0
    subject = observed.subject or "the model"
    if memory and held >= memory * _FOREIGN_SHARE:
        named = "; ".join(str(each) for each in foreign)
        return failed(
            "CardHeldByOthers",
            f"loading {subject} ends out of memory: another process has the card's memory: {named} of "
            f"{memory:.0f} MiB (a shared or time-sliced GPU does not divide its memory)",
            pid=str(foreign[0].pid),
        )
    of = f" of {memory:.0f} MiB" if memory else ""
    return failed(
        "OutOfMemory",
        f"loading {subject} ends out of memory on a card{of} that is otherwise free: asked for is "
        f"{asked_for(observed, None)}; {said[:_SAID_LIMIT]}",
        model=subject,
    )


def _over_ceiling(spec: ProfileSpec, observed: ProfileState) -> Result | None:
    if not spec.vram_ceiling_mib:
        return None
    listed = total(each.memory_mib for each in observed.holders if each.ollama)
    claimed = sum(each.vram_bytes for each in observed.loaded.value) / MIB
    used = max(listed or 0.0, claimed)
    if used <= spec.vram_ceiling_mib:
        return None
    return failed(
        "OverCeiling",
        f"Ollama holds {used:.0f} MiB of the card, its ceiling is {spec.vram_ceiling_mib} MiB "
        f"({', '.join(asked_for(observed, each) for each in observed.subjects)})",
    )


def _unaccounted(spec: ProfileSpec, observed: ProfileState) -> Result | None:
    """Memory that no listed process holds. Where none is listed (WSL2, vGPU) nothing is told."""
    for card in observed.cards.value:
        if card.used_mib is None or card.partitioned:
            continue
        if any(each.memory_mib is None for each in card.holders):
            continue
        held = total(each.memory_mib for each in card.holders) or 0.0
        if not card.holders and any(each.vram_bytes for each in observed.loaded.value):
            continue
        if card.used_mib - held > spec.unaccounted_mib:
            return failed(
                "Unaccounted",
                f"{card.name} has {card.used_mib:.0f} MiB in use, its processes hold {held:.0f} MiB: "
                f"{card.used_mib - held:.0f} MiB belong to nobody that is listed",
            )
    return None
