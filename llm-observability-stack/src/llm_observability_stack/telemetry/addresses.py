"""Where Prometheus and Alertmanager are asked: their Services, found by the pods behind them or by name."""

from collections.abc import Mapping, Sequence

from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import ServiceAddress
from edge_llm_tests.objects import Service, services

from llm_observability_stack.telemetry.roles import ALERTMANAGER, PROMETHEUS, Cast, cast, role_of_name
from llm_observability_stack.telemetry.selectors import matches
from llm_observability_stack.telemetry.spec import TelemetrySpec

__all__ = ["addresses", "service_of"]

_PORTS = {PROMETHEUS: 9090, ALERTMANAGER: 9093}
_WEB_NAMES = ("http-web", "web", "http")


def service_of(role: str, found: Sequence[Service], who: Cast) -> Service | None:
    """The Service in front of the pods of `role`, by its selector, else by its name."""
    pods = who.of(role)
    behind = [
        each
        for each in found
        if each.selector
        and any(
            pod.namespace == each.namespace and matches({"matchLabels": each.selector}, pod.labels)
            for pod in pods
        )
    ]
    named = [each for each in found if role_of_name(each.name) == role]
    return min(
        behind or named, key=lambda each: (_port(each, role) != _PORTS[role], _headless(each)), default=None
    )


def _headless(service: Service) -> bool:
    return service.cluster_ip in ("", "None")


def _port(service: Service, role: str) -> int:
    """The port of its API: the usual number, else the one that is named like a web port, else the first."""
    usual = _PORTS[role]
    if not service.ports or any(number == usual for number, _ in service.ports):
        return usual
    named = [number for number, name in service.ports if name in _WEB_NAMES]
    return named[0] if named else service.ports[0][0]


def addresses(_spec: TelemetrySpec, recording: Recording) -> Mapping[str, ServiceAddress]:
    """Addresses of `prometheus` and `alertmanager`, as far as what was seen so far tells."""
    found = recording.view(services).or_else(())
    who = recording.view(cast).or_else(Cast())
    chosen = {role: service_of(role, found, who) for role in _PORTS}
    return {role: each.address(_port(each, role)) for role, each in chosen.items() if each is not None}
