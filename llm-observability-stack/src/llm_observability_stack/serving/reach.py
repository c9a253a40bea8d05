"""What stands between a client and Ollama: Service, endpoints, the address it listens on."""

from edge_llm_tests.contract import Result, failed, unknown
from edge_llm_tests.fields import integer, objects
from edge_llm_tests.objects import EndpointSlice, Service
from edge_llm_tests.ollama import Installation, container_of
from edge_llm_tests.ollama.installation import PORT, selects
from edge_llm_tests.reads import ApiRead

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.where import Where

__all__ = ["diagnose_answer", "diagnose_endpoints", "ready_addresses"]


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
    if observed.loopback:
        return failed(
            "ListensOnLoopback",
            f"Ollama listens inside its pod only ({observed.loopback}): nobody else reaches it",
        )
    said = str(answer.body or "").lower()
    if answer.status is None or answer.status < 500:  # noqa: PLR2004 - the HTTP class of server errors
        return None
    if "no endpoints available" in said:
        return failed("NoEndpoints", f"{answer.key}: HTTP {answer.status}: no endpoints behind the Service")
    if "connection refused" in said:
        return failed("RefusesConnections", f"{answer.key}: HTTP {answer.status}: Ollama refuses connections")
    return None
