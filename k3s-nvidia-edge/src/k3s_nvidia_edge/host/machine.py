"""The machine as a profile would have to fit it: its cards and its memory."""

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.reads import UnseenError

from k3s_nvidia_edge.host.card import Card
from k3s_nvidia_edge.host.memory import memory
from k3s_nvidia_edge.host.nvidia_smi import KEY, SmiAnswer, nvidia_smi
from k3s_nvidia_edge.host.pci import pci_bus
from k3s_nvidia_edge.host.platform import Platform, platform

__all__ = ["Machine", "machine"]


class Machine(msgspec.Struct, frozen=True):
    """One machine.

    Attributes:
        cards: The NVIDIA cards that the driver lists.
        memory_mib: System memory.
        kind: Whether cards are looked for on a PCI bus; a Jetson and WSL2 have them elsewhere.
    """

    cards: tuple[Card, ...]
    memory_mib: int
    kind: Platform = Platform.PCI

    def __str__(self) -> str:
        kinds = dict.fromkeys((card.name, card.memory_mib) for card in self.cards)
        count = {kind: sum((card.name, card.memory_mib) == kind for card in self.cards) for kind in kinds}
        cards = [
            f"{count[kind]} x {kind[0]}" + (f" with {kind[1]:.0f} MiB" if kind[1] else ", memory shared")
            for kind in kinds
        ]
        return f"{', '.join(cards) or 'no NVIDIA card'}; {self.memory_mib // 1024} GiB of memory"


def machine(recording: Recording) -> Machine:
    """The machine of a recording. Use as `recording.view(machine)`.

    Raises:
        UnseenError: The memory was not seen, or there are cards that the driver does not list.
    """
    total_mib = memory(recording).total_mib
    smi = nvidia_smi(recording)
    if smi.answer is SmiAnswer.CARDS:
        return Machine(smi.cards, total_mib)
    try:
        on_bus = len(pci_bus(recording).cards)
    except UnseenError as unseen:
        raise UnseenError(
            unseen.key, unseen.reason, f"the driver: {smi.said}; whether there is a card: {unseen.message}"
        ) from None
    if on_bus or smi.answer not in (SmiAnswer.NOT_INSTALLED, SmiAnswer.NO_DEVICES):
        raise UnseenError(
            f"command:{KEY}",
            "Unavailable",
            f"{on_bus} NVIDIA cards on the bus, and the driver says: {smi.said}",
        )
    return Machine((), total_mib, recording.view(platform).or_else(Platform.PCI))
