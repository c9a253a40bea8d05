"""Layer 2: Ollama and the models that it serves."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from edge_llm_tests import Layer, Recording
from edge_llm_tests.layer import ModelNeed, Release, ServiceAddress
from edge_llm_tests.ollama import canonical, installations, log_keys
from edge_llm_tests.ollama.installation import PORT
from edge_llm_tests.profile import merge
from edge_llm_tests.upstream import upstream_releases

from llm_observability_stack.serving.contracts import CONTRACTS
from llm_observability_stack.serving.observe import observe
from llm_observability_stack.serving.spec import ServingSpec
from llm_observability_stack.serving.web_ui import port_of, web_ui

__all__ = ["LAYER"]

_PACKAGE = "llm_observability_stack"
_CORE_READS = (
    "api:/api/v1/nodes",
    "api:/api/v1/pods",
    "api:/api/v1/events",
    "api:/api/v1/services",
    "api:/apis/apps/v1/deployments",
    "api:/apis/apps/v1/replicasets",
    "api:/apis/apps/v1/daemonsets",
    "api:/apis/discovery.k8s.io/v1/endpointslices",
    "http:ollama:/api/version",
    "http:ollama:/api/tags",
    "http:ollama:/api/ps",
)


def _reads(spec: ServingSpec, recording: Recording) -> tuple[str, ...]:
    shown = (f"http:ollama:/api/show {canonical(each.name)}" for each in spec.models)
    health = ("http:open-webui:/health",) if spec.web_ui else ()
    return (*_CORE_READS, *shown, *health, *log_keys(recording, previous=True))


def _services(_spec: ServingSpec, recording: Recording) -> Mapping[str, ServiceAddress]:
    found: dict[str, ServiceAddress] = {}
    for one in recording.view(installations).or_else(())[:1]:
        for service in one.services[:1]:
            numbers = [number for number, _ in service.ports]
            if numbers:
                found["ollama"] = service.address(PORT if PORT in numbers else numbers[0])
    page = recording.view(web_ui).or_else(None)
    if page is not None and page.service is not None:
        found["open-webui"] = page.service.address(port_of(page.service))
    return found


def _releases(values: Mapping[str, Any]) -> tuple[Release, ...]:
    """Our chart; then Open WebUI's own where a profile takes that in the place of ours."""
    web_ui_chart = upstream_releases(_PACKAGE, values, "open-webui")
    if "serving" not in values:
        return web_ui_chart
    chart = files(_PACKAGE) / "charts" / "edge-serving"
    return (Release("serving", "llm-observability", "serving", chart, values["serving"]), *web_ui_chart)


def _models(values: Mapping[str, Any]) -> tuple[ModelNeed, ...]:
    """Models that come from the registry: all but those made from a file of the provisioning image."""
    found = [each for each in values.get("serving", {}).get("models", ()) if "file" not in each]
    pulls = [(each["name"], each.get("pull") or {}) for each in found]
    return tuple(
        dict.fromkeys(
            ModelNeed(canonical(pull.get("from") or name), pull.get("digest") or "") for name, pull in pulls
        )
    )


def _with_models(values: Mapping[str, Any], models: str) -> Mapping[str, Any]:
    return merge(values, {"serving": {"ollama": {"seed": models}}})


LAYER = Layer(
    name="serving",
    number=2,
    owner="llm-observability-stack",
    rungs=("serving", "model"),
    spec_type=ServingSpec,
    observe=observe,
    contracts=CONTRACTS,
    package=_PACKAGE,
    reads=_reads,
    services=_services,
    releases=_releases,
    models=_models,
    with_models=_with_models,
)
