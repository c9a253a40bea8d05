"""What goes on in a namespace: pods that come and go, and the last event."""

from pathlib import Path
from typing import Any

import pytest
from edge_cli.activity import last_event, rolling_out, unfinished
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Release

HERE = frozenset({"here"})


def pod(
    namespace: str = "here", *, ready: bool = False, owner: str = "ReplicaSet", **more: Any
) -> dict[str, Any]:
    status: dict[str, Any] = {
        "phase": more.pop("phase", "Running"),
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
    }
    if scheduled := more.pop("scheduled", None):
        status["conditions"].append({"type": "PodScheduled", "status": scheduled})
    if waiting := more.pop("waiting", None):
        status["containerStatuses"] = [{"name": "c", "state": {"waiting": {"reason": waiting}}}]
    metadata = {
        "name": "p",
        "namespace": namespace,
        "ownerReferences": [{"kind": owner, "name": "o"}],
        **more,
    }
    return {"metadata": metadata, "spec": {"containers": [{"name": "c"}]}, "status": status}


def recorded(**lists: list[Any]) -> Recording:
    kinds = {
        "pods": ("/api/v1", "PodList"),
        "events": ("/api/v1", "EventList"),
        "deployments": ("/apis/apps/v1", "DeploymentList"),
        "daemonsets": ("/apis/apps/v1", "DaemonSetList"),
    }
    return Recording(
        {
            f"api:{kinds[name][0]}/{name}": {"status": 200, "body": {"kind": kinds[name][1], "items": items}}
            for name, items in lists.items()
        }
    )


@pytest.mark.parametrize(
    ("one", "moves"),
    [
        (pod(ready=True), False),
        (pod(ready=False), True),
        (pod(phase="Pending"), True),
        (pod(phase="Pending", waiting="ContainerCreating"), True),
        (pod(phase="Pending", waiting="ImagePullBackOff"), False),
        (pod(waiting="CrashLoopBackOff"), False),
        (pod(phase="Pending", scheduled="False"), False),
        (pod(phase="Succeeded"), False),
        (pod(phase="Failed"), False),
        (pod(ready=True, deletionTimestamp="2026-11-30T12:00:00Z"), True),
        (pod(ready=True, owner="Job"), True),
        (pod(owner="Job", waiting="CrashLoopBackOff"), False),
        (pod("elsewhere"), False),
        ({"metadata": {"name": "p", "namespace": "here"}, "status": {"phase": 7}}, True),
    ],
)
def test_a_pod_that_moves_by_itself_is_a_roll_out(one: dict[str, Any], moves: bool) -> None:
    assert rolling_out(recorded(pods=[pod(ready=True), one]), HERE) is moves


def test_where_pods_cannot_be_seen_something_may_roll_out() -> None:
    assert rolling_out(Recording(), HERE)


def event(at: str, message: str, namespace: str = "here") -> dict[str, Any]:
    return {
        "metadata": {"name": at},
        "reason": "Pulled",
        "message": message,
        "lastTimestamp": f"2026-11-30T12:00:{at}Z",
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": "p"},
    }


def test_the_last_event_of_the_namespace_on_one_line() -> None:
    seen = recorded(
        events=[event("09", "last,\n here"), event("08", "before"), event("10", "no", "elsewhere")]
    )
    assert last_event(seen, HERE) == "pod/p Pulled: last, here"


def test_an_event_may_say_nothing() -> None:
    assert last_event(recorded(events=[event("09", "")]), HERE) == "pod/p Pulled"


def test_a_damaged_event_is_passed_over() -> None:
    damaged = {**event("11", "x"), "involvedObject": {"namespace": 7}}
    assert last_event(recorded(events=[event("09", "seen"), damaged]), HERE) == "pod/p Pulled: seen"


def test_no_event_is_no_text() -> None:
    assert last_event(recorded(events=[]), HERE) == ""
    assert last_event(Recording(), HERE) == ""


RELEASES = (Release("demo", "here", "gpu", Path(), {}),)


def workload(
    generation: int = 2, release: str = "demo", namespace: str = "here", **more: Any
) -> dict[str, Any]:
    metadata = {
        "name": "w",
        "namespace": namespace,
        "generation": generation,
        "annotations": {"meta.helm.sh/release-name": release},
    }
    return {"metadata": metadata, "spec": {"replicas": 1}, "status": {"observedGeneration": 2, **more}}


def deployed(generation: int = 2, **more: int) -> dict[str, Any]:
    status: dict[str, Any] = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, **more}
    return workload(generation=generation, **status)


def daemon(generation: int = 2, **more: int) -> dict[str, Any]:
    status: dict[str, Any] = {
        "desiredNumberScheduled": 1,
        "updatedNumberScheduled": 1,
        "numberReady": 1,
        **more,
    }
    return workload(generation=generation, **status)


@pytest.mark.parametrize(
    ("one", "ended"),
    [
        (deployed(), True),
        (deployed(generation=3), False),
        (deployed(updatedReplicas=0), False),
        (deployed(replicas=2), False),
        (deployed(readyReplicas=0), False),
        (workload(generation=3, release="other"), True),
        (workload(generation=3, namespace="elsewhere"), True),
        ({**deployed(generation=3), "spec": {"replicas": 0}, "status": {"observedGeneration": 3}}, True),
        ({**deployed(), "status": {"observedGeneration": "two"}}, True),
    ],
)
def test_a_deployment_has_rolled_out_when_all_its_pods_are_new_and_ready(
    one: dict[str, Any], ended: bool
) -> None:
    assert unfinished(recorded(deployments=[one], daemonsets=[]), RELEASES) == (
        "" if ended else "deployment/w"
    )


@pytest.mark.parametrize(
    ("one", "ended"),
    [
        (daemon(), True),
        (daemon(generation=3), False),
        (daemon(updatedNumberScheduled=0), False),
        (daemon(numberReady=0), False),
        (daemon(desiredNumberScheduled=0, updatedNumberScheduled=0, numberReady=0), True),
    ],
)
def test_a_daemonset_has_rolled_out_when_all_its_pods_are_new_and_ready(
    one: dict[str, Any], ended: bool
) -> None:
    assert unfinished(recorded(deployments=[], daemonsets=[one]), RELEASES) == (
        "" if ended else "daemonset/w"
    )


def test_where_workloads_cannot_be_seen_the_contracts_alone_decide() -> None:
    assert unfinished(Recording(), RELEASES) == ""
