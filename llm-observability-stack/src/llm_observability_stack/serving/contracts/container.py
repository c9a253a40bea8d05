"""Promises about Ollama's container: its image is there, and it runs."""

from edge_llm_tests.contract import Result, contract, passed, unknown

from llm_observability_stack.serving.crash import CRASH_REASONS, diagnose_pod
from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.pull import PULL_REASONS, diagnose_pull
from llm_observability_stack.serving.spec import ServingSpec
from llm_observability_stack.serving.unsteady import diagnose_evictions

__all__ = ["image", "running"]


@contract(
    "serving.image",
    "the images of Ollama's pods are on the node",
    reasons=("NothingScheduled", *PULL_REASONS),
    after=("serving.scheduled", "gpu.node-ready"),
    terminal=("ImageNotFound", "PullDenied", "OtherPlatform", "ImageNotPreloaded", "InvalidImageName"),
)
def image(_spec: ServingSpec, observed: ServingState) -> Result:
    """Pulled, or loaded beforehand."""
    placed = [pod for pod in observed.live_pods if pod.node]
    if not placed:
        return unknown("NothingScheduled", "no pod of Ollama has a node that could have its image")
    for pod in placed:
        for container in pod.containers:
            if (found := diagnose_pull(observed, pod, container)) is not None:
                return found
    return passed(", ".join(sorted({each.image for pod in placed for each in pod.containers})))


@contract(
    "serving.running",
    "every pod of Ollama runs, stays and is ready",
    reasons=("NothingScheduled", *CRASH_REASONS),
    after=(
        "serving.image",
        "serving.scheduled",
        "host.driver-loaded",
        "host.driver-answers",
        "host.card-on-bus",
        "host.card-healthy",
        "host.device-nodes",
        "host.memory-available",
        "gpu.runtime-handler",
        "gpu.runtime-class",
        "gpu.sandboxes",
    ),
    terminal=("CrashLoop", "HookFailed", "ConfigMissing", "ConfigRefused", "InitFailed", "OtherPlatform"),
)
def running(_spec: ServingSpec, observed: ServingState) -> Result:
    """Not killed for memory, by a hook or by its own probe, and not crashing."""
    placed = [pod for pod in observed.live_pods if pod.node]
    if not placed:
        return unknown("NothingScheduled", "no pod of Ollama has a node to run on")
    if (evicted := diagnose_evictions(observed)) is not None:
        return evicted
    for pod in placed:
        if (found := diagnose_pod(observed, pod)) is not None:
            return found
    return passed(", ".join(f"{pod.path} is ready" for pod in placed))
