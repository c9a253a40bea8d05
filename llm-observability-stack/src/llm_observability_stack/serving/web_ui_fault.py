"""What keeps Open WebUI from serving: its pod, its Service, its own health, the Ollama that it asks."""

from datetime import timedelta

from edge_llm_tests.contract import Result, failed, unknown
from edge_llm_tests.objects import Pod, refusal
from edge_llm_tests.reads import ApiRead

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.reach import ready_addresses
from llm_observability_stack.serving.web_ui import WebUi, in_cluster, loopback, misspelt
from llm_observability_stack.serving.where import Where

__all__ = ["WEB_UI_REASONS", "diagnose_backends", "diagnose_health", "diagnose_web_ui_pods"]

_OWN_FAULTS = frozenset({"CrashLoopBackOff", "CreateContainerConfigError", "RunContainerError"})
_IMAGE_WAITS = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_STARTING_WORDS = frozenset({"ContainerCreating", "PodInitializing"})
_WEB_UI_STARTING = timedelta(minutes=3)
"""Open WebUI migrates its database and loads an embedding model before it is ready."""
_INTERNAL_ERROR = 500
_HTTPS = 443
_SAID_LIMIT = 160

WEB_UI_REASONS = (
    "WebUiNotInstalled",
    "WebUiScaledToZero",
    "WebUiRefused",
    "WebUiOutOfMemory",
    "WebUiImageUnavailable",
    "WebUiNotScheduled",
    "WebUiNotRunning",
    "WebUiStarting",
    "WrongBackend",
    "WebUiNoEndpoint",
    "WebUiDoesNotAnswer",
)


def diagnose_web_ui_pods(observed: ServingState, found: WebUi | None) -> Result | None:
    """Why Open WebUI itself does not run; None where it does."""
    if found is None:
        _ = observed.deployments.value
        return failed(
            "WebUiNotInstalled",
            "the profile promises Open WebUI, and no workload or pod of the cluster is one",
            independent=True,
        )
    where: Where = {"namespace": found.namespace, "workload": found.reference}
    if found.workload is not None and found.workload.replicas == 0:
        return failed(
            "WebUiScaledToZero",
            f"Open WebUI {found.namespace}/{found.name} is scaled to zero replicas",
            independent=True,
            **where,
        )
    if any(pod.ready for pod in found.pods):
        return None
    for pod in found.pods:
        if not pod.terminating:
            return _web_ui_pod(observed, pod, where)
    if refused := refusal(observed.recording, found.namespace, found.name):
        return failed(
            "WebUiRefused",
            f"the API server refuses the pod of Open WebUI {found.namespace}/{found.name}: {refused}",
            independent=True,
            **where,
        )
    return failed("WebUiNotRunning", f"Open WebUI {found.namespace}/{found.name} has no pod", **where)


def _web_ui_pod(observed: ServingState, pod: Pod, where: Where) -> Result:
    """Why a pod of Open WebUI is not ready. What crashes by itself is its own fault, whatever else fails."""
    for container in pod.containers:
        waiting, last = container.state.waiting, container.last_state
        if not container.ready and "OOMKilled" in (container.state.terminated, last.terminated):
            return failed(
                "WebUiOutOfMemory",
                f"Open WebUI does not run: container {container.name} of pod {pod.path} was OOMKilled, "
                f"{container.restarts} restarts, memory limit {container.limits.get('memory', 'none')}",
                independent=True,
                pod=pod.name,
                **where,
            )
        if waiting in _IMAGE_WAITS:
            return failed(
                "WebUiImageUnavailable",
                f"Open WebUI does not run: pod {pod.path} is in {waiting} for {container.image}"
                f"{_last_word(observed, pod, 'Failed')}",
                pod=pod.name,
                **where,
            )
        crashed = waiting in _OWN_FAULTS or bool(container.state.terminated)
        if waiting and (crashed or waiting not in _STARTING_WORDS):
            return failed(
                "WebUiNotRunning",
                f"Open WebUI does not run: container {container.name} of pod {pod.path} is in {waiting}, "
                f"{container.restarts} restarts, last end {last.terminated or 'none'} {last.exit_code or ''}",
                independent=crashed,
                pod=pod.name,
                **where,
            )
    if observed.age(pod) < _WEB_UI_STARTING:
        return unknown("WebUiStarting", f"Open WebUI's pod {pod.path} starts since {observed.age(pod)}")
    if not pod.node:
        condition = pod.conditions.get("PodScheduled")
        said = f": {condition.message}" if condition is not None and condition.message else ""
        return failed(
            "WebUiNotScheduled", f"Open WebUI's pod {pod.path} has no node{said}", pod=pod.name, **where
        )
    return failed(
        "WebUiNotRunning",
        f"Open WebUI has no ready pod: {pod.path} is {pod.phase}{_last_word(observed, pod, 'Unhealthy')}",
        pod=pod.name,
        **where,
    )


def _last_word(observed: ServingState, pod: Pod, reason: str) -> str:
    about = observed.about(pod.namespace, pod.name, "Pod")
    said = next((each.message for each in reversed(about) if each.reason == reason), "")
    return f": {said[:_SAID_LIMIT]}" if said else ""


def diagnose_health(observed: ServingState, found: WebUi | None, health: ApiRead) -> Result | None:
    """What its Service and its health check prove against a ready Open WebUI; None for nothing."""
    where: Where = {"namespace": found.namespace, "workload": found.reference} if found else {}
    said = str(health.body or "")
    if (
        found is not None
        and found.service is not None
        and observed.slices.seen
        and not ready_addresses(observed, found.service)
    ):
        return failed(
            "WebUiNoEndpoint",
            f"Service {found.service.path} of Open WebUI has no ready endpoint, though its pod is ready: its "
            "selector does not match, or nobody keeps the endpoints",
            independent=True,
            service=found.service.name,
            **where,
        )
    if health.status == _INTERNAL_ERROR:  # what a proxy on the way answers with is 502 to 504
        return failed(
            "WebUiDoesNotAnswer",
            f"Open WebUI answers its health check with HTTP 500: {said[:_SAID_LIMIT]}",
            **where,
        )
    return None


def diagnose_backends(observed: ServingState, found: WebUi) -> Result | None:
    """What is wrong with the URLs that Open WebUI asks; None where one leads to the platform's Ollama."""
    one = observed.installation
    if one is None:
        return None
    _ = observed.services.value
    reached = {(each.name, each.namespace): dict(each.ports) for each in one.services}
    by_openai = [place[:2] for url in found.openai_backends if (place := in_cluster(url)) is not None]
    if (switch := found.asks_no_ollama) and not any(
        (name, namespace or found.namespace) in reached for name, namespace in by_openai
    ):
        return failed(
            "WrongBackend",
            f"Open WebUI {found.namespace}/{found.name} asks no Ollama at all: {switch}",
            independent=True,
            namespace=found.namespace,
            workload=found.reference,
        )
    wrong = []
    for url in () if switch else found.backends:
        if loopback(url):
            if not found.bundled:
                wrong.append(f"{url} leads to its own container, where no Ollama is")
            continue
        target = in_cluster(url)
        if target is None:
            continue
        name, namespace, port = target
        ports = reached.get((name, namespace or found.namespace))
        if ports is None:
            wrong.append(f"{url} names no Service of Ollama ({one.path})")
        elif port not in ports:
            wrong.append(f"{url} asks port {port}, the Service has {sorted(ports)}")
        elif form := misspelt(url, encrypted=port == _HTTPS or "https" in ports[port]):
            wrong.append(f"{url} {form}")
    if not wrong or len(wrong) < len(found.backends):
        return None
    return failed(
        "WrongBackend",
        f"Open WebUI {found.namespace}/{found.name} asks the wrong place: {'; '.join(wrong)}",
        independent=bool(one.services),  # without any Service no URL could be right
        namespace=found.namespace,
        workload=found.reference,
    )
