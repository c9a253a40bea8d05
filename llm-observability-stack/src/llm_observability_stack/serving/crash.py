"""Why a container that has its image does not run, or does not stay."""

from edge_llm_tests.contract import Result, failed, unknown
from edge_llm_tests.objects import Container, Event, Pod
from edge_llm_tests.reads import see

from llm_observability_stack.serving.memory_kill import killed_container, killed_inside
from llm_observability_stack.serving.observe import STARTING, ServingState
from llm_observability_stack.serving.unsteady import diagnose_flapping
from llm_observability_stack.serving.where import Where

__all__ = ["CRASH_REASONS", "diagnose_container", "diagnose_pod"]

CRASH_REASONS = (
    "Evicted",
    "LocalStorageLimit",
    "OomKilled",
    "HookFailed",
    "ListensOnLoopback",
    "ProbeKilled",
    "OtherPlatform",
    "InitFailed",
    "ConfigMissing",
    "ConfigRefused",
    "CannotStart",
    "CrashLoop",
    "Ended",
    "SandboxFailed",
    "VolumeNotMounted",
    "NotStarted",
    "NotReady",
    "Starting",
)
_CONFIG = frozenset({"CreateContainerConfigError"})
_CANNOT = frozenset({"CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun"})
_TAIL_LINES = 3
_TAIL_LIMIT = 240


def diagnose_pod(observed: ServingState, pod: Pod) -> Result | None:
    """What keeps a scheduled pod from running; None where all its containers run and are ready."""
    for container in pod.containers:
        if (found := diagnose_container(observed, pod, container)) is not None:
            return found
    if not pod.ready:
        return _not_ready(observed, pod)
    return killed_inside(observed, pod) or diagnose_flapping(observed, pod)


def diagnose_container(observed: ServingState, pod: Pod, container: Container) -> Result | None:
    """What keeps one container from running; None where it runs, or has done what it had to."""
    if container.init:
        return _init(observed, pod, container)
    where = _where(pod, container)
    if (oom := killed_container(observed, pod, container)) is not None:
        return oom
    about = observed.about(pod.namespace, pod.name, "Pod")
    waiting = container.state.waiting
    if waiting == "PostStartHookError" or (not container.ready and _event(about, "FailedPostStartHook")):
        said = _message(about, "FailedPostStartHook") or container.state.message
        return failed(
            "HookFailed",
            f"the postStart hook of container {container.name} of pod {pod.path} fails: {said}",
            independent=True,
            **where,
        )
    if waiting in _CONFIG and "not found" not in container.state.message.lower():
        return failed(
            "ConfigRefused",
            f"container {container.name} of pod {pod.path} cannot be made as it is configured: "
            f"{container.state.message}",
            independent=True,
            **where,
        )
    if waiting in _CONFIG:
        return failed(
            "ConfigMissing",
            f"pod {pod.path} refers to what is not there: {container.state.message}",
            independent=True,
            **where,
        )
    if waiting in _CANNOT or container.last_state.terminated in _CANNOT:
        # waiting in a crash loop says "back-off"; how the last start failed says why
        ended = container.last_state.message if container.last_state.terminated in _CANNOT else ""
        said = ended or container.state.message
        return failed(
            "CannotStart", f"container {container.name} of pod {pod.path} cannot start: {said}", **where
        )
    if waiting == "CrashLoopBackOff" or (container.state.terminated and not pod.finished):
        return _crash(observed, pod, container, about)
    if waiting:
        return _waiting(observed, pod, container, about)
    return None


def _init(observed: ServingState, pod: Pod, container: Container) -> Result | None:
    where = _where(pod, container)
    state = container.state
    if container.ready or state.exit_code == 0:
        return None
    if state.running:
        restarts_always = container.raw.get("restartPolicy") == "Always"
        if restarts_always:
            return None
        return unknown("Starting", f"init container {container.name} of pod {pod.path} still runs", **where)
    if state.waiting in ("", "PodInitializing", "ContainerCreating") and not state.terminated:
        return None if pod.ready else _waiting(observed, pod, container, ())
    return failed(
        "InitFailed",
        f"init container {container.name} of pod {pod.path} fails ({_how(container)})"
        f"{_tail(observed, pod, container)}",
        **where,
    )


def _crash(observed: ServingState, pod: Pod, container: Container, about: tuple[Event, ...]) -> Result:
    where = _where(pod, container)
    if changed := _event(about, "SandboxChanged"):
        return failed(
            "SandboxFailed",
            f"container {container.name} of pod {pod.path} is killed because its sandbox does not stay "
            f"({changed.count} times): {changed.message}",
            **where,
        )
    if any("probe" in event.message and event.reason == "Killing" for event in about):
        return _deaf(observed, pod) or failed(
            "ProbeKilled",
            f"container {container.name} of pod {pod.path} is killed by its own probe: "
            f"{_message(about, 'Unhealthy') or _message(about, 'Killing')}",
            **where,
        )
    if container.state.exit_code == 0 or (
        not container.state.terminated and container.last_state.exit_code == 0
    ):
        return failed(
            "Ended",
            f"container {container.name} of pod {pod.path} ends by itself (exit code 0): it serves nothing",
            **where,
        )
    tail = _tail(observed, pod, container)
    if "exec format error" in tail.lower():
        return failed(
            "OtherPlatform",
            f"container {container.name} of pod {pod.path} cannot run here: its image {container.image} is "
            f"made for another processor architecture{tail}",
            independent=True,
            image=container.image,
            **where,
        )
    return failed(
        "CrashLoop",
        f"container {container.name} of pod {pod.path} crashes ({_how(container)}, {container.restarts} "
        f"restarts){tail}",
        **where,
    )


def _deaf(observed: ServingState, pod: Pod) -> Result | None:
    """That probes fail because Ollama listens where no probe reaches it; more time would not help."""
    if not observed.loopback:
        return None
    return failed(
        "ListensOnLoopback",
        f"pod {pod.path} is asked by its probes in vain, for Ollama listens inside it only "
        f"({observed.loopback})",
        independent=True,
        pod=pod.name,
        namespace=pod.namespace,
    )


def _waiting(observed: ServingState, pod: Pod, container: Container, about: tuple[Event, ...]) -> Result:
    where = _where(pod, container)
    about = about or observed.about(pod.namespace, pod.name, "Pod")
    if sandbox := _event(about, "FailedCreatePodSandBox"):
        return failed("SandboxFailed", f"pod {pod.path} gets no sandbox: {sandbox.message}", **where)
    if mount := _event(about, "FailedMount") or _event(about, "FailedAttachVolume"):
        return failed("VolumeNotMounted", f"pod {pod.path} gets no volume: {mount.message}", **where)
    pulling = next((each for each in reversed(about) if each.reason in ("Pulling", "Pulled")), None)
    if pulling is not None and pulling.reason == "Pulling":
        return unknown("Starting", f"pod {pod.path} waits for its image: {pulling.message}", **where)
    if observed.age(pod) < STARTING:
        return unknown("Starting", f"pod {pod.path} starts since {observed.age(pod)}", **where)
    return failed(
        "NotStarted",
        f"container {container.name} of pod {pod.path} waits ({container.state.waiting or 'no state'}) since "
        f"{observed.age(pod)} and no event says for what",
        **where,
    )


def _not_ready(observed: ServingState, pod: Pod) -> Result:
    where: Where = {"pod": pod.name, "namespace": pod.namespace}
    changed = pod.conditions["Ready"].changed if "Ready" in pod.conditions else None
    started = [each.state.started for each in pod.containers if each.state.started is not None]
    since = max([*started, *([changed] if changed else [])], default=None)
    about = observed.about(pod.namespace, pod.name, "Pod")
    slow = [each.name for each in pod.containers if not each.ready and not each.init]
    said = (
        f"(container {', '.join(slow)}) {_message(about, 'Unhealthy')}"
        if slow
        else _message(about, "Unhealthy")
    )
    if since is not None and observed.now - since < STARTING:
        return unknown("Starting", f"pod {pod.path} runs since {since} and is not ready yet {said}", **where)
    if (deaf := _deaf(observed, pod)) is not None:
        return deaf
    return failed("NotReady", f"pod {pod.path} runs and is not ready since {since} {said}".rstrip(), **where)


def _how(container: Container) -> str:
    state = container.state if container.state.terminated else container.last_state
    return f"{state.terminated or container.state.waiting or 'unknown'}, exit code {state.exit_code}"


def _tail(observed: ServingState, pod: Pod, container: Container) -> str:
    """The last words of the container before its end, where they were read."""
    said = container.state.message if container.state.terminated else container.last_state.message
    for previous in (True, False):
        log = see(observed.recording.log, pod.namespace, pod.name, container.name, previous=previous)
        if not said and log.seen:
            lines = [line.strip() for line in log.value.splitlines() if line.strip()]
            said = " / ".join(lines[-_TAIL_LINES:])
    return f"; its last words: {said[-_TAIL_LIMIT:]}" if said else ""


def _event(about: tuple[Event, ...], reason: str) -> Event | None:
    return next((each for each in reversed(about) if each.reason == reason), None)


def _message(about: tuple[Event, ...], reason: str) -> str:
    found = _event(about, reason)
    return found.message if found else ""


def _where(pod: Pod, container: Container) -> Where:
    return {"pod": pod.name, "namespace": pod.namespace, "container": container.name}
