"""The observed state of telemetry: what the reads of a recording show of it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypedDict

import msgspec
from edge_llm_tests.evidence import Recording
from edge_llm_tests.objects import (
    EndpointSlice,
    Event,
    Pod,
    Service,
    Workload,
    endpoint_slices,
    events,
    services,
)
from edge_llm_tests.objects.meta import Meta
from edge_llm_tests.reads import Sight, see

from llm_observability_stack.telemetry import prometheus_api as api
from llm_observability_stack.telemetry.cards import Cards, cards
from llm_observability_stack.telemetry.monitors import Monitor, PrometheusObject, monitors, prometheus_objects
from llm_observability_stack.telemetry.pod_trouble import Trouble, pod_trouble, worst_trouble
from llm_observability_stack.telemetry.roles import PROMETHEUS, Cast, cast, gpu_daemonsets
from llm_observability_stack.telemetry.spec import TelemetrySpec

__all__ = ["TelemetryState", "crd_names", "observe"]

JUST_STARTED = timedelta(seconds=90)
"""A Prometheus younger than this may not have discovered, scraped and evaluated everything once."""


class PodName(TypedDict, total=False):
    """What the placeholders of a command say of a pod."""

    namespace: str
    pod: str


class TelemetryState(msgspec.Struct, frozen=True):
    """What was seen of Prometheus, its objects, its targets, and of what it sends to.

    Attributes:
        now: Time of the recording.
        cast: The pods that matter, by role.
        gpu_daemonsets: What deploys a GPU exporter.
        firing: `ALERTS` that fire.
        up: The series `up`.
        gpu_series: Name of a promised GPU series to its samples.
        cards: The cards that nvidia-smi lists: a refinement.
    """

    recording: Recording
    now: datetime
    cast: Sight[Cast]
    gpu_daemonsets: Sight[tuple[Workload, ...]]
    events: Sight[tuple[Event, ...]]
    services: Sight[tuple[Service, ...]]
    slices: Sight[tuple[EndpointSlice, ...]]
    crds: Sight[frozenset[str]]
    cluster_policies: Sight[tuple[Meta, ...]]
    prometheuses: Sight[tuple[PrometheusObject, ...]]
    monitors: Sight[tuple[Monitor, ...]]
    targets: Sight[api.Targets]
    rules: Sight[tuple[api.RuleGroup, ...]]
    alertmanagers: Sight[api.Alertmanagers]
    alertmanager_version: Sight[str]
    alertmanager_alerts: Sight[frozenset[str]]
    firing: Sight[tuple[api.Sample, ...]]
    up: Sight[tuple[api.Sample, ...]]
    gpu_series: Mapping[str, Sight[tuple[api.Sample, ...]]]
    cards: Sight[Cards]

    @property
    def prometheus_answers(self) -> bool:
        """Whether Prometheus answered any question with success."""
        return any(
            sight.seen for sight in (self.targets, self.rules, self.alertmanagers, self.up, self.firing)
        )

    def log(self, pod: Pod) -> str:
        """What was read of the pod's logs, earlier runs first; empty where nothing was."""
        found = []
        for previous in (True, False):
            for container in pod.containers:
                sight = see(self.recording.log, pod.namespace, pod.name, container.name, previous=previous)
                found.append(sight.or_else(""))
        return "\n".join(text for text in found if text)

    def trouble(self, role: str) -> Trouble | None:
        """What keeps every pod of `role` from its work; None where one is well, or where there is none."""
        told = self.events.or_else(())
        pods_of_role = self.cast.value.of(role)
        return worst_trouble([pod_trouble(pod, self.now, told, self.log(pod)) for pod in pods_of_role])

    def first_pod(self, role: str) -> PodName:
        """Namespace and name of a pod of `role`, for commands; empty where none was seen."""
        found = self.cast.or_else(Cast()).of(role)
        return {"namespace": found[0].namespace, "pod": found[0].name} if found else {}

    @property
    def just_started(self) -> bool:
        """Whether every Prometheus seen is too young to have looked at everything once."""
        found = self.cast.or_else(Cast()).of(PROMETHEUS)
        begun = [
            container.state.started
            for pod in found
            for container in pod.containers
            if container.state.running and not container.init
        ]
        ages = [self.now - each for each in begun if each is not None]
        return bool(ages) and max(ages) < JUST_STARTED


def crd_names(recording: Recording) -> frozenset[str]:
    """Names of the custom resource definitions. Use as `recording.view(crd_names)`."""
    items = recording.api("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").items
    return frozenset(Meta(raw).name for raw in items)


def cluster_policies(recording: Recording) -> tuple[Meta, ...]:
    """The GPU operator's ClusterPolicies, which complain of kinds that are missing."""
    return tuple(Meta(raw) for raw in recording.api("/apis/nvidia.com/v1/clusterpolicies").items)


def observe(spec: TelemetrySpec, recording: Recording) -> TelemetryState:
    """The state that the reads show; what they do not show is said by each `Sight`."""
    return TelemetryState(
        recording=recording,
        now=recording.now,
        cast=recording.view(cast),
        gpu_daemonsets=recording.view(gpu_daemonsets),
        events=recording.view(events),
        services=recording.view(services),
        slices=recording.view(endpoint_slices),
        crds=recording.view(crd_names),
        cluster_policies=recording.view(cluster_policies),
        prometheuses=recording.view(prometheus_objects),
        monitors=recording.view(monitors),
        targets=recording.view(api.targets),
        rules=recording.view(api.rule_groups),
        alertmanagers=recording.view(api.alertmanagers),
        alertmanager_version=recording.view(api.alertmanager_version),
        alertmanager_alerts=recording.view(api.active_alerts),
        firing=see(api.query, recording, api.ALERTS),
        up=see(api.query, recording, "up"),
        gpu_series={name: see(api.query, recording, name) for name in spec.gpu_series},
        cards=recording.view(cards),
    )
