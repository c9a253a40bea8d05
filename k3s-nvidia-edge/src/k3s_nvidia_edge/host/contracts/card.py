"""Promises about the cards: sound, usable for computing, licensed, cool."""

from edge_llm_tests import Result, contract, failed, passed, unknown

from k3s_nvidia_edge.host.denial import denied_access
from k3s_nvidia_edge.host.health import counter_fault, plugin_fault, slowdown_fault, xid_fault
from k3s_nvidia_edge.host.observe import HostState
from k3s_nvidia_edge.host.platform import Platform
from k3s_nvidia_edge.host.spec import HostSpec

__all__ = [
    "card_healthy",
    "device_nodes",
    "fabric",
    "inforom",
    "link_width",
    "not_throttled",
    "power_limit",
    "vgpu_licence",
]

_FABRIC_READY = ("completed", "success")


def _has_gpu(spec: HostSpec) -> bool:
    return spec.has_gpu


@contract(
    "host.card-healthy",
    "no card has uncorrectable errors, waits for a reset, or reported a hardware Xid",
    reasons=(
        "CardLost",
        "RowRemapFailed",
        "SramThresholdExceeded",
        "RowRemapPending",
        "UncorrectableEcc",
        "ResetRequired",
        "HardwareXid",
    ),
    after=("host.driver-answers", "host.cards-complete"),
    applies=_has_gpu,
)
def card_healthy(spec: HostSpec, observed: HostState) -> Result:
    """The card's counters and the kernel log; the plugin's word where the host was not read."""
    if observed.smi.seen:
        for card in observed.smi.value.cards:
            if fault := counter_fault(card):
                return fault.result
    if observed.log.seen and (fault := xid_fault(spec, observed, observed.log.value)):
        return fault.result
    if fault := plugin_fault(observed):
        return fault.result
    cards, _ = observed.cards, observed.log.value
    if cards:
        return passed(f"no uncorrectable error, no hardware Xid: {', '.join(str(card) for card in cards)}")
    return passed("no hardware Xid in the kernel log; ECC counters cannot be read on this host")


@contract(
    "host.device-nodes",
    "the device nodes that CUDA opens are there, nvidia-uvm among them",
    reasons=("UvmMissing", "DeviceNodeMissing", "LostInSuspend", "ComputeProhibited", "AccessDenied"),
    after=("host.driver-answers",),
    applies=_has_gpu,
)
def device_nodes(spec: HostSpec, observed: HostState) -> Result:
    """nvidia-smi needs no nvidia-uvm, CUDA does."""
    prohibited = [card for card in observed.cards if card.compute_mode == "Prohibited"]
    if prohibited:
        card = prohibited[0]
        return failed("ComputeProhibited", f"{card}: compute mode is Prohibited", address=card.bus_id)
    if observed.platform is not Platform.PCI:
        return passed("this kind of machine reaches its GPU by other device nodes than /dev/nvidia*")
    log = observed.log
    resumed = (
        log.value.since_driver_load.said("PM: suspend exit", "PM: hibernation: hibernation exit")
        if log.seen
        else None
    )
    if resumed and (said := observed.lost_in_suspend):
        return failed("LostInSuspend", f"the machine was suspended, and since then CUDA fails: {said}")
    devices = observed.devices.value
    if "/dev/nvidia-uvm" not in devices:
        loaded = observed.module.modules.or_else(frozenset())
        module = "" if "nvidia_uvm" in loaded else ", and module nvidia_uvm is not loaded"
        return failed("UvmMissing", f"/dev/nvidia-uvm is not there{module}: nvidia-smi works, CUDA cannot")
    wanted = [f"/dev/nvidia{card.minor}" for card in observed.cards if card.minor is not None]
    if missing := [node for node in ("/dev/nvidiactl", *(wanted or ["/dev/nvidia0"])) if node not in devices]:
        number = missing[0].removeprefix("/dev/nvidia")
        card_number = number if number.isdecimal() else "0"
        return failed("DeviceNodeMissing", f"{missing[0]} is not there", node=missing[0], number=card_number)
    if log.seen and (denied := denied_access(observed, log.value)):
        return failed("AccessDenied", f"a security module of the kernel denies containers the card: {denied}")
    return passed(f"{len(devices)} device nodes, nvidia-uvm among them")


@contract(
    "host.fabric",
    "the NVLink fabric is up, where there is one",
    reasons=("FabricNotReady", "FabricUnseen"),
    after=("host.driver-answers",),
    applies=_has_gpu,
)
def fabric(spec: HostSpec, observed: HostState) -> Result:
    """Behind NVSwitches no CUDA program starts before the fabric manager has set them up."""
    cards = observed.cards
    for card in cards:
        if card.fabric and card.fabric.lower() not in _FABRIC_READY:
            return failed(
                "FabricNotReady",
                f"{card}: the NVLink fabric is {card.fabric!r}; is the fabric manager running?",
            )
    switches = observed.bus.value.switches if observed.bus.seen else ()
    if not switches:
        return passed("no NVSwitch" if observed.bus.seen else "no card belongs to a fabric")
    if "system not yet initialized" in observed.cuda_failure.lower():
        return failed("FabricNotReady", f"{len(switches)} NVSwitches, and CUDA says: {observed.cuda_failure}")
    if any(card.fabric or card.processes for card in cards):
        return passed(f"{len(switches)} NVSwitches, and the cards compute")
    return unknown(
        "FabricUnseen", f"{len(switches)} NVSwitches; nothing shows whether their fabric manager runs"
    )


@contract(
    "host.vgpu-licence",
    "a virtual GPU has its licence",
    reasons=("VgpuUnlicensed",),
    after=("host.driver-answers",),
    applies=_has_gpu,
)
def vgpu_licence(spec: HostSpec, observed: HostState) -> Result:
    """Without one the hypervisor slows the card down to a crawl some minutes after the boot."""
    cards = observed.cards
    for card in cards:
        if card.virtual and not card.licence.lower().startswith("licensed"):
            return failed(
                "VgpuUnlicensed", f"{card} is a vGPU and its licence status is {card.licence or 'not told'!r}"
            )
    virtual = sum(card.virtual for card in cards)
    return passed(f"{virtual} virtual GPUs, all licensed" if virtual else "no card is a vGPU")


@contract(
    "host.not-throttled",
    "no card is slowed down to a fraction of its clock while it works",
    reasons=("ThermalSlowdown", "PowerBrake"),
    after=("host.driver-answers",),
    applies=_has_gpu,
)
def not_throttled(spec: HostSpec, observed: HostState) -> Result:
    """A hot card is no fault, nor a power limit that its owner set; half the clock gone is."""
    cards = observed.cards
    for card in cards:
        if fault := slowdown_fault(card):
            return fault.result
    return passed("no card is throttled" if cards else "no clock can be read on this host")


@contract(
    "host.link-width",
    "the cards' PCIe links are as wide as card and slot allow",
    reasons=("LinkNarrow",),
    after=("host.driver-answers",),
    required=False,
    applies=_has_gpu,
)
def link_width(spec: HostSpec, observed: HostState) -> Result:
    """A narrow link makes loading slower and breaks no promise."""
    for card in observed.cards:
        if card.link_width and card.link_width_max and card.link_width < card.link_width_max:
            return failed(
                "LinkNarrow",
                f"{card}: {card.link_width:.0f} PCIe lanes of {card.link_width_max:.0f}: models load"
                " more slowly",
            )
    return passed("full width")


@contract(
    "host.power-limit",
    "no power limit bites",
    reasons=("PowerLimited",),
    after=("host.driver-answers",),
    required=False,
    applies=_has_gpu,
)
def power_limit(spec: HostSpec, observed: HostState) -> Result:
    """A limit that the owner set is a matter of tuning."""
    for card in observed.cards:
        if card.power_cap:
            limit = f" of {card.power_limit_w:.0f} W" if card.power_limit_w else ""
            default = f", default {card.power_limit_default_w:.0f} W" if card.power_limit_default_w else ""
            return failed("PowerLimited", f"{card}: the power limit{limit}{default} holds the clock down")
    return passed("no power limit bites")


@contract(
    "host.inforom",
    "the cards' infoROMs are readable",
    reasons=("InforomCorrupted",),
    after=("host.driver-answers",),
    required=False,
    applies=_has_gpu,
)
def inforom(spec: HostSpec, observed: HostState) -> Result:
    """A corrupted infoROM costs counters and settings, not the card."""
    if observed.smi.value.inforom_corrupted:
        return failed("InforomCorrupted", "nvidia-smi warns that a card's infoROM is corrupted")
    return passed(f"no warning of {len(observed.cards)} cards")  # `cards` raises where none was looked at
