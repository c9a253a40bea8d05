"""NVIDIA devices on the PCI bus, and which kernel driver has them."""

import re

import msgspec
from edge_llm_tests import Recording
from msgspec.structs import replace

__all__ = ["KEY", "PciBus", "PciDevice", "pci_bus"]

KEY = "lspci -Dnnk -d 10de:"
_DEVICE = re.compile(
    r"^([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) (.*?) \[([0-9a-fA-F]{4})\]: (.*)$"
)
_CARD_CLASSES = ("0300", "0302", "0380", "1200")  # VGA, 3D, other display, processing accelerator
_BRIDGE_CLASS = "0680"
_VENDOR = re.compile(r"^NVIDIA Corporation ")
_IDS = re.compile(r" \[10de:[0-9a-fA-F]{4}\].*$")


class PciDevice(msgspec.Struct, frozen=True):
    """One function of a device.

    Attributes:
        address: For example `0000:01:00.0`.
        pci_class: Four hexadecimal digits.
        name: Name from the PCI database.
        driver: Kernel driver in use, empty where none has it.
        modules: Kernel modules that could drive it.
        gone: The bus reads nothing but ones from it (`rev ff`): it is there no more.
    """

    address: str
    pci_class: str
    name: str
    driver: str = ""
    modules: tuple[str, ...] = ()
    gone: bool = False

    @property
    def is_card(self) -> bool:
        """Whether it is a GPU."""
        return self.pci_class in _CARD_CLASSES


class PciBus(msgspec.Struct, frozen=True):
    """What lspci shows of NVIDIA."""

    devices: tuple[PciDevice, ...]

    @property
    def cards(self) -> tuple[PciDevice, ...]:
        """The GPUs."""
        return tuple(device for device in self.devices if device.is_card)

    @property
    def switches(self) -> tuple[PciDevice, ...]:
        """The NVSwitches."""
        return tuple(
            device
            for device in self.devices
            if device.pci_class == _BRIDGE_CLASS and "switch" in device.name.lower()
        )


def pci_bus(recording: Recording) -> PciBus:
    """The parsed bus. Use as `recording.view(pci_bus)`."""
    output = recording.command(KEY).output
    devices: list[PciDevice] = []
    for line in output.splitlines():
        if found := _DEVICE.match(line):
            name = _IDS.sub("", _VENDOR.sub("", found[4]))
            devices.append(PciDevice(found[1].lower(), found[3], name, gone="(rev ff)" in line))
        elif line[:1].isspace() and devices:
            key, _, value = line.strip().partition(": ")
            if key == "Kernel driver in use":
                devices[-1] = replace(devices[-1], driver=value)
            elif key == "Kernel modules":
                modules = tuple(each.strip() for each in value.split(","))
                devices[-1] = replace(devices[-1], modules=modules)
    if output.strip() and not devices:
        raise ValueError("not what lspci prints")
    return PciBus(tuple(devices))
