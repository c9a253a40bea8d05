"""Promises about reaching Ollama: by its Service, by its API, by Open WebUI."""

from edge_llm_tests.contract import Result, contract, failed, passed, unknown

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.reach import diagnose_answer, diagnose_endpoints, ready_addresses
from llm_observability_stack.serving.spec import ServingSpec
from llm_observability_stack.serving.web_ui_fault import (
    WEB_UI_REASONS,
    diagnose_backends,
    diagnose_health,
    diagnose_web_ui_pods,
)

__all__ = ["answers", "endpoints", "web_ui"]


@contract(
    "serving.endpoints",
    "a Service leads to Ollama's ready pods",
    reasons=(
        "NothingToReach",
        "NothingReady",
        "NoService",
        "SelectorMismatch",
        "NoReadyEndpoint",
        "WrongTargetPort",
    ),
    after=("serving.running",),
)
def endpoints(_spec: ServingSpec, observed: ServingState) -> Result:
    """By its selector and its target port."""
    one = observed.installation
    if one is None:
        return unknown("NothingToReach", "there is no Ollama that a Service could lead to")
    _ = observed.services.value
    if not one.services:
        return failed(
            "NoService",
            f"no Service of namespace {one.namespace} leads to {one.path}",
            independent=True,
        )
    service = one.services[0]
    found = diagnose_endpoints(observed, one, service)
    return found or passed(f"Service {service.path} -> {', '.join(ready_addresses(observed, service))}")


@contract(
    "serving.answers",
    "Ollama answers on its API",
    reasons=("ListensOnLoopback", "NoEndpoints", "RefusesConnections"),
    after=("serving.running", "serving.endpoints"),
)
def answers(_spec: ServingSpec, observed: ServingState) -> Result:
    """Itself, not a proxy or a sign-on page in its place."""
    if observed.version.seen:
        return passed(f"Ollama {observed.version.value}")
    if observed.version_read.seen:
        found = diagnose_answer(observed, observed.version_read.value)
        if found is not None:
            return found
    return passed(observed.version.value)  # raises why it was not seen


@contract(
    "serving.webui",
    "Open WebUI runs, answers, and asks the Ollama of the platform",
    reasons=WEB_UI_REASONS,
    after=("gpu.node-ready", "serving.answers"),
    applies=lambda spec: spec.web_ui,
)
def web_ui(_spec: ServingSpec, observed: ServingState) -> Result:
    """Its own pod, its own health, its own settings."""
    found = observed.web_ui.value
    if (broken := diagnose_web_ui_pods(observed, found)) is not None:
        return broken
    if found is not None and (wrong := diagnose_backends(observed, found)) is not None:
        return wrong
    health = observed.web_ui_health.value
    if (unwell := diagnose_health(observed, found, health)) is not None:
        return unwell
    if health.document.get("status") is True:
        return passed(f"Open WebUI {found.namespace}/{found.name} is well" if found else "Open WebUI is well")
    return failed("WebUiDoesNotAnswer", f"{health.key}: {str(health.body)[:160]}")
