"""Evidence of the host's driver that surfaced above it: in events, in the states of containers, in logs.

It speaks where the host itself was not read: what its own nvidia-smi says now is the better witness.
"""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.objects import Event, Pod, events, pods
from edge_llm_tests.phrase import Phrase
from edge_llm_tests.reads import UnseenError

from k3s_nvidia_edge.host.nvidia_smi import SmiAnswer, classified
from k3s_nvidia_edge.host.xid import is_hardware

__all__ = [
    "Surfaced",
    "exhausted_watches",
    "plugin_hardware_xid",
    "surfaced",
    "unsatisfied_image",
    "unwritable_path",
]

_RECENT = timedelta(hours=1)  # the API server forgets events after an hour
_LOG = Phrase(r"/pods/([^/]+)/log\?")
_LOG_TAIL_LINES = 40
_PLATFORM = ("ollama", "device-plugin", "dcgm", "gpu-operator", "container-toolkit", "edge-exporter")
_REFUSED = "UnexpectedAdmissionError"  # a ghost where a replacement is ready, the last word where none is
_WORDS = Phrase(r"nvml|nvidia|gpu is lost|gpu_is_lost|fallen off", re.IGNORECASE)
_PLUGIN_XID = Phrase(r"XidCriticalError: Xid=(\d+) on Device=(\S+?)[;,]")
_WATCHES = Phrase(
    r"[^\n]*(?:inotify|fsnotify|watcher)[^\n]*"
    r"(?:too many open files|no space left on device|limit)[^\n]{0,60}",
    re.IGNORECASE,
)
_UNSATISFIED = Phrase(r"requirement error: unsatisfied condition: [^\n]{1,120}")
_UNWRITABLE = Phrase(
    r"[^\s\"']*/(?:var/lib/(?:kubelet|rancher|containerd)|run/(?:k3s|containerd))/(?:(?!rootfs/)\S)*"
    r": read-only file system",
    re.IGNORECASE,
)
"""A path of the node's own; below a container's rootfs, it is the container that is read-only on purpose."""
_NO_DRIVER = ("libnvidia-ml.so.1: cannot open", "driver not loaded", "driver_not_loaded")
_SAID_LIMIT = 220


class Surfaced(msgspec.Struct, frozen=True):
    """What the cluster tells of the driver.

    Attributes:
        answer: Kind of failure, in nvidia-smi's terms.
        said: The words.
        where: Which object said them.
    """

    answer: SmiAnswer
    said: str
    where: str


def surfaced(recording: Recording) -> Surfaced | None:
    """The newest sign of a driver failure, or None. Use as `recording.view(surfaced)`."""
    for where, said in _sayings(recording):
        if not _WORDS.search(said):
            continue
        answer = classified(said)
        if answer in (SmiAnswer.MISMATCH, SmiAnswer.LOST, SmiAnswer.NOT_COMMUNICATING):
            return Surfaced(answer, _around(said), where)
        if "nvidia-container-cli" in said and any(word in said.lower() for word in _NO_DRIVER):
            return Surfaced(SmiAnswer.NOT_COMMUNICATING, _around(said), where)
    return None


def plugin_hardware_xid(recording: Recording) -> tuple[int, str] | None:
    """The last Xid for which a device plugin's log calls a device unhealthy, if it is the hardware's."""
    for key in recording.matching("api:/api/v1/namespaces/"):
        if "device-plugin" not in key or "previous=true" in key:
            continue
        found = _PLUGIN_XID.findall(_log(recording, key))
        if found and is_hardware(int(found[-1][0])):
            return int(found[-1][0]), found[-1][1]
    return None


def exhausted_watches(recording: Recording) -> str:
    """Who could not watch a file for want of inotify instances or watches; empty where nobody complains.

    Use as `recording.view(exhausted_watches)`.
    """
    return _first_said(recording, _WATCHES, str.strip)


def unsatisfied_image(recording: Recording) -> str:
    """What a container that does not start asks of the driver and does not get; empty where none does.

    Use as `recording.view(unsatisfied_image)`.
    """
    return _first_said(recording, _UNSATISFIED, of=_is_promised)


def unwritable_path(recording: Recording) -> str:
    """Who could not be started for a file system of the node that is read-only; empty where nobody.

    Use as `recording.view(unwritable_path)`.
    """
    return _first_said(recording, _UNWRITABLE, lambda said: said[-_SAID_LIMIT:])


def _is_promised(pod: Pod) -> bool:
    """Whether a pod is of the platform: what a stranger's image asks for is the stranger's matter."""
    return any(word in container.image for container in pod.containers for word in _PLATFORM)


def _first_said(
    recording: Recording,
    pattern: Phrase,
    shown: Callable[[str], str] = lambda said: said,
    of: Callable[[Pod], bool] | None = None,
) -> str:
    """Who said first what the pattern finds, and that, as `shown`; empty where nobody did."""
    for where, said in _sayings(recording, of):
        if found := pattern.search(said):
            return f"{where}: {shown(found[0])}"
    return ""


def _sayings(recording: Recording, of: Callable[[Pod], bool] | None = None) -> Iterator[tuple[str, str]]:
    """Who said what, of the pods that are meant, the surest first: states, then events, then logs."""
    unready: set[str] = set()
    every = recording.view(pods).or_else(())
    for pod in _refused(every):
        unready.add(pod.name)
        yield f"pod {pod.path}", pod.message
    for pod in every:
        if pod.finished or pod.ready or (of is not None and not of(pod)):
            continue
        unready.add(pod.name)
        yield from _of_pod(pod)
    for event in reversed(recording.view(events).or_else(())):
        if event.warning and _is_recent(event, recording) and event.about[2] in unready:
            yield f"event {event.reason} of {event.about[1]}/{event.about[2]}", event.message
    for key in recording.matching("api:/api/v1/namespaces/"):
        named = _LOG.search(key)
        if named and named[1] in unready:
            yield f"log of {named[1]}", "\n".join(_log(recording, key).splitlines()[-_LOG_TAIL_LINES:])


def _refused(every: tuple[Pod, ...]) -> list[Pod]:
    """Pods that the kubelet did not admit and that none of the same owner has replaced; one of each owner."""
    found = {(pod.namespace, pod.owner): pod for pod in every if pod.finished and pod.reason == _REFUSED}
    ready = {(pod.namespace, pod.owner) for pod in every if pod.ready} if found else set()
    return [pod for owner, pod in found.items() if owner not in ready]


def _of_pod(pod: Pod) -> Iterator[tuple[str, str]]:
    for container in pod.containers:
        where = f"container {container.name} of {pod.path}"
        if not container.ready and container.state.message:
            yield where, container.state.message
        if not container.ready and container.last_state.message and not container.state.running:
            yield where, container.last_state.message


def _is_recent(event: Event, recording: Recording) -> bool:
    return event.last is not None and recording.now - event.last <= _RECENT


def _log(recording: Recording, key: str) -> str:
    try:
        body = recording.api(key.removeprefix("api:")).answer
    except UnseenError:
        return ""
    return body if isinstance(body, str) else ""


def _around(said: str) -> str:
    """The part of a long message that names the driver."""
    flat = re.sub(r"\s+", " ", said)
    found = _WORDS.search(flat)
    lowered = flat.lower()
    at = lowered.find("mismatch")
    start = max(0, (at if at >= 0 else found.start() if found else 0) - _SAID_LIMIT // 2)
    return flat[start : start + _SAID_LIMIT]
