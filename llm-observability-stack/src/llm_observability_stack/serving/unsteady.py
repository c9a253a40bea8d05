"""What does not stay: an Ollama that is Ready now, and is evicted, killed or crashes again and again."""

import re
from datetime import timedelta

from edge_llm_tests.contract import Result, failed
from edge_llm_tests.objects import Container, Event, Pod

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.where import Where

__all__ = ["diagnose_evictions", "diagnose_flapping"]

_RECENT = timedelta(hours=1)
_EVICTIONS = 2
_OWN_LIMIT = re.compile(
    r"ephemeral local storage usage exceeds|exceeded its local ephemeral storage limit"
    r"|usage of emptydir volume .{0,80} exceeds the limit",
    re.IGNORECASE,
)
_FLAPS = 3
_QUIET_SPANS = 3
"""What ended some times while it was installed, and runs since for longer than that took, is steady."""
_SAID_LIMIT = 200
_RHYTHM = timedelta(days=1)
_NOT_ITS_OWN_END = frozenset({None, 0, 137, 143, 255})
"""Exit codes of a container that was stopped, killed or lost with its machine, and did not crash."""


def diagnose_evictions(observed: ServingState) -> Result | None:
    """Whether Ollama is evicted again and again; None where it is not, or where the node let it come back."""
    one = observed.installation
    if one is None:
        return None
    evicted = [
        (pod.name, pod.message)
        for pod in one.pods
        if pod.reason == "Evicted" and (pod.created is None or observed.now - pod.created < _RECENT)
    ]
    told = [
        (event.about[2], event.message)
        for event in observed.about(one.namespace, one.name, "Pod")
        if event.reason == "Evicted"
    ]
    own = [message for _, message in (*told, *evicted) if _OWN_LIMIT.search(message)]
    if own and len({name for name, message in (*told, *evicted) if _OWN_LIMIT.search(message)}) >= _EVICTIONS:
        return failed(
            "LocalStorageLimit",
            f"{one.path} was evicted again and again at its own limit of local storage: {own[-1].strip()};"
            " what it pulls is not on a volume of its own, and is gone with each pod",
            independent=True,
            namespace=one.namespace,
            workload=one.reference,
        )
    if any(pod.ready for pod in observed.live_pods) or len(evicted) + len(told) < _EVICTIONS:
        return None
    said = (evicted or told)[-1][1]
    return failed(
        "Evicted",
        f"{one.path} was evicted {max(len(evicted), len(told))} times of late, the last time: {said}",
    )


def diagnose_flapping(observed: ServingState, pod: Pod) -> Result | None:
    """Whether a pod that is Ready now ends again and again; None where it stays."""
    about = observed.about(pod.namespace, pod.name, "Pod")
    for container in pod.containers:
        last = container.last_state
        if container.init or container.restarts < _FLAPS or _steady(observed, pod, container):
            continue
        where: Where = {"pod": pod.name, "namespace": pod.namespace, "container": container.name}
        if probed := _probe_kill(about):
            return failed(
                "ProbeKilled",
                f"container {container.name} of pod {pod.path} is Ready now, and is killed by its own probe"
                f" again and again ({container.restarts} restarts, the last at {last.finished}): {probed}",
                independent=True,
                **where,
            )
        if last.exit_code not in _NOT_ITS_OWN_END and _often(observed, pod, container):
            return failed(
                "CrashLoop",
                f"container {container.name} of pod {pod.path} serves now, and crashes again and again"
                f" ({last.terminated}, exit code {last.exit_code}, {container.restarts} restarts, the last at"
                f" {last.finished}) {' '.join(last.message.split())[-_SAID_LIMIT:]}".rstrip(),
                **where,
            )
    return None


def _steady(observed: ServingState, pod: Pod, container: Container) -> bool:
    """Whether it stays now: an hour has passed since its last end, or some times its usual span."""
    finished, since = container.last_state.finished, pod.started or pod.created
    if finished is None or since is None or observed.now - finished >= _RECENT:
        return True
    return observed.now - finished > _QUIET_SPANS * (finished - since) / container.restarts


def _often(observed: ServingState, pod: Pod, container: Container) -> bool:
    since = pod.started or pod.created
    return since is not None and (observed.now - since) / container.restarts < _RHYTHM


def _probe_kill(about: tuple[Event, ...]) -> str:
    """What the kubelet said of the probe by which it killed a container; empty where it killed none."""
    killed = [each.message for each in about if each.reason == "Killing" and "probe" in each.message]
    why = [each.message for each in about if each.reason == "Unhealthy" and "eadiness" not in each.message]
    return (why or killed)[-1] if killed else ""
