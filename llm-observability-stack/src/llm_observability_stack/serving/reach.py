"""What stands between a client and Ollama, or Open WebUI: Service, endpoints, the address it listens on."""

from datetime import timedelta

from edge_llm_tests.contract import Result, failed, unknown
from edge_llm_tests.fields import integer, objects
from edge_llm_tests.objects import EndpointSlice, Pod, Service
from edge_llm_tests.ollama import Installation, container_of
from edge_llm_tests.ollama.installation import PORT, selects
from edge_llm_tests.reads import ApiRead

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.web_ui import WebUi, in_cluster, loopback
from llm_observability_stack.serving.where import Where

__all__ = [
    "WEB_UI_REASONS",
    "diagnose_answer",
    "diagnose_backends",
    "diagnose_endpoints",
    "diagnose_web_ui_pods",
    "ready_addresses",
]

_OWN_FAULTS = frozenset({"CrashLoopBackOff", "CreateContainerConfigError", "RunContainerError"})
_STARTING_WORDS = frozenset({"ContainerCreating", "PodInitializing"})
_WEB_UI_STARTING = timedelta(minutes=3)
"""Open WebUI migrates its database and loads an embedding model before it is ready."""

WEB_UI_REASONS = (
    "WebUiNotInstalled",
    "WebUiScaledToZero",
    "WebUiNotRunning",
    "WebUiStarting",
    "WrongBackend",
    "WebUiDoesNotAnswer",
)


def ready_addresses(observed: ServingState, service: Service) -> tuple[str, ...]:
    """Addresses behind a Service that are ready."""
    return tuple(address for each in _slices_of(observed, service) for address in each.ready)


def _slices_of(observed: ServingState, service: Service) -> tuple[EndpointSlice, ...]:
    return tuple(
        each
        for each in observed.slices.value
        if each.namespace == service.namespace and each.service == service.name
    )


def diagnose_endpoints(observed: ServingState, one: Installation, service: Service) -> Result | None:
    """Why a Service leads nowhere; None where it leads to Ollama."""
    where: Where = {"service": service.name, "namespace": service.namespace}
    ready_pods = [pod for pod in one.live_pods if pod.ready]
    missed = [pod for pod in ready_pods if service.selector and not selects(service.selector, pod.labels)]
    if not ready_addresses(observed, service):
        if missed:
            return failed(
                "SelectorMismatch",
                f"Service {service.path} has no endpoint: its selector {_pairs(service.selector)} does not "
                f"match pod {missed[0].path}, which is ready",
                independent=True,
                pod=missed[0].name,
                **where,
            )
        if not ready_pods:
            return unknown("NothingReady", f"no pod is ready that Service {service.path} could lead to")
        return failed(
            "NoReadyEndpoint",
            f"Service {service.path} has no ready endpoint, though pod {ready_pods[0].path} is ready",
            **where,
        )
    declared = {
        port for pod in ready_pods if (container := container_of(pod)) is not None for port in container.ports
    } or {PORT}
    targets = {
        integer(port, "port") for each in _slices_of(observed, service) for port in objects(each.raw, "ports")
    }
    if targets and not targets & (declared | {PORT}):
        return failed(
            "WrongTargetPort",
            f"Service {service.path} leads to port {sorted(targets)}, Ollama listens on {sorted(declared)}",
            independent=True,
            **where,
        )
    return None


def _pairs(selector: object) -> str:
    return str(selector).replace("'", "")


def diagnose_answer(observed: ServingState, answer: ApiRead) -> Result | None:
    """Why Ollama does not answer, where what came back, or its log, proves it; None where it does not."""
    for line in observed.log.or_else(()):
        if "Listening on 127.0.0.1" in line.message or "Listening on [::1]" in line.message:
            return failed(
                "ListensOnLoopback",
                f"Ollama listens inside its pod only ({line.message}): nobody else reaches it",
                independent=True,
            )
    said = str(answer.body or "").lower()
    if answer.status is None or answer.status < 500:  # noqa: PLR2004 - the HTTP class of server errors
        return None
    if "no endpoints available" in said:
        return failed("NoEndpoints", f"{answer.key}: HTTP {answer.status}: no endpoints behind the Service")
    if "connection refused" in said:
        return failed("RefusesConnections", f"{answer.key}: HTTP {answer.status}: Ollama refuses connections")
    return None


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
    return failed("WebUiNotRunning", f"Open WebUI {found.namespace}/{found.name} has no pod", **where)


def _web_ui_pod(observed: ServingState, pod: Pod, where: Where) -> Result:
    """Why a pod of Open WebUI is not ready. What crashes by itself is its own fault, whatever else fails."""
    for container in pod.containers:
        waiting, last = container.state.waiting, container.last_state
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
    condition = pod.conditions.get("PodScheduled")
    said = f": {condition.message}" if condition is not None and condition.message else ""
    return failed(
        "WebUiNotRunning",
        f"Open WebUI has no ready pod: {pod.path} is {pod.phase}{said}",
        pod=pod.name,
        **where,
    )


def diagnose_backends(observed: ServingState, found: WebUi) -> Result | None:
    """What is wrong with the URLs that Open WebUI asks; None where one leads to the platform's Ollama."""
    one = observed.installation
    if one is None:
        return None
    _ = observed.services.value
    reached = {(each.name, each.namespace): {port for port, _ in each.ports} for each in one.services}
    wrong = []
    for url in found.backends:
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
    if not wrong or len(wrong) < len(found.backends):
        return None
    return failed(
        "WrongBackend",
        f"Open WebUI {found.namespace}/{found.name} asks the wrong place: {'; '.join(wrong)}",
        independent=bool(one.services),  # without any Service no URL could be right
        namespace=found.namespace,
        workload=found.reference,
    )
