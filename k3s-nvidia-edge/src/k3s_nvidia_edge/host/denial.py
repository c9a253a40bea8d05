"""Denials of SELinux and AppArmor that keep containers from the card."""

import re
from datetime import timedelta

from k3s_nvidia_edge.host.kernel_log import KernelLog
from k3s_nvidia_edge.host.observe import HostState

__all__ = ["denied_access"]

_RECENT = timedelta(days=1)
_DENIED = re.compile(r"avc: +denied|apparmor=\"DENIED\"", re.IGNORECASE)
_OF_THE_CARD = re.compile(
    r"/dev/nvidia|name=\"/?(?:dev/)?nvidia|comm=\"(?:nvidia|ollama|llama)", re.IGNORECASE
)
_PERMISSIVE = "permissive=1"


def denied_access(observed: HostState, log: KernelLog) -> str:
    """The newest denial about the card, where its effect shows too; empty otherwise.

    A denial alone proves little: many are of things that the program does without.
    """
    line = log.within(observed.now, _RECENT).last(_keeps_from_card)
    if line is None or (observed.offers_gpu and not observed.cuda_failure):
        return ""
    return line.text.strip()[:300]


def _keeps_from_card(text: str) -> bool:
    return bool(_DENIED.search(text) and _OF_THE_CARD.search(text)) and _PERMISSIVE not in text
