"""Promises about what collects: the monitoring CRDs, Prometheus, the monitors that it selects."""

from edge_llm_tests.contract import Result, contract, failed, passed, unknown

from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.operator_mode import (
    in_use,
    missing_crds,
    monitor_faults,
    unserved_kind,
)
from llm_observability_stack.telemetry.prometheus_server import absence, disk_full, empty_service
from llm_observability_stack.telemetry.refused import refused
from llm_observability_stack.telemetry.retention import cap_bytes, volume_bytes
from llm_observability_stack.telemetry.roles import PROMETHEUS
from llm_observability_stack.telemetry.spec import TelemetrySpec

__all__ = ["CONTRACTS", "monitoring_crds", "monitors", "prometheus", "retention"]

_CAP_SHARE = 0.8

_TROUBLES = {
    "OutOfMemory": "PrometheusOutOfMemory",
    "DiskFull": "PrometheusDiskFull",
    "ImageUnavailable": "PrometheusImageUnavailable",
    "Unschedulable": "PrometheusUnschedulable",
    "Crashing": "PrometheusCrashing",
    "NotStarted": "PrometheusNotStarted",
    "NotReady": "PrometheusReplaying",
}


@contract(
    "telemetry.monitoring-crds",
    "where the Prometheus operator is used, its kinds are known to the cluster",
    reasons=("CrdMissing",),
    after=("gpu.api",),
    terminal=("CrdMissing",),
)
def monitoring_crds(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """An operator without its CRDs does nothing, and takes others down that write its objects."""
    if (complaint := unserved_kind(observed)) is not None:
        return failed("CrdMissing", complaint)
    missing = missing_crds(observed)
    if not missing:
        return passed("the kinds of monitoring.coreos.com are there")
    if not spec.operator and not in_use(observed):
        return passed("no Prometheus operator is used here, so none of its kinds is needed")
    return failed("CrdMissing", f"not known to the cluster: {', '.join(missing)}")


@contract(
    "telemetry.prometheus",
    "Prometheus runs",
    reasons=(
        "PrometheusMissing",
        "PrometheusRefused",
        "PrometheusOutOfMemory",
        "PrometheusDiskFull",
        "PrometheusStoreDenied",
        "PrometheusImageUnavailable",
        "PrometheusUnschedulable",
        "PrometheusCrashing",
        "PrometheusNotStarted",
        "PrometheusReplaying",
        "PrometheusStarting",
        "PrometheusServiceEmpty",
    ),
    after=("gpu.api", "gpu.node-ready", "gpu.cni", "gpu.storage", "telemetry.monitoring-crds"),
    terminal=("PrometheusImageUnavailable",),
)
def prometheus(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """That it answers counts for more than what its pod says, a full disk for more yet."""
    if (full := disk_full(observed)) is not None:
        return failed("PrometheusDiskFull", full, **observed.first_pod(PROMETHEUS))
    if observed.prometheus_answers and not observed.cast.seen:
        return passed("Prometheus answers its API; its pod was not seen")
    trouble = observed.trouble(PROMETHEUS)
    if trouble is not None and (trouble.kind == "OutOfMemory" or not observed.prometheus_answers):
        if trouble.kind == "Starting":
            return unknown("PrometheusStarting", f"Prometheus is starting: {trouble.message}")
        return failed(
            "PrometheusStoreDenied" if trouble.denied else _TROUBLES[trouble.kind],
            f"Prometheus: {trouble.message}",
            namespace=trouble.namespace,
            pod=trouble.pod,
        )
    if observed.prometheus_answers:
        return passed("Prometheus answers its API")
    if not observed.cast.value.of(PROMETHEUS):
        if said := refused(observed, PROMETHEUS):
            return failed("PrometheusRefused", f"no Prometheus pod can be created: {said}")
        return failed("PrometheusMissing", absence(observed))
    if (service := empty_service(observed)) is not None:
        return failed("PrometheusServiceEmpty", service)
    return passed("the Prometheus pod is Ready; its API was not seen to answer")


@contract(
    "telemetry.monitors",
    "every promised exporter has a monitor that Prometheus selects and that finds its Service",
    reasons=(
        "MonitorMissing",
        "MonitorNotSelected",
        "MonitorNamespaceNotSelected",
        "MonitorMatchesNoService",
        "MonitorPortUnknown",
        "OperatorDown",
        "NotApplied",
        "SelectorUndecided",
    ),
    after=("gpu.api", "telemetry.monitoring-crds"),
)
def monitors(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """Release healthy, targets green, and the one you need absent: selectors fail in silence."""
    if not spec.operator and not observed.prometheuses.value:
        return passed("no Prometheus object: no operator decides what is scraped, the configuration does")
    faults, judged = monitor_faults(spec, observed)
    if faults:
        first = min(faults, key=lambda fault: fault.undecided)
        message = "; ".join(fault.message for fault in faults)
        if first.undecided:
            return unknown(first.reason, message, monitor=first.name, namespace=first.namespace)
        return failed(first.reason, message, monitor=first.name, namespace=first.namespace)
    if not judged:
        return unknown("MonitorMissing", "no ServiceMonitor of a promised exporter was seen, nor its target")
    return passed(f"selected: {', '.join(judged)}")


@contract(
    "telemetry.retention",
    "the size cap of Prometheus leaves a fifth of its volume to what is not capped",
    reasons=("NoSizeCap", "CapTooLarge", "CapUnseen"),
    after=("telemetry.prometheus",),
    required=False,
)
def retention(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """The cap counts blocks alone: the write-ahead log and compaction need room beside them."""
    volume, cap = volume_bytes(observed), cap_bytes(observed)
    if volume is None:
        return unknown("CapUnseen", "no volume claim of Prometheus was seen to compare its size cap with")
    if cap is None:
        return unknown("CapUnseen", "the size cap was not seen: not in the flags of Prometheus")
    if cap == 0:
        return failed("NoSizeCap", "Prometheus has no size cap: a growing number of series fills its volume")
    share = cap / volume
    if share > _CAP_SHARE:
        return failed(
            "CapTooLarge", f"the size cap is {share:.0%} of the volume, {_CAP_SHARE:.0%} are its limit"
        )
    return passed(f"the size cap is {share:.0%} of the volume")


CONTRACTS = (monitoring_crds, prometheus, monitors, retention)
