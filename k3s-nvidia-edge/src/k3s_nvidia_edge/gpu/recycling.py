"""Sandboxes of the NVIDIA class that the kubelet kills and makes again, over and over."""

from datetime import timedelta

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.gpu.observe import GpuState
from k3s_nvidia_edge.gpu.spec import GpuSpec

__all__ = ["recycled"]

_TIMES_MIN = 3
_FRESH = timedelta(minutes=15)


def recycled(spec: GpuSpec, observed: GpuState) -> Fault | None:
    """Pods of the class alone whose sandbox changed again and again, the last time just now."""
    ours = {(pod.namespace, pod.name) for pod in observed.cast.of_class(spec.runtime_class)}
    times: dict[str, int] = {}
    for event in observed.events:
        if event.reason != "SandboxChanged" or event.count < _TIMES_MIN:
            continue
        if event.last is None or observed.now - event.last > _FRESH:
            continue
        if event.about[1:] not in ours:
            return None  # pods of other classes too: the node was restarted, or has another trouble
        times[f"{event.about[1]}/{event.about[2]}"] = event.count
    if not times:
        return None
    name, count = max(times.items(), key=lambda item: item[1])
    return Fault(
        "SandboxesRecycled",
        f"the sandboxes of {len(times)} pods of runtime class {spec.runtime_class} are killed and made again,"
        f" {name} {count} times, and of no other pod",
        {"pod": name.partition("/")[2], "namespace": name.partition("/")[0]},
    )
