"""What keeps a GPU exporter from its card, told from its pod, its log and its events."""

import re
from collections.abc import Sequence

import msgspec
from edge_llm_tests.objects import Pod, nodes
from edge_llm_tests.phrase import Phrase
from edge_llm_tests.reads import see

from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.pod_trouble import Trouble, pod_trouble
from llm_observability_stack.telemetry.refused import refused
from llm_observability_stack.telemetry.roles import GPU_EXPORTER

__all__ = [
    "ExporterFault",
    "absent_exporter",
    "exporter_fault",
    "exporter_pods",
    "nodes_without",
    "proof_of_work",
]

_SAID_LIMIT = 200

_NO_LIBRARY = Phrase(
    r"ERROR_LIBRARY_NOT_FOUND|cannot init NVML|fail(?:ed|ure)? to (?:load|init\w*) NVML|libnvidia-ml\.so|"
    r"NVML (?:library|shared library)|could not load NVML",
    re.IGNORECASE,
)
_STALE_FILE = Phrase(r"lib(?:nvidia|cuda)[\w.-]*?\.so\.(\d+\.\d+(?:\.\d+)?)")
_MOUNTING = Phrase(r"error mounting|failed to (?:mount|fulfil mount)|unresolvable CDI devices", re.IGNORECASE)
_LOADED = Phrase(r"Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)")


class ExporterFault(msgspec.Struct, frozen=True):
    """A fault of a GPU exporter's pod.

    Attributes:
        reason: A reason of `telemetry.gpu-exporter`.
        message: What was seen.
        pod: The pod.
        own: The fault is the exporter's own, whatever else is broken below.
    """

    reason: str
    message: str
    pod: Pod
    own: bool = False


def exporter_fault(observed: TelemetryState, pod: Pod) -> ExporterFault | None:
    """The fault of one GPU exporter pod, or None where it runs and found the card."""
    log = observed.log(pod)
    told = observed.events.or_else(())
    trouble = pod_trouble(pod, observed.now, told, log)
    blind = bool(_NO_LIBRARY.search(log))
    if trouble is None:
        if blind and not _found_later(log):
            return _blind(pod, f"{pod.path} is Ready and found no NVML library, so it has nothing to tell")
        return None
    said = "\n".join([*(event.message for event in told if event.about[2] == pod.name), trouble.message])
    if _MOUNTING.search(said) and (version := _STALE_FILE.search(said)) is not None:
        return ExporterFault("CdiSpecStale", _stale(observed, pod, version.group(1)), pod)
    if trouble.kind == "Crashing" and blind:
        return _blind(pod, f"{pod.path} ends with: no NVML library found ({trouble.message})")
    return ExporterFault(_reason(trouble), f"GPU exporter {trouble.message}", pod)


def _reason(trouble: Trouble) -> str:
    return {
        "OutOfMemory": "GpuExporterOutOfMemory",
        "ImageUnavailable": "GpuExporterImageUnavailable",
        "Starting": "GpuExporterStarting",
    }.get(trouble.kind, "GpuExporterDown")


def _found_later(log: str) -> bool:
    """Whether the log goes on to serve after the complaint: an earlier run's words do not count."""
    last = max((found.start() for found in _NO_LIBRARY.finditer(log)), default=0)
    return "Starting webserver" in log[last:] or "Listening on" in log[last:]


def _blind(pod: Pod, message: str) -> ExporterFault:
    spec = pod.spec
    injected = any(key.startswith("cdi.k8s.io/") for key in pod.annotations)
    if not spec.runtime_class and not injected:
        return ExporterFault(
            "NoRuntimeClass",
            f"{message}; it has no runtimeClassName and nothing else that brings the card",
            pod,
            own=True,
        )
    return ExporterFault("GpuLibraryMissing", message, pod)


def _stale(observed: TelemetryState, pod: Pod, version: str) -> str:
    message = (
        f"{pod.path} cannot start: a CDI specification or mount names a driver library of version {version}"
    )
    told = see(lambda: observed.recording.file("/proc/driver/nvidia/version").content).or_else("")
    loaded = _LOADED.search(told)
    return (
        f"{message}, the loaded driver is {loaded.group(1)}" if loaded else f"{message}, which is not there"
    )


def exporter_pods(observed: TelemetryState) -> tuple[Pod, ...]:
    """The live pods of the GPU exporter."""
    return observed.cast.value.of(GPU_EXPORTER)


def absent_exporter(observed: TelemetryState) -> tuple[str, str]:
    """Reason and message for a GPU exporter without a pod; no reason where it is scraped all the same."""
    if observed.targets.seen and any(each.health == "up" for each in observed.targets.value.of(GPU_EXPORTER)):
        return "", "the GPU exporter runs outside this cluster and is scraped"
    sets = observed.gpu_daemonsets.value
    if not sets:
        return "GpuExporterMissing", "no GPU exporter is deployed: no pod and no DaemonSet of one was found"
    if said := refused(observed, GPU_EXPORTER):
        return "GpuExporterRefused", f"no pod of the GPU exporter can be created: {said}"
    told = [
        event.message
        for event in observed.events.or_else(())
        if event.about[2] in {each.name for each in sets}
    ]
    message = f"DaemonSet {sets[0].path} wants {sets[0].replicas} pods and has none"
    return "GpuExporterNotScheduled", message + (f": {told[-1][:_SAID_LIMIT]}" if told else "")


def nodes_without(observed: TelemetryState, pods: Sequence[Pod]) -> tuple[str, ...]:
    """Ready nodes that have a GPU and no pod of the exporter.

    Raises:
        UnseenError: The nodes were not seen.
    """
    covered = {pod.node for pod in pods}
    return tuple(
        node.name
        for node in observed.recording.view(nodes).value
        if node.name not in covered
        and node.ready
        and any(node.has(name) for name in node.capacity if _gpu(name))
    )


def proof_of_work(observed: TelemetryState, pods: Sequence[Pod]) -> None:
    """See to it that something tells of the card: the exporter's log, or a series of it.

    Raises:
        UnseenError: Neither was seen.
    """
    named = [(pod, each.name) for pod in pods for each in pod.containers if not each.init]
    logs = [see(observed.recording.log, pod.namespace, pod.name, name) for pod, name in named]
    if any(log.seen for log in logs):
        return
    if not any(series.seen and series.value for series in observed.gpu_series.values()):
        _ = logs[0].value


def _gpu(resource: str) -> bool:
    return resource.startswith("nvidia.com/")
