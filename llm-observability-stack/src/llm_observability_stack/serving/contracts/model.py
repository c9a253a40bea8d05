"""Promises about the models: on disk, loadable, loaded to stay."""

from edge_llm_tests.contract import Result, contract, passed, unknown
from edge_llm_tests.ollama import canonical

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.presence import (
    PRESENCE_REASONS,
    diagnose_absent,
    diagnose_unlisted,
    diagnose_weights,
)
from llm_observability_stack.serving.residency import (
    LOAD_REASONS,
    RESIDENCY_REASONS,
    diagnose_load,
    diagnose_residency,
    diagnose_shown,
)
from llm_observability_stack.serving.spec import ServingSpec

__all__ = ["loadable", "present", "resident"]


@contract(
    "model.present",
    "each promised model is on Ollama's disk, under its name and with its digest",
    reasons=PRESENCE_REASONS,
    after=("serving.answers", "serving.running", "gpu.cluster-dns", "host.disks-writable"),
    applies=lambda spec: bool(spec.models),
    terminal=("NoSuchModel", "PullNeedsNewerEngine", "NoSpaceForModel"),
)
def present(spec: ServingSpec, observed: ServingState) -> Result:
    """As `/api/tags` lists them."""
    if (unreadable := diagnose_unlisted(observed)) is not None:
        return unreadable
    listed = observed.present.value
    by_name = {each.name: each for each in listed}
    for promise in spec.models:
        found = by_name.get(canonical(promise.name))
        if found is None:
            return diagnose_absent(observed, promise, listed)
        if (wrong := diagnose_weights(promise, found)) is not None:
            return wrong
    return passed(", ".join(promise.name for promise in spec.models))


@contract(
    "model.loadable",
    "the engine can load each promised model",
    reasons=("NothingSeen", *LOAD_REASONS),
    after=(
        "model.present",
        "serving.answers",
        "host.driver-answers",
        "host.driver-fit",
        "host.device-nodes",
        "host.card-healthy",
        "host.memory-available",
    ),
    applies=lambda spec: bool(spec.models),
)
def loadable(spec: ServingSpec, observed: ServingState) -> Result:
    """It is loaded; or it was read by the engine and no failed load stands against it."""
    loaded = {each.name for each in observed.loaded.value}
    missing = [each.name for each in spec.models if canonical(each.name) not in loaded]
    waited_for = [each.name for each in spec.models if each.resident and each.name in missing]
    if not any(each.resident for each in spec.models):
        waited_for = missing
    if (stopped := diagnose_load(observed, waited_for)) is not None:
        return stopped
    for promise in spec.models:
        if promise.name in missing and (against := diagnose_shown(observed, promise)) is not None:
            return against
    if not missing:
        return passed(f"loaded: {', '.join(each.name for each in spec.models)}")
    if not observed.log.seen and not any(observed.shown[canonical(name)].seen for name in missing):
        return unknown("NothingSeen", f"neither a log nor /api/show tells of {', '.join(missing)}")
    return passed(f"no failed load stands against {', '.join(missing)}")


@contract(
    "model.resident",
    "each model that is promised resident is loaded, and nothing is about to unload it",
    reasons=RESIDENCY_REASONS,
    after=("model.loadable", "model.present"),
    applies=lambda spec: any(each.resident for each in spec.models),
)
def resident(spec: ServingSpec, observed: ServingState) -> Result:
    """As `/api/ps` lists them."""
    promised = [each for each in spec.models if each.resident]
    for promise in promised:
        if (found := diagnose_residency(observed, promise)) is not None:
            return found
    return passed(", ".join(f"{each.name} is loaded" for each in promised))
