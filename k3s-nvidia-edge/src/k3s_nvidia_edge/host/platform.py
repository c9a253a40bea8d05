"""What kind of machine it is: most have their cards on a PCI bus, a Jetson and WSL2 have not."""

from enum import Enum, auto

from edge_llm_tests import Recording

__all__ = ["Platform", "kernel_release", "platform"]


class Platform(Enum):
    """Kind of machine."""

    PCI = auto()
    JETSON = auto()
    WSL = auto()


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
