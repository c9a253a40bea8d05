"""Xid messages: the driver's numbered complaints, by who is at fault (NVIDIA's catalogue)."""

import re
from dataclasses import dataclass
from datetime import datetime

from k3s_nvidia_edge.host.kernel_log import KernelLog

__all__ = ["APPLICATION", "CONTAINED", "HARDWARE", "INFORMATIONAL", "MEANINGS", "Xid", "is_hardware", "xids"]

APPLICATION = frozenset({13, 31, 43, 45, 69})
"""A program did something that it must not; the card is sound."""

CONTAINED = 94
"""The application restarts; the card had an uncorrectable error, which ECC and row remapping tell of."""

_NVLINK = frozenset(range(144, 151))
HARDWARE = _NVLINK | {46, 48, 61, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143}
HARDWARE |= {155, 156, 158, 167, 171, 172}
"""The card, its link, its memory or its firmware."""

INFORMATIONAL = frozenset({63, 92})

RECOVERY = 154
"""The driver says which recovery the card needs from now on."""

MEANINGS = {
    46: "the card stopped processing",
    48: "double-bit ECC error",
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
    155: "NVLink software error",
    156: "resource retirement",
    158: "fatal timeout",
    167: "fatal PCIe timeout",
    171: "uncorrectable memory error",
    172: "uncorrectable error of the card's own SRAM",
}

_LINE = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+)(?:, (.*))?")


@dataclass(frozen=True, slots=True)
class Xid:
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
