"""The card as `nvidia-smi -q -x` shows it: memory, who holds it, clocks."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.fields import MalformedError

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

__all__ = ["Card", "Holder", "cards"]

_COMMAND = "nvidia-smi -q -x"
_CARDS_STAND = (0, 14)  # 14: a card's infoROM is corrupted, all else is as it says
_QUANTITY = re.compile(r"([0-9.]+) *(MiB|MHz|%)")
_OLLAMA = ("ollama", "llama-server", "llama_server", "ollama_llama_server")
_SLOWDOWNS = {
    "hw_thermal_slowdown": "the card is too hot (hardware thermal slowdown)",
    "sw_thermal_slowdown": "the card is too hot (software thermal slowdown)",
    "hw_power_brake_slowdown": "the power supply asks for less (power brake)",
    "hw_slowdown": "hardware slowdown",
}


class Holder(msgspec.Struct, frozen=True):
    """A process that holds memory of the card.

    Attributes:
        pid: Process id on the host.
        name: Program.
        memory_mib: What it holds; None where the driver does not tell.
    """

    pid: int
    name: str
    memory_mib: float | None

    @property
    def ollama(self) -> bool:
        """Whether it is Ollama's engine."""
        return any(word in self.name.rsplit("/", 1)[-1] for word in _OLLAMA) or "/ollama/" in self.name

    def __str__(self) -> str:
        held = "an unknown amount" if self.memory_mib is None else f"{self.memory_mib:.0f} MiB"
        return f"{self.name or 'an unnamed process'} (pid {self.pid}) holds {held}"


class Card(msgspec.Struct, frozen=True):
    """One card.

    Attributes:
        name: Product name.
        total_mib: Memory in all; None where it is the system's, or not told.
        used_mib: Memory in use.
        free_mib: Memory free.
        holders: Processes that hold memory of it.
        partitioned: Whether it is divided by MIG.
        utilization: Busy share in percent; None where not told.
        sm_clock_mhz: Clock now.
        sm_clock_max_mhz: Clock at most.
        slowdowns: What slows it down now, in words.
    """

    name: str
    total_mib: float | None
    used_mib: float | None
    free_mib: float | None
    holders: tuple[Holder, ...]
    partitioned: bool
    utilization: float | None
    sm_clock_mhz: float | None
    sm_clock_max_mhz: float | None
    slowdowns: tuple[str, ...]


def cards(recording: Recording) -> tuple[Card, ...]:
    """The cards of the host; none where the host has no nvidia-smi (a Jetson, a driver in a container).

    Raises:
        UnseenError: nvidia-smi was not run, or failed.
        MalformedError: Its output is not the XML that it promises.
    """
    read = recording.command(_COMMAND)
    if read.error == "not-found":
        return ()
    output = read.output_of(*_CARDS_STAND)
    from xml.etree import ElementTree as ET  # noqa: PLC0415 - some ms that a CPU profile need not pay

    if "<!ENTITY" in output:
        raise MalformedError("a report with XML entities is not nvidia-smi's")
    try:
        root = ET.fromstring(output)  # noqa: S314 - no entities, see above
    except ET.ParseError as error:
        raise MalformedError(f"not whole XML: {error}") from None
    found = tuple(_card(gpu) for gpu in root.findall("gpu"))
    if not found:
        raise MalformedError("nvidia-smi lists no card")
    return found


def _card(gpu: "ET.Element") -> Card:
    return Card(
        gpu.findtext("product_name", "the card").strip(),
        _quantity(gpu, "fb_memory_usage/total"),
        _quantity(gpu, "fb_memory_usage/used"),
        _quantity(gpu, "fb_memory_usage/free"),
        tuple(_holders(gpu)),
        (gpu.findtext("mig_mode/current_mig") or "").strip() == "Enabled",
        _quantity(gpu, "utilization/gpu_util"),
        _quantity(gpu, "clocks/sm_clock"),
        _quantity(gpu, "max_clocks/sm_clock"),
        tuple(_slowdowns(gpu)),
    )


def _holders(gpu: "ET.Element") -> Iterator[Holder]:
    for process in gpu.iterfind("processes/process_info"):
        pid = (process.findtext("pid") or "").strip()
        name = (process.findtext("process_name") or "").strip()
        yield Holder(int(pid) if pid.isdecimal() else 0, name, _quantity(process, "used_memory"))


def _slowdowns(gpu: "ET.Element") -> Iterator[str]:
    for parent, prefix in (
        ("clocks_event_reasons", "clocks_event_reason_"),
        ("clocks_throttle_reasons", "clocks_throttle_reason_"),
    ):
        for word, meaning in _SLOWDOWNS.items():
            if (gpu.findtext(f"{parent}/{prefix}{word}") or "").strip() == "Active":
                yield meaning


def _quantity(element: "ET.Element", path: str) -> float | None:
    """A number with its unit; None for `N/A`, `Not Supported` and the like."""
    found = _QUANTITY.match((element.findtext(path) or "").strip())
    return float(found[1]) if found else None
