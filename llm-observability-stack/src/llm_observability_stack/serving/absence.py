"""Why Ollama has no pod."""

from collections.abc import Mapping
from datetime import timedelta

from edge_llm_tests.contract import Result, failed, unknown
from edge_llm_tests.objects import Pod, Service, daemonsets, refusal, standing_refusal
from edge_llm_tests.ollama import Installation
from edge_llm_tests.ollama.installation import PORT

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.where import Where

__all__ = ["ABSENCE_REASONS", "diagnose_absence", "diagnose_refusal"]

ABSENCE_REASONS = (
    "NotInstalled",
    "WorkloadGone",
    "OutsideCluster",
    "ScaledToZero",
    "NoNodeWanted",
    "QuotaExceeded",
    "RuntimeClassMissing",
    "AdmissionRefused",
    "OnlyFailedPods",
    "StuckTerminating",
    "Replacing",
    "NoPod",
)
_ENGINE = "ollama"
_TERMINATION_LIMIT = timedelta(minutes=5)


def diagnose_absence(observed: ServingState, one: Installation | None) -> Result:
    """Why the Ollama `one` has no pod that lives; None: why there is no Ollama."""
    if one is None:
        return _not_there(observed)
    made_by_controller = any(pod.owner and pod.owner[0] == "ReplicaSet" for pod in one.pods)
    if one.workload is None and made_by_controller:
        _ = observed.deployments.value  # without the workload the reason cannot be told
    where: Where = {"namespace": one.namespace, "workload": one.reference}
    if one.workload is not None and one.workload.kind == "DaemonSet" and one.workload.replicas == 0:
        return failed(
            "NoNodeWanted",
            f"DaemonSet {one.path} wants no pod: no node meets its node selector"
            f" {_pairs(one.workload.template.node_selector)} and affinity, or it tolerates not their taints",
            independent=True,
            **where,
        )
    if one.workload is not None and one.workload.replicas == 0:
        return failed(
            "ScaledToZero",
            f"{one.workload.kind} {one.path} wants 0 replicas: somebody scaled Ollama to zero",
            independent=True,
            **where,
        )
    if (refused := _refused(refusal(observed.recording, one.namespace, one.name), one)) is not None:
        return refused
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


def _not_there(observed: ServingState) -> Result:
    """Nothing of Ollama at all; or its Service alone, of a workload that somebody took away or parked."""
    left = [each for each in observed.services.or_else(()) if _is_meant_for_ollama(each)]
    if not left:
        return failed("NotInstalled", "no workload or pod of the cluster is an Ollama server")
    if left[0].leads_outside:
        return unknown(
            "OutsideCluster",
            f"Service {left[0].path} selects no pod and leads to an Ollama outside the cluster, whose pod,"
            " GPU and limits are not to be seen from here",
            namespace=left[0].namespace,
            service=left[0].name,
        )
    return failed(
        "WorkloadGone",
        f"Service {left[0].path} is there for an Ollama, and no pod, Deployment or DaemonSet is: its"
        " workload was removed, or is a StatefulSet (which is not looked at) that wants no pod",
        independent=True,
        namespace=left[0].namespace,
        service=left[0].name,
    )


def _is_meant_for_ollama(service: Service) -> bool:
    return service.name == _ENGINE and any(number == PORT for number, _ in service.ports)


def _pairs(selector: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value}" for key, value in selector.items()) or "(none)"


def diagnose_refusal(observed: ServingState, one: Installation) -> Result | None:
    """Why the workload of a served Ollama has fewer pods than it wants, or old ones; None where it has not.

    Raises:
        UnseenError: What makes its pods was not seen.
    """
    makers = {pod.owner[0] for pod in one.live_pods if pod.owner}
    if makers & {"ReplicaSet", "Deployment"}:
        _ = observed.deployments.value, observed.replicasets.value
    if "DaemonSet" in makers:
        _ = observed.recording.view(daemonsets).value
    said = standing_refusal(observed.recording, one.namespace, one.name)
    if not said and one.workload is not None and len(one.live_pods) < one.workload.replicas:
        said = refusal(observed.recording, one.namespace, one.name)
    return _refused(said, one)


def _refused(said: str, one: Installation) -> Result | None:
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
