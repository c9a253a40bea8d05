"""Pods and their containers."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import flag, integer, mapping, objects, optional_text, text
from edge_llm_tests.objects.meta import Meta, moment

__all__ = ["Container", "ContainerState", "Pod", "PodSpec", "pods"]


class ContainerState(msgspec.Struct, frozen=True):
    """One of waiting, running, terminated."""

    raw: Mapping[str, Any]

    @property
    def waiting(self) -> str:
        """Reason for waiting, for example `CrashLoopBackOff`; empty if it does not wait."""
        return text(self.raw, "waiting", "reason")

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return "running" in self.raw

    @property
    def terminated(self) -> str:
        """Reason of its end, for example `OOMKilled`; empty if it has not ended."""
        return text(self.raw, "terminated", "reason", default="Error" if "terminated" in self.raw else "")

    @property
    def exit_code(self) -> int | None:
        """Exit code, if it has ended."""
        return integer(self.raw, "terminated", "exitCode") if "terminated" in self.raw else None

    @property
    def message(self) -> str:
        """Message of the waiting or the end."""
        return text(self.raw, "waiting", "message") or text(self.raw, "terminated", "message")

    @property
    def started(self) -> datetime | None:
        """When it started."""
        return moment(
            optional_text(self.raw, "running", "startedAt")
            or optional_text(self.raw, "terminated", "startedAt")
        )

    @property
    def finished(self) -> datetime | None:
        """When it ended."""
        return moment(optional_text(self.raw, "terminated", "finishedAt"))


class Container(msgspec.Struct, frozen=True):
    """A container's spec together with its status."""

    raw: Mapping[str, Any]
    status: Mapping[str, Any]
    init: bool = False

    @property
    def name(self) -> str:
        """Name."""
        return text(self.raw, "name")

    @property
    def image(self) -> str:
        """Image as asked for."""
        return text(self.raw, "image")

    @property
    def requests(self) -> Mapping[str, Any]:
        """Resource requests, by resource name (values as written: `500m`, `4Gi`, `1`)."""
        return mapping(self.raw, "resources", "requests")

    @property
    def limits(self) -> Mapping[str, Any]:
        """Resource limits, by resource name."""
        return mapping(self.raw, "resources", "limits")

    @property
    def env(self) -> Mapping[str, str]:
        """Environment values given literally."""
        return {text(raw, "name"): text(raw, "value") for raw in objects(self.raw, "env")}

    @property
    def ports(self) -> tuple[int, ...]:
        """Declared container ports."""
        return tuple(integer(raw, "containerPort") for raw in objects(self.raw, "ports"))

    @property
    def ready(self) -> bool:
        """Whether it is ready."""
        return flag(self.status, "ready")

    @property
    def restarts(self) -> int:
        """Restart count."""
        return integer(self.status, "restartCount")

    @property
    def state(self) -> ContainerState:
        """State now."""
        return ContainerState(mapping(self.status, "state"))

    @property
    def last_state(self) -> ContainerState:
        """State before the last restart."""
        return ContainerState(mapping(self.status, "lastState"))


class PodSpec(msgspec.Struct, frozen=True):
    """What a pod or a pod template asks for."""

    raw: Mapping[str, Any]

    @property
    def runtime_class(self) -> str:
        """runtimeClassName, empty for the default."""
        return text(self.raw, "runtimeClassName")

    @property
    def node(self) -> str:
        """nodeName, empty before scheduling."""
        return text(self.raw, "nodeName")

    @property
    def node_selector(self) -> Mapping[str, Any]:
        """NodeSelector."""
        return mapping(self.raw, "nodeSelector")

    @property
    def tolerations(self) -> tuple[Mapping[str, Any], ...]:
        """Tolerations, raw."""
        return objects(self.raw, "tolerations")

    @property
    def limits(self) -> Mapping[str, Any]:
        """Limits of the pod as a whole, which its containers share; most pods have them by container."""
        return mapping(self.raw, "resources", "limits")

    @property
    def volumes(self) -> tuple[Mapping[str, Any], ...]:
        """Volumes, raw."""
        return objects(self.raw, "volumes")

    def tolerates(self, taint: Mapping[str, Any]) -> bool:
        """Whether a toleration covers `taint` (key, value, effect)."""
        for toleration in self.tolerations:
            if text(toleration, "effect") not in ("", text(taint, "effect")):
                continue
            key = text(toleration, "key")
            if text(toleration, "operator", default="Equal") == "Exists":
                if key in ("", text(taint, "key")):
                    return True
            elif key == text(taint, "key") and text(toleration, "value") == text(taint, "value"):
                return True
        return False

    def containers(self, status: Mapping[str, Any]) -> tuple[Container, ...]:
        """Its containers, init containers first, each with what `status` says of it."""
        found = []
        for init, field, statuses in (
            (True, "initContainers", "initContainerStatuses"),
            (False, "containers", "containerStatuses"),
        ):
            known = {text(raw, "name"): raw for raw in objects(status, statuses)}
            found += [
                Container(raw, known.get(text(raw, "name"), {}), init) for raw in objects(self.raw, field)
            ]
        return tuple(found)


class Pod(Meta, frozen=True):
    """A pod."""

    @property
    def spec(self) -> PodSpec:
        """What it asks for."""
        return PodSpec(mapping(self.raw, "spec"))

    @property
    def phase(self) -> str:
        """Pending, Running, Succeeded, Failed or Unknown."""
        return text(self.raw, "status", "phase", default="Unknown")

    @property
    def reason(self) -> str:
        """status.reason, for example `Evicted` or `UnexpectedAdmissionError`."""
        return text(self.raw, "status", "reason")

    @property
    def message(self) -> str:
        """status.message."""
        return text(self.raw, "status", "message")

    @property
    def ip(self) -> str:
        """status.podIP."""
        return text(self.raw, "status", "podIP")

    @property
    def node(self) -> str:
        """spec.nodeName."""
        return self.spec.node

    @property
    def started(self) -> datetime | None:
        """status.startTime."""
        return moment(optional_text(self.raw, "status", "startTime"))

    @property
    def ready(self) -> bool:
        """Whether condition Ready is True."""
        return self.holds("Ready")

    @property
    def finished(self) -> bool:
        """Whether it has ended and holds nothing any more."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def containers(self) -> tuple[Container, ...]:
        """All containers, init containers first."""
        return self.spec.containers(mapping(self.raw, "status"))

    def resource(self, name: str) -> int:
        """How many of the extended resource `name` it asks for (limits, over its app containers)."""
        return sum(
            int(str(container.limits.get(name, container.requests.get(name, 0))))
            for container in self.containers
            if not container.init
        )


def pods(recording: Recording) -> tuple[Pod, ...]:
    """All pods. Use as `recording.view(pods)`."""
    return tuple(Pod(raw) for raw in recording.api("/api/v1/pods").items)
