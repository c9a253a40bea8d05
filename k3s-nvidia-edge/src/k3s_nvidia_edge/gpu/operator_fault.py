"""What keeps a GPU operator from its work, and what it says it could not bring up."""

from edge_llm_tests.objects import Pod

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.gpu.cast import Role
from k3s_nvidia_edge.gpu.observe import GpuState
from k3s_nvidia_edge.gpu.operator_state import needs_monitoring_kind

__all__ = ["operator_fault", "parts_fault"]

_SETTLED = ("", "ready", "disabled")
_GPU_PARTS = ("driver", "toolkit", "device-plugin", "validat", "mig")
_SAID_LIMIT = 220


def operator_fault(observed: GpuState) -> Fault | None:
    """Why the operator itself does not work; None where it does, or none is there.

    Raises:
        UnseenError: The policies or the pods were not seen.
    """
    for policy in observed.policies:
        about = {"policy": policy.name}
        if policy.state == "ignored":
            return Fault(
                "PolicyIgnored", f"ClusterPolicy {policy.name} is ignored: there is an older one", about
            )
        if policy.state not in _SETTLED and needs_monitoring_kind(policy.said):
            return _needs_kind(policy.said, policy.name)
    for pod in observed.cast.of(Role.OPERATOR):
        if not pod.ready:
            return _not_ready(pod, observed)
    return None


def parts_fault(observed: GpuState) -> Fault | None:
    """A part that makes the GPU usable and that the operator says is not ready.

    Exporters are telemetry's matter, though the operator counts them too; where it names no part, the effect
    decides: a node that offers its GPU has what it needs.

    Raises:
        UnseenError: The policies or the nodes were not seen.
    """
    for policy in observed.policies:
        if policy.state in _SETTLED:
            continue
        parts = [part for part in policy.unready_parts if any(word in part for word in _GPU_PARTS)]
        if parts or (not policy.unready_parts and not observed.offers):
            return Fault(
                "OperatorPartsNotReady",
                f"ClusterPolicy {policy.name} is {policy.state}: {policy.said[:_SAID_LIMIT]}",
                {"policy": policy.name},
            )
    return None


def _not_ready(pod: Pod, observed: GpuState) -> Fault:
    container = next((each for each in pod.containers if not each.ready), None)
    state = (container.state.waiting or container.last_state.terminated) if container else ""
    last = container.last_state.message if container else ""
    said = f"{last} {observed.logs(pod)}"
    if needs_monitoring_kind(said):
        line = next(line for line in said.splitlines() if needs_monitoring_kind(line))
        return _needs_kind(line, next((policy.name for policy in observed.policies), "cluster-policy"))
    return Fault(
        "OperatorCrashes",
        f"the GPU operator {pod.path} is not ready ({state or pod.phase}) {last[:160]}".rstrip(),
        {"namespace": pod.namespace, "pod": pod.name},
    )


def _needs_kind(said: str, policy: str) -> Fault:
    return Fault(
        "OperatorNeedsMonitoringCrds",
        "the GPU operator stops at a kind of the Prometheus operator (ServiceMonitor) that is not installed:"
        f" {said.strip()[:_SAID_LIMIT]}",
        {"policy": policy},
    )
