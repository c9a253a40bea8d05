"""Promises about what arrives: exporters run, targets are up and in time, series are there and move."""

from collections.abc import Sequence

from edge_llm_tests.contract import Outcome, Result, contract, failed, passed, unknown
from msgspec.structs import replace

from llm_observability_stack.telemetry.gpu_exporter import (
    absent_exporter,
    exporter_fault,
    exporter_pods,
    nodes_without,
    proof_of_work,
)
from llm_observability_stack.telemetry.gpu_series import series_fault
from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.pod_trouble import Trouble
from llm_observability_stack.telemetry.refused import parked, refused
from llm_observability_stack.telemetry.roles import ALERTMANAGER, COMPANIONS, GPU_EXPORTER, PROMETHEUS, Cast
from llm_observability_stack.telemetry.scrape import ScrapeFault, clocks_differ, overdue, pod_of, scrape_fault
from llm_observability_stack.telemetry.spec import TelemetrySpec

__all__ = ["CONTRACTS", "gpu_exporter", "gpu_target", "samples", "series", "targets"]

_SCRAPE_REASONS = (
    "NothingDiscovered",
    "TargetMissing",
    "TargetDown",
    "TargetTimedOut",
    "TargetRefuses",
    "TargetUnreadable",
    "TargetSlow",
    "ScrapeStalled",
    "NotYetScraped",
)
_DARK = ("TargetMissing", "TargetDown", "TargetTimedOut")
_BELOW_GPU = (
    "host.driver-answers",
    "host.card-healthy",
    "gpu.node-ready",
    "gpu.cni",
    "gpu.runtime-handler",
    "gpu.runtime-class",
    "gpu.cdi",
    "gpu.sandboxes",
    "gpu.device-plugin",
    "gpu.allocatable",
    "gpu.operator",
)


def _wants_gpu_exporter(spec: TelemetrySpec) -> bool:
    return spec.gpu_exporter


@contract(
    "telemetry.gpu-exporter",
    "the GPU exporter runs and has found the card",
    reasons=(
        "GpuExporterMissing",
        "GpuExporterNotScheduled",
        "GpuExporterRefused",
        "NoRuntimeClass",
        "GpuLibraryMissing",
        "CdiSpecStale",
        "GpuExporterOutOfMemory",
        "GpuExporterImageUnavailable",
        "GpuExporterDown",
        "GpuExporterStarting",
    ),
    after=_BELOW_GPU,
    applies=_wants_gpu_exporter,
)
def gpu_exporter(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """It needs the same library as the device plugin does, and gets it by the same means."""
    pods = exporter_pods(observed)
    if not pods:
        reason, message = absent_exporter(observed)
        return failed(reason, message) if reason else passed(message)
    faults = [fault for pod in pods if (fault := exporter_fault(observed, pod)) is not None]
    if not faults and (bare := nodes_without(observed, pods)):
        return failed(
            "GpuExporterNotScheduled", f"no GPU exporter on node {', '.join(bare)}, which has a GPU"
        )
    if not faults:
        proof_of_work(observed, pods)
        return passed(f"runs: {', '.join(pod.path for pod in pods)}")
    fault = min(faults, key=lambda each: not each.own)
    message = f"{fault.message} (node {fault.pod.node or 'not chosen'})"
    if fault.reason == "GpuExporterStarting":
        return unknown(fault.reason, message)
    return failed(
        fault.reason,
        message,
        independent=fault.own,
        namespace=fault.pod.namespace,
        pod=fault.pod.name,
        workload=fault.pod.owner[1] if fault.pod.owner else fault.pod.name,
    )


@contract(
    "telemetry.targets",
    "Prometheus scrapes every promised target: up, in time, lately",
    reasons=("ExporterNotRunning", "ExporterRefused", "ExporterScaledToZero", *_SCRAPE_REASONS),
    after=("gpu.node-ready", "gpu.cni", "gpu.cluster-dns", "telemetry.prometheus", "telemetry.monitors"),
)
def targets(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """A target that is not there is as dark as one that is down, and no dashboard says so."""
    found = observed.targets.value
    beside = (role for role in COMPANIONS if role not in spec.targets and found.of(role))
    roles = (*spec.targets, *(role for role in beside if not _told_of_elsewhere(observed, role)))
    result = _scraped(observed, roles)
    if result.outcome is not Outcome.FAIL or result.reason not in _DARK or not observed.cast.seen:
        return result
    role = str(result.about["role"])
    if not observed.cast.value.of(role) and (said := refused(observed, role)):
        message = f"no pod of the {role} can be created: {said}"
        return replace(result, reason="ExporterRefused", message=message, independent=True)
    if not observed.cast.value.of(role) and (path := parked(observed, role)):
        namespace, _, name = path.partition("/")
        about = {**result.about, "namespace": namespace, "workload": name}
        message = f"{result.message}: Deployment {path} wants 0 replicas, somebody scaled it to zero"
        return replace(result, reason="ExporterScaledToZero", message=message, independent=True, about=about)
    trouble = observed.trouble(role)
    if trouble is None or trouble.kind == "Starting":
        return result if trouble is None else _still_starting(role, trouble)
    about = {**result.about, "namespace": trouble.namespace, "pod": trouble.pod}
    return replace(result, reason="ExporterNotRunning", about=about)


def _told_of_elsewhere(observed: TelemetryState, role: str) -> bool:
    """Whether another contract tells why a target is dark: a dead Alertmanager is one fault and not two."""
    return role == ALERTMANAGER and observed.cast.seen and observed.trouble(role) is not None


@contract(
    "telemetry.gpu-target",
    "Prometheus scrapes the GPU exporter: up, in time, lately",
    reasons=_SCRAPE_REASONS,
    after=(*_BELOW_GPU, "telemetry.prometheus", "telemetry.monitors", "telemetry.gpu-exporter"),
    applies=_wants_gpu_exporter,
)
def gpu_target(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """Apart from the other targets, for it stands on the card and they do not."""
    result = _scraped(observed, (GPU_EXPORTER,))
    if result.reason == "NothingDiscovered":
        return unknown(result.reason, f"{result.message}; see telemetry.targets")
    trouble = observed.trouble(GPU_EXPORTER) if observed.cast.seen and result.reason in _DARK else None
    if trouble is not None and trouble.kind == "Starting":
        return _still_starting(GPU_EXPORTER, trouble)
    return result


def _still_starting(role: str, trouble: Trouble) -> Result:
    return unknown(
        "NotYetScraped", f"the {role} has just been started, it is not scraped yet: {trouble.message}"
    )


def _scraped(observed: TelemetryState, roles: Sequence[str]) -> Result:
    found = observed.targets.value
    if not roles:
        return unknown("NotYetScraped", "the profile promises no target, so none was compared")
    if not found.active and not observed.just_started:
        return failed(
            "NothingDiscovered",
            "Prometheus discovers nothing: it has no target at all, not even itself",
            role=roles[0],
        )
    faults: dict[str, ScrapeFault] = {}
    who = observed.cast.or_else(Cast()).of(PROMETHEUS)
    homes = {pod.namespace for pod in who}
    for role in roles:
        near = homes if role in COMPANIONS else ()
        fault = scrape_fault(role, found, observed.now, just_started=observed.just_started, homes=near)
        if fault is not None:
            faults[role] = fault
    broken = {role: fault for role, fault in faults.items() if not fault.undecided}
    if broken and not clocks_differ(found, observed.now):
        role, fault = next(iter(broken.items()))
        message = "; ".join(each.message for each in broken.values())
        return failed(fault.reason, message + pod_of(observed, role), role=role)
    if faults:
        fault = next(iter(faults.values()))
        return unknown(fault.reason, "; ".join(each.message for each in faults.values()))
    return passed(f"up: {', '.join(roles)}")


@contract(
    "telemetry.samples",
    "what is scraped is stored: the series `up` has every promised target",
    reasons=("SamplesMissing", "SamplesOld"),
    after=("telemetry.prometheus", "telemetry.monitors", "telemetry.targets", "telemetry.gpu-target"),
)
def samples(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """A target list that is green says nothing of a store that takes no samples."""
    stored = observed.up.value
    up = [
        target
        for target in observed.targets.value.active
        if target.role in spec.targets and target.health == "up"
    ]
    known = {(str(sample.labels.get("job")), str(sample.labels.get("instance"))) for sample in stored}
    absent = [each.name for each in up if (each.job, str(each.labels.get("instance"))) not in known]
    if not stored and observed.just_started:
        return unknown("SamplesMissing", "no sample is stored yet: Prometheus has just started")
    if absent or not stored:
        return failed("SamplesMissing", f"no `up` series for {', '.join(absent) or 'any target'}")
    if (age := overdue(stored, observed.now)) is not None:
        message = f"the newest `up` is {age.total_seconds() / 60:.0f} min old"
        if clocks_differ(observed.targets.value, observed.now):
            return unknown("SamplesOld", f"{message}, as are all scrapes: a clock may be wrong")
        return failed("SamplesOld", message)
    return passed(f"{len(stored)} targets have their `up` series")


@contract(
    "telemetry.series",
    "the promised GPU series are there for every card, and name the pod that holds it",
    reasons=(
        "SeriesMissing",
        "NoSeries",
        "SeriesOld",
        "CardWithoutSeries",
        "PodNotNamed",
        "OtherPodNamed",
        "PodNotNamedYet",
        "NotYetScraped",
    ),
    after=(
        *_BELOW_GPU,
        "serving.gpu-request",
        "telemetry.prometheus",
        "telemetry.monitors",
        "telemetry.gpu-exporter",
        "telemetry.gpu-target",
        "telemetry.samples",
    ),
    applies=_wants_gpu_exporter,
)
def series(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """An absent Xid series is no proof of health: it hides what alerts wait for."""
    fault = series_fault(spec, observed)
    if fault is None:
        return passed("every promised series is there" + (", with its pod" if spec.gpu_pod_named else ""))
    if fault.undecided:
        return unknown(fault.reason, fault.message)
    return failed(fault.reason, fault.message, independent=fault.own, **observed.first_pod(GPU_EXPORTER))


CONTRACTS = (gpu_exporter, targets, gpu_target, samples, series)
