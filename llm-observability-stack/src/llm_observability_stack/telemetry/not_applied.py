"""What is told to the Prometheus operator and not applied: paused, failing, or passed by its selectors."""

from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.selectors import described

__all__ = ["not_applied", "rules_passed_by"]

_SAID_LIMIT = 200


def not_applied(observed: TelemetryState) -> str:
    """Why nothing that was added of late reaches Prometheus; empty where nothing says so."""
    for each in observed.prometheuses.or_else(()):
        if each.paused:
            return f"Prometheus {each.path} is paused (spec.paused): the operator applies nothing to it"
        state = each.conditions.get("Reconciled")
        if state is not None and state.status == "False":
            return (
                f"the operator cannot apply what Prometheus {each.path} is to have: {state.reason}: "
                f"{state.message[:_SAID_LIMIT]}"
            )
    return ""


def rules_passed_by(observed: TelemetryState) -> str:
    """By which selector Prometheus may pass rules by; empty where it takes all of them, or none was seen."""
    for each in observed.prometheuses.or_else(()):
        selector = each.selector("ruleSelector")
        if selector is None:
            return f"; Prometheus {each.path} has no ruleSelector, so it takes no rules"
        if selector:
            return f"; Prometheus {each.path} takes rules by its ruleSelector: {described(selector)}"
        if each.selector("ruleNamespaceSelector") is None:
            return (
                f"; Prometheus {each.path} has no ruleNamespaceSelector: it takes rules of its own namespace"
            )
    return ""
