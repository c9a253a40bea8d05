"""What the kubelet says of sandboxes and containers that do not start, by whose trouble it is."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum, auto

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.objects import Event, Pod, events
from edge_llm_tests.phrase import Phrase

from k3s_nvidia_edge.gpu.cast import Cast, cast
from k3s_nvidia_edge.gpu.service_unit import units
from k3s_nvidia_edge.host.platform import boot_time

__all__ = ["Trouble", "TroubleKind", "is_recent", "mount_failure", "recent_events", "troubles"]

RECENT = timedelta(hours=1)  # the API server keeps events for an hour
_SANDBOX_REASONS = (
    "FailedCreatePodSandBox",
    "FailedCreatePodContainer",
    "Failed",
    "FailedSync",
    "FailedKillPod",
)


_OWN_WISH = Phrase(r"seccomp|apparmor|sysctl|user ?namespace|userns|idmap", re.IGNORECASE)
_RUNTIME_WAITS = ("CreateContainerError", "RunContainerError", "StartError")
_MOUNT_FAILURES = ("FailedMount", "FailedAttachVolume", "FailedMapVolume")


class TroubleKind(Enum):
    """Whose trouble it is."""

    NO_HANDLER = auto()
    RUNTIME_BINARY = auto()
    NETWORK = auto()
    SANDBOX_IMAGE = auto()
    STALE_LIBRARY = auto()
    CDI_DEVICE = auto()
    IMAGE_DEMAND = auto()
    DRIVER = auto()
    GPU_HOOK = auto()
    RUNTIME = auto()
    OTHER_SANDBOX = auto()


_STALE_LIBRARY = Phrase(r"lib(?:nvidia|cuda|nvcuvid)[\w.-]*?\.so\.(\d+\.\d+(?:\.\d+)?)\S*: no such file")

_KINDS = (
    (
        TroubleKind.NO_HANDLER,
        Phrase(r'no runtime for "|RuntimeHandler "[^"]*" not supported|unknown runtime handler'),
    ),
    (
        TroubleKind.RUNTIME_BINARY,
        Phrase(
            r"nvidia-container-runtime\S*: (?:executable file not found|no such file)"
            r"|exec: .*nvidia-container-runtime"
        ),
    ),
    (
        TroubleKind.SANDBOX_IMAGE,
        Phrase(r"(?:sandbox image|pause)[^\n]*(?:failed to|pull|not found|resolve)", re.IGNORECASE),
    ),
    (
        TroubleKind.NETWORK,
        Phrase(
            r"(?:set ?up network|failed to find plugin|cni plugin not initialized|networkPlugin|cni config)",
            re.IGNORECASE,
        ),
    ),
    (
        TroubleKind.CDI_DEVICE,
        Phrase(
            r"unresolvable CDI devices|failed to inject CDI devices|CDI device.* not found"
            r"|CDI device injection failed|failed to stat CDI host device",
            re.IGNORECASE,
        ),
    ),
    (TroubleKind.STALE_LIBRARY, _STALE_LIBRARY),
    (TroubleKind.IMAGE_DEMAND, Phrase(r"requirement error: unsatisfied condition")),
    (
        TroubleKind.DRIVER,
        Phrase(
            r"driver/library version mismatch|driver not loaded|gpu is lost|libnvidia-ml\.so",
            re.IGNORECASE,
        ),
    ),
    (
        TroubleKind.GPU_HOOK,
        Phrase(r"nvidia-container-(?:cli|runtime)|nvidia-ctk|nvidia-cdi-hook", re.IGNORECASE),
    ),
    (
        TroubleKind.RUNTIME,
        Phrase(
            r"^(?!.*(?:pull|resolve))[\s\S]*?(?:failed to reserve (?:sandbox|container) name"
            r"|context deadline exceeded|ttrpc: closed|containerd\.sock|transport is closing"
            r"|failed to start shim|shim (?:disconnected|exited)|fork/exec|resource temporarily unavailable"
            r"|/(?:var/lib/(?:rancher|kubelet|containerd)|run/(?:k3s|containerd))/"
            r"[^\n]*no space left on device)",
            re.IGNORECASE,
        ),
    ),
)


class Trouble(msgspec.Struct, frozen=True):
    """One pod that does not start, and the words of the kubelet or the runtime."""

    kind: TroubleKind
    pod: Pod
    said: str

    @property
    def is_vague(self) -> bool:
        """Whether the words do not tell containerd from the runtime that it starts."""
        return self.kind is not TroubleKind.RUNTIME or (
            "deadline" in self.said and "killing pod" not in self.said
        )

    @property
    def of_its_own_wish(self) -> bool:
        """Whether the pod asks for something that its node does not have."""
        return _OWN_WISH.search(self.said) is not None

    @property
    def version(self) -> str:
        """Version in the name of a library that is missing."""
        found = _STALE_LIBRARY.search(self.said)
        return found[1] if found else ""


def troubles(recording: Recording) -> tuple[Trouble, ...]:
    """The troubles of pods that are not ready now. Use as `recording.view(troubles)`.

    Raises:
        UnseenError: Pods or events were not seen.
    """
    players: Cast = recording.view(cast).value
    by_name = {(pod.namespace, pod.name): pod for pod in players.unsettled}
    found: dict[tuple[TroubleKind, str], Trouble] = {}
    horizon = _horizon(recording)
    for event in recent_events(recording):
        if horizon is not None and event.last is not None and event.last < horizon:
            continue
        pod = by_name.get(event.about[1:])
        if pod is not None and event.warning and event.reason in _SANDBOX_REASONS:
            kind = _kind(event.message, sandbox=event.reason == "FailedCreatePodSandBox")
            if kind is not None:
                found[kind, pod.path] = Trouble(kind, pod, _flat(event.message))
    for pod in players.unsettled:
        for said, by_runtime in _states(pod):
            kind = _kind(said, sandbox=False)
            if kind is not None and (by_runtime or kind is not TroubleKind.RUNTIME):
                found.setdefault((kind, pod.path), Trouble(kind, pod, _flat(said)))
    return tuple(found.values())


def _horizon(recording: Recording) -> datetime | None:
    """When the machine, or k3s on it, started last: what was said before may have been mended by that."""
    unit = recording.view(units).or_else({}).get("k3s")
    starts = [unit.since] if unit is not None and unit.since is not None else []
    if (boot := recording.view(boot_time)).seen:
        starts.append(boot.value)
    return max(starts, default=None)


def recent_events(recording: Recording) -> tuple[Event, ...]:
    """The events of the last hour. Use as `recording.view(recent_events)` or call it.

    Raises:
        UnseenError: Events were not seen.
    """
    return tuple(event for event in recording.view(events).value if is_recent(event.last, recording.now))


def mount_failure(recording: Recording, pod: Pod) -> str:
    """What the kubelet said last of a volume that it cannot mount; empty where it said nothing."""
    about = ("Pod", pod.namespace, pod.name)
    said = [each for each in recording.view(recent_events).or_else(()) if each.about == about]
    return next((each.message[:240] for each in reversed(said) if each.reason in _MOUNT_FAILURES), "")


def is_recent(moment: datetime | None, now: datetime) -> bool:
    """Whether something happened within the last hour."""
    return moment is not None and now - moment <= RECENT


def _states(pod: Pod) -> Iterator[tuple[str, bool]]:
    """What containers that are not ready say, and whether it is the runtime that says it."""
    for container in pod.containers:
        if container.ready:
            continue
        if container.state.message:
            yield container.state.message, container.state.waiting in _RUNTIME_WAITS
        if container.last_state.message and not container.state.running:
            yield (
                container.last_state.message,
                container.last_state.terminated == "StartError",
            )  # of one that runs again, the last end is past


def _kind(said: str, *, sandbox: bool) -> TroubleKind | None:
    for kind, words in _KINDS:
        if words.search(said):
            return kind
    return TroubleKind.OTHER_SANDBOX if sandbox else None


def _flat(said: str) -> str:
    return re.sub(r"\s+", " ", said).strip()
