"""What kind of machine it is: most have their cards on a PCI bus, a Jetson and WSL2 have not."""

from datetime import datetime, timedelta
from enum import Enum, auto

from edge_llm_tests import Recording

__all__ = ["Platform", "boot_time", "kernel_release", "platform"]


class Platform(Enum):
    """Kind of machine."""

    PCI = auto()
    JETSON = auto()
    WSL = auto()


def boot_time(recording: Recording) -> datetime:
    """When the machine was started. Use as `recording.view(boot_time)`."""
    return recording.now - timedelta(seconds=float(recording.file("/proc/uptime").content.split()[0]))


def kernel_release(recording: Recording) -> str:
    """The running kernel's release."""
    release = recording.file("/proc/sys/kernel/osrelease").content.strip()
    if not release:
        raise ValueError("empty")
    return release


def platform(recording: Recording) -> Platform:
    """The kind of machine, by its kernel. Use as `recording.view(platform)`."""
    release = kernel_release(recording).lower()
    if "tegra" in release:
        return Platform.JETSON
    return Platform.WSL if "microsoft" in release else Platform.PCI
