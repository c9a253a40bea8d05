"""Rules, Alertmanager, alerts on their way, dashboards: a healthy box with one thing changed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests import Outcome
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.testing import answer, judge, recording_of
from llm_observability_stack.telemetry import LAYER, TelemetrySpec

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
PODS = "api:/api/v1/pods"
SERVICES = "api:/api/v1/services"
PROMETHEUSES = "api:/apis/monitoring.coreos.com/v1/prometheuses"
RULES = "http:prometheus:/api/v1/rules"
FOUND = "http:prometheus:/api/v1/alertmanagers"
FIRING = "http:prometheus:/api/v1/query?query=ALERTS%7Balertstate%3D%22firing%22%7D"
STATUS = "http:alertmanager:/api/v2/status"
ALERTS = "http:alertmanager:/api/v2/alerts"
SPEC = TelemetrySpec(grafana=True)
CRASH = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}
PASS = (Outcome.PASS, None)
Reads = dict[str, Any]


def box() -> Reads:
    reads: Reads = json.loads((BASES / "cpu-k3s.json").read_text())["reads"]
    return reads


def items(reads: Reads, key: str) -> list[Any]:
    found: list[Any] = reads[key]["body"]["items"]
    return found


def item(reads: Reads, key: str, part: str) -> Any:
    return next(each for each in items(reads, key) if part in each["metadata"]["name"])


def drop(reads: Reads, key: str, part: str) -> None:
    reads[key]["body"]["items"] = [each for each in items(reads, key) if part not in each["metadata"]["name"]]


def container(reads: Reads, part: str, state: dict[str, Any], **more: Any) -> Any:
    pod = item(reads, PODS, part)
    pod["status"]["containerStatuses"][0] |= {"state": state, "ready": False, **more}
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition["status"] = "False"
    return pod


def findings(reads: Reads, spec: TelemetrySpec = SPEC) -> dict[str, Finding]:
    return judge(LAYER, spec, recording_of(reads))


def verdict(reads: Reads, contract: str, spec: TelemetrySpec = SPEC) -> tuple[Outcome, str | None]:
    found = findings(reads, spec)[contract]
    return found.outcome, found.result.reason


def groups(reads: Reads) -> list[Any]:
    found: list[Any] = reads[RULES]["body"]["data"]["groups"]
    return found


def just_started(reads: Reads) -> None:
    for status in item(reads, PODS, "prometheus-0")["status"]["containerStatuses"]:
        status["state"] = {"running": {"startedAt": "2026-06-15T11:59:30Z"}}


# ---- rules


def test_the_promised_group_is_absent() -> None:
    reads = box()
    del groups(reads)[0]
    found = findings(reads)["telemetry.rules"]
    assert (found.outcome, found.result.reason) == (Outcome.FAIL, "RulesMissing")
    groups(reads).clear()
    assert "loaded: none" in findings(reads)["telemetry.rules"].result.message


def test_a_group_without_alerts_promises_nothing() -> None:
    reads = box()
    groups(reads)[0]["rules"] = [{"name": "a:b:c", "type": "recording", "health": "ok"}]
    assert verdict(reads, "telemetry.rules") == (Outcome.FAIL, "RulesEmpty")


def test_no_promised_group_compares_nothing() -> None:
    assert verdict(box(), "telemetry.rules", TelemetrySpec(rule_groups=())) == (Outcome.FAIL, "RulesEmpty")


def test_a_rule_that_cannot_be_evaluated() -> None:
    reads = box()
    groups(reads)[0]["rules"][0] |= {"health": "err", "lastError": "many-to-many matching not allowed"}
    found = findings(reads)["telemetry.rules"]
    assert found.result.reason == "RuleFailing"
    assert "many-to-many" in found.result.message


def test_a_failing_rule_of_somebody_else_breaks_no_promise() -> None:
    reads = box()
    groups(reads)[2]["rules"][0] |= {"health": "err", "lastError": "parse error"}
    assert verdict(reads, "telemetry.rules") == PASS


@pytest.mark.parametrize(
    "body", ["", {"status": "success", "data": {"groups": "none"}}, {"status": "success", "data": {"x": 1}}]
)
def test_rules_that_were_not_told(body: Any) -> None:
    reads = box()
    reads[RULES] = answer(body)
    assert verdict(reads, "telemetry.rules") == (Outcome.UNKNOWN, "Malformed")


# ---- Alertmanager


def not_found(reads: Reads, *dropped: str) -> None:
    reads[FOUND]["body"]["data"] = {
        "activeAlertmanagers": [],
        "droppedAlertmanagers": [{"url": url} for url in dropped],
    }


def test_no_alertmanager_found_and_no_reason_to_be_seen() -> None:
    reads = box()
    not_found(reads)
    assert verdict(reads, "telemetry.alertmanager") == (Outcome.FAIL, "AlertmanagerNotFound")
    just_started(reads)
    assert verdict(reads, "telemetry.alertmanager") == (Outcome.UNKNOWN, "NotYetDiscovered")


def test_the_object_names_a_port_that_the_service_has_not() -> None:
    reads = box()
    not_found(reads, "http://10.42.0.24:9093/api/v2/alerts")
    items(reads, PROMETHEUSES)[0]["spec"]["alerting"]["alertmanagers"][0]["port"] = "web"
    found = findings(reads)["telemetry.alertmanager"]
    assert found.result.reason == "AlertmanagerPortUnknown"
    assert "10.42.0.24" in found.result.message


def test_the_object_names_a_service_that_is_not_there() -> None:
    reads = box()
    not_found(reads)
    items(reads, PROMETHEUSES)[0]["spec"]["alerting"]["alertmanagers"][0]["name"] = "alertmanager-main"
    found = findings(reads)["telemetry.alertmanager"]
    assert found.result.reason == "AlertmanagerNotFound"
    assert "monitoring/alertmanager-main" in found.result.message


def test_no_alertmanager_is_installed() -> None:
    reads = box()
    not_found(reads)
    items(reads, PROMETHEUSES)[0]["spec"].pop("alerting")
    drop(reads, PODS, "alertmanager")
    assert verdict(reads, "telemetry.alertmanager") == (Outcome.FAIL, "AlertmanagerNotFound")
    drop(reads, SERVICES, "alertmanager")
    assert verdict(reads, "telemetry.alertmanager") == (Outcome.FAIL, "AlertmanagerMissing")


def test_an_alertmanager_that_crashes_and_is_not_found() -> None:
    reads = box()
    not_found(reads)
    container(reads, "alertmanager", CRASH, restartCount=12, lastState={"terminated": {"exitCode": 1}})
    assert verdict(reads, "telemetry.alertmanager") == (Outcome.FAIL, "AlertmanagerDown")


def test_found_and_down() -> None:
    reads = box()
    reads[STATUS] = reads[ALERTS] = answer(None, status=None, error="unreachable")
    assert verdict(reads, "telemetry.alertmanager") == (Outcome.UNKNOWN, "Unreachable")
    container(reads, "alertmanager", CRASH, restartCount=12)
    assert verdict(reads, "telemetry.alertmanager") == (Outcome.FAIL, "AlertmanagerDown")
    del reads[PODS]
    assert verdict(reads, "telemetry.alertmanager") == (Outcome.UNKNOWN, "Unreachable")


@pytest.mark.parametrize("body", ["", "<html>", {}, {"versionInfo": {}}, {"versionInfo": []}])
def test_something_else_answers_in_its_place(body: Any) -> None:
    reads = box()
    reads[STATUS] = answer(body)
    assert verdict(reads, "telemetry.alertmanager") == (Outcome.UNKNOWN, "Malformed")


# ---- alerts


def firing(reads: Reads, *names: str) -> None:
    reads[FIRING]["body"]["data"]["result"] = [
        {"metric": {"alertname": name}, "value": [1781524800.0, "1"]} for name in names
    ]


def arrived(reads: Reads, *names: str) -> None:
    reads[ALERTS] = answer([{"labels": {"alertname": name}} for name in names])


def test_alerts_that_never_arrive() -> None:
    reads = box()
    arrived(reads)
    found = findings(reads)["telemetry.alerts"]
    assert (found.outcome, found.result.reason) == (Outcome.FAIL, "AlertsLost")
    assert "Watchdog" in found.result.message


def test_an_alert_that_began_a_minute_ago_may_be_under_way() -> None:
    reads = box()
    arrived(reads)
    watchdog = next(rule for group in groups(reads) for rule in group["rules"] if rule["name"] == "Watchdog")
    watchdog["alerts"][0]["activeAt"] = "2026-06-15T11:59:00Z"
    assert verdict(reads, "telemetry.alerts") == PASS
    watchdog["alerts"][0]["activeAt"] = None
    assert verdict(reads, "telemetry.alerts") == (Outcome.FAIL, "AlertsLost")
    watchdog["alerts"][0]["state"] = "pending"
    assert verdict(reads, "telemetry.alerts") == (Outcome.FAIL, "AlertsLost")


def test_one_that_arrives_proves_the_way_others_may_be_relabelled_away() -> None:
    reads = box()
    firing(reads, "Watchdog", "InfoInhibitor")
    assert verdict(reads, "telemetry.alerts") == PASS


def test_where_nothing_fires_nothing_has_to_arrive() -> None:
    reads = box()
    firing(reads)
    arrived(reads)
    found = findings(reads)["telemetry.alerts"]
    assert found.outcome is Outcome.PASS
    assert "no alert fires" in found.result.message


@pytest.mark.parametrize("body", [{"alerts": []}, "<html>", "", [1], [{"labels": {"alertname": 1}}]])
def test_alerts_that_were_not_told(body: Any) -> None:
    reads = box()
    reads[ALERTS] = answer(body)
    assert verdict(reads, "telemetry.alerts") == (Outcome.UNKNOWN, "Malformed")


def test_a_list_kept_as_text_is_read() -> None:
    reads = box()
    reads[ALERTS] = answer(json.dumps(reads[ALERTS]["body"]))
    assert verdict(reads, "telemetry.alerts") == PASS


def test_consequences_of_a_missing_alertmanager_are_blocked() -> None:
    reads = box()
    not_found(reads)
    arrived(reads)
    found = findings(reads)["telemetry.alerts"]
    assert (found.outcome, found.blocked_by) == (Outcome.BLOCKED, "telemetry.alertmanager")


# ---- dashboards


def crashing(reads: Reads) -> None:
    container(reads, "grafana", CRASH, restartCount=112, lastState={"terminated": {"exitCode": 1}})


def absent(reads: Reads) -> None:
    drop(reads, PODS, "grafana")


def own_stack(reads: Reads) -> None:
    absent(reads)
    item(reads, PODS, "prometheus-kube-prometheus-stack-prometheus")["metadata"]["labels"] |= {
        "app.kubernetes.io/part-of": "edge"
    }


def starting(reads: Reads) -> None:
    container(reads, "grafana", {"running": {"startedAt": "2026-06-15T11:59:40Z"}})


def leaving(reads: Reads) -> None:
    item(reads, PODS, "grafana")["metadata"]["deletionTimestamp"] = "2026-06-15T11:59:40Z"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (crashing, (Outcome.FAIL, "GrafanaDown")),
        (absent, (Outcome.FAIL, "GrafanaMissing")),
        (own_stack, PASS),
        (leaving, (Outcome.FAIL, "GrafanaMissing")),
        (starting, (Outcome.UNKNOWN, "GrafanaStarting")),
    ],
)
def test_grafana(change: Callable[[Reads], None], expected: tuple[Outcome, str]) -> None:
    reads = box()
    change(reads)
    assert verdict(reads, "telemetry.dashboards") == expected
    assert "telemetry.dashboards" not in findings(reads, TelemetrySpec())


# ---- what is told and not applied, what is sent elsewhere


def prometheus_object(reads: Reads) -> Any:
    return items(reads, PROMETHEUSES)[0]


def reconciled(reads: Reads, status: str) -> None:
    for condition in prometheus_object(reads)["status"]["conditions"]:
        if condition["type"] == "Reconciled":
            condition |= {"status": status, "reason": "ReconciliationFailed", "message": "invalid relabeling"}


def test_rules_that_nobody_applies() -> None:
    for change, word in (
        (lambda reads: prometheus_object(reads)["spec"].update(paused=True), "paused"),
        (lambda reads: reconciled(reads, "False"), "invalid relabeling"),
    ):
        reads = box()
        change(reads)
        assert verdict(reads, "telemetry.rules") == PASS  # what was there goes on
        del groups(reads)[0]
        found = findings(reads)["telemetry.rules"]
        assert (found.result.reason, word in found.result.message) == ("NotApplied", True)


@pytest.mark.parametrize(
    ("selectors", "word"),
    [
        ({"ruleSelector": {"matchLabels": {"release": "x"}}}, "release=x"),
        ({"ruleSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}, "a Exists"),
        ({"ruleSelector": None}, "no ruleSelector"),
        ({"ruleSelector": {}, "ruleNamespaceSelector": None}, "its own namespace"),
        ({}, "loaded: general.rules, node-exporter"),
    ],
)
def test_rules_that_a_selector_passes_by(selectors: dict[str, Any], word: str) -> None:
    reads = box()
    prometheus_object(reads)["spec"] |= selectors
    del groups(reads)[0]
    found = findings(reads)["telemetry.rules"]
    assert found.result.reason == "RulesMissing"
    assert word in found.result.message


def test_without_an_operator_no_selector_is_blamed() -> None:
    reads = box()
    reads[PROMETHEUSES] = answer("404 page not found", status=404)
    del groups(reads)[0]
    assert findings(reads)["telemetry.rules"].result.message.endswith("node-exporter")


@pytest.mark.parametrize(
    ("url", "reason", "word"),
    [
        ("http://10.42.0.24:9093/api/v2/alerts", "AlertsLost", "Watchdog"),
        ("http://10.42.0.24:9093/api/v1/alerts", "AlertsSentElsewhere", "version v1"),
        ("http://10.42.0.24:9093/alertmanager/api/v2/alerts", "AlertsSentElsewhere", "/alertmanager"),
        ("http://10.42.0.24:9093/other", "AlertsSentElsewhere", "/other"),
    ],
)
def test_alerts_that_are_sent_elsewhere(url: str, reason: str, word: str) -> None:
    reads = box()
    reads[FOUND]["body"]["data"]["activeAlertmanagers"] = [{"url": url}]
    assert verdict(reads, "telemetry.alerts") == PASS  # they arrive, whatever the address is
    reads[ALERTS]["body"] = []
    found = findings(reads)["telemetry.alerts"]
    assert (found.outcome, found.result.reason) == (Outcome.FAIL, reason)
    assert word in found.result.message
