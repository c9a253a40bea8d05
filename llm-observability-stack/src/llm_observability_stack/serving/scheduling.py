"""Why a pod has no node: the scheduler's words, and who holds what it waits for."""

import re
from collections.abc import Iterator

import msgspec
from edge_llm_tests.contract import Result, failed, unknown
from edge_llm_tests.fields import text
from edge_llm_tests.objects import Container, Node, Pod

from llm_observability_stack.serving.observe import STARTING, ServingState
from llm_observability_stack.serving.where import Where

__all__ = ["SCHEDULING_REASONS", "diagnose_pending", "gpu_resources"]

VENDOR = "nvidia.com/"
SCHEDULING_REASONS = (
    "RolloutDeadlock",
    "MoreReplicasThanGpus",
    "GpuHeld",
    "OtherResourceName",
    "NoGpuOffered",
    "TooFewGpusOnNode",
    "InsufficientCpu",
    "InsufficientMemory",
    "InsufficientStorage",
    "TooManyPods",
    "UntoleratedTaint",
    "NodeUnfit",
    "NoNodeMatches",
    "HostPortTaken",
    "KeptApart",
    "VolumeNotBound",
    "VolumeMissing",
    "VolumeElsewhere",
    "SchedulingGated",
    "Unschedulable",
    "NotYetScheduled",
)
_TAINT = re.compile(r"untolerated taint(?:s)?(?:\(s\))?(?: \{([^}]*)\})?")
_NODE_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


class Holder(msgspec.Struct, frozen=True):
    """A pod that holds some of a resource."""

    pod: Pod
    count: int


def gpu_resources(container: Container) -> dict[str, int]:
    """GPU resources that a container asks for, by name."""
    asked = {**container.requests, **container.limits}
    return {name: _count(value) for name, value in asked.items() if name.startswith(VENDOR)}


def _count(value: object) -> int:
    return int(str(value)) if str(value).isdecimal() else 0


def diagnose_pending(observed: ServingState, pod: Pod) -> Result:
    """Why `pod` has no node."""
    said = _said(observed, pod)
    if not said:
        if observed.age(pod) < STARTING:
            return unknown("NotYetScheduled", f"pod {pod.path} is new and waits for the scheduler")
        return failed(
            "Unschedulable",
            f"pod {pod.path} has no node and the scheduler says nothing: does a scheduler run?",
            pod=pod.name,
            namespace=pod.namespace,
        )
    where: Where = {"pod": pod.name, "namespace": pod.namespace}
    if "gated" in said.lower():
        return failed("SchedulingGated", f"pod {pod.path} is gated: {said}", **where)
    for name, count in _asked(pod).items():
        if f"Insufficient {name}" in said:
            return _lacking_gpu(observed, pod, name, count, said)
    for words, reason, what in _OTHERS:
        if re.search(words, said, re.IGNORECASE):
            return failed(reason, f"pod {pod.path} waits for {what}: {said}", independent=True, **where)
    return _placed_nowhere(observed, pod, said, where)


_OTHERS = (
    (r"Insufficient memory", "InsufficientMemory", "memory"),
    (r"Insufficient cpu", "InsufficientCpu", "CPU"),
    (r"Insufficient ephemeral-storage", "InsufficientStorage", "ephemeral storage"),
    (r"Too many pods", "TooManyPods", "room for one more pod"),
    (r"free ports for the requested pod ports", "HostPortTaken", "a port of the host that another pod has"),
    (r"pod anti-affinity|pod topology spread", "KeptApart", "a node that holds no pod it is kept apart from"),
)


def _placed_nowhere(observed: ServingState, pod: Pod, said: str, where: Where) -> Result:
    lower = said.lower()
    if "persistentvolumeclaim" in lower or "persistent volumes to bind" in lower:
        return _without_volume(observed, pod, said, where)
    if "volume node affinity" in lower:
        return failed(
            "VolumeElsewhere",
            f"pod {pod.path} may only run where its volume is, and cannot: {said}",
            **where,
        )
    if taint := _TAINT.search(said):
        key = (taint[1] or "").strip()
        if not key or key.startswith(_NODE_TAINTS):
            return failed("NodeUnfit", f"pod {pod.path} is kept off by the node's own state: {said}", **where)
        return failed(
            "UntoleratedTaint", f"pod {pod.path} does not tolerate the taint {{{key}}}: {said}", **where
        )
    if "were unschedulable" in lower:
        return failed("NodeUnfit", f"pod {pod.path} waits: the node is cordoned: {said}", **where)
    if "node affinity/selector" in lower or "node selector" in lower:
        return failed(
            "NoNodeMatches",
            f"no node has the labels that pod {pod.path} selects by: {said}",
            independent=True,
            **where,
        )
    return failed("Unschedulable", f"pod {pod.path} has no node: {said}", **where)


def _without_volume(observed: ServingState, pod: Pod, said: str, where: Where) -> Result:
    claims = [
        text(volume, "persistentVolumeClaim", "claimName")
        for volume in pod.spec.volumes
        if volume.get("persistentVolumeClaim")
    ]
    words = [
        event.message
        for claim in claims
        for event in observed.about(pod.namespace, claim, "PersistentVolumeClaim")
        if event.warning
    ]
    because = f" ({words[-1]})" if words else ""
    missing = "not found" in said or any("storageclass" in word and "not found" in word for word in words)
    return failed(
        "VolumeMissing" if missing else "VolumeNotBound",
        f"pod {pod.path} waits for its volume: {said}{because}",
        independent=missing,
        claim=claims[0] if claims else "",
        **where,
    )


def _said(observed: ServingState, pod: Pod) -> str:
    condition = pod.conditions.get("PodScheduled")
    if condition is not None and condition.reason == "SchedulingGated":
        return f"scheduling is gated: {condition.message}"
    if condition is not None and condition.message:
        return condition.message
    about = observed.about(pod.namespace, pod.name, "Pod")
    return next((each.message for each in reversed(about) if each.reason == "FailedScheduling"), "")


def _asked(pod: Pod) -> dict[str, int]:
    asked: dict[str, int] = {}
    for container in pod.containers:
        for name, count in gpu_resources(container).items():
            asked[name] = asked.get(name, 0) + count
    return asked


def _lacking_gpu(observed: ServingState, pod: Pod, name: str, count: int, said: str) -> Result:
    where: Where = {"pod": pod.name, "namespace": pod.namespace, "resource": name}
    known = observed.nodes.value
    most = max((node.offers(name) for node in known), default=0)
    if most == 0:
        others = _other_names(known, name)
        if others:
            return failed(
                "OtherResourceName",
                f"pod {pod.path} asks for {name}, which no node offers; offered: {', '.join(others)}",
                offered=others[0],
                **where,
            )
        return failed("NoGpuOffered", f"pod {pod.path} asks for {name}, which no node offers", **where)
    if count > most:
        return failed(
            "TooFewGpusOnNode",
            f"pod {pod.path} asks for {count} x {name}, and no node has more than {most}",
            **where,
        )
    holders = tuple(_holders(observed, pod, name))
    one = observed.installation
    own = [
        each
        for each in holders
        if one and any(each.pod.uid == mine.uid for mine in one.pods) and each.pod.owner != pod.owner
    ]
    names = ", ".join(f"{each.pod.path} ({each.count})" for each in holders)
    if own and one:
        strategy = one.workload.strategy if one.workload else "unknown"
        return failed(
            "RolloutDeadlock",
            f"pod {pod.path} waits for {name}, held by the old pod {own[0].pod.path} of the same rollout "
            f"(strategy {strategy}): the new one waits for the GPU, the old one for the new one",
            independent=True,
            holder=own[0].pod.name,
            **where,
        )
    if holders:
        first = holders[0].pod
        leaving = any(each.pod.terminating for each in holders)  # it makes room, once it can be ended
        if not leaving and pod.owner is not None and all(each.pod.owner == pod.owner for each in holders):
            return failed(
                "MoreReplicasThanGpus",
                f"pod {pod.path} waits for {name}, which its own replicas hold ({names}): Ollama wants more "
                "replicas than there are GPUs",
                independent=True,
                **where,
            )
        return failed(
            "GpuHeld",
            f"pod {pod.path} waits for {name}, which is held by {names}"
            f"{'; it is being deleted and has not ended' if leaving else ''}",
            independent=not leaving,
            holder=first.name,
            holder_namespace=first.namespace,
            **where,
        )
    return failed("Unschedulable", f"pod {pod.path} waits for {name} and no pod holds it: {said}", **where)


def _other_names(known: tuple[Node, ...], name: str) -> list[str]:
    return sorted(
        {
            other
            for node in known
            for other in node.allocatable
            if other.startswith(VENDOR) and other != name and node.offers(other) > 0
        }
    )


def _holders(observed: ServingState, waiting: Pod, name: str) -> Iterator[Holder]:
    for pod in observed.pods.value:
        if pod.node and not pod.finished and pod.uid != waiting.uid:
            count = _asked(pod).get(name, 0)
            if count:
                yield Holder(pod, count)
