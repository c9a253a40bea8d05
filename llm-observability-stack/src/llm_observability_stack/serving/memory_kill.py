"""Kills for want of host memory: of the container, inside of it, or of a machine that ran short."""

import re
from datetime import datetime, timedelta

from edge_llm_tests.contract import Result, failed
from edge_llm_tests.objects import Container, Pod
from edge_llm_tests.reads import see

from llm_observability_stack.serving.observe import ServingState

__all__ = ["killed_container", "killed_inside"]

_KERNEL_LOG = "dmesg --time-format iso"
_RECENT_KILL = timedelta(days=1)
_SAME_KILL = timedelta(minutes=2)


def killed_container(observed: ServingState, pod: Pod, container: Container) -> Result | None:
    """A container that was killed for its memory, lately or again and again; None for none."""
    now_ended = container.state.terminated == "OOMKilled"
    last = container.state if now_ended else container.last_state
    if last.terminated != "OOMKilled":
        return None
    finished = last.finished
    recent = finished is None or observed.now - finished <= _recurrence(pod, container, finished)
    if container.state.running and not recent:
        return None
    limit = container.limits.get("memory", "none")
    return failed(
        "OomKilled",
        f"container {container.name} of pod {pod.path} was OOMKilled at {finished}, {container.restarts} "
        f"restarts; its memory limit is {limit} (host memory, not the card's)",
        independent=not _host_killed(observed, finished),
        limit=str(limit),
        pod=pod.name,
        namespace=pod.namespace,
        container=container.name,
    )


def _host_killed(observed: ServingState, finished: datetime | None) -> bool:
    """Whether the kernel then killed for the whole machine's want of memory, which no limit decides."""
    kernel = see(lambda: observed.recording.command(_KERNEL_LOG).output)
    for line in kernel.or_else("").splitlines():
        if "constraint=CONSTRAINT_NONE" in line and finished is not None:
            at = see(datetime.fromisoformat, line.split(" ", 1)[0])
            if at.seen and at.value.tzinfo is not None and abs(at.value - finished) < _SAME_KILL:
                return True
    return False


def killed_inside(observed: ServingState, pod: Pod) -> Result | None:
    """A kill inside the container that the container survived: the kernel's log alone tells."""
    kernel = see(lambda: observed.recording.command(_KERNEL_LOG).output)
    names = (pod.uid, pod.uid.replace("-", "_"))
    for line in reversed(kernel.or_else("").splitlines()):
        if "constraint=CONSTRAINT_MEMCG" not in line or not any(name in line for name in names if name):
            continue
        at = see(datetime.fromisoformat, line.split(" ", 1)[0])
        if not at.seen or at.value.tzinfo is None or observed.now - at.value > _RECENT_KILL:
            return None
        killed = re.search(r"\btask=([^,]+)", line)
        return failed(
            "OomKilled",
            f"the kernel killed {killed[1] if killed else 'a process'} of pod {pod.path} at {at.value} at "
            "the container's memory limit (host memory, not the card's); the container itself went on",
            independent=True,
            pod=pod.name,
            namespace=pod.namespace,
        )
    return None


def _recurrence(pod: Pod, container: Container, finished: datetime) -> timedelta:
    """How long a kill stays news: a day, or twice the usual time between kills where there were several."""
    since = pod.started or pod.created
    if since is None or container.restarts < 2:  # noqa: PLR2004 - one kill has no rhythm
        return _RECENT_KILL
    return max(_RECENT_KILL, 2 * (finished - since) / container.restarts)
