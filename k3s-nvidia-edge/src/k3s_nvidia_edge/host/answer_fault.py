"""Why nvidia-smi does not list the cards, put together from it, the kernel log and the module."""

import re

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.host.driver_fault import bus_loss, initialisation_fault
from k3s_nvidia_edge.host.kernel_log import KernelLog
from k3s_nvidia_edge.host.nvidia_smi import NvidiaSmi, SmiAnswer
from k3s_nvidia_edge.host.observe import HostState
from k3s_nvidia_edge.host.platform import Platform
from k3s_nvidia_edge.host.xid import xids

__all__ = ["answer_fault", "surfaced_fault"]

_GSP_XIDS = (119, 120)
_CLIENT = re.compile(r"client has the version (\d+(?:\.\d+)+)")
_LIBRARY = re.compile(r"NVML library version: (\d+(?:\.\d+)*)")


def answer_fault(smi: NvidiaSmi, observed: HostState) -> Fault:
    """The fault behind an nvidia-smi that lists no card."""
    if observed.platform is Platform.WSL:
        return Fault("WindowsDriverFails", f"Windows, which has the card and its driver, says: {smi.said}")
    log = observed.log.or_else(KernelLog(())).since_driver_load
    match smi.answer:
        case SmiAnswer.MISMATCH:
            return _mismatch(smi, observed, log)
        case SmiAnswer.TIMED_OUT:
            return _hangs(smi, log)
        case SmiAnswer.LOST:
            return Fault("CardFellOffBus", f"the driver has lost the card: {bus_loss(log) or smi.said}")
        case SmiAnswer.NO_DEVICES:
            return _no_devices(smi, log)
        case SmiAnswer.LIBRARY_MISSING | SmiAnswer.NOT_INSTALLED:
            return Fault(
                "DriverProgramsMissing",
                f"the driver's programs and libraries are not installed beside its module: {smi.said}",
            )
        case _:
            return Fault("DriverDoesNotAnswer", f"nvidia-smi cannot reach the driver: {smi.said}")


def surfaced_fault(observed: HostState) -> Fault | None:
    """The fault of a driver that was not asked, where the cluster tells of it."""
    found = observed.surfaced
    if found is None:
        return None
    said = f"nvidia-smi was not seen, but {found.where} says: {found.said}"
    if found.answer is SmiAnswer.MISMATCH:
        return Fault("DriverMismatch", f"driver/library version mismatch on the host; {said}")
    if found.answer is SmiAnswer.LOST:
        return Fault("CardFellOffBus", f"the driver has lost the card; {said}")
    return Fault("DriverDoesNotAnswer", f"the host's driver cannot be reached; {said}")


def _mismatch(smi: NvidiaSmi, observed: HostState, log: KernelLog) -> Fault:
    client = log.last(_CLIENT.search)
    found = _CLIENT.search(client.text) if client else _LIBRARY.search(smi.said)
    library = found[1] if found else "another version"
    loaded = observed.module.loaded_version.or_else("") or "another version"
    return Fault(
        "DriverMismatch",
        f"driver/library version mismatch: the loaded module is {loaded}, the library on the disk is"
        ""
        f" {library}"
        f"{'' if client else ' (as printed, which may be cut short)'}: the driver was upgraded and"
        " not reloaded",
    )


def _hangs(smi: NvidiaSmi, log: KernelLog) -> Fault:
    found = [xid for xid in xids(log) if xid.hardware]
    if found and found[-1].number in _GSP_XIDS:
        return Fault(
            "FirmwareHangs",
            f"nvidia-smi timed out ({smi.said}): the GSP firmware hangs, {found[-1]}, {len(found)} in all",
        )
    if found:
        return Fault("DriverTimedOut", f"nvidia-smi timed out ({smi.said}) after {found[-1]}")
    return Fault("DriverTimedOut", f"nvidia-smi timed out: {smi.said}; the driver hangs")


def _no_devices(smi: NvidiaSmi, log: KernelLog) -> Fault:
    if loss := bus_loss(log):  # that it cannot be initialised again follows from it
        return Fault("CardFellOffBus", f"nvidia-smi finds no devices: {loss}")
    if fault := initialisation_fault(log):
        return fault
    return Fault("NoDevicesFound", f"the module is loaded and nvidia-smi says: {smi.said}")
