"""The GPU operator: its policies, and the parts that it says are not ready."""

import re

from edge_llm_tests import Recording
from edge_llm_tests.fields import text
from edge_llm_tests.objects.meta import Meta
from edge_llm_tests.phrase import Phrase

__all__ = ["ClusterPolicy", "cluster_policies", "needs_monitoring_kind"]

_PATH = "/apis/nvidia.com/v1/clusterpolicies"
_NOT_FOUND = 404
_MISSING_KIND = Phrase(
    r"(?:no matches for kind|could not find the requested resource|crd|not (?:found|installed))[^\n]*"
    r"(?:servicemonitor|prometheusrule|monitoring\.coreos\.com)"
    r"|(?:servicemonitor|prometheusrule)[^\n]*(?:no matches|not (?:found|installed|registered)|crd)",
    re.IGNORECASE,
)
_STATES = Phrase(r"(?:states|operands) (?:not ready: \[([^\]]*)\]|([\w, -]+) not ready)")


class ClusterPolicy(Meta, frozen=True):
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


def needs_monitoring_kind(said: str) -> bool:
    """Whether words complain of a kind of the Prometheus operator that is not installed."""
    return _MISSING_KIND.search(said) is not None


def cluster_policies(recording: Recording) -> tuple[ClusterPolicy, ...]:
    """All policies; none where no operator is installed. Use as `recording.view(cluster_policies)`."""
    read = recording.api(_PATH)
    if read.problem is None and read.status == _NOT_FOUND:
        return ()
    return tuple(ClusterPolicy(raw) for raw in read.items)
