"""Xid messages: the driver's numbered complaints, by who is at fault.

The classes follow NVIDIA's Xid catalogue (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html):
hardware is what it answers with a reset, a restart or a look at the mechanics, an application's is what it
answers with a restart of the application. To 167, 171 and 172 it gives no answer of their own, and their
names decide (a fatal timeout of PCIe; details of an Xid 48); 61 is of cards before Ampere, and 173 of its
newest edition.
"""

import re
from datetime import datetime

import msgspec

from k3s_nvidia_edge.host.kernel_log import KernelLog

__all__ = [
    "APPLICATION",
    "CONTAINED",
    "HARDWARE",
    "INFORMATIONAL",
    "MEANINGS",
    "RECOVERABLE",
    "Xid",
    "is_hardware",
    "xids",
]

APPLICATION = frozenset({11, 13, 25, 31, 43, 45, 68, 69, 80, 137})
"""A program did something that it must not; the card is sound."""

CONTAINED = 94
"""The application restarts; the card had an uncorrectable error, which ECC and row remapping tell of."""

_NVLINK = frozenset(range(144, 151))
"""NVLink 5. One number stands for harmless and fatal events; the message says which."""

HARDWARE = _NVLINK | {46, 48, 54, 61, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143}
HARDWARE |= {155, 156, 158, 167, 171, 172, 173}
"""The card, its link, its memory or its firmware."""

RECOVERABLE = frozenset({109})
"""The catalogue answers it with a reset, and it mostly passes by: a card that computes since is over it."""

INFORMATIONAL = frozenset({63, 92, 157, 160, 161})

RECOVERY = 154
"""The driver says which recovery the card needs from now on."""

MEANINGS = {
    46: "the card stopped processing",
    48: "double-bit ECC error",
    54: "the card's auxiliary power is not connected",
    61: "internal micro-controller breakpoint",
    62: "internal micro-controller halt",
    64: "row remapping failed",
    74: "NVLink error",
    79: "the card has fallen off the bus",
    95: "uncontained ECC error",
    109: "context switch timeout",
    110: "security fault",
    119: "the GSP firmware does not answer",
    120: "GSP error",
    136: "link training failed",
    140: "unrecovered ECC error",
    143: "GPU initialisation failed",
    **dict.fromkeys(_NVLINK, "NVLink error"),
    155: "NVLink down, as software asked for",
    156: "resource retirement",
    158: "fatal timeout of the card",
    167: "fatal PCIe timeout",
    171: "uncorrectable error of the card's memory",
    172: "uncorrectable error of the card's own SRAM",
    173: "fatal failure of the link between processor and card",
}

_NONFATAL = re.compile(r"\bnon-?fatal\b", re.IGNORECASE)
_LINE = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)(?: [^)]*)?\): (\d+)(?:, (.*))?")


class Xid(msgspec.Struct, frozen=True):
    """One Xid message.

    Attributes:
        number: The Xid.
        bus_id: Address of the card, as the kernel writes it: `0000:01:00`.
        at: When.
        detail: The rest of the message.
    """

    number: int
    bus_id: str
    at: datetime | None
    detail: str

    @property
    def needs(self) -> str:
        """What Xid 154 says the card needs, for example `GPU Reset Required`; else empty."""
        found = re.search(r" to \S+ \(([^)]*)\)", self.detail) if self.number == RECOVERY else None
        return found[1] if found and found[1].lower() != "none" else ""

    @property
    def hardware(self) -> bool:
        """Whether it is the card's fault; of NVLink, where the message does not call itself harmless."""
        harmless = self.number in _NVLINK and _NONFATAL.search(self.detail) is not None
        return is_hardware(self.number) and not harmless

    def __str__(self) -> str:
        when = f" at {self.at:%Y-%m-%d %H:%M}" if self.at else ""
        return f"Xid {self.number} ({MEANINGS.get(self.number, 'see the catalogue')}){when} on {self.bus_id}"


def is_hardware(number: int) -> bool:
    """Whether an Xid of this number is the card's."""
    return number in HARDWARE


def xids(log: KernelLog) -> tuple[Xid, ...]:
    """The Xid messages of a kernel log, oldest first."""
    return tuple(
        Xid(int(found[2]), found[1], line.at, found[3] or "")
        for line in log.lines
        if (found := _LINE.search(line.text))
    )
