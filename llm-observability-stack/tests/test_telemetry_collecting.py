"""CRDs, Prometheus, monitors, retention: the judges on a healthy box with one thing changed."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from edge_llm_tests import Outcome
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.testing import answer, judge, kubernetes_list, recording_of
from llm_observability_stack.telemetry import LAYER, TelemetrySpec

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
CRDS = "api:/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PODS = "api:/api/v1/pods"
PROMETHEUSES = "api:/apis/monitoring.coreos.com/v1/prometheuses"
MONITORS = "api:/apis/monitoring.coreos.com/v1/servicemonitors"
SERVICES = "api:/api/v1/services"
SLICES = "api:/apis/discovery.k8s.io/v1/endpointslices"
TARGETS = "http:prometheus:/api/v1/targets?state=any"
PVCS = "api:/api/v1/persistentvolumeclaims"
GPU = TelemetrySpec(gpu_exporter=True, grafana=True)
CPU = TelemetrySpec()
Reads = dict[str, Any]


def box(name: str = "rtx-4090-k3s") -> Reads:
    reads: Reads = json.loads((BASES / f"{name}.json").read_text())["reads"]
    return reads


def items(reads: Reads, key: str) -> list[Any]:
    found: list[Any] = reads[key]["body"]["items"]
    return found


def item(reads: Reads, key: str, part: str) -> Any:
    return next(each for each in items(reads, key) if part in each["metadata"]["name"])


def drop(reads: Reads, key: str, part: str) -> None:
    reads[key]["body"]["items"] = [each for each in items(reads, key) if part not in each["metadata"]["name"]]


def log_key(namespace: str, pod: str, name: str) -> str:
    return f"api:/api/v1/namespaces/{namespace}/pods/{pod}/log?container={name}&tailLines=200"


def untarget(reads: Reads, part: str) -> None:
    data = reads[TARGETS]["body"]["data"]
    data["activeTargets"] = [each for each in data["activeTargets"] if part not in each["labels"]["job"]]


def silent(reads: Reads, how: str = "unreachable") -> None:
    """Prometheus answers nothing."""
    for key in [key for key in reads if key.startswith("http:prometheus:")]:
        reads[key] = answer(None, status=None, error=how)


def container(reads: Reads, part: str, state: dict[str, Any], **more: Any) -> Any:
    """Put a pod's first container into `state`, and the pod out of readiness."""
    pod = item(reads, PODS, part)
    pod["status"]["containerStatuses"][0] |= {"state": state, "ready": False, **more}
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition["status"] = "False"
    return pod


def findings(reads: Reads, spec: TelemetrySpec = GPU) -> dict[str, Finding]:
    return judge(LAYER, spec, recording_of(reads))


def verdict(reads: Reads, contract: str, spec: TelemetrySpec = GPU) -> tuple[Outcome, str | None]:
    found = findings(reads, spec)[contract]
    return found.outcome, found.result.reason


CRASH = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}
PASS = (Outcome.PASS, None)


@pytest.mark.parametrize("base", ["rtx-4090-k3s", "rtx-4090-light-k3s", "a100-k3s", "dual-4090-k3s"])
def test_a_healthy_gpu_box_keeps_every_promise(base: str) -> None:
    assert {key: found.outcome for key, found in findings(box(base)).items()} == {
        each.id: Outcome.PASS for each in LAYER.contracts
    }


def test_a_healthy_cpu_box_keeps_every_promise() -> None:
    found = findings(box("cpu-k3s"), CPU)
    assert {each.outcome for each in found.values()} == {Outcome.PASS}
    assert "telemetry.gpu-exporter" not in found
    assert "telemetry.dashboards" not in found


def standalone() -> Reads:
    """The box without an operator: a Deployment of Prometheus, targets by configuration."""
    reads = box("cpu-k3s")
    reads[MONITORS] = reads[PROMETHEUSES] = answer("404 page not found\n", status=404)
    reads[CRDS] = kubernetes_list(
        *[each for each in items(reads, CRDS) if "monitoring.coreos.com" not in each["metadata"]["name"]]
    )
    drop(reads, PODS, "kube-prometheus-stack-operator")
    drop(reads, "api:/apis/apps/v1/deployments", "kube-prometheus-stack-operator")
    pod = item(reads, PODS, "prometheus-0")
    pod["metadata"] |= {"name": "prometheus-5b6c", "namespace": "llm-observability"}
    pod["spec"]["containers"] = [{"name": "prometheus", "image": "localhost/edge/prometheus:3.16.0"}]
    for target in reads[TARGETS]["body"]["data"]["activeTargets"]:
        target["scrapePool"] = target["labels"]["job"]
    return reads


def test_a_standalone_box_needs_neither_crds_nor_monitors() -> None:
    found = findings(standalone(), CPU)
    required = {key: each.outcome for key, each in found.items() if each.contract.required}
    assert set(required.values()) == {Outcome.PASS}
    assert "no Prometheus operator" in found["telemetry.monitoring-crds"].result.message
    assert found["telemetry.retention"].result.reason == "CapUnseen"


def test_a_promised_operator_is_missed_on_a_standalone_box() -> None:
    found = findings(standalone(), TelemetrySpec(operator=True))
    assert found["telemetry.monitoring-crds"].result.reason == "CrdMissing"
    assert (
        found["telemetry.monitors"].blocked_by is None
    )  # its targets are scraped all the same: the effect counts


# ---- CRDs


def test_an_operator_without_its_kinds() -> None:
    reads = box()
    drop(reads, CRDS, "servicemonitors")
    reads[MONITORS] = answer({"kind": "Status", "message": "not found"}, status=404)
    found = findings(reads)["telemetry.monitoring-crds"]
    assert (found.outcome, found.result.reason) == (Outcome.FAIL, "CrdMissing")
    assert "servicemonitors.monitoring.coreos.com" in found.result.message


def complaint_of_policy(reads: Reads, said: str) -> None:
    policy = items(reads, "api:/apis/nvidia.com/v1/clusterpolicies")[0]
    policy["status"]["conditions"][1] |= {"status": "True", "message": said}


def complaint_of_event(reads: Reads, said: str) -> None:
    items(reads, "api:/api/v1/events").append(
        {
            "metadata": {"name": "e", "namespace": "gpu-operator"},
            "involvedObject": {"kind": "ClusterPolicy", "name": "cluster-policy"},
            "type": "Warning",
            "message": said,
        }
    )


def complaint_of_log(reads: Reads, said: str) -> None:
    reads[log_key("gpu-operator", "gpu-operator-7c9d8b6f5d-4kq2n", "gpu-operator")] = answer(
        f"starting\n{said}\n"
    )


@pytest.mark.parametrize("complain", [complaint_of_policy, complaint_of_event, complaint_of_log])
def test_a_gpu_operator_that_stumbles_over_the_missing_kind(complain: Callable[[Reads, str], None]) -> None:
    reads = box()
    said = 'error: no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"'
    for key in (MONITORS, PROMETHEUSES):
        reads[key] = answer(None, status=404)
    reads[CRDS] = kubernetes_list({"metadata": {"name": "clusterpolicies.nvidia.com"}})
    drop(reads, PODS, "kube-prometheus-stack-operator")
    assert verdict(reads, "telemetry.monitoring-crds") == PASS
    complain(reads, said)
    found = findings(reads)["telemetry.monitoring-crds"]
    assert found.result.reason == "CrdMissing"
    assert "ServiceMonitor" in found.result.message


def test_an_old_complaint_about_a_kind_that_is_there_now_is_history() -> None:
    reads = box()
    complaint_of_event(reads, 'no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"')
    assert verdict(reads, "telemetry.monitoring-crds") == PASS


def test_who_does_without_the_kind_and_goes_on_does_not_complain() -> None:
    reads = standalone()
    reads["api:/apis/nvidia.com/v1/clusterpolicies"] = kubernetes_list(kind="ClusterPolicyList")
    complaint_of_log(reads, "level=info msg=ServiceMonitor CRD not found, skipping")
    assert verdict(reads, "telemetry.monitoring-crds", CPU) == PASS


# ---- Prometheus


def test_a_prometheus_killed_for_its_memory_again_and_again() -> None:
    reads = box()
    killed = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-06-15T11:50:00Z"}}
    container(reads, "prometheus-0", CRASH, lastState=killed, restartCount=9)
    silent(reads)
    found = findings(reads)["telemetry.prometheus"]
    assert found.result.reason == "PrometheusOutOfMemory"
    assert found.result.about == {
        "namespace": "monitoring",
        "pod": "prometheus-kube-prometheus-stack-prometheus-0",
    }
    assert findings(reads)["telemetry.targets"].outcome is Outcome.BLOCKED


@pytest.mark.parametrize(
    ("finished", "restarts", "reason"),
    [
        ("2026-06-15T11:30:00Z", 1, "PrometheusOutOfMemory"),  # half an hour ago
        ("2026-06-15T02:00:00Z", 1, None),  # once, in the night, quiet since
        ("2026-06-15T02:00:00Z", 4, "PrometheusOutOfMemory"),  # again and again
        ("2026-06-03T02:00:00Z", 12, None),  # long ago
    ],
)
def test_a_kill_counts_while_it_is_recent_or_repeated(
    finished: str, restarts: int, reason: str | None
) -> None:
    reads = box()
    status = item(reads, PODS, "prometheus-0")["status"]["containerStatuses"][0]
    status |= {
        "restartCount": restarts,
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": finished}},
    }
    assert verdict(reads, "telemetry.prometheus")[1] == reason


def test_a_full_volume_told_by_the_log() -> None:
    reads = box()
    pod = container(reads, "prometheus-0", CRASH, restartCount=5, lastState={"terminated": {"exitCode": 1}})
    silent(reads)
    log = log_key("monitoring", pod["metadata"]["name"], "prometheus")
    reads[log] = answer(
        'level=info msg="Starting"\nlevel=error err="open /prometheus/wal/12: no space left on device"\n'
    )
    found = findings(reads)["telemetry.prometheus"]
    assert found.result.reason == "PrometheusDiskFull"
    assert "no space left" in found.result.message


def test_a_full_volume_told_by_targets_while_prometheus_still_answers() -> None:
    reads = box()
    target = reads[TARGETS]["body"]["data"]["activeTargets"][1]
    target |= {
        "health": "down",
        "lastError": "write to WAL: no space left on device",
    }
    found = findings(reads)
    assert found["telemetry.prometheus"].result.reason == "PrometheusDiskFull"
    assert found["telemetry.targets"].outcome is Outcome.BLOCKED


def test_a_full_volume_told_by_a_rule() -> None:
    reads = box()
    rule = reads["http:prometheus:/api/v1/rules"]["body"]["data"]["groups"][0]["rules"][0]
    rule |= {"health": "err", "lastError": "log series: no space left on device"}
    assert verdict(reads, "telemetry.prometheus")[1] == "PrometheusDiskFull"


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        ("2026-06-15T11:59:10Z", (Outcome.UNKNOWN, "PrometheusStarting")),
        ("2026-06-15T11:45:00Z", (Outcome.FAIL, "PrometheusReplaying")),
    ],
)
def test_a_prometheus_that_replays(started: str, expected: tuple[Outcome, str]) -> None:
    reads = box()
    container(reads, "prometheus-0", {"running": {"startedAt": started}})
    item(reads, PODS, "prometheus-0")["status"]["containerStatuses"][1]["state"] = {
        "running": {"startedAt": started}
    }
    for key in [key for key in reads if key.startswith("http:prometheus:")]:
        reads[key] = answer("Service Unavailable", status=503)
    assert verdict(reads, "telemetry.prometheus") == expected


def pending(reads: Reads) -> None:
    pod = item(reads, PODS, "prometheus-0")
    del pod["spec"]["nodeName"]
    pod["status"] = {
        "phase": "Pending",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims",
            }
        ],
    }


def image_gone(reads: Reads) -> None:
    container(reads, "prometheus-0", {"waiting": {"reason": "ImagePullBackOff"}})


def bad_config(reads: Reads) -> None:
    pod = container(reads, "prometheus-0", CRASH, restartCount=4, lastState={"terminated": {"exitCode": 2}})
    log = log_key("monitoring", pod["metadata"]["name"], "prometheus")
    reads[f"{log}&previous=true"] = answer(
        'level=error msg="Error loading config (--config.file=/etc/p.yml)"\n'
    )


def creating(reads: Reads) -> None:
    container(reads, "prometheus-0", {"waiting": {"reason": "ContainerCreating"}})
    pod = item(reads, PODS, "prometheus-0")
    pod["status"]["containerStatuses"][1]["state"] = {"waiting": {"reason": "ContainerCreating"}}
    pod["status"]["startTime"] = "2026-06-15T11:00:00Z"


def ends_saying(message: str) -> Callable[[Reads], None]:
    def change(reads: Reads) -> None:
        container(reads, "prometheus-0", CRASH, lastState={"terminated": {"exitCode": 2, "message": message}})

    return change


LONG = "time=2026-06-15T11:55:36.814Z level=ERROR source=query_logger.go:113 msg=" + "x" * 200
store_denied = ends_saying(
    f'{LONG} err="open /prometheus/queries.active: permission denied"\npanic: Unable to create query log\n'
)
store_read_only = ends_saying('err="lock DB directory: open /prometheus/lock: read-only file system"')


@pytest.mark.parametrize(
    ("change", "reason", "word"),
    [
        (pending, "PrometheusUnschedulable", "PersistentVolumeClaims"),
        (image_gone, "PrometheusImageUnavailable", "ImagePullBackOff"),
        (bad_config, "PrometheusCrashing", "Error loading config"),
        (store_denied, "PrometheusStoreDenied", "queries.active: permission denied"),
        (store_read_only, "PrometheusStoreDenied", "read-only file system"),
        (creating, "PrometheusNotStarted", "not started"),
    ],
)
def test_a_prometheus_that_does_not_run(change: Callable[[Reads], None], reason: str, word: str) -> None:
    reads = box()
    silent(reads)
    change(reads)
    found = findings(reads)["telemetry.prometheus"]
    assert (found.outcome, found.result.reason) == (Outcome.FAIL, reason)
    assert word in found.result.message


def no_object(reads: Reads) -> None:
    reads[PROMETHEUSES] = kubernetes_list(kind="PrometheusList")


def zero_replicas(reads: Reads) -> None:
    items(reads, PROMETHEUSES)[0]["spec"]["replicas"] = 0


def not_reconciled(reads: Reads) -> None:
    condition = items(reads, PROMETHEUSES)[0]["status"]["conditions"][1]
    condition |= {"status": "False", "reason": "ReconciliationFailed", "message": "secrets are forbidden"}


def over_quota(reads: Reads) -> None:
    items(reads, "api:/api/v1/events").append(
        {
            "metadata": {"name": "q", "namespace": "monitoring"},
            "involvedObject": {
                "kind": "StatefulSet",
                "namespace": "monitoring",
                "name": "prometheus-kube-prometheus-stack-prometheus",
            },
            "reason": "FailedCreate",
            "type": "Warning",
            "message": "pods is forbidden: exceeded quota: compute",
            "lastTimestamp": "2026-06-15T11:59:00Z",
        }
    )


def deployment_of_zero(reads: Reads) -> None:
    no_object(reads)
    items(reads, "api:/apis/apps/v1/deployments").append(
        {
            "metadata": {"name": "prometheus", "namespace": "llm-observability"},
            "spec": {
                "replicas": 0,
                "template": {"spec": {"containers": [{"name": "p", "image": "localhost/edge/prometheus:3"}]}},
            },
        }
    )


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (no_object, "no Prometheus is installed"),
        (zero_replicas, "wants 0 replicas"),
        (not_reconciled, "secrets are forbidden"),
        (over_quota, "exceeded quota"),
        (deployment_of_zero, "llm-observability/prometheus wants 0"),
    ],
)
def test_no_prometheus_pod_at_all(change: Callable[[Reads], None], word: str) -> None:
    reads = box()
    silent(reads)
    drop(reads, PODS, "prometheus-0")
    change(reads)
    found = findings(reads)["telemetry.prometheus"]
    assert found.result.reason == ("PrometheusRefused" if change is over_quota else "PrometheusMissing")
    assert word in found.result.message


def test_a_service_that_leads_nowhere() -> None:
    reads = box()
    silent(reads)
    for each in items(reads, SLICES):
        if (
            "kube-prometheus-stack-prometheus-" in each["metadata"]["name"]
            and "node" not in each["metadata"]["name"]
        ):
            each["endpoints"] = []
    assert verdict(reads, "telemetry.prometheus") == (Outcome.FAIL, "PrometheusServiceEmpty")
    drop(reads, SERVICES, "stack-prometheus")
    assert verdict(reads, "telemetry.prometheus") == (Outcome.FAIL, "PrometheusServiceEmpty")


def test_a_ready_prometheus_that_is_not_reached_runs_and_is_not_known_to_scrape() -> None:
    reads = box()
    silent(reads, "dns")
    found = findings(reads)
    assert found["telemetry.prometheus"].outcome is Outcome.PASS
    assert (found["telemetry.targets"].outcome, found["telemetry.targets"].result.reason) == (
        Outcome.UNKNOWN,
        "NameNotResolved",
    )
    del reads[SLICES]
    assert verdict(reads, "telemetry.prometheus") == PASS


def test_an_answer_proves_that_prometheus_runs_where_its_pod_was_not_seen() -> None:
    reads = box()
    del reads[PODS]
    assert verdict(reads, "telemetry.prometheus") == PASS
    silent(reads)
    assert verdict(reads, "telemetry.prometheus") == (Outcome.UNKNOWN, "NotObserved")


def test_a_pod_that_is_called_unready_while_prometheus_answers() -> None:
    reads = box()
    container(reads, "prometheus-0", {"running": {"startedAt": "2026-06-15T11:00:00Z"}})
    assert verdict(reads, "telemetry.prometheus") == PASS


# ---- monitors


def test_a_monitor_without_the_label_that_is_wanted() -> None:
    reads = box()
    items(reads, PROMETHEUSES)[0]["spec"]["serviceMonitorSelector"] = {
        "matchExpressions": [{"key": "release", "operator": "In", "values": ["kube-prometheus-stack"]}]
    }
    untarget(reads, "dcgm")
    found = findings(reads)["telemetry.monitors"]
    assert found.result.reason == "MonitorNotSelected"
    assert found.result.about == {"monitor": "nvidia-dcgm-exporter", "namespace": "gpu-operator"}
    assert "release In kube-prometheus-stack" in found.result.message


def test_a_nil_selector_takes_nothing() -> None:
    reads = box()
    del items(reads, PROMETHEUSES)[0]["spec"]["serviceMonitorSelector"]
    reads[TARGETS]["body"]["data"]["activeTargets"] = []
    found = findings(reads)["telemetry.monitors"]
    assert found.result.reason == "MonitorNotSelected"
    assert "wants nil" in found.result.message


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, (Outcome.FAIL, "MonitorNamespaceNotSelected")),
        (
            {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}},
            (Outcome.FAIL, "MonitorNamespaceNotSelected"),
        ),
        ({"matchLabels": {"kubernetes.io/metadata.name": "llm"}}, PASS),
        (
            {
                "matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["x"]}
                ]
            },
            PASS,
        ),
    ],
)
def test_namespaces_of_monitors(
    selector: dict[str, Any] | None, expected: tuple[Outcome, str | None]
) -> None:
    reads = box("cpu-k3s")
    spec = items(reads, PROMETHEUSES)[0]["spec"]
    del spec["serviceMonitorNamespaceSelector"]
    if selector is not None:
        spec["serviceMonitorNamespaceSelector"] = selector
    untarget(reads, "edge-exporter")
    assert verdict(reads, "telemetry.monitors", CPU) == expected


def test_a_namespace_selector_that_hangs_on_labels_nobody_read_is_judged_by_its_effect() -> None:
    reads = box("cpu-k3s")
    items(reads, PROMETHEUSES)[0]["spec"]["serviceMonitorNamespaceSelector"] = {
        "matchLabels": {"team": "llm"}
    }
    assert verdict(reads, "telemetry.monitors", CPU) == PASS
    untarget(reads, "edge-exporter")
    assert verdict(reads, "telemetry.monitors", CPU) == (Outcome.UNKNOWN, "SelectorUndecided")


def test_what_is_scraped_by_other_means_needs_no_monitor() -> None:
    reads = box()
    drop(reads, MONITORS, "edge-exporter")
    assert verdict(reads, "telemetry.monitors") == PASS
    untarget(reads, "edge-exporter")
    assert verdict(reads, "telemetry.monitors") == (Outcome.FAIL, "MonitorMissing")


def test_a_monitor_that_finds_no_service() -> None:
    reads = box()
    item(reads, MONITORS, "edge-exporter")["spec"]["selector"] = {"matchLabels": {"app": "edge-exporter"}}
    untarget(reads, "edge-exporter")
    assert verdict(reads, "telemetry.monitors") == (Outcome.FAIL, "MonitorMatchesNoService")


def test_a_monitor_that_looks_in_the_wrong_namespace() -> None:
    reads = box()
    item(reads, MONITORS, "edge-exporter")["spec"]["namespaceSelector"] = {"matchNames": ["ai"]}
    untarget(reads, "edge-exporter")
    assert verdict(reads, "telemetry.monitors") == (Outcome.FAIL, "MonitorMatchesNoService")
    item(reads, MONITORS, "edge-exporter")["spec"]["namespaceSelector"] = {"any": True}
    assert verdict(reads, "telemetry.monitors") == PASS


def test_a_monitor_that_scrapes_a_port_the_service_has_not() -> None:
    reads = box()
    item(reads, MONITORS, "edge-exporter")["spec"]["endpoints"][0]["port"] = "http"
    untarget(reads, "edge-exporter")
    found = findings(reads)["telemetry.monitors"]
    assert found.result.reason == "MonitorPortUnknown"
    assert "http" in found.result.message
    assert "metrics" in found.result.message


def test_a_sound_monitor_that_nobody_applies() -> None:
    reads = box()
    untarget(reads, "edge-exporter")
    assert verdict(reads, "telemetry.monitors") == PASS  # then the target itself is what is missing
    assert verdict(reads, "telemetry.targets") == (Outcome.FAIL, "TargetMissing")
    container(reads, "kube-prometheus-stack-operator", CRASH, restartCount=30)
    assert verdict(reads, "telemetry.monitors") == (Outcome.FAIL, "OperatorDown")


def test_a_sound_monitor_of_a_paused_prometheus() -> None:
    reads = box()
    untarget(reads, "edge-exporter")
    items(reads, PROMETHEUSES)[0]["spec"]["paused"] = True
    found = findings(reads)["telemetry.monitors"]
    assert (found.outcome, found.result.reason) == (Outcome.FAIL, "NotApplied")
    assert "paused" in found.result.message


def test_monitors_are_not_judged_without_targets_when_there_are_none_of_them() -> None:
    reads = box("cpu-k3s")
    reads[MONITORS] = kubernetes_list(kind="ServiceMonitorList")
    silent(reads)
    assert verdict(reads, "telemetry.monitors", CPU) == (Outcome.UNKNOWN, "MonitorMissing")


def test_an_object_is_missing_where_an_operator_is_promised() -> None:
    reads = box("cpu-k3s")
    reads[PROMETHEUSES] = kubernetes_list(kind="PrometheusList")
    untarget(reads, "edge-exporter")
    assert verdict(reads, "telemetry.monitors", TelemetrySpec(operator=True)) == (
        Outcome.FAIL,
        "MonitorNotSelected",
    )


# ---- retention


@pytest.mark.parametrize(
    ("cap", "volume", "expected"),
    [
        ("20GB", "25Gi", PASS),
        ("24GB", "25Gi", (Outcome.FAIL, "CapTooLarge")),
        ("1TB", "25Gi", (Outcome.FAIL, "CapTooLarge")),
        ("512MB", "1G", PASS),
        ("", "25Gi", (Outcome.FAIL, "NoSizeCap")),
        ("many", "25Gi", (Outcome.UNKNOWN, "Malformed")),
    ],
)
def test_the_cap_leaves_room(cap: str, volume: str, expected: tuple[Outcome, str | None]) -> None:
    reads = box()
    items(reads, PROMETHEUSES)[0]["spec"]["retentionSize"] = cap
    item(reads, PVCS, "prometheus-db")["status"]["capacity"]["storage"] = volume
    assert verdict(reads, "telemetry.retention") == expected


def test_the_cap_of_a_standalone_prometheus_is_in_its_flags() -> None:
    reads = standalone()
    pod = item(reads, PODS, "prometheus-5b6c")
    pod["spec"]["volumes"] = [
        {"name": "db", "persistentVolumeClaim": {"claimName": "prometheus"}},
        {"name": "x"},
    ]
    items(reads, PVCS).append(
        {
            "metadata": {"name": "prometheus", "namespace": "llm-observability"},
            "spec": {"resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Pending"},
        }
    )
    assert verdict(reads, "telemetry.retention", CPU) == (Outcome.UNKNOWN, "CapUnseen")
    pod["spec"]["containers"][0]["args"] = ["--storage.tsdb.retention.size=900MB"]
    assert verdict(reads, "telemetry.retention", CPU) == (Outcome.FAIL, "CapTooLarge")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(858993459, PASS), (900000000, (Outcome.FAIL, "CapTooLarge")), (0, (Outcome.FAIL, "NoSizeCap"))],
)
def test_what_prometheus_says_of_its_cap_goes_first(limit: int, expected: tuple[Outcome, str | None]) -> None:
    reads = box()
    item(reads, PVCS, "prometheus-db")["status"]["capacity"]["storage"] = "1Gi"
    reads["http:prometheus:/api/v1/query?query=prometheus_tsdb_retention_limit_bytes"] = answer(
        {
            "status": "success",
            "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1781524800.0, str(limit)]}]},
        }
    )
    assert verdict(reads, "telemetry.retention") == expected


def test_advice_never_closes_the_gate() -> None:
    assert [each.id for each in LAYER.contracts if not each.required] == ["telemetry.retention"]


# ---- robustness of the bases themselves


def test_the_bases_are_not_changed_by_judging() -> None:
    reads = box()
    kept = copy.deepcopy(reads)
    findings(reads)
    assert reads == kept


def test_an_unknown_key_of_the_spec_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"grafanas": True}, TelemetrySpec)
