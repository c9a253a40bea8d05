"""Deployments, ReplicaSets and DaemonSets."""

from collections.abc import Mapping
from typing import Any

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import integer, mapping, text
from edge_llm_tests.objects.meta import Meta
from edge_llm_tests.objects.pod import Container, PodSpec

__all__ = ["Workload", "daemonsets", "deployments", "replicasets"]


class Workload(Meta, frozen=True):
    """A controller of pods from one template."""

    kind: str = "Deployment"

    @property
    def replicas(self) -> int:
        """spec.replicas (1 where absent); for a DaemonSet the desired number."""
        if self.kind == "DaemonSet":
            return integer(self.raw, "status", "desiredNumberScheduled")
        return integer(self.raw, "spec", "replicas", default=1)

    @property
    def ready_replicas(self) -> int:
        """How many pods are ready."""
        return integer(self.raw, "status", "numberReady" if self.kind == "DaemonSet" else "readyReplicas")

    @property
    def strategy(self) -> str:
        """Deployment: RollingUpdate or Recreate."""
        return text(self.raw, "spec", "strategy", "type", default="RollingUpdate")

    @property
    def selector(self) -> Mapping[str, Any]:
        """spec.selector.matchLabels."""
        return mapping(self.raw, "spec", "selector", "matchLabels")

    @property
    def template(self) -> PodSpec:
        """Spec of the pods it makes."""
        return PodSpec(mapping(self.raw, "spec", "template", "spec"))

    @property
    def template_labels(self) -> Mapping[str, Any]:
        """Labels of the pods it makes."""
        return mapping(self.raw, "spec", "template", "metadata", "labels")

    @property
    def containers(self) -> tuple[Container, ...]:
        """Containers of its template, init containers first."""
        return self.template.containers({})


def deployments(recording: Recording) -> tuple[Workload, ...]:
    """All Deployments. Use as `recording.view(deployments)`."""
    return tuple(Workload(raw) for raw in recording.api("/apis/apps/v1/deployments").items)


def replicasets(recording: Recording) -> tuple[Workload, ...]:
    """All ReplicaSets. Use as `recording.view(replicasets)`."""
    return tuple(Workload(raw, "ReplicaSet") for raw in recording.api("/apis/apps/v1/replicasets").items)


def daemonsets(recording: Recording) -> tuple[Workload, ...]:
    """All DaemonSets. Use as `recording.view(daemonsets)`."""
    return tuple(Workload(raw, "DaemonSet") for raw in recording.api("/apis/apps/v1/daemonsets").items)
