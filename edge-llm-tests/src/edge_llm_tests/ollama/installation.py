"""Where Ollama is in the cluster: its workload, pods and Services, found by what they are."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import mapping, texts
from edge_llm_tests.objects import Container, Pod, Service, Workload, daemonsets, deployments, pods, services

__all__ = [
    "PORT",
    "Installation",
    "container_of",
    "installations",
    "log_key",
    "log_keys",
    "selects",
    "serves",
]

PORT = 11434
_OWN_NAMESPACE = "llm-observability"
_IMAGE_WORD = "ollama"
_SERVES = re.compile(r"(?<![\w#])(?:/\S+/)?ollama[\"']?\s+serve\b")
_OTHER_PROGRAMS = frozenset(
    {
        *("exporter", "metrics", "webui", "ui", "chat", "hub", "mcp", "operator", "pull", "puller"),
        *("gateway", "proxy", "nginx", "envoy", "caddy", "haproxy", "traefik", "litellm"),
    }
)


class Installation(msgspec.Struct, frozen=True):
    """One Ollama.

    Attributes:
        namespace: Where it is.
        name: Name of its workload, or of its pod where it has none.
        workload: Its Deployment or DaemonSet; None for a bare pod, a StatefulSet, or where none was seen.
        pods: All its pods, ghosts included.
        services: The Services that reach it, then those that seem meant to.
    """

    namespace: str
    name: str
    workload: Workload | None
    pods: tuple[Pod, ...]
    services: tuple[Service, ...]

    @property
    def path(self) -> str:
        """`<namespace>/<name>`."""
        return f"{self.namespace}/{self.name}"

    @property
    def reference(self) -> str:
        """`<kind>/<name>`, as kubectl takes it."""
        if self.workload is not None:
            return f"{self.workload.kind.lower()}/{self.name}"
        owner = self.pods[0].owner if self.pods else None
        return f"{owner[0].lower() if owner else 'pod'}/{self.name}"

    @property
    def live_pods(self) -> tuple[Pod, ...]:
        """Pods that have not ended and are not being deleted."""
        return tuple(pod for pod in self.pods if not pod.finished and not pod.terminating)


def serves(container: Container) -> bool:
    """Whether a container is an Ollama server: by its port, or its image and command, not by its name."""
    if container.init:
        return False
    repository = container.image.partition("@")[0].rsplit("/", 1)[-1].partition(":")[0].lower()
    words = set(re.split(r"[-_.]", repository))
    if words & _OTHER_PROGRAMS:
        return False
    if PORT in container.ports:
        return True
    if _IMAGE_WORD not in words:
        return False
    command = (*texts(container.raw, "command"), *texts(container.raw, "args"))
    return not command or any(part == "serve" or _SERVES.search(part) for part in command)


def container_of(pod: Pod) -> Container | None:
    """The Ollama container of a pod; of several the one that has its port."""
    found = sorted((each for each in pod.containers if serves(each)), key=lambda each: PORT not in each.ports)
    return found[0] if found else None


def selects(selector: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    """Whether a selector is not empty and all of it is among `labels`."""
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def installations(recording: Recording) -> tuple[Installation, ...]:
    """Every Ollama of the cluster, the one that the platform serves first.

    Raises:
        UnseenError: The pods were not seen.
    """
    left = tuple(_pods(recording))
    known = recording.view(services).or_else(())
    found: list[Installation] = []
    for workload in _workloads(recording):
        own = [each for each in left if _made_by(workload, each)]
        taken = {id(each) for each in own}
        left = tuple(each for each in left if id(each) not in taken)
        found.append(_installation(workload.namespace, workload.name, workload, own, known))
    ownerless: dict[tuple[str, str], list[Pod]] = {}
    for pod in left:
        ownerless.setdefault((pod.namespace, pod.owner[1] if pod.owner else pod.name), []).append(pod)
    found += [_installation(*key, None, own, known) for key, own in ownerless.items()]
    return tuple(sorted(found, key=_rank))


def log_key(pod: Pod, container: str, *, previous: bool = False) -> str:
    """Key of the read of a container's log, as `Recording.log` asks for it."""
    query = f"container={container}&tailLines=200" + ("&previous=true" if previous else "")
    return f"api:/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/log?{query}"


def log_keys(recording: Recording, *, previous: bool = False) -> Iterator[str]:
    """Keys of the logs of the Ollama that the platform serves, for a layer's `reads`.

    Args:
        recording: What was seen so far; nothing is asked for before the pods are.
        previous: Whether to ask for the log before the last restart too, where there was one.
    """
    for one in recording.view(installations).or_else(())[:1]:
        for pod in one.live_pods:
            container = container_of(pod)
            if container is not None and pod.node:
                yield log_key(pod, container.name)
                if previous and container.restarts:
                    yield log_key(pod, container.name, previous=True)


def _may_serve(spec: Mapping[str, Any]) -> bool:
    """A cheap look before the typed one: of ten thousand pods, one is Ollama.

    It says no only to what has the form that it should have; damage is left to the typed look.
    """
    containers = spec.get("containers")
    if type(containers) is not list:
        return True
    for each in containers:
        if type(each) is not dict:
            return True
        image, ports = each.get("image"), each.get("ports", ())
        if type(image) is not str or _IMAGE_WORD in image.lower():
            return True
        for port in ports if isinstance(ports, (list, tuple)) else (None,):
            if type(port) is not dict or port.get("containerPort") == PORT:
                return True
    return False


def _pods(recording: Recording) -> Iterator[Pod]:
    for pod in recording.view(pods).value:
        if _may_serve(mapping(pod.raw, "spec")) and container_of(pod) is not None:
            owner = pod.owner
            if owner is None or owner[0] != "Job":
                yield pod


def _workloads(recording: Recording) -> Iterator[Workload]:
    for sight in (recording.view(deployments), recording.view(daemonsets)):
        for workload in sight.or_else(()):
            if _may_serve(workload.template.raw) and any(serves(each) for each in workload.containers):
                yield workload


def _made_by(workload: Workload, pod: Pod) -> bool:
    return pod.namespace == workload.namespace and selects(workload.selector, pod.labels)


def _installation(
    namespace: str, name: str, workload: Workload | None, own: Iterable[Pod], known: tuple[Service, ...]
) -> Installation:
    own = tuple(own)
    labels = [pod.labels for pod in own]
    if workload is not None:
        labels.append(workload.template_labels)
    here = [each for each in known if each.namespace == namespace]
    reaching = [each for each in here if any(selects(each.selector, one) for one in labels)]
    reaching.sort(key=lambda each: not _on_port(each))
    meant = [each for each in here if each not in reaching and (each.name == name or _on_port(each))]
    return Installation(namespace, name, workload, own, (*reaching, *meant))


def _on_port(service: Service) -> bool:
    return any(number == PORT for number, _ in service.ports)


def _rank(one: Installation) -> tuple[bool, bool, bool, str, str]:
    """Our own namespace first, then what a Service reaches, then what is called so, then the oldest."""
    first = one.workload or one.pods[0]
    return (
        one.namespace != _OWN_NAMESPACE,
        not one.services,
        one.name != _IMAGE_WORD,
        str(first.created or ""),
        one.path,
    )
