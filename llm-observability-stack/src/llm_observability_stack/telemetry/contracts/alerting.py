"""Promises about what is made of the series: rules, alerts on their way, dashboards."""

from edge_llm_tests.contract import Result, contract, failed, passed, unknown

from llm_observability_stack.telemetry.alert_path import lost_alerts, sent_elsewhere, why_not_found
from llm_observability_stack.telemetry.not_applied import not_applied, rules_passed_by
from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.pod_trouble import Trouble
from llm_observability_stack.telemetry.refused import parked, refused
from llm_observability_stack.telemetry.roles import ALERTMANAGER, GRAFANA, is_own_stack
from llm_observability_stack.telemetry.spec import TelemetrySpec

__all__ = ["CONTRACTS", "alertmanager", "alerts", "dashboards", "rules"]


@contract(
    "telemetry.rules",
    "the promised rule groups are loaded and can be evaluated",
    reasons=("RulesMissing", "NotApplied", "RulesEmpty", "RuleFailing"),
    after=("gpu.node-ready", "telemetry.prometheus"),
)
def rules(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """Without them nobody is woken, and nothing looks wrong."""
    loaded = {group.name: group for group in observed.rules.value}
    absent = [name for name in spec.rule_groups if name not in loaded]
    if absent:
        have = ", ".join(sorted(loaded)) or "none"
        message = f"rule group {', '.join(absent)} is not loaded; loaded: {have}"
        if why := not_applied(observed):
            return failed("NotApplied", f"{message}; {why}")
        return failed("RulesMissing", message + rules_passed_by(observed))
    groups = [loaded[name] for name in spec.rule_groups]
    empty = [group.name for group in groups if not any(rule.alerting for rule in group.rules)]
    if empty or not groups:
        return failed("RulesEmpty", f"rule group {', '.join(empty) or '(none promised)'} has no alert in it")
    failing = [rule for group in groups for rule in group.rules if rule.health == "err"]
    if failing:
        return failed(
            "RuleFailing", f"rule {failing[0].name} cannot be evaluated: {failing[0].last_error[:200]}"
        )
    return passed(f"loaded: {', '.join(f'{group.name} ({len(group.rules)})' for group in groups)}")


@contract(
    "telemetry.alertmanager",
    "Prometheus has found an Alertmanager, and it answers",
    reasons=(
        "AlertmanagerNotFound",
        "AlertmanagerPortUnknown",
        "AlertmanagerMissing",
        "AlertmanagerRefused",
        "AlertmanagerDown",
        "NotYetDiscovered",
    ),
    after=("gpu.node-ready", "gpu.cni", "gpu.storage", "telemetry.prometheus"),
)
def alertmanager(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """Prometheus says of an Alertmanager only that it was found: that it answers is asked of itself."""
    found = observed.alertmanagers.value
    trouble = observed.trouble(ALERTMANAGER) if observed.cast.seen else None
    if not found.active:
        if observed.just_started:
            return unknown("NotYetDiscovered", "no Alertmanager yet: Prometheus has just started")
        if trouble is not None:
            return _down(f"Prometheus found no Alertmanager: {trouble.message}", trouble)
        gone = observed.cast.seen and not observed.cast.value.of(ALERTMANAGER)
        if gone and (said := refused(observed, ALERTMANAGER)):
            return failed("AlertmanagerRefused", f"no Alertmanager pod can be created: {said}")
        reason, message = why_not_found(observed)
        return failed(reason, message)
    if trouble is not None and not observed.alertmanager_version.seen:
        return _down(f"Alertmanager: {trouble.message}", trouble)
    return passed(f"{', '.join(found.active)}, version {observed.alertmanager_version.value}")


def _down(message: str, trouble: Trouble) -> Result:
    return failed("AlertmanagerDown", message, namespace=trouble.namespace, pod=trouble.pod)


@contract(
    "telemetry.alerts",
    "what fires in Prometheus arrives in Alertmanager",
    reasons=("AlertsLost", "AlertsSentElsewhere"),
    after=("telemetry.prometheus", "telemetry.rules", "telemetry.alertmanager"),
)
def alerts(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """Found is not reached: a network policy or a dead sender lets alerts fire into the void."""
    firing = frozenset(str(sample.labels.get("alertname", "")) for sample in observed.firing.value)
    arrived = observed.alertmanager_alerts.value
    lost = lost_alerts(observed, firing, arrived)
    if lost:
        message = f"firing in Prometheus and unknown to Alertmanager: {', '.join(sorted(lost))}"
        if elsewhere := sent_elsewhere(observed):
            return failed("AlertsSentElsewhere", f"{message}; {elsewhere}")
        return failed("AlertsLost", message)
    if not firing:
        return passed("no alert fires, so none has to arrive")
    return passed(f"arrived: {', '.join(sorted(firing & arrived)) or 'none old enough'}")


@contract(
    "telemetry.dashboards",
    "Grafana runs, where the stack that is used brings one",
    reasons=("GrafanaMissing", "GrafanaRefused", "GrafanaScaledToZero", "GrafanaDown", "GrafanaStarting"),
    after=("gpu.api", "gpu.node-ready", "gpu.cni", "gpu.storage"),
    applies=lambda spec: spec.grafana,
)
def dashboards(spec: TelemetrySpec, observed: TelemetryState) -> Result:
    """Metrics and alerts may flow while nobody can look at them; the standalone stack has no Grafana."""
    found = observed.cast.value.of(GRAFANA)
    if not found and is_own_stack(observed.cast.value):
        return passed(
            "this project's standalone Prometheus is used, which brings no Grafana; dashboards are files"
        )
    if not found and (said := refused(observed, GRAFANA)):
        return failed("GrafanaRefused", f"no Grafana pod can be created: {said}", independent=True)
    if not found and (path := parked(observed, GRAFANA)):
        namespace, _, name = path.partition("/")
        said = f"Deployment {path} wants 0 replicas: somebody scaled Grafana to zero"
        return failed("GrafanaScaledToZero", said, independent=True, namespace=namespace, workload=name)
    if not found:
        return failed("GrafanaMissing", "Grafana is promised for the dashboards and no pod of it exists")
    trouble = observed.trouble(GRAFANA)
    if trouble is None:
        return passed(f"runs: {found[0].path}")
    if trouble.kind == "Starting":
        return unknown("GrafanaStarting", f"Grafana: {trouble.message}")
    return failed(
        "GrafanaDown",
        f"Grafana, so the dashboards: {trouble.message}",
        namespace=trouble.namespace,
        pod=trouble.pod,
    )


CONTRACTS = (rules, alertmanager, alerts, dashboards)
