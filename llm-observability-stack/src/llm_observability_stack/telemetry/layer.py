"""Layer 3: what it promises, how it is observed, and what Helm installs for it."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from edge_llm_tests.layer import Layer, Release
from edge_llm_tests.upstream import upstream_releases

from llm_observability_stack.telemetry.addresses import addresses
from llm_observability_stack.telemetry.contracts import CONTRACTS
from llm_observability_stack.telemetry.observe import observe
from llm_observability_stack.telemetry.reads import wanted_reads
from llm_observability_stack.telemetry.spec import TelemetrySpec

__all__ = ["LAYER"]

_PACKAGE = "llm_observability_stack"
_NAMESPACE = "llm-observability"


def _releases(values: Mapping[str, Any]) -> tuple[Release, ...]:
    """The Prometheus operator where a profile takes it, which brings the kinds that our chart then uses."""
    stack = upstream_releases(_PACKAGE, values, "kube-prometheus-stack")
    if "telemetry" not in values:
        return stack
    chart = files(_PACKAGE) / "charts" / "edge-telemetry"
    return (*stack, Release("telemetry", _NAMESPACE, "telemetry", chart, values["telemetry"]))


LAYER = Layer(
    name="telemetry",
    number=3,
    owner="llm-observability-stack",
    rungs=("telemetry",),
    spec_type=TelemetrySpec,
    observe=observe,
    contracts=CONTRACTS,
    package=_PACKAGE,
    reads=wanted_reads,
    services=addresses,
    releases=_releases,
)
