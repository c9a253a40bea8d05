"""What nvidia-smi says of the cards, for boxes without DCGM; a value that a board lacks has no series."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from xml.etree import ElementTree as ET

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError
from edge_llm_tests.readers import HostReader
from prometheus_client.core import Metric

from llm_observability_stack.exporter.catalogue import family
from llm_observability_stack.exporter.source import Source

__all__ = ["gpu_families", "gpu_source"]

_COMMAND = "nvidia-smi -q -x"
_DEADLINE_S = 5.0
_CARDS_LIMIT = 64
_END = "</nvidia_smi_log>"
_VALUE = re.compile(r"(-?\d{1,15}(?:\.\d+)?)\s*(MiB|MHz|%|C|W|x)?")
_SCALES = {"MiB": 1048576.0, "MHz": 1e6, "%": 0.01}
_UNCORRECTABLE = "uncorrectable"

# metric to the place of its value
_GAUGES = {
    "edge_gpu_memory_total_bytes": "fb_memory_usage/total",
    "edge_gpu_memory_used_bytes": "fb_memory_usage/used",
    "edge_gpu_utilization_ratio": "utilization/gpu_util",
    "edge_gpu_temperature_celsius": "temperature/gpu_temp",
    "edge_gpu_pcie_replays_total": "pci/replay_counter",
    "edge_gpu_pcie_link_width": "pci/pci_gpu_link_info/link_widths/current_link_width",
}
# by version of the driver
_POWER = ("instant_power_draw", "power_draw", "average_power_draw")
_POWER_LIMIT = ("current_power_limit", "enforced_power_limit", "power_limit")
_CLOCKS = {"graphics": "graphics_clock", "sm": "sm_clock", "memory": "mem_clock"}
_SLOWDOWNS = {
    "power_cap": "sw_power_cap",
    "hardware": "hw_slowdown",
    "hardware_thermal": "hw_thermal_slowdown",
    "hardware_power_brake": "hw_power_brake_slowdown",
    "software_thermal": "sw_thermal_slowdown",
}
_ROWS = {"correctable": "remapped_row_corr", "uncorrectable": "remapped_row_unc"}
# before Ampere whole pages are retired
_ROW_STATES = {
    "edge_gpu_row_remap_pending": (
        "remapped_rows/remapped_row_pending",
        "retired_pages/pending_retirement",
        "retired_pages/pending_blacklist",
    ),
    "edge_gpu_row_remap_failed": ("remapped_rows/remapped_row_failure",),
}


def gpu_source(interval_s: float, host: HostReader | None = None) -> Source:
    """The source `gpu`; asked anew at each scrape."""
    reader = host or HostReader()

    def collect() -> tuple[Metric, ...]:
        entry = reader.command(_COMMAND, _DEADLINE_S)
        return gpu_families(Recording(reads={f"command:{_COMMAND}": entry}))

    return Source("gpu", collect, _DEADLINE_S, interval_s, live=True)


def gpu_families(recording: Recording) -> tuple[Metric, ...]:
    """Families of the cards that nvidia-smi lists.

    Raises:
        UnseenError: nvidia-smi could not be run, failed, or hung.
        MalformedError: What it printed is no list of cards.
    """
    read = recording.command(_COMMAND)
    # one of several cards may be lost, as the exit code says: what a whole report says of the others stands
    report = read.stdout if read.error is None and _END in read.stdout else read.output
    cards = _cards(report)
    return tuple(_families(cards, _parse(report).findtext("driver_version", "")))


def _parse(report: str) -> ET.Element:
    begin = report.find("<nvidia_smi_log")
    if begin < 0:
        raise MalformedError("nvidia-smi printed no report")
    try:
        # the root element alone: a document type (and so every entity) and what is said besides is cut off
        root, end, _ = report[begin:].partition(_END)
        return ET.fromstring(root + end)  # noqa: S314 - no entities, see above
    except ET.ParseError as error:
        raise MalformedError(f"nvidia-smi's report is not XML: {error}") from None


def _cards(report: str) -> Mapping[str, ET.Element]:
    found: dict[str, ET.Element] = {}
    for number, gpu in enumerate(_parse(report).findall("gpu")):
        uuid = gpu.findtext("uuid", "").strip()
        # of a card that cannot be read the UUID is an error, the same for each; its address stands
        name = uuid if uuid.startswith("GPU-") else gpu.get("id", "").lower() or f"gpu{number}"
        found[name if name not in found else f"{name}#{number}"] = gpu
    if not found:
        raise MalformedError("nvidia-smi lists no card")
    return dict(list(found.items())[:_CARDS_LIMIT])


def _number(card: ET.Element, path: str) -> float | None:
    """The value at `path` in base units; None where the board does not have it (N/A, Not Supported, ERR!)."""
    found = _VALUE.fullmatch(card.findtext(path, "").strip())
    return float(found[1]) * _SCALES.get(found[2] or "", 1.0) if found else None


def _truth(card: ET.Element, *paths: str) -> float | None:
    """1 where it is so at one of `paths`, 0 where it is at none, None where the board says it nowhere."""
    words = {"yes": 1.0, "no": 0.0, "active": 1.0, "not active": 0.0}
    said = [words.get(card.findtext(path, "").strip().lower()) for path in paths]
    return max((each for each in said if each is not None), default=None)


def _families(cards: Mapping[str, ET.Element], driver: str) -> Iterator[Metric]:
    def each(name: str, value: Callable[[ET.Element], float | None]) -> Metric:
        return family(
            name, [((gpu,), got) for gpu, card in cards.items() if (got := value(card)) is not None]
        )

    def split(
        name: str, parts: Mapping[str, str], value: Callable[[ET.Element, str], float | None]
    ) -> Metric:
        return family(
            name,
            [
                ((gpu, part), got)
                for gpu, card in cards.items()
                for part, place in parts.items()
                if (got := value(card, place)) is not None
            ],
        )

    yield family(
        "edge_gpu_info",
        [
            ((gpu, card.findtext("minor_number", ""), card.findtext("product_name", ""), driver), 1.0)
            for gpu, card in cards.items()
        ],
    )
    for name, path in _GAUGES.items():
        yield each(name, lambda card, path=path: _number(card, path))  # type: ignore[misc]  # binds now
    yield each("edge_gpu_power_watts", lambda card: _power(card, _POWER))
    yield each("edge_gpu_power_limit_watts", lambda card: _power(card, _POWER_LIMIT))
    yield split("edge_gpu_clock_hertz", _CLOCKS, lambda card, place: _number(card, f"clocks/{place}"))
    yield split("edge_gpu_slowdown_active", _SLOWDOWNS, _slowdown)
    yield split(
        "edge_gpu_ecc_uncorrectable_errors_total",
        {"volatile": "volatile", "aggregate": "aggregate"},
        _uncorrectable,
    )
    yield split("edge_gpu_remapped_rows", _ROWS, lambda card, place: _number(card, f"remapped_rows/{place}"))
    for name, paths in _ROW_STATES.items():
        yield each(name, lambda card, paths=paths: _truth(card, *paths))  # type: ignore[misc]  # binds now


def _power(card: ET.Element, places: Sequence[str]) -> float | None:
    """The draw or its limit, wherever this version of the driver prints it."""
    for section in ("gpu_power_readings", "power_readings"):
        for place in places:
            if (watts := _number(card, f"{section}/{place}")) is not None:
                return watts
    return None


def _slowdown(card: ET.Element, reason: str) -> float | None:
    """Whether the clocks are held down for `reason`; drivers before 535 said throttle instead of event."""
    for kind in ("event", "throttle"):
        found = _truth(card, f"clocks_{kind}_reasons/clocks_{kind}_reason_{reason}")
        if found is not None:
            return found
    return None


def _uncorrectable(card: ET.Element, scope: str) -> float | None:
    """The sum over the memories of the card that count."""
    places = card.find(f"ecc_errors/{scope}")
    if places is not None and places.find("double_bit") is not None:  # before Ampere; it says the sum itself
        return _number(places, "double_bit/total")
    values = [
        _number(place, ".")
        for place in (places.iter() if places is not None else ())
        if _UNCORRECTABLE in place.tag
    ]
    counted = [value for value in values if value is not None]
    return sum(counted) if counted else None
