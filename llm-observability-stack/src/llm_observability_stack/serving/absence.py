"""Why Ollama has no pod."""

from datetime import timedelta

from edge_llm_tests.contract import Result, failed, unknown
from edge_llm_tests.objects import Pod
from edge_llm_tests.ollama import Installation

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.where import Where

__all__ = ["ABSENCE_REASONS", "diagnose_absence"]

ABSENCE_REASONS = (
    "NotInstalled",
    "ScaledToZero",
    "QuotaExceeded",
    "RuntimeClassMissing",
    "AdmissionRefused",
    "OnlyFailedPods",
    "StuckTerminating",
    "Replacing",
    "NoPod",
)
_TERMINATION_LIMIT = timedelta(minutes=5)
_REFUSAL_EVENTS = ("FailedCreate", "FailedCreatePod", "ReplicaSetCreateError")
_CONTROLLERS = ("ReplicaSet", "Deployment", "DaemonSet", "StatefulSet")


def diagnose_absence(observed: ServingState, one: Installation | None) -> Result:
    """Why the Ollama `one` has no pod that lives; None: why there is no Ollama."""
    if one is None:
        return failed("NotInstalled", "no workload or pod of the cluster is an Ollama server")
    made_by_controller = any(pod.owner and pod.owner[0] == "ReplicaSet" for pod in one.pods)
    if one.workload is None and made_by_controller:
        _ = observed.deployments.value  # without the workload the reason cannot be told
    where: Where = {"namespace": one.namespace, "workload": one.reference}
    if one.workload is not None and one.workload.replicas == 0:
        return failed(
            "ScaledToZero",
            f"{one.workload.kind} {one.path} wants 0 replicas: somebody scaled Ollama to zero",
            independent=True,
            **where,
        )
    if (refusal := _refusal(observed, one)) is not None:
        return refusal
    if leaving := [pod for pod in one.pods if pod.terminating]:
        return _leaving(observed, leaving[0])
    if one.pods:
        last = max(one.pods, key=lambda pod: str(pod.created))
        return failed(
            "OnlyFailedPods",
            f"{one.path} has no running pod; pod {last.path} is {last.phase} ({last.reason or 'no reason'}: "
            f"{last.message or 'no message'}) and nothing replaces it",
            pod=last.name,
            **where,
        )
    return failed("NoPod", f"{one.path} has no pod, and no event says why", **where)


def _refusal(observed: ServingState, one: Installation) -> Result | None:
    said = ""
    if one.workload is not None:
        condition = one.workload.conditions.get("ReplicaFailure")
        said = condition.message if condition is not None and condition.true else ""
    if not said:
        about = observed.about(one.namespace, one.name, *_CONTROLLERS)
        said = next((each.message for each in reversed(about) if each.reason in _REFUSAL_EVENTS), "")
    if not said:
        return None
    lower = said.lower()
    where: Where = {"namespace": one.namespace, "workload": one.reference}
    if "exceeded quota" in lower or "failed quota" in lower:
        return failed(
            "QuotaExceeded", f"a quota refuses the pod of {one.path}: {said}", independent=True, **where
        )
    if "runtimeclass" in lower and "not found" in lower:
        return failed("RuntimeClassMissing", f"the API refuses the pod of {one.path}: {said}", **where)
    return failed(
        "AdmissionRefused", f"the API refuses the pod of {one.path}: {said}", independent=True, **where
    )


def _leaving(observed: ServingState, pod: Pod) -> Result:
    age = observed.termination_age(pod)
    where: Where = {"pod": pod.name, "namespace": pod.namespace}
    if age is None or age < _TERMINATION_LIMIT:
        return unknown(
            "Replacing", f"pod {pod.path} is being deleted, its successor is not there yet", **where
        )
    return failed(
        "StuckTerminating",
        f"pod {pod.path} is being deleted since {age} and does not go: its successor waits for it",
        **where,
    )
