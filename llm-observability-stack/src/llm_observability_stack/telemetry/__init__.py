"""Layer 3: metrics, rules and alerts arrive."""

from llm_observability_stack.telemetry.layer import LAYER
from llm_observability_stack.telemetry.spec import TelemetrySpec

__all__ = ["LAYER", "TelemetrySpec"]
