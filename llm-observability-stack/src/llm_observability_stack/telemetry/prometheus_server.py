"""The Prometheus server seen from outside: why there is none, why it cannot write, why nobody reaches it."""

import re

from edge_llm_tests.objects import EndpointSlice, deployments

from llm_observability_stack.telemetry.addresses import service_of
from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.roles import PROMETHEUS, role_of_workload

__all__ = ["absence", "disk_full", "empty_service"]

_DISK_FULL = re.compile(r"no space left on device", re.IGNORECASE)
_SAID_LIMIT = 200


def absence(observed: TelemetryState) -> str:
    """What there is in place of a Prometheus pod."""
    found = observed.prometheuses.or_else(())
    if found:
        told = [
            f"{each.path}: {condition.reason} {condition.message}".strip()
            for each in found
            for condition in each.conditions.values()
            if condition.status == "False"
        ]
        told += [f"{each.path} wants {each.replicas} replicas" for each in found]
        return f"there is a Prometheus object and no pod of it ({told[0][:_SAID_LIMIT]})"
    for each in observed.recording.view(deployments).or_else(()):
        if role_of_workload(each) == PROMETHEUS:
            return f"no Prometheus pod exists; Deployment {each.path} wants {each.replicas}"
    return "no Prometheus is installed: neither a pod nor an object of it was found"


def disk_full(observed: TelemetryState) -> str | None:
    """Prometheus' own word, through a failing target or rule, that its volume is full."""
    told = [target.last_error for target in observed.targets.value.active] if observed.targets.seen else []
    if observed.rules.seen:
        told += [rule.last_error for group in observed.rules.value for rule in group.rules]
    full = next((each for each in told if _DISK_FULL.search(each)), None)
    return f"Prometheus cannot write its samples: {full[:_SAID_LIMIT]}" if full else None


def empty_service(observed: TelemetryState) -> str | None:
    """That the Service of a Ready Prometheus leads nowhere; None where it leads somewhere or was not seen."""
    if not (observed.services.seen and observed.slices.seen):
        return None
    service = service_of(PROMETHEUS, observed.services.value, observed.cast.value)
    if service is None:
        return "no Service leads to the Prometheus pod"
    if any(_leads(each, service.namespace, service.name) for each in observed.slices.value):
        return None
    return f"Service {service.path} has no ready endpoint although the Prometheus pod is Ready"


def _leads(each: EndpointSlice, namespace: str, name: str) -> bool:
    return each.namespace == namespace and each.service == name and bool(each.ready)
