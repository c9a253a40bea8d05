"""Prometheus objects and ServiceMonitors: which monitor is selected, and what it finds."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import flag, integer, mapping, objects, text, texts
from edge_llm_tests.objects import Service
from edge_llm_tests.objects.meta import Meta

from llm_observability_stack.telemetry.roles import role_of_name
from llm_observability_stack.telemetry.selectors import described, matches, selects_namespace

__all__ = ["Monitor", "PrometheusObject", "Selection", "monitors", "prometheus_objects", "selection"]

_MONITORS = "/apis/monitoring.coreos.com/v1/servicemonitors"
_PROMETHEUSES = "/apis/monitoring.coreos.com/v1/prometheuses"
_NOT_FOUND = 404


class Monitor(Meta, frozen=True):
    """A ServiceMonitor."""

    @property
    def role(self) -> str | None:
        """What it is for, by its name or by the labels that it looks for."""
        wanted = mapping(self.raw, "spec", "selector", "matchLabels").values()
        names = (self.name, *(value for value in wanted if isinstance(value, str)))
        return next((role for name in names if (role := role_of_name(name)) is not None), None)

    @property
    def pool(self) -> str:
        """How the scrape pools are named that the operator makes of it, up to the index."""
        return f"serviceMonitor/{self.namespace}/{self.name}/"

    def looks_at(self, namespace: str) -> bool:
        """Whether it looks for Services in `namespace`."""
        chosen = mapping(self.raw, "spec", "namespaceSelector")
        if flag(chosen, "any"):
            return True
        return namespace in (texts(chosen, "matchNames") or (self.namespace,))

    def services(self, found: Sequence[Service]) -> tuple[Service, ...]:
        """The Services that its selector takes."""
        selector = mapping(self.raw, "spec", "selector")
        return tuple(
            each for each in found if self.looks_at(each.namespace) and matches(selector, each.labels)
        )

    @property
    def ports(self) -> tuple[str, ...]:
        """Names of the Service ports that it scrapes; an endpoint by number has none."""
        return tuple(name for raw in objects(self.raw, "spec", "endpoints") if (name := text(raw, "port")))


class PrometheusObject(Meta, frozen=True):
    """A Prometheus of the operator."""

    def selector(self, name: str) -> Mapping[str, Any] | None:
        """A selector of its spec; None where it is nil, which is not the same as empty."""
        spec = mapping(self.raw, "spec")
        return mapping(spec, name) if spec.get(name) is not None else None

    @property
    def replicas(self) -> int:
        """How many pods it wants."""
        return integer(self.raw, "spec", "replicas", default=1)

    @property
    def paused(self) -> bool:
        """Whether the operator leaves it as it is."""
        return flag(self.raw, "spec", "paused")

    @property
    def retention_size(self) -> str:
        """Its cap on the size of the database; empty for none."""
        return text(self.raw, "spec", "retentionSize")

    @property
    def alertmanager_ports(self) -> tuple[tuple[str, str, str], ...]:
        """Namespace, Service name and port name of each Alertmanager that it is told of."""
        return tuple(
            (text(raw, "namespace", default=self.namespace), text(raw, "name"), str(raw.get("port", "")))
            for raw in objects(self.raw, "spec", "alerting", "alertmanagers")
        )


def _items(recording: Recording, path: str) -> tuple[Mapping[str, Any], ...]:
    """The list at `path`; a 404 is the answer that this kind does not exist here."""
    read = recording.api(path)
    return () if read.error is None and read.status == _NOT_FOUND else read.items


def monitors(recording: Recording) -> tuple[Monitor, ...]:
    """All ServiceMonitors. Use as `recording.view(monitors)`."""
    return tuple(Monitor(raw) for raw in _items(recording, _MONITORS))


def prometheus_objects(recording: Recording) -> tuple[PrometheusObject, ...]:
    """All Prometheus objects. Use as `recording.view(prometheus_objects)`."""
    return tuple(PrometheusObject(raw) for raw in _items(recording, _PROMETHEUSES))


class Selection(msgspec.Struct, frozen=True):
    """Whether any Prometheus selects a monitor: True, False, or None where that hangs on what was not read.

    Attributes:
        selected: The answer.
        reason: A reason of `telemetry.monitors` where the answer is False.
        message: Why.
    """

    selected: bool | None
    reason: str = ""
    message: str = ""


def selection(monitor: Monitor, prometheuses: Sequence[PrometheusObject]) -> Selection:
    """What the selectors of the Prometheus objects make of a monitor; where a target exists, that counts."""
    undecided = False
    refused = Selection(
        selected=False, reason="MonitorNotSelected", message="there is no Prometheus object to select it"
    )
    for each in prometheuses:
        labels = each.selector("serviceMonitorSelector")
        namespaces = each.selector("serviceMonitorNamespaceSelector")
        by_label = matches(labels, monitor.labels)
        by_namespace = selects_namespace(namespaces, each.namespace, monitor.namespace)
        if by_label and by_namespace:
            return Selection(selected=True)
        if not by_label:
            refused = Selection(
                selected=False,
                reason="MonitorNotSelected",
                message=f"ServiceMonitor {monitor.path} is not selected: the serviceMonitorSelector of "
                f"Prometheus {each.path} wants {described(labels)}, its labels are "
                f"{described({'matchLabels': monitor.labels})}",
            )
        elif by_namespace is False:
            refused = Selection(
                selected=False,
                reason="MonitorNamespaceNotSelected",
                message=f"ServiceMonitor {monitor.path} is not selected: serviceMonitorNamespaceSelector of "
                f"Prometheus {each.path} is {described(namespaces)}"
                + (", which means its own namespace alone" if namespaces is None else ""),
            )
        else:
            undecided = True
    return Selection(selected=None) if undecided else refused
