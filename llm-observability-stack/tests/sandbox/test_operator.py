"""Operator mode for real: the Prometheus operator, a monitor that it selects and one that it does not.

The node is that of `test_alerts.py`; `edge up` changes it from the chart's own Prometheus to the operator's.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

MONITORING, NAMESPACE = "monitoring", "llm-observability"
LABELS = {"release": "edge"}
Box = Any  # what conftest.py makes; a folder of tests is no package to import from

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox needs root"),
]


def bundle() -> Iterator[str]:
    """The operator's objects as published, with images that were built here, in a namespace of their own."""
    from k3s_nvidia_edge.sandbox.build import build

    artifacts = build(
        ["prometheus-operator-image", "prometheus-config-reloader-image", "prometheus-operator-crds"]
    )
    text = (artifacts.outputs["prometheus-operator-crds"] / "bundle.yaml").read_text()
    for kind in text.split("\n---\n"):
        if "\nkind: CustomResourceDefinition\n" in f"\n{kind}":
            yield kind
            continue
        document = yaml.safe_load(kind)
        if document.get("metadata", {}).get("namespace"):
            document["metadata"]["namespace"] = MONITORING
        for subject in document.get("subjects", ()):
            subject["namespace"] = MONITORING
        if document["kind"] == "Deployment":
            [container] = document["spec"]["template"]["spec"]["containers"]
            refs = {image.ref.rpartition("/")[2].partition(":")[0]: image.ref for image in artifacts.images}
            container["image"] = refs["prometheus-operator"]
            container["args"] = [
                f"--prometheus-config-reloader={refs['prometheus-config-reloader']}",
                "--kubelet-endpoints=false",
            ]
        yield yaml.safe_dump(document)


ACCOUNT = {"name": "prometheus", "namespace": MONITORING}
READ = {"apiGroups": [""], "resources": ["services", "endpoints", "pods"], "verbs": ["get", "list", "watch"]}
STACK: list[dict[str, Any]] = [
    {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "prometheus", "namespace": MONITORING},
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "prometheus"},
        "rules": [READ],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "prometheus"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "prometheus"},
        "subjects": [{"kind": "ServiceAccount", **ACCOUNT}],
    },
    {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Prometheus",
        "metadata": {"name": "k8s", "namespace": MONITORING},
        "spec": {
            "image": "localhost/edge/prometheus:3.16.0",
            "version": "v3.16.0",
            "serviceAccountName": "prometheus",
            "scrapeInterval": "2s",
            "scrapeTimeout": "2s",
            "evaluationInterval": "2s",
            "retention": "1d",
            **{f"{what}NamespaceSelector": {} for what in ("serviceMonitor", "rule")},
            **{f"{what}Selector": {"matchLabels": LABELS} for what in ("serviceMonitor", "rule")},
            "alerting": {
                "alertmanagers": [{"namespace": MONITORING, "name": "alertmanager-operated", "port": "web"}]
            },
        },
    },
    {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Alertmanager",
        "metadata": {"name": "main", "namespace": MONITORING},
        "spec": {
            "image": "localhost/edge/alertmanager:0.35.0",
            "version": "v0.35.0",
            "replicas": 1,
            "alertmanagerConfigNamespaceSelector": {},
            "alertmanagerConfigSelector": {"matchLabels": LABELS},
            "alertmanagerConfigMatcherStrategy": {"type": "None"},
        },
    },
]


def monitor(name: str, labels: dict[str, str], service: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": name, "namespace": MONITORING, "labels": labels},
        "spec": {"selector": {"matchLabels": service}, "endpoints": [{"port": "web"}]},
    }


@pytest.fixture(scope="module")
def operated(box: Box) -> Box:
    """The operator with a Prometheus and an Alertmanager, and Layer 3 in operator mode."""
    from k3s_nvidia_edge.sandbox.build import build

    for name in ("prometheus-operator-image", "prometheus-config-reloader-image"):
        [image] = build([name]).images
        box.put(image.path, "ctr", "--namespace", "k8s.io", "images", "import", "-")
    box.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": MONITORING}})
    box.kubectl("apply", "--server-side", "-f", "-", text="\n---\n".join(bundle()))
    box.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    box.apply(*STACK)
    box.apply(monitor("prometheus", LABELS, {"operated-prometheus": "true"}))
    # the same Service by a monitor of somebody else's
    box.apply(monitor("anothers", {"release": "of-somebody-else"}, {"operated-prometheus": "true"}))
    box.kubectl("-n", MONITORING, "rollout", "status", "deployment/prometheus-operator", "--timeout=90s")
    # `edge up` waits for the rest: that Prometheus runs, selects, scrapes and loads the rules
    box.up(
        {
            "mode": "operator",
            "operator": {"namespace": MONITORING, "labels": LABELS},
            "exporter": {"intervalSeconds": 3, "profileDocument": box.values["exporter"]["profileDocument"]},
        },
        {"operator": True},
    )
    return box


def targets(box: Box) -> set[str]:
    """The pools of scraped targets, as the operator names them after their monitor."""
    box.nudge(MONITORING)  # the operator has written a new configuration, perhaps
    active = box.ask(f"{box.url('prometheus-operated', MONITORING)}/api/v1/targets?state=active")["data"]
    return {each["scrapePool"] for each in active["activeTargets"] if each["health"] == "up"}


def finding(box: Box, contract: str) -> dict[str, Any]:
    verdict = json.loads(box.diagnose("--profile", box.folder / "profile.yaml"))
    [found] = [each for each in verdict["findings"] if each["contract"] == contract]
    return dict(found, route=verdict["route"])


def test_the_monitor_is_selected_and_anothers_is_not(operated: Box) -> None:
    ours = f"serviceMonitor/{NAMESPACE}/edge-exporter/0"
    operated.wait("the exporter's target", lambda: ours in targets(operated))
    assert targets(operated) == {ours, f"serviceMonitor/{MONITORING}/prometheus/0"}
    assert finding(operated, "telemetry.monitors")["outcome"] == "pass"


def test_what_the_exporter_says_of_pods_is_theirs_and_not_its_own(operated: Box) -> None:
    expression = 'edge_pod_ready{namespace="gpu-operator"}'
    url = operated.url("prometheus-operated", MONITORING)
    [sample] = operated.wait("a pod of Layer 1", lambda: operated.query(expression, url))
    assert sample["metric"]["pod"].startswith("simulated-device-plugin-")
    assert sample["metric"]["job"] == "edge-exporter"


def test_rules_fire_and_alertmanager_routes_and_hides_by_the_objects_of_the_chart(operated: Box) -> None:
    def told() -> list[str]:
        operated.nudge(MONITORING)  # rules, routes and receivers have been written, perhaps
        firing = [each for each in operated.receiver.told if each[:2] == ("ModelOnCpu", "firing")]
        return [receiver for *_, receiver in firing if receiver.startswith(f"{NAMESPACE}/")]

    assert set(operated.wait("ModelOnCpu firing", told)) == {f"{NAMESPACE}/edge-llm/critical"}
    url = operated.url("alertmanager-operated", MONITORING)
    loaded = yaml.safe_load(operated.ask(f"{url}/api/v2/status")["config"]["original"])
    [route] = loaded["route"]["routes"]
    assert route["matchers"] == ['owner!=""']
    assert route["receiver"] == f"{NAMESPACE}/edge-llm/default"
    shipped = Path(__file__).parents[2] / "src/llm_observability_stack/charts/edge-telemetry/files"
    rules = yaml.safe_load((shipped / "alertmanager" / "inhibition.yml").read_text())
    hides = [(set(each["source_matchers"]), set(each.get("equal", ()))) for each in loaded["inhibit_rules"]]
    assert hides == [(set(each["source_matchers"]), set(each.get("equal", ()))) for each in rules]


def test_the_contract_tells_a_monitor_that_is_not_selected_from_one_that_is(operated: Box) -> None:
    operated.apply(monitor("alertmanager", {"release": "typo"}, {"operated-alertmanager": "true"}))
    found = finding(operated, "telemetry.monitors")
    assert (found["outcome"], found["reason"]) == ("fail", "MonitorNotSelected")
    assert f"ServiceMonitor {MONITORING}/alertmanager is not selected" in found["message"]
    assert "wants release=edge, its labels are release=typo" in found["message"]
    assert found["route"]["owner"] == "llm-observability-stack"
    assert f"serviceMonitor/{MONITORING}/alertmanager/0" not in targets(operated)
    operated.kubectl(
        "-n", MONITORING, "label", "servicemonitor", "alertmanager", "--overwrite", "release=edge"
    )
    assert finding(operated, "telemetry.monitors")["outcome"] == "pass"
