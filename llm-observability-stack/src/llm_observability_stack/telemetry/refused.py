"""Pods of a role that the API server refuses, and workloads of a role that want no pod."""

from collections.abc import Iterator

from edge_llm_tests.objects import Workload, deployments, refusal

from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.roles import role_of_name, role_of_workload

__all__ = ["parked", "refused"]

_SAID_LIMIT = 240


def refused(observed: TelemetryState, role: str) -> str:
    """Why no pod of `role` can be created; empty where nothing seen says so."""
    for workload in _of_role(observed, role):
        if said := refusal(observed.recording, workload.namespace, workload.name):
            return f"{workload.path}: {said[:_SAID_LIMIT]}"
    for event in reversed(observed.events.or_else(())):
        _, namespace, name = event.about
        if event.reason == "FailedCreate" and role_of_name(name) == role:
            return f"{namespace}/{name}: {event.message[:_SAID_LIMIT]}"
    return ""


def parked(observed: TelemetryState, role: str) -> str:
    """The Deployment of `role` that wants no pod; empty where there is none."""
    return next((each.path for each in _of_role(observed, role) if each.replicas == 0), "")


def _of_role(observed: TelemetryState, role: str) -> Iterator[Workload]:
    for workload in observed.recording.view(deployments).or_else(()):
        if role_of_workload(workload) == role:
            yield workload
