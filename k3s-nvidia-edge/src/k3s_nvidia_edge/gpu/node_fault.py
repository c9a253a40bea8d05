"""Whether a node is fit to run pods: its conditions now, and pressure that comes and goes."""

from datetime import datetime, timedelta

from edge_llm_tests.objects import Event, Node

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.gpu.spec import GpuSpec

__all__ = ["flapping_fault", "node_fault"]

_PRESSURES = {
    "DiskPressure": ("DiskPressure", "NodeHasDiskPressure", "disk pressure: its disk is nearly full"),
    "MemoryPressure": ("MemoryPressure", "NodeHasInsufficientMemory", "memory pressure"),
    "PIDPressure": ("PidPressure", "NodeHasInsufficientPID", "PID pressure: too many processes"),
}
_NETWORK = ("network not ready", "networkpluginnotready", "cni plugin not initialized", "cni config")
_FLAPS_MIN = 2
_WATCHED = frozenset({"Evicted", *(event for _, event, _ in _PRESSURES.values())})
_EVICTED_BY_NODE = "node was low on resource"


def node_fault(node: Node) -> Fault | None:
    """What the node's conditions say now."""
    about = {"node": node.name}
    conditions = node.conditions
    ready = conditions.get("Ready")
    if ready is not None and not ready.true:
        said = f"{ready.reason}: {ready.message}" if ready.message else ready.reason
        if any(word in said.lower() for word in _NETWORK):
            return Fault(
                "NodeNetworkNotReady", f"node {node.name} is not Ready, its network is not: {said}", about
            )
        if ready.status == "Unknown":
            return Fault("NodeSilent", f"node {node.name}: its kubelet has stopped reporting: {said}", about)
        return Fault("NodeNotReady", f"node {node.name} is not Ready: {said}", about)
    network = conditions.get("NetworkUnavailable")
    if network is not None and network.true:
        return Fault("NodeNetworkNotReady", f"node {node.name} has no network: {network.message}", about)
    for name, (reason, _, words) in _PRESSURES.items():
        condition = conditions.get(name)
        if condition is not None and condition.true:
            since = f" since {condition.changed:%Y-%m-%d %H:%M}" if condition.changed else ""
            return Fault(
                reason, f"node {node.name} is under {words}{since}; pods are evicted and kept away", about
            )
    if node.cordoned:
        return Fault("NodeCordoned", f"node {node.name} is cordoned: nothing new is scheduled on it", about)
    return None


def flapping_fault(
    spec: GpuSpec, nodes: tuple[Node, ...], events: tuple[Event, ...], now: datetime
) -> Fault | None:
    """Pressure on a node that was there several times within the window, or was there and evicted pods."""
    window = timedelta(minutes=spec.pressure_window_minutes)
    starts: dict[tuple[str, str], int] = {}
    evicted = 0
    for event in events:
        reason = event.reason
        if reason not in _WATCHED or event.last is None or now - event.last > window:
            continue
        if reason == "Evicted":
            evicted += _EVICTED_BY_NODE in event.message.lower()
        elif event.about[0] == "Node":
            key = (event.about[2], reason)
            starts[key] = starts.get(key, 0) + event.count
    if not starts:
        return None
    for node in nodes:
        for name, (_, event_reason, words) in _PRESSURES.items():
            times = starts.get((node.name, event_reason), 0)
            if times >= _FLAPS_MIN or (times and evicted):
                return Fault(
                    "PressureFlaps",
                    f"node {node.name}: {words}, {times} times within {spec.pressure_window_minutes} minutes,"
                    f" {evicted} pods evicted, though {name} is clear right now",
                    {"node": node.name},
                )
    return None
