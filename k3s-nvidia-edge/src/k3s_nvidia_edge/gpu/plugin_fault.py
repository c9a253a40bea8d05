"""Why a device plugin does not offer the card: refused, not started, crashing, or running and blind."""

import re

from edge_llm_tests.objects import Container, Event, Pod, Workload
from edge_llm_tests.phrase import Phrase

from k3s_nvidia_edge.fault import Fault

__all__ = ["is_registered", "pod_fault", "refusal"]

_BLIND = (
    "no devices found",
    "failed to initialize nvml",
    "could not load nvml",
    "error_library_not_found",
    "non-nvml platform",
    "incompatible strategy detected",
    "platform detection failed",
    "invalid device discovery strategy",
    "error_driver_not_loaded",
)
_PULL = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
_PULL_AGAIN = (
    "toomanyrequests",
    "too many requests",
    "rate limit",
    "no such host",
    "dial tcp",
    "i/o timeout",
    "connection refused",
    "tls handshake",
    "x509",
    "unreachable",
    "eof",
    "no space left",
)
"""Words of a pull that may succeed by itself, once network, registry or disk let it."""

_REGISTERED = Phrase(r"registered (?:device plugin|\S+ with \d+ device)", re.IGNORECASE)
_REFUSALS = ("FailedCreate", "FailedCreatePod")
_ERROR_LINE = Phrase(r"^(?:E\d{4}|F\d{4}|\S+ (?:ERROR|FATAL)|.*(?:level=(?:error|fatal)|[Ee]rror|[Ff]ail))")

_SURE_ERROR = Phrase(r"^[EF]\d{4} ")
_RETRIES = Phrase(
    r"failed to start (?:plugin|one or more plugins)|could not register|failed to register"
    r"|error waiting for MPS|failed to (?:get|construct|create) [\w ]*(?:plugins?|resource managers?)",
    re.IGNORECASE,
)

_OUT_OF_MEMORY = "OOMKilled"


def refusal(events: tuple[Event, ...], workload: Workload) -> Fault | None:
    """Why the API server refuses the pods of a DaemonSet: quota, policy, a webhook, a service account."""
    about = ("DaemonSet", workload.namespace, workload.name)
    said = next((each.message for each in reversed(events) if each.about == about and _refuses(each)), "")
    if not said:
        return None
    return Fault(
        "PluginRefused",
        f"the API server refuses the pods of the device plugin {workload.path}: {said[:300]}",
        {"namespace": workload.namespace, "daemonset": workload.name},
        independent=True,
    )


def _refuses(event: Event) -> bool:
    return event.warning and event.reason in _REFUSALS


def is_registered(log: str) -> bool:
    """Whether a plugin's log says that the kubelet has it."""
    return _REGISTERED.search(log) is not None


def pod_fault(
    pod: Pod, log: str, *, default_is_nvidia: bool, runtime_class: str, waits_for: str = ""
) -> Fault | None:
    """What is wrong with a device plugin's pod.

    Args:
        pod: The pod.
        log: Its last lines, empty where none were read.
        default_is_nvidia: Whether every pod gets the NVIDIA runtime.
        runtime_class: Name of the class that brings it.
        waits_for: What the kubelet says of a volume that it cannot mount; empty where it says nothing.
    """
    about = {
        "namespace": pod.namespace,
        "pod": pod.name,
        "daemonset": pod.owner[1] if pod.owner else pod.name,
    }
    for container in pod.containers:
        if container.state.waiting in _PULL:
            later = any(word in container.state.message.lower() for word in _PULL_AGAIN)
            return Fault(
                "PluginImageUnreachable" if later else "PluginImageMissing",
                f"the image {container.image} of {pod.path} cannot be pulled:"
                f" {container.state.message[-260:]}",
                {**about, "image": container.image},
            )
    if waiting := _waiting_init(pod):
        return Fault(
            "PluginWaits",
            f"device plugin {pod.path} waits in its init container {waiting.name}: {_end_of(waiting, '')}",
            {**about, "container": waiting.name},
        )
    said = _telling(log)
    for container in pod.containers:
        if container.init or not (container.state.waiting or container.state.terminated):
            continue
        last = _end_of(container, said)
        if container.state.waiting in ("ContainerCreating", "PodInitializing"):
            return Fault(
                "PluginNotStarted",
                f"device plugin {pod.path} has not started: {waits_for or container.state.waiting}",
                about,
            )
        if _is_blind(f"{said} {last}".lower()):
            hint = _class_hint(pod, default_is_nvidia=default_is_nvidia, runtime_class=runtime_class)
            return Fault(
                "PluginBlind", f"device plugin {pod.path} crashes, it cannot see the GPU: {last}{hint}", about
            )
        return Fault(
            "PluginCrashes",
            f"device plugin {pod.path} crashes ({container.restarts} restarts): {last}",
            about,
        )
    if _is_blind(said.lower()):
        hint = _class_hint(pod, default_is_nvidia=default_is_nvidia, runtime_class=runtime_class)
        state = "Running and Ready, and" if pod.ready else "Running, and"
        return Fault(
            "PluginBlind", f"device plugin {pod.path} is {state} cannot see the GPU: {said}{hint}", about
        )
    if pod.ready and _RETRIES.search(said):
        return Fault(
            "PluginRetries",
            f"device plugin {pod.path} is Running and Ready, and cannot start what it is to offer: {said}",
            about,
        )
    if not pod.ready:
        scheduled = pod.conditions.get("PodScheduled")
        why = f": {scheduled.message}" if scheduled is not None and not scheduled.true else ""
        return Fault("PluginNotStarted", f"device plugin {pod.path} is not ready ({pod.phase}){why}", about)
    return None


def _class_hint(pod: Pod, *, default_is_nvidia: bool, runtime_class: str) -> str:
    if pod.spec.runtime_class or default_is_nvidia:
        return ""
    return f"; its pod has no runtimeClassName {runtime_class} and containerd's default runtime is another"


def _is_blind(said: str) -> bool:
    return any(word in said for word in _BLIND)


def _waiting_init(pod: Pod) -> Container | None:
    return next(
        (
            each
            for each in pod.containers
            if each.init
            and not each.ready
            and (each.state.running or each.state.waiting == "CrashLoopBackOff")
        ),
        None,
    )


def _end_of(container: Container, said: str) -> str:
    ended = container.last_state.message or container.state.message
    words = " ".join((said or ended).split())[-300:] or "no words"
    if _OUT_OF_MEMORY in (container.last_state.terminated, container.state.terminated):
        return f"{_OUT_OF_MEMORY} at its memory limit; {words}"
    return words


def _telling(log: str) -> str:
    """The line of a log that tells most: the last one with an error, or the one that says it is blind."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    registered = max((i for i, line in enumerate(lines) if is_registered(line)), default=-1)
    after = lines[registered + 1 :]
    errors = [line for line in after if _ERROR_LINE.match(line) or _is_blind(line.lower())]
    blind = [line for line in errors if _is_blind(line.lower())]
    sure = [line for line in errors if _SURE_ERROR.match(line)]
    chosen = next((found[-1] for found in (blind, sure, errors) if found), "")
    return chosen[:300]
