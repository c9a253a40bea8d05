"""What a GPU operator says it could not bring up."""

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.gpu.cast import Role
from k3s_nvidia_edge.gpu.observe import GpuState

__all__ = ["operator_fault"]

_RUNS = "ready"


def operator_fault(observed: GpuState) -> Fault | None:
    """The fault; None where all is ready, or no operator is there.

    Raises:
        UnseenError: The policies or the pods were not seen.
    """
    for pod in observed.cast.of(Role.OPERATOR):
        if not pod.ready:
            container = next((each for each in pod.containers if not each.ready), None)
            state = (container.state.waiting or container.last_state.terminated) if container else ""
            return Fault(
                "OperatorCrashes",
                f"the GPU operator {pod.path} is not ready ({state or pod.phase})",
                {"namespace": pod.namespace, "pod": pod.name},
            )
    for policy in observed.policies:
        if policy.state in ("", _RUNS, "disabled"):
            continue
        about = {"policy": policy.name}
        if policy.state == "ignored":
            return Fault(
                "PolicyIgnored", f"ClusterPolicy {policy.name} is ignored: there is an older one", about
            )
        if policy.wants_monitoring_crd:
            return Fault(
                "OperatorNeedsMonitoringCrds",
                "the GPU operator stops at a kind of the Prometheus operator that is not installed:"
                f" {policy.said[:200]}",
                about,
            )
        if not policy.only_telemetry_unready:
            return Fault(
                "OperatorPartsNotReady",
                f"ClusterPolicy {policy.name} is {policy.state}: {policy.said[:240]}",
                about,
            )
    return None
