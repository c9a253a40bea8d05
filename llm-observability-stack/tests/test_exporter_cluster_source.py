"""Nodes and pods as the API server tells them."""

from typing import Any

import pytest
from edge_llm_tests import Recording
from edge_llm_tests.reads import UnseenError
from edge_llm_tests.testing import answer, kubernetes_list
from llm_observability_stack.exporter.cluster_source import cluster_families, cluster_source

OURS = {
    "app.kubernetes.io/part-of": "edge",
    "edge.internal/layer": "serving",
    "edge.internal/owner": "llm-observability-stack",
}


def node(name: str, *, ready: bool, **allocatable: str) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {"metadata": {"name": name}, "status": {"conditions": conditions, "allocatable": allocatable}}


def pod(name: str, labels: dict[str, str], *, ready: bool = True, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "n", "labels": labels},
        "spec": {"nodeName": "a", "containers": [{"name": "c"}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "containerStatuses": [{"name": "c", "ready": ready, "restartCount": 3, **status}],
        },
    }


def told(nodes: Any, pods: Any) -> dict[str, dict[tuple[str, ...], float]]:
    reads = {"api:/api/v1/nodes": nodes, "api:/api/v1/pods": pods}
    return {
        each.name: {tuple(sample.labels.values()): sample.value for sample in each.samples}
        for each in cluster_families(Recording(reads=reads), "nvidia.com/gpu")
    }


def test_nodes_and_what_they_offer_of_what_the_profile_asks_for() -> None:
    offered = {"cpu": "8", "nvidia.com/gpu": "2", "nvidia.com/mig-1g.10gb": "3", "amd.com/gpu": "9"}
    found = told(kubernetes_list(node("a", ready=True, **offered), node("b", ready=False)), kubernetes_list())
    assert found["edge_node_ready"] == {("a",): 1.0, ("b",): 0.0}
    assert found["edge_node_gpus_offered"] == {("a",): 2.0, ("b",): 0.0}


def test_pods_of_this_project_alone_with_their_place_on_the_ladder() -> None:
    found = told(
        kubernetes_list(),
        kubernetes_list(pod("ollama", OURS, ready=False), pod("of-others", {}, ready=False)),
    )
    place = ("a", "serving", "2", "llm-observability-stack")
    assert found["edge_pod_ready"] == {("n", "ollama", *place): 0.0}
    assert found["edge_container_restarts"] == {("n", "ollama", "c", *place): 3.0}


@pytest.mark.parametrize(
    ("status", "value"),
    [
        ({"lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}, 1.0),
        ({"state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}, 1.0),
        ({"lastState": {"terminated": {"reason": "Error", "exitCode": 1}}}, 0.0),
        ({}, 0.0),
    ],
)
def test_an_end_for_want_of_memory_is_told_from_others(status: dict[str, Any], value: float) -> None:
    found = told(kubernetes_list(), kubernetes_list(pod("ollama", OURS, **status)))
    assert list(found["edge_container_out_of_memory"].values()) == [value]


def test_a_job_that_is_done_is_not_a_pod_that_is_not_ready() -> None:
    done = pod("models", OURS, ready=False)
    done["status"]["phase"] = "Succeeded"
    assert told(kubernetes_list(), kubernetes_list(done))["edge_pod_ready"] == {}


def test_a_label_explosion_is_cut_off() -> None:
    many = [pod(f"p{number:04}", OURS) for number in range(1000)]
    assert len(told(kubernetes_list(), kubernetes_list(*many))["edge_pod_ready"]) == 200


def test_what_may_not_be_read_fails_the_source() -> None:
    with pytest.raises(UnseenError):
        told(kubernetes_list(), answer({"kind": "Status"}, status=403))


def test_the_reader_is_made_anew_and_closed_each_time() -> None:
    said: list[str] = []

    class Reader:
        def read(self, path: str, _deadline_s: float) -> dict[str, Any]:
            said.append(path)
            return kubernetes_list()

        def close(self) -> None:
            said.append("closed")

    source = cluster_source(Reader, 30, "nvidia.com/gpu")  # type: ignore[arg-type]  # a double
    source.collect()
    source.collect()
    assert said == ["/api/v1/nodes", "/api/v1/pods", "closed"] * 2
