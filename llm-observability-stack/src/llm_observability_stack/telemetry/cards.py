"""The cards of the host, as far as their series depend on what they are."""

import re

import msgspec
from edge_llm_tests.evidence import Recording

__all__ = ["Cards", "cards"]

_UUID = re.compile(r"<uuid>(GPU-[0-9A-Fa-f-]+)</uuid>")
_FRAMEBUFFER = re.compile(r"<fb_memory_usage>\s*<total>([^<]*)</total>")


class Cards(msgspec.Struct, frozen=True):
    """What nvidia-smi lists.

    Attributes:
        uuids: UUID of each card.
        sliced: MIG is on: the whole card has no utilisation of its own.
        shares_memory: A card has no memory of its own, so no series of it.
    """

    uuids: frozenset[str]
    sliced: bool
    shares_memory: bool


def cards(recording: Recording) -> Cards:
    """The host's cards. Use as `recording.view(cards)`; a refinement, for the host rung judges them."""
    told = recording.command("nvidia-smi -q -x").output_of(0, 14)  # 14: infoROM corrupted
    totals = _FRAMEBUFFER.findall(told)
    return Cards(
        uuids=frozenset(_UUID.findall(told)),
        sliced="<current_mig>Enabled</current_mig>" in told,
        shares_memory=bool(totals) and not any(total.strip()[:1].isdecimal() for total in totals),
    )
