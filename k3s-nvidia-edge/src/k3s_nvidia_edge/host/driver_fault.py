"""Why the driver does not serve its cards: what the kernel log, the bus and nvidia-smi say together."""

import re

from edge_llm_tests.phrase import Phrase

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.host.kernel_log import KernelLog
from k3s_nvidia_edge.host.pci import PciBus

__all__ = ["bus_loss", "initialisation_fault", "probe_fault", "refused_cards", "unloaded_fault"]

_SIGNATURE = (
    "unavailable key is rejected",
    "key was rejected by service",
    "required key not available",
    "unsigned module loading is restricted",
    "signature not signed with a trusted key",
    "is rejected by lockdown",
)
_WRONG_KERNEL = ("version magic", "disagrees about version of symbol", "unknown symbol", "exec format error")
_FIRMWARE = ("gsp", "gfw_boot", "firmware", "vbios", "wpr2")
_PROBE_FAILED = ("probe routine failed", "assigned to your nvidia device is invalid")
_NO_WINDOW = Phrase(r"BAR\d+ is 0M")
_INIT = ("rminitadapter", "rm_init_adapter", "failed to initialize the nvidia kernel module")
_BUS_LOSS = Phrase(
    r"fallen off the bus|gpu is lost|severity=uncorrect(?:ed|able) \(fatal\)"
    r"|D3cold to D0, device inaccessible|AER: can't recover",
    re.IGNORECASE,
)
_HOT_UNPLUG = Phrase(r"pciehp.*(?:link down|card not present)", re.IGNORECASE)
_SECURE_BOOT_ON = Phrase(r"secure ?boot(?: is)? enabled", re.IGNORECASE)
_BRANCH = Phrase(r"(\d{3})\.xx")


def unloaded_fault(
    log: KernelLog | None,
    bus: PciBus | None,
    built: str | None,
    kernel: str,
    *,
    userspace: bool,
    in_container: bool,
) -> Fault:
    """Why the module is not loaded.

    Args:
        log: The kernel log, None where it was not seen.
        bus: The cards, None where they were not seen.
        built: Version of the module on the disk, empty where there is none, None where it was not seen.
        kernel: Release of the running kernel.
        userspace: Whether the driver's programs are installed.
        in_container: Whether a container of the cluster builds the module.
    """
    about = {"kernel": kernel}
    there_is_one = (
        built != "" or in_container
    )  # a refusal that names no module is about ours only if ours exists
    refused = log.said(*_SIGNATURE) if log is not None and there_is_one else None
    if log is not None and refused is not None and _names_nvidia_or_nothing(refused.text):
        secure = " with Secure Boot on" if log.last(_SECURE_BOOT_ON.search) else ""
        return Fault(
            "SignatureRefused",
            f"the kernel refused the NVIDIA module's signature{secure}: {refused.text.strip()!r}",
            about,
        )
    if log is not None and (fault := refused_cards(log)):
        return fault
    taken = [card for card in bus.cards if card.driver and card.driver != "nvidia"] if bus else []
    for card in taken:
        if card.driver == "nouveau":
            return Fault(
                "NouveauBound",
                f"kernel driver nouveau has the card {card.name} ({card.address}), so the NVIDIA"
                " module cannot",
                about,
            )
        return Fault(
            "OtherDriverBound",
            f"kernel driver {card.driver} has the card {card.name} ({card.address})",
            {**about, "driver": card.driver, "address": card.address},
        )
    if log is not None and (wrong := _nvidia_line(log, _WRONG_KERNEL)):
        return Fault(
            "ModuleNotBuilt", f"the module is built for another kernel than {kernel}: {wrong}", about
        )
    if log is not None and (fault := probe_fault(log)):
        return fault
    if built is None:
        return Fault("ModuleNotLoaded", f"no NVIDIA module is loaded into kernel {kernel}", about)
    if built:
        return Fault(
            "ModuleNotLoaded", f"module {built} is built for kernel {kernel}, and is not loaded", about
        )
    if userspace:
        return Fault(
            "ModuleNotBuilt",
            f"the driver's programs are installed, and there is no module for the running kernel {kernel}",
            about,
        )
    return Fault("DriverNotInstalled", f"no NVIDIA driver is installed for kernel {kernel}", about)


def refused_cards(log: KernelLog) -> Fault | None:
    """The driver has loaded, or tried to, and said that it does not drive this card."""
    said = log.said(
        "nvidia driver will ignore", "is not supported by the nvidia", "not supported by open nvidia.ko"
    )
    if said is not None and "open nvidia.ko" in said.text.lower():
        return Fault(
            "CardNeedsOtherModule",
            f"the open kernel module does not drive this card; the proprietary one does: {said.text.strip()}",
        )
    if said is not None and "legacy" in said.text.lower():
        branch = _BRANCH.search(said.text)
        return Fault(
            "CardNeedsLegacyBranch",
            f"the driver of this branch no longer supports the card and ignores it: {said.text.strip()}",
            {"branch": branch[1] if branch else "580"},
        )
    if said is not None:
        return Fault("CardTooNewForDriver", f"this driver does not know the card yet: {said.text.strip()}")
    if said := log.said("requires use of the nvidia open kernel modules"):
        return Fault(
            "CardNeedsOtherModule",
            f"this card is driven by the open kernel module alone: {said.text.strip()}",
        )
    return None


def probe_fault(log: KernelLog) -> Fault | None:
    """The module was loaded, found the card and went again, because it could not take it."""
    failed = log.said(*_PROBE_FAILED)
    if failed is None:
        return None
    cause = log.last(_NO_WINDOW.search) or log.said(*_INIT)
    window = cause is not None and _NO_WINDOW.search(cause.text) is not None
    why = " (the firmware, BIOS or UEFI, gave the card no memory window: Above 4G Decoding)" if window else ""
    said = "; ".join(line.text.strip() for line in (cause, failed) if line is not None)
    return Fault("ProbeFailed", f"the module found the card and could not take it{why}: {said}")


def initialisation_fault(log: KernelLog) -> Fault | None:
    """The module has the card and could not start it."""
    lines = [line.text.strip() for line in log.lines if "NVRM" in line.text]
    failed = [line for line in lines if any(word in line.lower() for word in _INIT)]
    firmware = [line for line in lines if _speaks_of_firmware(line)]
    if firmware:
        return Fault("FirmwareFailed", f"the card's GSP firmware does not start: {'; '.join(firmware[:3])}")
    if fault := probe_fault(log):
        return Fault("InitialisationFailed", fault.message)
    if failed:
        return Fault(
            "InitialisationFailed",
            "the module is loaded and the card cannot be initialised (RmInitAdapter failed; often a"
            " setting of"
            f" the firmware, BIOS or UEFI): {failed[-1]}",
        )
    return None


def bus_loss(log: KernelLog) -> str:
    """The newest message that says a card is gone from the bus, Xid or not; empty where there is none."""
    line = log.last(
        lambda text: _BUS_LOSS.search(text) is not None and ("NVRM" in text or "nvidia" in text)
    ) or log.last(_HOT_UNPLUG.search)
    return line.text.strip() if line else ""


def _speaks_of_firmware(line: str) -> bool:
    lowered = line.lower()
    return "Xid" not in line and (
        any(word in lowered for word in _FIRMWARE)
        and any(word in lowered for word in ("fail", "cannot", "did not find", "timeout", "unexpected"))
    )


def _names_nvidia_or_nothing(text: str) -> bool:
    """The kernel's refusal rarely names the module; one that names another is not about this one."""
    module = re.match(r"(?:Loading of module|module) '?([\w-]+)'?:", text)
    return module is None or "nvidia" in module[1]


def _nvidia_line(log: KernelLog, words: tuple[str, ...]) -> str:
    line = log.last(
        lambda text: (
            text.lower().startswith(("nvidia", "module nvidia"))
            and any(word in text.lower() for word in words)
        )
    )
    return line.text.strip() if line else ""
