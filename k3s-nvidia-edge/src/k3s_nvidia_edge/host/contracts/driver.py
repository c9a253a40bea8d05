"""Promises about the driver: it is loaded, has the cards, answers, and suits card and engine."""

from edge_llm_tests import Result, contract, failed, passed, unknown
from edge_llm_tests.reads import UnseenError

from k3s_nvidia_edge.host.answer_fault import answer_fault, surfaced_fault
from k3s_nvidia_edge.host.driver_fault import bus_loss, refused_cards, unloaded_fault
from k3s_nvidia_edge.host.elsewhere import other_machine
from k3s_nvidia_edge.host.kernel_log import KernelLog
from k3s_nvidia_edge.host.module import MODINFO_KEY
from k3s_nvidia_edge.host.nvidia_smi import SmiAnswer
from k3s_nvidia_edge.host.observe import HostState
from k3s_nvidia_edge.host.platform import Platform
from k3s_nvidia_edge.host.spec import HostSpec

__all__ = [
    "card_on_bus",
    "cards_complete",
    "driver_answers",
    "driver_current",
    "driver_fit",
    "driver_loaded",
]

_NO_LOG = KernelLog(())
_ENGINE_WITH_BOUND = (0, 30)  # the first Ollama whose CUDA backend needs a driver of branch 550
_LAST_BRANCH = {"Maxwell": "580", "Pascal": "580", "Volta": "580", "Kepler": "470"}


def _has_gpu(spec: HostSpec) -> bool:
    return spec.has_gpu


@contract(
    "host.card-on-bus",
    "the machine has as many NVIDIA cards as its profile says",
    reasons=("NoCardOnBus", "FewerCards", "CardFellOffBus", "OtherHostRead"),
    after=("host.memory-available",),
    applies=_has_gpu,
    terminal=("NoCardOnBus",),
)
def card_on_bus(spec: HostSpec, observed: HostState) -> Result:
    """The cards that the bus shows, or that the driver of a machine without such a bus lists."""
    if node := observed.elsewhere:
        return unknown("OtherHostRead", other_machine(node), node=node)
    smi = observed.smi
    listed = len(smi.value.cards) if smi.seen else 0
    if observed.platform is Platform.JETSON:
        return passed("a Jetson: its GPU is part of the chip and on no PCI bus")
    if observed.platform is Platform.WSL and smi.seen and not listed:
        return passed("WSL2: Windows has the card, and no PCI bus here shows it")
    if listed >= spec.gpus and (observed.platform is Platform.WSL or _no_lspci(observed)):
        return passed(f"the driver lists {listed} cards; this machine shows no PCI bus of its own")
    cards = observed.bus.value.cards
    if gone := [card for card in cards if card.gone]:
        return failed("CardFellOffBus", f"{gone[0].name} ({gone[0].address}) no longer answers on the bus")
    if len(cards) >= spec.gpus:
        return passed(f"{len(cards)} on the bus: {', '.join(card.name for card in cards)}")
    if listed >= spec.gpus:
        return passed(f"the driver lists {listed} cards, the PCI bus {len(cards)}")
    if loss := bus_loss(observed.log.or_else(_NO_LOG).since_driver_load):
        return failed("CardFellOffBus", f"{len(cards)} of {spec.gpus} cards on the bus: {loss}")
    if found := max(len(cards), listed):
        return failed("FewerCards", f"{found} NVIDIA cards are there, the profile says {spec.gpus}")
    return failed("NoCardOnBus", "lspci shows no NVIDIA card")


def _no_lspci(observed: HostState) -> bool:
    unseen = observed.bus.unseen
    return unseen is not None and unseen.reason == "Unavailable"


@contract(
    "host.driver-loaded",
    "the NVIDIA kernel module is loaded into the running kernel and takes the cards",
    reasons=(
        "DriverNotInstalled",
        "ModuleNotBuilt",
        "ModuleNotLoaded",
        "SignatureRefused",
        "NouveauBound",
        "OtherDriverBound",
        "CardNeedsLegacyBranch",
        "CardNeedsOtherModule",
        "CardTooNewForDriver",
        "ProbeFailed",
    ),
    after=("host.card-on-bus",),
    applies=_has_gpu,
)
def driver_loaded(spec: HostSpec, observed: HostState) -> Result:
    """The module is there, or the reason why it is not."""
    smi = observed.smi
    if smi.seen and smi.value.lists_cards:
        return passed(f"driver {smi.value.driver} has {len(smi.value.cards)} cards")
    if observed.platform is Platform.WSL and smi.seen:
        return passed("WSL2: the driver is that of Windows")
    if observed.platform is Platform.JETSON:
        if observed.module.modules.value & {"nvgpu", "nvidia"}:
            return passed("the Jetson's GPU module is loaded")
        return failed(
            "ModuleNotLoaded", "neither nvgpu nor nvidia is loaded on this Jetson", kernel=observed.kernel
        )
    log = observed.log.or_else(_NO_LOG)
    bus = observed.bus.value if observed.bus.seen else None
    if observed.module.loaded:
        fault = refused_cards(log.since_driver_load) if smi.seen else None
        if fault is not None:
            return fault.result
        if bus is None or not bus.cards or any(card.driver == "nvidia" for card in bus.cards):
            return passed(f"module {observed.module.loaded_version.or_else('nvidia') or 'nvidia'} is loaded")
    built = observed.module.built_version
    userspace = smi.seen and smi.value.answer is not SmiAnswer.NOT_INSTALLED
    return unloaded_fault(
        log if observed.log.seen else None,
        bus,
        built.value if built.seen else None,
        observed.kernel,
        userspace=userspace,
        in_container=observed.driver_in_container,
    ).result


@contract(
    "host.driver-answers",
    "nvidia-smi lists the cards, in time",
    reasons=(
        "DriverMismatch",
        "DriverTimedOut",
        "FirmwareHangs",
        "FirmwareFailed",
        "InitialisationFailed",
        "NoDevicesFound",
        "CardFellOffBus",
        "DriverDoesNotAnswer",
        "DriverProgramsMissing",
        "NvidiaSmiMissing",
        "WindowsDriverFails",
    ),
    after=("host.driver-loaded", "host.memory-available"),
    applies=_has_gpu,
)
def driver_answers(spec: HostSpec, observed: HostState) -> Result:
    """The driver was asked and answered; where it could not be asked, what the cluster tells of it."""
    smi = observed.smi
    if not smi.seen:
        fault = surfaced_fault(observed)
        return (
            fault.result if fault else passed(f"{smi.value}")
        )  # `value` raises: unknown, with the read's reason
    report = smi.value
    if report.lists_cards:
        return passed(f"driver {report.driver} answers with {len(report.cards)} cards")
    if report.answer is SmiAnswer.NOT_INSTALLED and observed.platform is Platform.JETSON:
        return passed("a Jetson has no nvidia-smi; whether its GPU module is loaded is asked below")
    if report.answer is SmiAnswer.NOT_INSTALLED and observed.module.loaded:
        if observed.driver_in_container and observed.container_driver_works:
            return passed(
                "the driver lives in a container, which is ready; its nvidia-smi is not on the host"
            )
        if fault := surfaced_fault(observed):
            return fault.result
        if observed.offers_gpu:
            return unknown(
                "NvidiaSmiMissing", "the module is loaded and nvidia-smi is not on the path of this host"
            )
    return answer_fault(report, observed).result


@contract(
    "host.cards-complete",
    "the driver lists every card that it has on the bus",
    reasons=("CardNotListed", "CardGivenAway"),
    after=("host.driver-answers",),
    applies=_has_gpu,
)
def cards_complete(spec: HostSpec, observed: HostState) -> Result:
    """As many cards as on the bus; a card that another driver has, on purpose or not, is not counted."""
    listed = {card.bus_id for card in observed.cards}
    if observed.platform is not Platform.PCI or (listed and _no_lspci(observed)):
        return passed(f"{len(listed)} cards listed; this machine shows no PCI bus to compare with")
    cards = observed.bus.value.cards
    if not listed:
        return passed(f"{len(cards)} on the bus; the driver lives in a container and was not asked")
    missing = [card for card in cards if card.driver == "nvidia" and card.address not in listed]
    if len(listed) < spec.gpus and not missing:
        missing = [card for card in cards if card.address not in listed]
    if missing and len(listed) < len(cards):
        first = missing[0]
        if first.driver not in ("", "nvidia"):
            return failed(
                "CardGivenAway",
                f"nvidia-smi lists {len(listed)} cards, the profile says {spec.gpus}: kernel driver"
                f" {first.driver} has the card {first.name} ({first.address})",
                driver=first.driver,
                address=first.address,
            )
        log = observed.log.or_else(_NO_LOG).since_driver_load
        about = log.last(
            lambda text: missing[0].address.rpartition(".")[0] in text.lower() and "NVRM" in text
        )
        return failed(
            "CardNotListed",
            f"nvidia-smi lists {len(listed)} of {len(cards)} cards: {missing[0].name}"
            f" ({missing[0].address}) is missing"
            f"{f': {about.text.strip()}' if about else ''}",
            address=missing[0].address,
        )
    return passed(f"{len(listed)} cards listed, {len(cards)} on the bus")


@contract(
    "host.driver-current",
    "the loaded driver is the installed one",
    reasons=("UpgradePending",),
    after=("host.driver-answers",),
    required=False,
    applies=_has_gpu,
)
def driver_current(spec: HostSpec, observed: HostState) -> Result:
    """An upgrade that waits for its reboot: with the next restart of a container it may be a mismatch."""
    loaded, built = observed.module.loaded_version.value, observed.module.built_version.value
    if loaded != built and built and loaded.startswith(built):
        raise UnseenError(f"command:{MODINFO_KEY}", "Malformed", f"{MODINFO_KEY}: {built} breaks off")
    if loaded and built and loaded != built:
        return failed("UpgradePending", f"driver {loaded} is loaded, {built} is installed: a reboot is due")
    return passed(f"driver {loaded or 'of this machine'}, and no other is installed")


@contract(
    "host.driver-fit",
    "the driver is new enough for the engine, and of a branch that still has the card",
    reasons=("DriverTooOldForEngine", "DriverTooOldForImage", "NoBranchFits"),
    after=("host.driver-answers",),
    applies=_has_gpu,
)
def driver_fit(spec: HostSpec, observed: HostState) -> Result:
    """Ollama from 0.30 falls back to the CPU on an older driver, and says so at debug level only."""
    if observed.platform is Platform.JETSON:
        return passed("a Jetson's driver comes with its own libraries")
    if (
        observed.smi.seen
        and observed.smi.value.answer is SmiAnswer.NOT_INSTALLED
        and not observed.engine_complaint
    ):
        return passed("the driver lives in a container; the engine does not complain of it")
    version = observed.driver_version
    branch = int(version.partition(".")[0])
    complaint = observed.engine_complaint
    if image := observed.unsatisfied_image:
        return failed("DriverTooOldForImage", f"driver {version} is too old for a container's image; {image}")
    if not complaint and branch >= spec.driver_branch_min:
        return passed(f"driver {version} is of branch {spec.driver_branch_min} or newer")
    if not complaint and observed.engine_version.value < _ENGINE_WITH_BOUND:
        return passed(f"driver {version} is enough for this engine, which is older than 0.30")
    cards = observed.smi.value.cards if observed.smi.seen else ()
    last = next((_LAST_BRANCH[card.architecture] for card in cards if card.architecture in _LAST_BRANCH), "")
    if last and int(last) < spec.driver_branch_min:
        return failed(
            "NoBranchFits",
            f"{cards[0]}: its last driver branch is {last}, the engine needs {spec.driver_branch_min}",
        )
    upper = f", and for this card not above branch {last}" if last else ""
    said = f"; the engine says: {complaint}" if complaint else ""
    return failed(
        "DriverTooOldForEngine",
        f"driver {version} is too old for Ollama, whose CUDA backend needs {spec.driver_branch_min}"
        f" or newer{upper}{said}",
        minimum=str(spec.driver_branch_min),
        branch=last or "580",
    )
