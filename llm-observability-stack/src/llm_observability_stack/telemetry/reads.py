"""The reads that telemetry wants: core reads first, then the logs of the pods that they showed."""

from edge_llm_tests.evidence import Recording
from edge_llm_tests.objects import Pod

from llm_observability_stack.telemetry.prometheus_api import ALERTS, query_path
from llm_observability_stack.telemetry.retention import LIMIT_SERIES
from llm_observability_stack.telemetry.roles import (
    ALERTMANAGER,
    EDGE_EXPORTER,
    GPU_EXPORTER,
    GRAFANA,
    PROMETHEUS,
    Cast,
    cast,
)
from llm_observability_stack.telemetry.spec import TelemetrySpec

__all__ = ["wanted_reads"]

_API = (
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/events",
    "/api/v1/services",
    "/api/v1/persistentvolumeclaims",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/daemonsets",
    "/apis/discovery.k8s.io/v1/endpointslices",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/nvidia.com/v1/clusterpolicies",
    "/apis/monitoring.coreos.com/v1/servicemonitors",
    "/apis/monitoring.coreos.com/v1/prometheuses",
)
_PROMETHEUS = (
    "/api/v1/targets?state=any",
    "/api/v1/rules",
    "/api/v1/alertmanagers",
    query_path("up"),
    query_path(ALERTS),
)
_TARGETS = "http:prometheus:/api/v1/targets?state=any"
_ALERTMANAGER = ("/api/v2/status", "/api/v2/alerts")
_LOGGED_WHEN_UNWELL = (PROMETHEUS, ALERTMANAGER, GRAFANA, EDGE_EXPORTER)


def wanted_reads(spec: TelemetrySpec, recording: Recording) -> tuple[str, ...]:
    """Keys of the reads, given what was seen so far."""
    series = spec.gpu_series if spec.gpu_exporter else ()
    who = recording.view(cast).or_else(Cast())
    logged = [pod for role in _LOGGED_WHEN_UNWELL for pod in who.of(role) if not pod.ready]
    if spec.gpu_exporter:
        logged += who.of(GPU_EXPORTER)
    # once Prometheus was asked at all: no core read, for one can judge without it
    refined = (f"http:prometheus:{query_path(LIMIT_SERIES)}",) if recording.has(_TARGETS) else ()
    return (
        *(f"api:{path}" for path in _API),
        *(f"http:prometheus:{path}" for path in _PROMETHEUS),
        *(f"http:prometheus:{query_path(name)}" for name in series),
        *(f"http:alertmanager:{path}" for path in _ALERTMANAGER),
        *refined,
        *(key for pod in logged for key in _logs(pod)),
    )


def _logs(pod: Pod) -> list[str]:
    keys = []
    for container in pod.containers:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/log"
        key = f"api:{path}?container={container.name}&tailLines=200"
        keys += [key, *([f"{key}&previous=true"] if container.restarts else [])]
    return keys
