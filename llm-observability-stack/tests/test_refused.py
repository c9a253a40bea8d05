"""Pods that the API server refuses, workloads that want none: the layers tell what they were told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests import Outcome
from edge_llm_tests.testing import judge, recording_of
from llm_observability_stack.serving import LAYER as SERVING
from llm_observability_stack.serving import ServingSpec
from llm_observability_stack.telemetry import LAYER as TELEMETRY
from llm_observability_stack.telemetry import TelemetrySpec

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
PODS = "api:/api/v1/pods"
EVENTS = "api:/api/v1/events"
DEPLOYMENTS = "api:/apis/apps/v1/deployments"
REPLICASETS = "api:/apis/apps/v1/replicasets"
DAEMONSETS = "api:/apis/apps/v1/daemonsets"
TARGETS = "http:prometheus:/api/v1/targets?state=any"
FOUND = "http:prometheus:/api/v1/alertmanagers"
QUOTA = 'pods "x" is forbidden: exceeded quota: compute'
SPECS: dict[str, Any] = {
    "serving": ServingSpec(web_ui=True),
    "telemetry": TelemetrySpec(grafana=True, gpu_exporter=True),
}
Reads = dict[str, Any]
Change = Callable[[Reads], None]


def box() -> Reads:
    reads: Reads = json.loads((BASES / "rtx-4090-k3s.json").read_text())["reads"]
    return reads


def item(reads: Reads, key: str, part: str) -> Any:
    return next(each for each in reads[key]["body"]["items"] if part in each["metadata"]["name"])


def without_pod(reads: Reads, part: str) -> None:
    items = reads[PODS]["body"]["items"]
    reads[PODS]["body"]["items"] = [each for each in items if part not in each["metadata"]["name"]]
    active = reads[TARGETS]["body"]["data"]["activeTargets"]
    reads[TARGETS]["body"]["data"]["activeTargets"] = [
        each for each in active if part not in each["labels"]["job"]
    ]


def fails(reads: Reads, key: str, part: str) -> None:
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": QUOTA}
    item(reads, key, part)["status"]["conditions"] = [condition]


def event(reads: Reads, kind: str, namespace: str, name: str, *, at: str = "2026-06-15T11:58:00Z") -> None:
    reads[EVENTS]["body"]["items"].append(
        {
            "metadata": {"name": f"{name}.1", "namespace": namespace},
            "involvedObject": {"kind": kind, "namespace": namespace, "name": name},
            "type": "Warning",
            "reason": "FailedCreate",
            "message": QUOTA,
            "lastTimestamp": at,
        }
    )


def refused(part: str, key: str = REPLICASETS) -> Change:
    def change(reads: Reads) -> None:
        without_pod(reads, part)
        fails(reads, key, part)

    return change


def refused_alertmanager(reads: Reads) -> None:
    without_pod(reads, "alertmanager-kube")
    event(reads, "StatefulSet", "monitoring", "alertmanager-kube-prometheus-stack-alertmanager")
    reads[FOUND]["body"]["data"]["activeAlertmanagers"] = []


def refused_gpu_exporter(reads: Reads) -> None:
    without_pod(reads, "dcgm-exporter")
    event(reads, "DaemonSet", "gpu-operator", "nvidia-dcgm-exporter")


def parked_grafana(reads: Reads) -> None:
    without_pod(reads, "grafana")
    item(reads, DEPLOYMENTS, "grafana")["spec"]["replicas"] = 0


def refused_long_ago(reads: Reads) -> None:
    without_pod(reads, "open-webui")
    event(reads, "ReplicaSet", "llm", "open-webui-66d4b9c5f7", at="2026-06-15T10:00:00Z")


def refused_by_event(reads: Reads) -> None:
    without_pod(reads, "open-webui")
    event(reads, "ReplicaSet", "llm", "open-webui-66d4b9c5f7")


def other_refused(reads: Reads) -> None:
    without_pod(reads, "open-webui")
    event(reads, "ReplicaSet", "llm", "open-webui-pipelines-66d4b9c5f7")


def wants_another(reads: Reads) -> None:
    item(reads, DEPLOYMENTS, "ollama")["spec"]["replicas"] = 2
    event(reads, "ReplicaSet", "llm", "ollama-5f7c96b8d4")


def old_revision_was_refused(reads: Reads) -> None:
    """A ReplicaSet of before, which wants no pod any more and still says why it got none."""
    old = json.loads(json.dumps(item(reads, REPLICASETS, "ollama")))
    old["metadata"] |= {"name": "ollama-6b4d8f7c9", "uid": "old"}
    reads[REPLICASETS]["body"]["items"].append(old)
    fails(reads, REPLICASETS, "ollama-6b4d8f7c9")
    old["spec"]["replicas"] = 0


def parked_exporter(reads: Reads) -> None:
    without_pod(reads, "edge-exporter")
    item(reads, DEPLOYMENTS, "edge-exporter")["spec"]["replicas"] = 0


def as_daemonset(reads: Reads) -> None:
    found = item(reads, DEPLOYMENTS, "ollama")
    reads[DEPLOYMENTS]["body"]["items"].remove(found)
    found["status"] = {"desiredNumberScheduled": 1, "numberReady": 1}
    reads[DAEMONSETS]["body"]["items"].append(found)
    owner = {"kind": "DaemonSet", "name": "ollama", "controller": True}
    item(reads, PODS, "ollama")["metadata"]["ownerReferences"] = [owner]


def wanted_nowhere(reads: Reads) -> None:
    as_daemonset(reads)
    without_pod(reads, "ollama")
    item(reads, DAEMONSETS, "ollama")["status"] = {"desiredNumberScheduled": 0}


def daemonsets_unread(reads: Reads) -> None:
    as_daemonset(reads)
    del reads[DAEMONSETS]


def young(part: str, job: str) -> Change:
    """A pod that was started this minute, and the scrape of it that fails for that."""

    def change(reads: Reads) -> None:
        pod = item(reads, PODS, part)
        pod["metadata"]["creationTimestamp"] = pod["status"]["startTime"] = "2026-06-15T11:59:30Z"
        state = {"running": {"startedAt": "2026-06-15T11:59:40Z"}}
        pod["status"]["containerStatuses"][0] |= {"state": state, "ready": False}
        for condition in pod["status"]["conditions"]:
            if condition["type"] in ("Ready", "ContainersReady"):
                condition["status"] = "False"
        for target in reads[TARGETS]["body"]["data"]["activeTargets"]:
            if target["labels"]["job"] == job:
                target |= {"health": "down", "lastError": "connection refused"}

    return change


@pytest.mark.parametrize(
    ("change", "contract", "reason"),
    [
        (young("edge-exporter", "edge-exporter"), "telemetry.targets", "NotYetScraped"),
        (young("nvidia-dcgm", "nvidia-dcgm-exporter"), "telemetry.gpu-target", "NotYetScraped"),
        (refused("open-webui"), "serving.webui", "WebUiRefused"),
        (refused("open-webui", DEPLOYMENTS), "serving.webui", "WebUiRefused"),
        (refused_by_event, "serving.webui", "WebUiRefused"),
        (refused_long_ago, "serving.webui", "WebUiNotRunning"),
        (other_refused, "serving.webui", "WebUiNotRunning"),
        (refused("ollama"), "serving.workload", "QuotaExceeded"),
        (lambda reads: fails(reads, REPLICASETS, "ollama"), "serving.workload", "QuotaExceeded"),
        (wants_another, "serving.workload", "QuotaExceeded"),
        (old_revision_was_refused, "serving.workload", None),
        (parked_exporter, "telemetry.targets", "ExporterScaledToZero"),
        (as_daemonset, "serving.workload", None),
        (wanted_nowhere, "serving.workload", "NoNodeWanted"),
        (daemonsets_unread, "serving.workload", "NotObserved"),
        (lambda reads: reads.pop(REPLICASETS), "serving.workload", "NotObserved"),
        (refused("edge-exporter"), "telemetry.targets", "ExporterRefused"),
        (refused("grafana"), "telemetry.dashboards", "GrafanaRefused"),
        (parked_grafana, "telemetry.dashboards", "GrafanaScaledToZero"),
        (refused_alertmanager, "telemetry.alertmanager", "AlertmanagerRefused"),
        (refused_gpu_exporter, "telemetry.gpu-exporter", "GpuExporterRefused"),
    ],
)
def test_what_is_refused_is_told(change: Change, contract: str, reason: str | None) -> None:
    reads = box()
    change(reads)
    rung = contract.partition(".")[0]
    found = judge(SERVING if rung == "serving" else TELEMETRY, SPECS[rung], recording_of(reads))[contract]
    assert found.result.reason == reason, found.result.message
    if reason is None:
        assert found.outcome is Outcome.PASS
    elif reason.endswith(("Refused", "Exceeded")):
        assert QUOTA in found.result.message
