"""The way of an alert from Prometheus to Alertmanager."""

from collections.abc import Set as AbstractSet
from datetime import timedelta
from urllib.parse import urlsplit

from llm_observability_stack.telemetry.addresses import service_of
from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.prometheus_api import Alertmanagers
from llm_observability_stack.telemetry.roles import ALERTMANAGER

__all__ = ["lost_alerts", "sent_elsewhere", "why_not_found"]

_ALERTS_PATH = "/api/v2/alerts"
_OLD_ALERTS_PATH = "/api/v1/alerts"
_DELIVERY = timedelta(minutes=5)  # sent at each evaluation, then grouped: five minutes are ample


def why_not_found(observed: TelemetryState) -> tuple[str, str]:
    """Reason and message for a Prometheus without an active Alertmanager."""
    dropped = observed.alertmanagers.value.dropped
    message = "Prometheus has found no Alertmanager, so alerts fire into the void"
    if dropped:
        message += f"; it saw {', '.join(dropped[:3])} and dropped it by its configuration"
    services = observed.services.or_else(())
    known = {(each.namespace, each.name): {name for _, name in each.ports} for each in services}
    for prometheus in observed.prometheuses.or_else(()):
        for namespace, name, port in prometheus.alertmanager_ports:
            names = known.get((namespace, name))
            if names is None and services:
                detail = (
                    f"Prometheus {prometheus.path} is told of Service {namespace}/{name}, which is not there"
                )
                return "AlertmanagerNotFound", f"{message}; {detail}"
            if names and port not in names:
                detail = (
                    f"Prometheus {prometheus.path} is told of port {port}, Service {namespace}/{name} of "
                    f"Alertmanager has {', '.join(sorted(names))}"
                )
                return "AlertmanagerPortUnknown", f"{message}; {detail}"
    cast = observed.cast.value
    if not cast.of(ALERTMANAGER) and service_of(ALERTMANAGER, services, cast) is None:
        return "AlertmanagerMissing", f"{message}; none is installed"
    return "AlertmanagerNotFound", message


def lost_alerts(
    observed: TelemetryState, firing: AbstractSet[str], arrived: AbstractSet[str]
) -> frozenset[str]:
    """Alerts that fire long enough to have arrived, where none of them has: a few may be relabelled away."""
    since = {
        rule.name: min(rule.firing_since)
        for group in observed.rules.or_else(())
        for rule in group.rules
        if rule.firing_since
    }
    due = frozenset(name for name in firing if name not in since or observed.now - since[name] > _DELIVERY)
    return due if due and not due & arrived else frozenset()


def sent_elsewhere(observed: TelemetryState) -> str:
    """Where Prometheus sends alerts, if that is not where this Alertmanager takes them; else empty."""
    for url in observed.alertmanagers.or_else(Alertmanagers((), ())).active:
        path = urlsplit(url).path
        if path.endswith(_OLD_ALERTS_PATH):
            return (
                f"Prometheus sends to {url}: the API version v1, which Alertmanager has given up since 0.27"
            )
        if path != _ALERTS_PATH:
            return (
                f"Prometheus sends to {url}: under the path prefix {path.removesuffix(_ALERTS_PATH) or '/'},"
                " while Alertmanager answers without one"
            )
    return ""
