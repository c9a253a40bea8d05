"""Whether a card is sound: its own counters, then what the kernel log says of it."""

from datetime import timedelta

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.host.card import Card
from k3s_nvidia_edge.host.kernel_log import KernelLog
from k3s_nvidia_edge.host.observe import HostState
from k3s_nvidia_edge.host.spec import HostSpec
from k3s_nvidia_edge.host.xid import MEANINGS, RECOVERABLE, Xid, xids

__all__ = ["counter_fault", "plugin_fault", "slowdown_fault", "xid_fault"]

_LOW_CLOCK_SHARE = 0.5  # a card that is merely warm gives up some percent of its clock, not half
_BUSY_PERCENT = 20
_STANDS = timedelta(hours=1)  # longer than any program waits for a card that hangs


def counter_fault(card: Card) -> Fault | None:
    """What the card's own counters say."""
    about = {"address": card.bus_id, "uuid": card.uuid}
    if card.lost:
        return Fault(
            "CardLost", f"{card} is on the driver's list, and the driver cannot reach it: GPU is lost", about
        )
    if card.remap_failed:
        return Fault(
            "RowRemapFailed", f"{card}: row remapping failed, its memory has no spare rows left", about
        )
    if card.sram_worn:
        return Fault(
            "SramThresholdExceeded",
            f"{card}: uncorrectable errors of the memory on its chip (SRAM) have passed the maker's"
            " threshold",
            about,
        )
    if card.remap_pending:
        errors = card.uncorrectable_errors or 0
        return Fault(
            "RowRemapPending",
            f"{card}: uncorrectable ECC errors {errors}; a row remap or page retirement is pending"
            " until a reset",
            about,
        )
    if card.uncorrectable_errors:
        return Fault(
            "UncorrectableEcc",
            f"{card}: {card.uncorrectable_errors} uncorrectable ECC errors since the last reset",
            about,
        )
    if card.needs_reset:
        return Fault(
            "ResetRequired", f"{card}: the driver asks for recovery action: {card.needs_reset}", about
        )
    return None


def xid_fault(spec: HostSpec, observed: HostState, log: KernelLog) -> Fault | None:
    """A hardware Xid since the driver was loaded: recent, or with the device still withdrawn for it."""
    since_load = log.since_driver_load
    found = [
        xid
        for xid in xids(since_load)
        if (xid.hardware or _needs_reset(xid))
        and not (xid.number in RECOVERABLE and _computes(xid, observed))
    ]
    if not found:
        return None
    last = found[-1]
    recent = last.at is None or abs(observed.now - last.at) <= timedelta(hours=spec.xid_window_hours)
    if not recent and not (_newest_complaint_is(last, since_load) and observed.device_withdrawn):
        return None
    about = {
        "address": f"{last.bus_id}.0" if last.bus_id.count(":") > 1 else last.bus_id,
        "xid": str(last.number),
    }
    if last.needs:
        return Fault("ResetRequired", f"{last}: {last.needs}", about)
    count = sum(1 for xid in found if xid.number == last.number)
    return Fault(
        "HardwareXid",
        f"{last}, {count} of it in the kernel log: the hardware's, not a program's: {last.detail[:160]}",
        about,
    )


def plugin_fault(observed: HostState) -> Fault | None:
    """A hardware Xid that the device plugin's log tells of, while the device is withdrawn."""
    found = observed.plugin_hardware_xid
    if found is None or not observed.device_withdrawn:
        return None
    number, device = found
    return Fault(
        "HardwareXid",
        f"the device plugin has withdrawn {device} for Xid {number} ({MEANINGS.get(number, 'hardware')})",
        {"address": device, "xid": str(number)},
    )


def slowdown_fault(card: Card) -> Fault | None:
    """A slowdown that takes most of the clock while the card is wanted."""
    share = card.clock_share
    if share is None or share >= _LOW_CLOCK_SHARE or (card.utilisation_percent or 0) < _BUSY_PERCENT:
        return None
    clock = f"{card.clock_mhz:.0f} of {card.clock_max_mhz:.0f} MHz at {card.utilisation_percent:.0f} % load"
    heat = f", {card.temperature_c:.0f} C" if card.temperature_c is not None else ""
    about = {"address": card.bus_id}
    if card.power_brake:
        return Fault(
            "PowerBrake", f"{card} is throttled: the power supply's brake is active, clock {clock}", about
        )
    if card.hardware_slowdown or card.software_slowdown:
        return Fault(
            "ThermalSlowdown", f"{card} is throttled: thermal slowdown is active, clock {clock}{heat}", about
        )
    return None


def _computes(xid: Xid, observed: HostState) -> bool:
    """Whether a program has memory on the card an hour later, and the driver asks for no recovery of it."""
    if xid.at is None or observed.now - xid.at <= _STANDS:
        return False
    cards = observed.smi.value.cards if observed.smi.seen else ()
    mine = (card for card in cards if card.bus_id.startswith(xid.bus_id.lower()))
    return any(card.processes and not card.needs_reset for card in mine)


def _needs_reset(xid: Xid) -> bool:
    return bool(xid.needs)


def _newest_complaint_is(last: Xid, log: KernelLog) -> bool:
    """No program's Xid came after it, which the plugin would have withdrawn the device for as well."""
    return xids(log)[-1] == last
