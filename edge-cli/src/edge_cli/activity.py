"""What goes on around releases, for whoever waits: pods that come and go, roll-outs, the last event."""

from collections.abc import Collection, Iterator

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError, integer
from edge_llm_tests.layer import Release
from edge_llm_tests.objects import Event, Pod, Workload, daemonsets, deployments, events, pods

__all__ = ["last_event", "rolling_out", "unfinished"]

# a container that waits for one of these waits for a person, or for a back-off that says nothing new
_SETTLED_WAITS = frozenset(
    {
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    }
)


def rolling_out(recording: Recording, namespaces: Collection[str]) -> bool:
    """Whether pods of these namespaces still come or go by themselves; also where that cannot be seen."""
    seen = recording.view(pods)
    if not seen.seen:
        return True
    try:
        return any(_moves(pod) for pod in seen.value if pod.namespace in namespaces)
    except MalformedError:
        return True


def _moves(pod: Pod) -> bool:
    if pod.terminating:
        return True
    if pod.finished:
        return False
    if pod.owner is not None and pod.owner[0] == "Job":
        return not _settled(pod)
    return not pod.ready and not _settled(pod)


def _settled(pod: Pod) -> bool:
    scheduled = pod.conditions.get("PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return True
    return any(container.state.waiting in _SETTLED_WAITS for container in pod.containers)


def unfinished(recording: Recording, releases: Collection[Release]) -> str:
    """The first workload of these releases whose pods are not all of its latest template; empty if none.

    Right after an upgrade the pods from before it still run, and contracts hold on them.
    """
    for kind, workload in _workloads(recording):
        try:
            if _is_of(workload, releases) and not _rolled_out(workload):
                return f"{kind}/{workload.name}"
        except MalformedError:
            continue
    return ""


def _workloads(recording: Recording) -> Iterator[tuple[str, Workload]]:
    for kind, view in (("deployment", deployments), ("daemonset", daemonsets)):
        seen = recording.view(view)
        if seen.seen:
            yield from ((kind, workload) for workload in seen.value)


def _is_of(workload: Workload, releases: Collection[Release]) -> bool:
    name = workload.annotations.get("meta.helm.sh/release-name")
    return any(each.name == name and each.namespace == workload.namespace for each in releases)


def _rolled_out(workload: Workload) -> bool:
    if integer(workload.raw, "status", "observedGeneration") < integer(
        workload.raw, "metadata", "generation"
    ):
        return False
    if workload.kind == "DaemonSet":
        updated = integer(workload.raw, "status", "updatedNumberScheduled")
        return workload.replicas <= updated and workload.replicas <= workload.ready_replicas
    updated = integer(workload.raw, "status", "updatedReplicas")
    existing = integer(workload.raw, "status", "replicas")
    return workload.replicas <= updated == existing and workload.replicas <= workload.ready_replicas


def last_event(recording: Recording, namespaces: Collection[str]) -> str:
    """The newest event about something in these namespaces, as one line; empty if there is none."""
    seen = recording.view(events)
    if not seen.seen:
        return ""
    for event in reversed(seen.value):
        try:
            if event.about[1] in namespaces:
                return _line(event)
        except MalformedError:
            continue
    return ""


def _line(event: Event) -> str:
    kind, _, name = event.about
    said = " ".join(event.message.split())
    return (
        f"{kind.lower()}/{name} {event.reason}: {said}" if said else f"{kind.lower()}/{name} {event.reason}"
    )
