"""What the serving layer made of the reads."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.fields import optional_text
from edge_llm_tests.objects import (
    Container,
    EndpointSlice,
    Event,
    Node,
    Pod,
    Service,
    Workload,
    deployments,
    endpoint_slices,
    events,
    nodes,
    pods,
    replicasets,
    services,
)
from edge_llm_tests.objects.meta import moment
from edge_llm_tests.objects.pod import PodSpec
from edge_llm_tests.ollama import (
    Installation,
    LoadedModel,
    LogLine,
    PresentModel,
    canonical,
    container_of,
    current_log,
    installations,
    loaded_models,
    present_models,
    version,
)
from edge_llm_tests.ollama.installation import serves
from edge_llm_tests.reads import ApiRead, Sight, see

from llm_observability_stack.serving.spec import ServingSpec
from llm_observability_stack.serving.web_ui import WebUi, web_ui

__all__ = ["Asking", "ServingState", "observe"]

STARTING = timedelta(minutes=2)
"""How long a pod may take to its first readiness before that is a fault: Ollama loads no weights for it."""

_LOOPBACK = ("127.", "[::1]", "localhost")
_RECENT = timedelta(hours=1)


class Asking(msgspec.Struct, frozen=True):
    """What the Ollama container asks for, and where that is written."""

    where: str
    spec: PodSpec
    container: Container


class ServingState(msgspec.Struct, frozen=True):
    """The observed state of serving.

    Attributes:
        now: Time of the recording.
        all_installations: Every Ollama of the cluster, the platform's first.
        deployments: Seen at all or not: whether an absent workload is an answer.
        replicasets: The same of ReplicaSets, which make a Deployment's pods.
        services: The same of Services.
        slices: EndpointSlices.
        pods: All pods.
        nodes: All nodes.
        events: All events, oldest first.
        version: What `/api/version` answered.
        version_read: The answer as it came.
        present: Models on disk.
        tags_read: What `/api/tags` answered, as it came.
        loaded: Models loaded, by Ollama's account.
        shown: `/api/show` of each promised model.
        log: Lines of the serving Ollama's log.
        web_ui: The Open WebUI.
        web_ui_health: What Open WebUI's `/health` answered.
        recording: For the readers of refinements.
    """

    now: datetime
    all_installations: Sight[tuple[Installation, ...]]
    deployments: Sight[tuple[Workload, ...]]
    replicasets: Sight[tuple[Workload, ...]]
    services: Sight[tuple[Service, ...]]
    slices: Sight[tuple[EndpointSlice, ...]]
    pods: Sight[tuple[Pod, ...]]
    nodes: Sight[tuple[Node, ...]]
    events: Sight[tuple[Event, ...]]
    version: Sight[str]
    version_read: Sight[ApiRead]
    present: Sight[tuple[PresentModel, ...]]
    tags_read: Sight[ApiRead]
    loaded: Sight[tuple[LoadedModel, ...]]
    shown: Mapping[str, Sight[ApiRead]]
    log: Sight[tuple[LogLine, ...]]
    web_ui: Sight[WebUi | None]
    web_ui_health: Sight[ApiRead]
    recording: Recording

    @property
    def installation(self) -> Installation | None:
        """The Ollama that the platform serves, or None where the cluster was seen to have none.

        Raises:
            UnseenError: Pods, or without any pod of Ollama the workloads, were not seen.
        """
        found = self.all_installations.value
        if not found:
            _ = self.deployments.value
            return None
        return found[0]

    @property
    def live_pods(self) -> tuple[Pod, ...]:
        """Its pods that have not ended and are not being deleted, newest first."""
        one = self.installation
        live = one.live_pods if one else ()
        return tuple(sorted(live, key=lambda pod: str(pod.created), reverse=True))

    @property
    def asking(self) -> Asking | None:
        """What Ollama asks for: its newest pod, or without one its workload's template."""
        for pod in self.live_pods:
            if (container := container_of(pod)) is not None:
                return Asking(f"pod {pod.path}", pod.spec, container)
        one = self.installation
        if one is None or one.workload is None:
            return None
        template = one.workload.template
        serving = (each for each in one.workload.containers if serves(each))
        return next(
            (Asking(f"{one.workload.kind} {one.workload.path}", template, each) for each in serving), None
        )

    @property
    def loopback(self) -> str:
        """What says that Ollama listens inside its pod only: its log, or its setting; empty for neither."""
        told = (line.message for line in self.log.or_else(()))
        asking = self.asking
        host = asking.container.env.get("OLLAMA_HOST", "") if asking is not None else ""
        local = host.removeprefix("http://").startswith(_LOOPBACK)
        said = next((each for each in told if each.removeprefix("Listening on ").startswith(_LOOPBACK)), "")
        return said or (f"OLLAMA_HOST={host}" if local else "")

    def about(self, namespace: str, name: str, *kinds: str) -> tuple[Event, ...]:
        """Events of the last hour about an object, or about those it made; oldest first."""
        found = []
        for event in self.events.or_else(()):
            kind, where, who = event.about
            if kind in kinds and where == namespace and (who == name or who.startswith(f"{name}-")):
                last = event.last
                if last is None or self.now - last <= _RECENT:
                    found.append(event)
        return tuple(found)

    def termination_age(self, pod: Pod) -> timedelta | None:
        """How long ago a pod that is being deleted should have gone; None where it is not."""
        due = moment(optional_text(pod.raw, "metadata", "deletionTimestamp"))
        return self.now - due if due else None

    def age(self, pod: Pod) -> timedelta:
        """How long a pod has been there."""
        since = pod.started or pod.created
        return self.now - since if since else timedelta.max


def observe(spec: ServingSpec, recording: Recording) -> ServingState:
    """The observed state of serving."""
    return ServingState(
        now=recording.now,
        all_installations=recording.view(installations),
        deployments=recording.view(deployments),
        replicasets=recording.view(replicasets),
        services=recording.view(services),
        slices=recording.view(endpoint_slices),
        pods=recording.view(pods),
        nodes=recording.view(nodes),
        events=recording.view(events),
        version=recording.view(version),
        version_read=see(recording.http, "ollama", "/api/version"),
        present=recording.view(present_models),
        tags_read=see(recording.http, "ollama", "/api/tags"),
        loaded=recording.view(loaded_models),
        shown={
            canonical(each.name): see(recording.http, "ollama", f"/api/show {canonical(each.name)}")
            for each in spec.models
        },
        log=recording.view(current_log),
        web_ui=recording.view(web_ui),
        web_ui_health=see(recording.http, "open-webui", "/health"),
        recording=recording,
    )
