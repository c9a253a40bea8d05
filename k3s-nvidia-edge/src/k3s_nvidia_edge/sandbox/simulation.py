"""The SIMULATED host: what stands in for the driver's commands and files, in each state of the driver.

Everything here is text for `simulated/answer` and the like to hand out; nothing looks at a real card.
"""

import datetime as dt
import enum
from importlib import resources
from string import Template
from typing import Final

import msgspec

__all__ = ["COMMANDS", "DEVICES", "GPU_UUID", "Answer", "Driver", "World", "data", "world"]

GPU_UUID: Final = "GPU-51700000-0000-4000-8000-000000000000"
DRIVER_VERSION: Final = "570.195.03"
NEWER_DRIVER_VERSION: Final = "570.211.01"  # what an upgrade without a reboot left on the disk

COMMANDS: Final = ("nvidia-smi", "lspci", "modinfo", "dmesg")
DEVICES: Final = ("nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
_DATA: Final = resources.files("k3s_nvidia_edge.sandbox") / "simulated"
_MODULE: Final = f"NVIDIA UNIX Open Kernel Module for x86_64  {DRIVER_VERSION}  Release Build  (SIMULATED)"
_NOT_COMMUNICATING: Final = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n\n"
)


class Driver(enum.StrEnum):
    """The states that the simulated driver can be in."""

    OK = "ok"
    VERSION_MISMATCH = "version-mismatch"  # the library was upgraded, the loaded module was not
    NO_DEVICES = "no-devices"  # the module is loaded and could not start the card
    NOT_LOADED = "not-loaded"  # installed, and no module in the kernel
    HANG = "hang"  # the card's firmware does not answer
    NOT_INSTALLED = "not-installed"
    NO_CARD = "no-card"  # nothing on the bus


class Answer(msgspec.Struct, frozen=True):
    """What one command says; `rc` is a number or `hang`."""

    out: str = ""
    rc: str = "0"
    err: str = ""


class World(msgspec.Struct, frozen=True):
    """Everything that the simulated host shows in one state.

    Attributes:
        answers: by key of `simulated/answer`.
        loaded_version: text of /proc/driver/nvidia/version, or None where no module is loaded.
        modules: lines that /proc/modules has on top of the real ones.
        devices: names below /dev.
        has_nvidia_smi: whether the program exists.
    """

    answers: dict[str, Answer]
    loaded_version: str | None
    modules: str
    devices: tuple[str, ...]
    has_nvidia_smi: bool


def data(name: str, **values: str) -> str:
    """A file of the package's simulated folder, filled in."""
    return Template((_DATA / name).read_text(encoding="utf-8")).substitute(**values)


def world(driver: Driver, started: dt.datetime, changed: dt.datetime) -> World:
    """The host as it looks in this state.

    Args:
        driver: the state of the simulated driver.
        started: when the node started; the boot of the simulated host.
        changed: when the driver came into this state.
    """
    loaded = driver in (Driver.OK, Driver.VERSION_MISMATCH, Driver.NO_DEVICES, Driver.HANG)
    smi = _nvidia_smi(driver)
    answers = {
        "nvidia-smi": smi or Answer(data("nvidia-smi.txt", driver=DRIVER_VERSION)),
        "nvidia-smi-q-x": smi or Answer(data("nvidia-smi.xml", driver=DRIVER_VERSION, uuid=GPU_UUID)),
        "nvidia-smi-L": smi or Answer(f"GPU 0: SIMULATED GPU (UUID: {GPU_UUID})\n"),
        "lspci": _lspci(driver, loaded=loaded),
        "modinfo": _modinfo(driver),
        "dmesg": Answer(_dmesg(driver, started, changed, loaded=loaded)),
    }
    return World(
        answers,
        f"NVRM version: {_MODULE}\nGCC version:  SIMULATED\n" if loaded else None,
        "nvidia_uvm 2158592 0 - Live 0x0000000000000000 (OE)\n"
        "nvidia_modeset 1568768 0 - Live 0x0000000000000000 (OE)\n"
        "nvidia 11587584 2 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (OE)\n"
        if loaded
        else "",
        DEVICES if loaded else (),
        driver is not Driver.NOT_INSTALLED,
    )


def _nvidia_smi(driver: Driver) -> Answer | None:
    """What nvidia-smi says when it fails, on stdout like the real one; None where it works."""
    match driver:
        case Driver.OK:
            return None
        case Driver.VERSION_MISMATCH:
            library = NEWER_DRIVER_VERSION.rsplit(".", 1)[0]
            text = "Failed to initialize NVML: Driver/library version mismatch\n"
            return Answer(f"{text}NVML library version: {library}\n", "18")
        case Driver.NO_DEVICES:
            return Answer("No devices were found\n", "6")
        case Driver.HANG:
            return Answer(rc="hang")
        case _:
            return Answer(_NOT_COMMUNICATING, "9")


def _lspci(driver: Driver, *, loaded: bool) -> Answer:
    if driver is Driver.NO_CARD:
        return Answer()
    use = "\tKernel driver in use: nvidia\n" if loaded else ""
    modules = (
        "nvidiafb, nouveau" if driver is Driver.NOT_INSTALLED else "nvidiafb, nouveau, nvidia_drm, nvidia"
    )
    return Answer(
        "0000:01:00.0 3D controller [0302]: NVIDIA Corporation SIMULATED GPU [10de:ffff] (rev a1)\n"
        "\tSubsystem: NVIDIA Corporation SIMULATED GPU [10de:0000]\n"
        f"{use}\tKernel modules: {modules}\n"
    )


def _modinfo(driver: Driver) -> Answer:
    if driver is Driver.NOT_INSTALLED:
        return Answer(rc="1", err="modinfo: ERROR: Module nvidia not found.\n")
    return Answer(f"{NEWER_DRIVER_VERSION if driver is Driver.VERSION_MISMATCH else DRIVER_VERSION}\n")


def _dmesg(driver: Driver, started: dt.datetime, changed: dt.datetime, *, loaded: bool) -> str:
    lines = [_kernel_line(started, "SIMULATED kernel log of the edge sandbox")]
    if loaded:
        lines += [
            _kernel_line(started, "nvidia: loading out-of-tree module taints kernel."),
            _kernel_line(started, "nvidia 0000:01:00.0: enabling device (0000 -> 0003)"),
            _kernel_line(started, f"NVRM: loading {_MODULE}"),
            _kernel_line(started, "nvidia-uvm: Loaded the UVM driver, major device number 508."),
        ]
    match driver:
        case Driver.VERSION_MISMATCH:
            lines.append(
                _kernel_line(
                    changed,
                    f"NVRM: API mismatch: the client has the version {NEWER_DRIVER_VERSION}, but",
                    f"NVRM: this kernel module has the version {DRIVER_VERSION}.  Please",
                    "NVRM: make sure that this kernel module and all NVIDIA driver",
                    "NVRM: components have the same version.",
                )
            )
        case Driver.NO_DEVICES:
            lines += [
                _kernel_line(changed, "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)"),
                _kernel_line(
                    changed, "NVRM: GPU 0000:01:00.0: rm_init_adapter failed, device minor number 0"
                ),
            ]
        case Driver.HANG:
            xid = "119, pid=1, name=nvidia-smi, Timeout after 45s of waiting for RPC response from GPU0 GSP!"
            lines.append(_kernel_line(changed, f"NVRM: Xid (PCI:0000:01:00): {xid}"))
        case _:
            pass
    return "".join(lines)


def _kernel_line(when: dt.datetime, first: str, *more: str) -> str:
    """One record of `dmesg --time-format iso`; further lines are indented below the first."""
    stamp = when.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S,%f+00:00 ")
    return "\n".join([stamp + first, *(" " * len(stamp) + line for line in more)]) + "\n"
