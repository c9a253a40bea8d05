"""Open WebUI: where it is, and which Ollama it asks."""

from urllib.parse import urlsplit

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.fields import mapping
from edge_llm_tests.objects import Container, Pod, Service, Workload, deployments, pods, services
from edge_llm_tests.ollama.installation import selects, serves

__all__ = ["WebUi", "web_ui"]

_IMAGE = "open-webui"
_DEFAULT_PORT = 8080
_LOOPBACK = ("localhost", "127.", "[::1]", "host.docker.internal")


class WebUi(msgspec.Struct, frozen=True):
    """One Open WebUI.

    Attributes:
        namespace: Where it is.
        name: Name of its workload or pod.
        workload: Its Deployment, if it has one.
        pods: Its pods that have not ended.
        service: The Service that reaches it.
    """

    namespace: str
    name: str
    workload: Workload | None
    pods: tuple[Pod, ...]
    service: Service | None

    @property
    def backends(self) -> tuple[str, ...]:
        """Base URLs of the Ollamas that it is told to ask; empty where its own settings decide."""
        for container in self._containers:
            env = container.env
            found = env.get("OLLAMA_BASE_URLS") or env.get("OLLAMA_BASE_URL")
            if not found:  # the name of before, whose value did end in /api
                found = env.get("OLLAMA_API_BASE_URL", "").removesuffix("/").removesuffix("/api")
            if found:
                return tuple(each.strip() for each in found.split(";") if each.strip())
        return ()

    @property
    def asks_no_ollama(self) -> str:
        """The setting by which it asks no Ollama at all; empty where it does."""
        for container in self._containers:
            if (given := container.env.get("ENABLE_OLLAMA_API", "")).lower() in ("false", "0"):
                return f"ENABLE_OLLAMA_API={given}"
        return ""

    @property
    def openai_backends(self) -> tuple[str, ...]:
        """Base URLs of what it asks by the OpenAI API, which Ollama speaks too."""
        found = (
            container.env.get("OPENAI_API_BASE_URLS") or container.env.get("OPENAI_API_BASE_URL", "")
            for container in self._containers
        )
        return tuple(each.strip() for urls in found for each in urls.split(";") if each.strip())

    @property
    def reference(self) -> str:
        """`<kind>/<name>`, as kubectl takes it."""
        return f"{'deployment' if self.workload else 'pod'}/{self.name}"

    @property
    def bundled(self) -> bool:
        """Whether an Ollama of its own runs in its pod."""
        pods = (*(pod.containers for pod in self.pods), self.workload.containers if self.workload else ())
        return any(serves(each) for containers in pods for each in containers) or any(
            each.image.endswith(":ollama") for each in self._containers
        )

    @property
    def _containers(self) -> tuple[Container, ...]:
        holders = (*(pod.containers for pod in self.pods), self.workload.containers if self.workload else ())
        return tuple(each for containers in holders for each in containers if _is_web_ui(each))


def _is_web_ui(container: Container) -> bool:
    """By the last part of the image's name, without tag and digest; a registry's port is no tag."""
    return _IMAGE in container.image.partition("@")[0].rsplit("/", 1)[-1].partition(":")[0]


def web_ui(recording: Recording) -> WebUi | None:
    """The Open WebUI of the cluster, or None where it was seen to have none.

    Raises:
        UnseenError: The pods were not seen.
    """
    workload = next(
        (
            each
            for each in recording.view(deployments).or_else(())
            if any(_is_web_ui(container) for container in each.containers)
        ),
        None,
    )
    found = [pod for pod in recording.view(pods).value if _may_be(pod) and not pod.finished]
    if workload is None and not found:
        return None
    namespace = workload.namespace if workload else found[0].namespace
    name = workload.name if workload else found[0].name
    mine = tuple(pod for pod in found if pod.namespace == namespace)
    labels = [pod.labels for pod in mine] + ([workload.template_labels] if workload else [])
    service = next(
        (
            each
            for each in recording.view(services).or_else(())
            if each.namespace == namespace
            and (any(selects(each.selector, one) for one in labels) or each.name == name)
        ),
        None,
    )
    return WebUi(namespace, name, workload, mine, service)


def _may_be(pod: Pod) -> bool:
    """A cheap look at the images before the typed one."""
    raw = mapping(pod.raw, "spec").get("containers")
    images = (
        [each.get("image") if type(each) is dict else each for each in raw] if type(raw) is list else [raw]
    )
    if all(type(image) is str and _IMAGE not in image for image in images):
        return False
    return any(_is_web_ui(each) for each in pod.containers)


def port_of(service: Service) -> int:
    """The port of the Service on which the page is served."""
    ports = service.ports
    named = [number for number, name in ports if name in ("http", "web", "http-web")]
    return (named or [number for number, _ in ports] or [_DEFAULT_PORT])[0]


def loopback(url: str) -> bool:
    """Whether a URL leads to the container itself, or to a host name that Docker alone knows."""
    address = url.partition("://")[2] or url
    return address.rpartition("@")[2].lower().startswith(_LOOPBACK)


def misspelt(url: str, *, encrypted: bool = False) -> str:
    """What is wrong with the form of a URL that leads to the right Service; empty where nothing is.

    `encrypted` says that the port which it asks is one for https, of something before Ollama.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
    except ValueError:
        return ""
    if parts.scheme == "https" and not encrypted:
        return "speaks https, Ollama itself answers http only"
    if path := parts.path.strip("/"):
        return f"has the path /{path}, to which Open WebUI adds its own /api: Ollama answers 404"
    return ""


def in_cluster(url: str) -> tuple[str, str, int] | None:
    """Service name, namespace (empty: its own) and port of a URL in the cluster; None for one outside."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    labels = (parts.hostname or "").split(".")
    if not labels[0] or all(label.isdecimal() for label in labels):
        return None
    if len(labels) == 1:
        return labels[0], "", port
    if len(labels) == 2 or labels[2] == "svc":  # noqa: PLR2004 - <service>.<namespace>
        return labels[0], labels[1], port
    return None
