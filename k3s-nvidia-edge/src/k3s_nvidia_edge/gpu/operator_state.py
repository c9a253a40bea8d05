"""The GPU operator: its policies, and the parts that it says are not ready."""

import re
from dataclasses import dataclass

from edge_llm_tests import Recording
from edge_llm_tests.fields import text
from edge_llm_tests.objects.meta import Meta

__all__ = ["ClusterPolicy", "cluster_policies"]

_PATH = "/apis/nvidia.com/v1/clusterpolicies"
_NOT_FOUND = 404
_MONITORING_CRD = re.compile(r"servicemonitor|prometheusrule|monitoring\.coreos\.com", re.IGNORECASE)
_STATES = re.compile(r"(?:states|operands) (?:not ready: \[([^\]]*)\]|([\w, -]+) not ready)")
_TELEMETRY_PARTS = ("dcgm", "exporter", "node-status")


@dataclass(frozen=True, slots=True)
class ClusterPolicy(Meta):
    """What an operator was told to run, and how far it is."""

    @property
    def state(self) -> str:
        """`ready`, `notReady`, `ignored` or `disabled`."""
        return text(self.raw, "status", "state")

    @property
    def said(self) -> str:
        """What its conditions say is wrong."""
        return " ".join(
            condition.message
            for name, condition in self.conditions.items()
            if condition.message and condition.true == (name == "Error")
        )

    @property
    def unready_parts(self) -> tuple[str, ...]:
        """Names of the parts that are not ready, as far as its conditions name them."""
        found = _STATES.search(self.said)
        return tuple(part for part in re.split(r"[,\s]+", (found[1] or found[2]) if found else "") if part)

    @property
    def only_telemetry_unready(self) -> bool:
        """Whether nothing but exporters is not ready: a matter of telemetry."""
        parts = self.unready_parts
        return bool(parts) and all(any(word in part for word in _TELEMETRY_PARTS) for part in parts)

    @property
    def wants_monitoring_crd(self) -> bool:
        """Whether it stops at a kind of the Prometheus operator that is not installed."""
        return _MONITORING_CRD.search(self.said) is not None


def cluster_policies(recording: Recording) -> tuple[ClusterPolicy, ...]:
    """All policies; none where no operator is installed. Use as `recording.view(cluster_policies)`."""
    read = recording.api(_PATH)
    if read.problem is None and read.status == _NOT_FOUND:
        return ()
    return tuple(ClusterPolicy(raw) for raw in read.items)
