"""Why no node offers the promised GPU: withdrawn, under another name, cut up by MIG, or not at all."""

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.gpu.cast import Role
from k3s_nvidia_edge.gpu.observe import GpuState
from k3s_nvidia_edge.gpu.resources import MIG_PREFIX, plugin_xid
from k3s_nvidia_edge.gpu.spec import GpuSpec
from k3s_nvidia_edge.host.xid import APPLICATION

__all__ = ["offer_fault"]

_MIG_CONFIG = "nvidia.com/mig.config"
_MIG_STATE = "nvidia.com/mig.config.state"


def offer_fault(spec: GpuSpec, observed: GpuState) -> Fault | None:
    """The fault, or None where the promised resource is offered.

    Raises:
        UnseenError: The nodes were not seen.
    """
    wanted, offers = observed.wanted_resource, observed.offers
    needed = spec.gpus if wanted == spec.resource else 1
    offered = offers.get(wanted, 0)
    if fault := _mig_fault(spec, observed):
        return fault
    if offered >= needed:
        return None
    if gone := observed.withdrawn.get(wanted):
        return _unhealthy(wanted, offered, gone, observed)
    if fault := _mig_failed(wanted, offered, observed) or _mig_pending(wanted, observed):
        return fault
    other = [f"{count} x {name}" for name, count in offers.items() if name != wanted]
    if other:
        return Fault(
            "OtherResourceName",
            f"{offered} x {wanted} is offered, and {', '.join(other)}: MIG or time-slicing renamed"
            " the resource, and the"
            f" serving pod asks for {wanted}",
            {"resource": wanted, "offered": next(name for name in offers if name != wanted)},
        )
    if offered:
        return Fault(
            "FewerGpusOffered",
            f"{offered} x {wanted} is offered, the profile promises {needed}",
            {"resource": wanted},
        )
    names = ", ".join(node.name for node in observed.nodes[:3])
    return Fault("NoAllocatableGpu", f"0 x {wanted} is allocatable on {names}", {"resource": wanted})


def _mig_fault(spec: GpuSpec, observed: GpuState) -> Fault | None:
    """A whole GPU on offer that MIG has cut up, or MIG without a single device."""
    smi = observed.smi
    if smi is None or observed.wanted_resource != spec.resource or not any(card.mig for card in smi.cards):
        return None
    whole = sum(not card.mig for card in smi.cards)
    slices = {name: count for name, count in observed.offers.items() if name.startswith(MIG_PREFIX)}
    stale = observed.offers.get(spec.resource, 0) - whole
    if slices and stale > 0:
        return Fault(
            "WholeGpuUnderMig",
            f"MIG mode is enabled, and {stale} x {spec.resource} is still advertised beside"
            f" {', '.join(f'{count} x {name}' for name, count in slices.items())}: a pod that asks for"
            f" {spec.resource} gets no GPU; the MIG devices are there under the mig- names",
            {"resource": spec.resource, "offered": next(iter(slices))},
        )
    if not slices and not whole and not any(card.mig_devices for card in smi.cards):
        return Fault("MigWithoutDevices", f"MIG is enabled on {smi.cards[0]}, and it has no MIG device", {})
    return None


def _mig_failed(wanted: str, offered: int, observed: GpuState) -> Fault | None:
    """A change of MIG that its manager gave up."""
    node = next((node for node in observed.nodes if node.labels.get(_MIG_STATE) == "failed"), None)
    if node is None:
        return None
    return Fault(
        "MigConfigFailed",
        f"{offered} x {wanted} is offered: the MIG manager could not bring {node.name} to"
        f" {node.labels.get(_MIG_CONFIG, 'its MIG configuration')} ({_MIG_STATE} is failed)",
        {"node": node.name, "config": str(node.labels.get(_MIG_CONFIG, "all-disabled"))},
    )


def _mig_pending(wanted: str, observed: GpuState) -> Fault | None:
    """A slice that is asked for while MIG waits for a reset of its card."""
    cards = observed.smi.cards if observed.smi is not None and wanted.startswith(MIG_PREFIX) else ()
    waiting = next((card for card in cards if card.mig_pending and not card.mig), None)
    if waiting is None:
        return None
    return Fault(
        "MigPending",
        f"{wanted} is asked for, and MIG of {waiting} is pending: it comes with a reset of the card, and its"
        " devices have to be made then",
        {"resource": wanted, "address": waiting.bus_id},
    )


def _unhealthy(wanted: str, offered: int, gone: int, observed: GpuState) -> Fault:
    plugins = observed.of(Role.PLUGIN)
    number = next((found for pod in plugins if (found := plugin_xid(observed.logs(pod)))), "")
    whose = ", which is an application's" if number and int(number) in APPLICATION else ""
    why = f", for Xid {number}{whose}" if number else ""
    pod = plugins[0] if plugins else None
    return Fault(
        "GpuMarkedUnhealthy",
        f"{offered + gone} x {wanted} in capacity, {offered} allocatable: the device plugin has"
        f" marked {gone} unhealthy{why};"
        " it does not take that back by itself",
        {
            "resource": wanted,
            "namespace": pod.namespace if pod else "gpu-operator",
            "pod": pod.name if pod else "<device plugin pod>",
        },
    )
