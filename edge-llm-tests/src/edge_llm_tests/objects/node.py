"""Nodes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError, flag, mapping, objects, optional_text, text
from edge_llm_tests.objects.meta import Meta, moment

__all__ = ["Node", "nodes"]


class Node(Meta, frozen=True):
    """A node."""

    @property
    def ready(self) -> bool:
        """Whether condition Ready is True."""
        return self.holds("Ready")

    @property
    def heard(self) -> datetime | None:
        """When the kubelet last reported: the newest lastHeartbeatTime of its conditions."""
        times = (
            moment(optional_text(each, "lastHeartbeatTime"))
            for each in objects(self.raw, "status", "conditions")
        )
        return max((each for each in times if each is not None), default=None)

    @property
    def taints(self) -> tuple[Mapping[str, Any], ...]:
        """spec.taints, raw."""
        return objects(self.raw, "spec", "taints")

    @property
    def cordoned(self) -> bool:
        """spec.unschedulable."""
        return flag(self.raw, "spec", "unschedulable")

    @property
    def runtime(self) -> str:
        """Container runtime and version, for example `containerd://2.2.3-k3s1`."""
        return text(self.raw, "status", "nodeInfo", "containerRuntimeVersion")

    @property
    def kubelet_version(self) -> str:
        """Kubelet version, for example `v1.35.5+k3s1`."""
        return text(self.raw, "status", "nodeInfo", "kubeletVersion")

    @property
    def capacity(self) -> Mapping[str, Any]:
        """status.capacity, values as written."""
        return mapping(self.raw, "status", "capacity")

    @property
    def allocatable(self) -> Mapping[str, Any]:
        """status.allocatable, values as written."""
        return mapping(self.raw, "status", "allocatable")

    def offers(self, resource: str) -> int:
        """Allocatable count of an extended resource; 0 where it is absent."""
        return _count(self.allocatable, resource)

    def has(self, resource: str) -> int:
        """Capacity of an extended resource; 0 where it is absent."""
        return _count(self.capacity, resource)


def _count(quantities: Mapping[str, Any], resource: str) -> int:
    value = quantities.get(resource, "0")
    if isinstance(value, bool) or not str(value).isdecimal():
        raise MalformedError(f"{resource}: {value!r} is not a count")
    return int(str(value))


def nodes(recording: Recording) -> tuple[Node, ...]:
    """All nodes. Use as `recording.view(nodes)`."""
    return tuple(Node(raw) for raw in recording.api("/api/v1/nodes").items)
