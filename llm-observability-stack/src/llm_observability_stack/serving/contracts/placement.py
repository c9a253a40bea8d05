"""Promises about where Ollama is and what it asks for."""

from edge_llm_tests.contract import Result, contract, failed, passed, unknown

from llm_observability_stack.serving.absence import ABSENCE_REASONS, diagnose_absence, diagnose_refusal
from llm_observability_stack.serving.gpu_access import ACCESS_REASONS, diagnose_access, diagnose_no_access
from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.scheduling import SCHEDULING_REASONS, diagnose_pending
from llm_observability_stack.serving.spec import ServingSpec

__all__ = ["gpu_request", "memory_limit", "scheduled", "workload"]


@contract(
    "serving.workload",
    "an Ollama is installed and its workload has the pods that it wants",
    reasons=ABSENCE_REASONS,
    after=("gpu.api", "gpu.node-ready", "gpu.runtime-class", "gpu.device-plugin", "gpu.allocatable"),
    terminal=("QuotaExceeded",),
)
def workload(_spec: ServingSpec, observed: ServingState) -> Result:
    """A pod that has not ended, whatever its state."""
    one = observed.installation
    if one is not None and (live := one.live_pods):
        return diagnose_refusal(observed, one) or passed(f"{one.path} has {len(live)} pod(s)")
    return diagnose_absence(observed, one)


@contract(
    "serving.gpu-request",
    "Ollama asks for the GPU of its profile such that the runtime brings it, or for none if none is promised",
    reasons=("NothingAsks", *ACCESS_REASONS),
    after=("serving.workload", "gpu.allocatable", "gpu.runtime-class"),
)
def gpu_request(spec: ServingSpec, observed: ServingState) -> Result:
    """Limit, runtime class or CDI, and an environment that does not take the GPU away again."""
    asking = observed.asking
    if asking is None:
        return unknown("NothingAsks", "there is no Ollama whose requests could be looked at")
    if spec.gpu.count == 0:
        return diagnose_no_access(observed, asking)
    return diagnose_access(observed, spec.gpu, asking)


@contract(
    "serving.scheduled",
    "every pod of Ollama has a node",
    reasons=("NothingToSchedule", *SCHEDULING_REASONS),
    after=(
        "serving.workload",
        "serving.gpu-request",
        "gpu.node-ready",
        "gpu.cni",
        "gpu.device-plugin",
        "gpu.allocatable",
        "gpu.storage",
    ),
)
def scheduled(_spec: ServingSpec, observed: ServingState) -> Result:
    """Who holds what it waits for is named."""
    live = observed.live_pods
    if not live:
        return unknown("NothingToSchedule", "Ollama has no pod to schedule")
    for pod in live:
        if not pod.node:
            return diagnose_pending(observed, pod)
    return passed(", ".join(f"{pod.path} on {pod.node}" for pod in live))


@contract(
    "serving.memory-limit",
    "the Ollama container has a memory limit, so that it cannot take the whole node with it",
    reasons=("NothingAsks", "NoMemoryLimit"),
    after=("serving.workload",),
    applies=lambda spec: spec.memory_limit,
)
def memory_limit(_spec: ServingSpec, observed: ServingState) -> Result:
    """Of host memory: the card's cannot be limited."""
    asking = observed.asking
    if asking is None:
        return unknown("NothingAsks", "there is no Ollama whose limits could be looked at")
    limit = asking.container.limits.get("memory") or asking.spec.limits.get("memory")
    if limit:
        return passed(f"{asking.where} is limited to {limit}")
    return failed(
        "NoMemoryLimit",
        f"{asking.where} has no memory limit: a model that is too large takes the whole node down",
        independent=True,
    )
