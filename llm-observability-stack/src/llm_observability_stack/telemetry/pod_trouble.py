"""Why a pod does not do its work: one word for the kind, one sentence with what was seen."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from edge_llm_tests.objects import Container, Event, Pod

__all__ = ["Trouble", "pod_trouble", "worst_trouble"]

_DISK_FULL = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
_DENIED = re.compile(r"permission denied|operation not permitted|read-only file system", re.IGNORECASE)
_IMAGE_WAITS = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "RegistryUnavailable",
)
_STARTING = timedelta(minutes=2)  # a container that starts for longer than this is not just starting
_RECENT = timedelta(hours=1)
_FLAPPING = timedelta(days=1)
_FLAPS = 3
_SAID_LIMIT = 200


class Trouble(msgspec.Struct, frozen=True):
    """What is wrong with a pod.

    Attributes:
        kind: OutOfMemory, DiskFull, ImageUnavailable, Unschedulable, Crashing, NotStarted, NotReady or
            Starting.
        message: What was seen.
        namespace: The pod's namespace.
        pod: The pod's name.
    """

    kind: str
    message: str
    namespace: str
    pod: str

    @property
    def denied(self) -> bool:
        """Whether it crashes over a file that it may not open or write."""
        return self.kind == "Crashing" and _DENIED.search(self.message) is not None


def pod_trouble(pod: Pod, now: datetime, events: Sequence[Event] = (), log: str = "") -> Trouble | None:
    """The trouble of `pod`, or None where it is ready and was not killed lately.

    `events` and `log` may say more than the pod's status does; without them the status decides.
    """

    def trouble(kind: str, message: str) -> Trouble:
        return Trouble(kind, message, pod.namespace, pod.name)

    told = [event.message for event in events if event.about == ("Pod", pod.namespace, pod.name)]
    containers = pod.containers
    for container in containers:
        if (killed := _killed_lately(container, now)) is not None:
            return trouble("OutOfMemory", f"{pod.path}: {killed}")
    if pod.ready:
        return None
    evidence = [
        log,
        *told,
        *(state.message for each in containers for state in (each.state, each.last_state)),
    ]
    if (
        full := next((_line(text, _DISK_FULL) for text in evidence if _DISK_FULL.search(text)), None)
    ) is not None:
        return trouble("DiskFull", f"{pod.path}: {full}")
    scheduled = pod.conditions.get("PodScheduled")
    if not pod.node:
        why = (
            (scheduled.message if scheduled else "") or (told[-1] if told else "") or "no node was chosen yet"
        )
        return trouble("Unschedulable", f"{pod.path} waits for a node: {why[:_SAID_LIMIT]}")
    for container in containers:
        waiting = container.state.waiting
        if waiting in _IMAGE_WAITS:
            return trouble("ImageUnavailable", f"{pod.path}: {waiting} for {container.image}")
    for container in containers:
        state, last = container.state, container.last_state
        failed_init = container.init and state.terminated not in ("", "Completed")
        if (
            state.waiting
            in ("CrashLoopBackOff", "CreateContainerError", "CreateContainerConfigError", "RunContainerError")
            or (not container.init and state.terminated)
            or failed_init
        ):
            code = last.exit_code if last.exit_code is not None else state.exit_code
            killed = next((each for each in reversed(told) if "probe failed" in each.lower()), "")
            said = killed or _last_words(log) or _last_words(last.message) or state.message
            why = _telling(said or (told[-1] if told else ""))
            ended = f", last exit code {code}" if code is not None else ""
            return trouble(
                "Crashing",
                f"{pod.path}: container {container.name} is in {state.waiting or state.terminated} after "
                f"{container.restarts} restarts{ended}" + (f": {why}" if why else ""),
            )
    return _not_ready(pod, now, told)


def _not_ready(pod: Pod, now: datetime, told: Sequence[str]) -> Trouble:
    running = [each.state.started for each in pod.containers if each.state.running and not each.init]
    begun = max((each for each in running if each is not None), default=None) or pod.started or pod.created
    kind = "NotReady" if running else "NotStarted"
    if begun is not None and now - begun < _STARTING:
        kind = "Starting"
    age = f" for {_age(now - begun)}" if begun is not None else ""
    why = f": {told[-1][:_SAID_LIMIT]}" if told else ""
    state = "runs and is not ready" if running else "has not started"
    return Trouble(kind, f"{pod.path} {state}{age}{why}", pod.namespace, pod.name)


def _killed_lately(container: Container, now: datetime) -> str | None:
    for state in (container.state, container.last_state):
        if state.terminated != "OOMKilled":
            continue
        ended = state.finished
        since = now - ended if ended is not None else timedelta(0)
        if not container.ready or since < _RECENT or (since < _FLAPPING and container.restarts >= _FLAPS):
            limit = container.limits.get("memory", "none")
            return (
                f"container {container.name} was killed for its memory (limit {limit}), "
                f"{container.restarts} restarts"
            )
    return None


def _line(text: str, pattern: re.Pattern[str]) -> str:
    found = next((line for line in reversed(text.splitlines()) if pattern.search(line)), text)
    return found.strip()[:_SAID_LIMIT]


def _last_words(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    denied = [line for line in lines if _DENIED.search(line)]
    marked = [line for line in lines if re.search(r"\b(error|fatal|panic)\b", line, re.IGNORECASE)]
    return (denied or marked or lines or [""])[-1]


def _telling(line: str) -> str:
    """The part of a line that tells the cause: Go programs write it last, as `err=`."""
    return line if len(line) <= _SAID_LIMIT else f"... {line[-_SAID_LIMIT:]}"


def _age(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    return f"{int(span.total_seconds())} s" if minutes < 2 else f"{minutes} min"  # noqa: PLR2004 - "1 min" reads badly


def worst_trouble(troubles: Sequence[Trouble | None]) -> Trouble | None:
    """The trouble of a set of replicas: none where one of them is well; the gravest otherwise."""
    if not troubles or None in troubles:
        return None
    order = (
        "OutOfMemory",
        "DiskFull",
        "ImageUnavailable",
        "Crashing",
        "Unschedulable",
        "NotStarted",
        "NotReady",
    )
    return min(
        (each for each in troubles if each is not None),
        key=lambda each: order.index(each.kind) if each.kind in order else len(order),
    )
