"""Promises about the GPU as a resource: the device plugin, what the node offers, the operator."""

from datetime import timedelta

from edge_llm_tests import Result, contract, failed, passed, unknown
from edge_llm_tests.objects import Pod

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.gpu.cast import PODS_PER_ROLE, Role
from k3s_nvidia_edge.gpu.observe import GpuState
from k3s_nvidia_edge.gpu.offer_fault import offer_fault
from k3s_nvidia_edge.gpu.operator_fault import operator_fault, parts_fault
from k3s_nvidia_edge.gpu.plugin_fault import is_registered, pod_fault, refusal
from k3s_nvidia_edge.gpu.plugin_placement import placement_fault
from k3s_nvidia_edge.gpu.spec import GpuSpec
from k3s_nvidia_edge.gpu.trouble import mount_failure

__all__ = ["allocatable", "device_plugin", "operator", "operator_parts"]

_YOUNG = timedelta(seconds=15)  # a plugin registers within a second; the kubelet takes some to tell
_TRIES_MIN = 2


def _has_gpu(spec: GpuSpec) -> bool:
    return spec.has_gpu


@contract(
    "gpu.device-plugin",
    "a device plugin runs on the GPU's node, and sees the GPU",
    reasons=(
        "NoDevicePlugin",
        "PluginNotTolerating",
        "PluginLabelMissing",
        "PluginNotScheduled",
        "PluginImageMissing",
        "PluginWaits",
        "PluginNotStarted",
        "PluginCrashes",
        "PluginBlind",
        "PluginImageUnreachable",
        "PluginRefused",
        "PluginStarting",
        "PluginPaused",
        "PluginRetries",
    ),
    after=(
        "host.file-watches",
        "host.driver-answers",
        "host.device-nodes",
        "gpu.node-ready",
        "gpu.cni",
        "gpu.operator",
        "gpu.toolkit",
        "gpu.runtime-handler",
        "gpu.cgroup-driver",
        "gpu.runtime-class",
        "gpu.cdi",
        "gpu.sandboxes",
    ),
    applies=_has_gpu,
    terminal=("PluginNotTolerating", "PluginImageMissing", "PluginCrashes", "PluginBlind"),
)
def device_plugin(spec: GpuSpec, observed: GpuState) -> Result:
    """Running and Ready says little: a patient plugin waits for ever for a GPU that it cannot see."""
    pods, plugins = observed.of(Role.PLUGIN), observed.plugins
    config = observed.containerd
    waiting: Result | None = None
    for pod in pods:
        if not _is_proven(pod, pods, observed):
            fault = pod_fault(
                pod,
                observed.logs(pod),
                default_is_nvidia=config.seen and config.value.default_is_nvidia,
                runtime_class=spec.runtime_class,
                waits_for=mount_failure(observed.recording, pod),
            )
            if fault is not None and not _is_young(pod, fault, observed):
                return fault.result
        waiting = waiting or _starting(pod, observed)
    if waiting is not None:
        return waiting
    if pods:
        said = [observed.log_of(pod).value for pod in pods[:PODS_PER_ROLE]]  # raises where none was read
        return passed(f"{len(pods)} device plugins run, and see the GPU as far as {len(said)} of them say")
    for workload in plugins:
        if fault := placement_fault(workload, observed.nodes):
            return fault.result
    if plugins:
        first = plugins[0]
        if refused := refusal(observed.events, first):
            return refused.result
        return failed(
            "PluginNotScheduled",
            f"DaemonSet {first.path} has no pod on {', '.join(node.name for node in observed.nodes[:3])}",
            namespace=first.namespace,
            daemonset=first.name,
        )
    if observed.offers:
        return passed(
            f"the node offers {', '.join(observed.offers)}, by a plugin of a name that is not known here"
        )
    return failed("NoDevicePlugin", "no device plugin for NVIDIA GPUs is deployed")


def _is_proven(pod: Pod, pods: tuple[Pod, ...], observed: GpuState) -> bool:
    """Whether the node's offer proves more than the pod's words: it is ready, or beside one that is."""
    ready = any(each.ready and each.node == pod.node for each in pods)
    return bool(observed.offers) and (pod.ready or ready)


def _is_young(pod: Pod, fault: Fault, observed: GpuState) -> bool:
    """Whether a crash or a blind look is too new to be the last word: the plugin may be tried again."""
    if fault.reason not in ("PluginCrashes", "PluginBlind"):
        return False
    restarts = sum(each.restarts for each in pod.containers)
    age = observed.age(pod)
    return restarts < _TRIES_MIN and age is not None and age < _YOUNG


def _starting(pod: Pod, observed: GpuState) -> Result | None:
    """A plugin that has just started and has not registered: what the node offers may be from before it."""
    age = observed.age(pod)
    if age is None or age >= _YOUNG or is_registered(observed.log_of(pod).or_else("")):
        return None
    return unknown(
        "PluginStarting",
        f"device plugin {pod.path} runs since {age.total_seconds():.0f} s and has not registered yet",
        namespace=pod.namespace,
        pod=pod.name,
    )


@contract(
    "gpu.allocatable",
    "a node offers the GPUs that the profile promises, by the name that the serving pod asks for",
    reasons=(
        "NoAllocatableGpu",
        "FewerGpusOffered",
        "GpuMarkedUnhealthy",
        "OtherResourceName",
        "WholeGpuUnderMig",
        "MigWithoutDevices",
        "MigPending",
        "MigConfigFailed",
    ),
    after=("gpu.device-plugin", "host.card-healthy", "host.cards-complete", "gpu.node-ready"),
    applies=_has_gpu,
)
def allocatable(spec: GpuSpec, observed: GpuState) -> Result:
    """MIG and time-slicing may rename the resource; that is fine where the pod asks for it by that name."""
    if fault := offer_fault(spec, observed):
        return fault.result
    _ = observed.asks.value  # raises: without it, the name that is asked for is not known
    return passed(", ".join(f"{count} x {name}" for name, count in observed.offers.items()))


@contract(
    "gpu.operator",
    "the GPU operator works, where there is one",
    reasons=("OperatorCrashes", "OperatorNeedsMonitoringCrds", "PolicyIgnored"),
    after=("gpu.node-ready", "gpu.cni"),
    applies=_has_gpu,
)
def operator(spec: GpuSpec, observed: GpuState) -> Result:
    """A missing kind of the Prometheus operator, telemetry's, has stopped it in the field."""
    if fault := operator_fault(observed):
        return fault.result
    policies = observed.policies
    named = f"{policies[0].name} is {policies[0].state}" if policies else "no GPU operator is installed"
    return passed(named)


@contract(
    "gpu.operator-parts",
    "the parts by which a GPU operator makes the card usable are ready",
    reasons=("OperatorPartsNotReady",),
    after=(
        "gpu.operator",
        "gpu.driver-owner",
        "gpu.toolkit",
        "gpu.runtime-handler",
        "gpu.device-plugin",
        "gpu.allocatable",
        "gpu.sandboxes",
        "host.device-nodes",
        "host.card-healthy",
    ),
    applies=_has_gpu,
)
def operator_parts(spec: GpuSpec, observed: GpuState) -> Result:
    """Its validators see what no other contract here looks at."""
    if fault := parts_fault(observed):
        return fault.result
    return passed(f"{len(observed.policies)} ClusterPolicies, none with a part that the GPU needs and lacks")
