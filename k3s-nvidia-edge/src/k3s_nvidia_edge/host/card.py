"""One card as `nvidia-smi -q -x` describes it; what a board does not have is None, never zero."""

import re
from typing import Any

import msgspec

__all__ = ["Card", "card"]

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_LOST = ("gpu is lost", "gpu_is_lost", "fallen off the bus")
_RESET = ("requires reset", "requires_reset", "reset required")
_UNREADABLE = "unknown error"


class Card(msgspec.Struct, frozen=True):
    """One card.

    Attributes:
        bus_id: Address as lspci writes it: `0000:01:00.0`.
        uuid: `GPU-...`.
        name: Product name.
        architecture: For example `Ada Lovelace`.
        lost: The driver cannot reach it any more.
        needs_reset: The driver says that it needs a reset, and which.
        uncorrectable_errors: Uncorrectable memory errors since the driver was loaded.
        remap_pending: Rows (or pages) wait for a reset to be replaced.
        remap_failed: Rows could not be replaced any more.
        sram_worn: The memory on the chip has passed its maker's threshold of errors.
        mig: Whether MIG is on.
        mig_pending: Whether MIG will be on after a reset.
        mig_devices: MIG devices that exist.
        hardware_slowdown: The card slows itself down, for heat or for another reason of its own.
        software_slowdown: The driver slows the card down for heat.
        power_brake: The power supply told the card to slow down.
        power_cap: The power limit bites.
        clock_mhz: Graphics clock.
        clock_max_mhz: Highest graphics clock.
        temperature_c: Temperature.
        utilisation_percent: How busy it is.
        link_width: PCIe lanes in use.
        link_width_max: PCIe lanes that card and slot could use.
        power_limit_w: Power limit in force.
        power_limit_default_w: Power limit of the maker.
        virtual: It is a vGPU of a hypervisor.
        licence: Licence status of a vGPU.
        fabric: State of the NVLink fabric; empty where there is none.
        compute_mode: Whether programs may compute on it: `Default`, `Exclusive_Process`, `Prohibited`.
        processes: Names of the programs that have memory on it.
        memory_mib: Memory of its own; None where it shares the system's.
        minor: Number of its device node; None where it is not told.
    """

    bus_id: str
    uuid: str
    name: str
    architecture: str
    lost: bool
    needs_reset: str
    uncorrectable_errors: int | None
    remap_pending: bool
    remap_failed: bool
    sram_worn: bool
    mig: bool
    mig_pending: bool
    mig_devices: int
    hardware_slowdown: bool
    software_slowdown: bool
    power_brake: bool
    power_cap: bool
    clock_mhz: float | None
    clock_max_mhz: float | None
    temperature_c: float | None
    utilisation_percent: float | None
    link_width: float | None
    link_width_max: float | None
    power_limit_w: float | None
    power_limit_default_w: float | None
    virtual: bool
    licence: str
    fabric: str
    compute_mode: str
    processes: tuple[str, ...]
    memory_mib: float | None = None
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.name or 'card'} ({self.bus_id})"

    @property
    def clock_share(self) -> float | None:
        """Graphics clock as a share of its highest."""
        if self.clock_mhz is None or not self.clock_max_mhz:
            return None
        return self.clock_mhz / self.clock_max_mhz


def card(element: Any) -> Card:
    """The card of a `<gpu>` element."""
    whole = " ".join(element.itertext()).lower()
    identity = " ".join(_text(element, path) for path in ("product_name", "uuid", "fb_memory_usage/total"))
    recovery = _text(element, "gpu_recovery_action")
    needs_reset = recovery if recovery.lower() not in ("", "none", "n/a") else ""
    if not needs_reset and _yes(element, "gpu_reset_status/drain_and_reset_recommended"):
        needs_reset = "Drain and Reset"  # drivers before 565 say it so
    if not needs_reset and (
        _yes(element, "gpu_reset_status/reset_required") or any(word in whole for word in _RESET)
    ):
        needs_reset = "GPU requires reset"
    return Card(
        bus_id=_bus_id(element.get("id", "") or _text(element, "pci/pci_bus_id")),
        uuid=_text(element, "uuid"),
        name=_text(element, "product_name"),
        architecture=_text(element, "product_architecture"),
        lost=any(word in whole for word in _LOST) or _UNREADABLE in identity.lower(),
        needs_reset=needs_reset,
        uncorrectable_errors=_uncorrectable(element),
        remap_pending=_yes(element, "remapped_rows/remapped_row_pending")
        or _yes(element, "retired_pages/pending_retirement")
        or _yes(element, "retired_pages/pending_blacklist"),
        remap_failed=_yes(element, "remapped_rows/remapped_row_failure"),
        sram_worn=any(each.tag == "sram_threshold_exceeded" and _is_yes(each) for each in element.iter()),
        mig=_text(element, "mig_mode/current_mig") == "Enabled",
        mig_pending=_text(element, "mig_mode/pending_mig") == "Enabled",
        mig_devices=len(element.findall("mig_devices/mig_device")),
        hardware_slowdown=_reason(element, "hw_thermal_slowdown") or _reason(element, "hw_slowdown"),
        software_slowdown=_reason(element, "sw_thermal_slowdown"),
        power_brake=_reason(element, "hw_power_brake_slowdown"),
        power_cap=_reason(element, "sw_power_cap"),
        clock_mhz=_number(element, "clocks/graphics_clock"),
        clock_max_mhz=_number(element, "max_clocks/graphics_clock"),
        temperature_c=_number(element, "temperature/gpu_temp"),
        utilisation_percent=_number(element, "utilization/gpu_util"),
        link_width=_number(element, "pci/pci_gpu_link_info/link_widths/current_link_width"),
        link_width_max=_number(element, "pci/pci_gpu_link_info/link_widths/max_link_width"),
        power_limit_w=_power_limit(element, "current_power_limit", "enforced_power_limit", "power_limit"),
        power_limit_default_w=_power_limit(element, "default_power_limit"),
        virtual=_text(element, "gpu_virtualization_mode/virtualization_mode").upper() == "VGPU",
        licence=_text(element, "vgpu_software_licensed_product/license_status")
        or _text(element, "grid_licensed_product/license_status"),
        fabric=_fabric(element),
        compute_mode=_text(element, "compute_mode"),
        processes=tuple(
            name
            for process in element.findall("processes/process_info")
            if (name := _text(process, "process_name"))
        ),
        memory_mib=_number(element, "fb_memory_usage/total"),
        minor=int(minor) if (minor := _text(element, "minor_number")).isdecimal() else None,
    )


def _text(element: Any, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _yes(element: Any, path: str) -> bool:
    return _text(element, path).lower() == "yes"


def _is_yes(element: Any) -> bool:
    return (element.text or "").strip().lower() == "yes"


def _number(element: Any, path: str) -> float | None:
    """The number of `39 C` or `16x`; None for `N/A`, `ERR!`, `Unknown Error` and what else is no number."""
    found = _NUMBER.match(_text(element, path))
    return float(found[0]) if found else None


def _reason(element: Any, name: str) -> bool:
    """Whether a reason for a lower clock is active; releases before 535 say throttle, not event."""
    return any(
        _text(element, f"{kind}s/{kind}_{name}") == "Active"
        for kind in ("clocks_event_reason", "clocks_throttle_reason")
    )


def _power_limit(element: Any, *names: str) -> float | None:
    for group in ("gpu_power_readings", "power_readings"):
        for name in names:
            if (found := _number(element, f"{group}/{name}")) is not None:
                return found
    return None


def _uncorrectable(element: Any) -> int | None:
    """Sum over the kinds of memory, whatever this card's generation calls them."""
    volatile = element.find("ecc_errors/volatile")
    if volatile is None:
        return None
    if (double_bit := volatile.find("double_bit")) is not None:
        counts = [_number(double_bit, "total")]
    else:
        counts = [_number(volatile, each.tag) for each in volatile if "uncorrectable" in each.tag]
    known = [int(count) for count in counts if count is not None]
    return sum(known) if known else None


def _fabric(element: Any) -> str:
    state, status = _text(element, "fabric/state"), _text(element, "fabric/status")
    if state.upper() in ("", "N/A"):
        return ""
    return state if status.upper() in ("", "N/A", "SUCCESS") else f"{state}, {status}"


def _bus_id(value: str) -> str:
    """`00000000:01:00.0` as lspci writes it: a domain of four digits, in small letters."""
    domain, _, rest = value.strip().lower().partition(":")
    return f"{domain[-4:]}:{rest}"
