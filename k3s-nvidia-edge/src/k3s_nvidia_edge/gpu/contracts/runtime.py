"""Promises about the NVIDIA runtime in k3s's containerd: who installs it, that it is known, that it works."""

from edge_llm_tests import Result, contract, failed, passed

from k3s_nvidia_edge.gpu.cast import Role
from k3s_nvidia_edge.gpu.cdi_fault import cdi_fault
from k3s_nvidia_edge.gpu.handler_fault import cgroup_fault, handler_fault
from k3s_nvidia_edge.gpu.lost_devices import lost_devices
from k3s_nvidia_edge.gpu.observe import GpuState
from k3s_nvidia_edge.gpu.recycling import recycled
from k3s_nvidia_edge.gpu.spec import GpuSpec
from k3s_nvidia_edge.gpu.toolkit_fault import toolkit_fault
from k3s_nvidia_edge.gpu.trouble import TroubleKind

__all__ = ["cdi", "cgroup_driver", "driver_owner", "runtime_class", "runtime_handler", "sandboxes", "toolkit"]


_OF_THE_CLASS = (TroubleKind.OTHER_SANDBOX, TroubleKind.RUNTIME, TroubleKind.DRIVER)
_ANY_CLASS = (TroubleKind.GPU_HOOK, TroubleKind.STALE_LIBRARY)  # with CDI, pods of the default class too


def _has_gpu(spec: GpuSpec) -> bool:
    return spec.has_gpu


@contract(
    "gpu.driver-owner",
    "the driver has one owner: the host, or a container of the GPU operator",
    reasons=("TwoDriverOwners", "DriverContainerFails"),
    after=("host.driver-answers", "gpu.node-ready"),
    applies=_has_gpu,
)
def driver_owner(spec: GpuSpec, observed: GpuState) -> Result:
    """An operator that brings its own driver to a host that has one cannot load it."""
    drivers = observed.of(Role.DRIVER)
    failing = [pod for pod in drivers if not pod.ready]
    if failing and observed.host_driver_works:
        return failed(
            "TwoDriverOwners",
            f"the host has driver {observed.driver_version}, and pod {failing[0].path} tries to bring"
            " another one",
            namespace=failing[0].namespace,
            pod=failing[0].name,
        )
    if failing:
        return failed(
            "DriverContainerFails",
            f"pod {failing[0].path}, which brings the driver, is not ready",
            namespace=failing[0].namespace,
            pod=failing[0].name,
        )
    return passed("the driver comes from a container" if drivers else "the driver is the host's")


@contract(
    "gpu.toolkit",
    "the container toolkit is installed into k3s's containerd, where a container does that",
    reasons=("ToolkitSocketMissing", "ToolkitTooOld", "ToolkitWaits", "ToolkitImageMissing", "ToolkitFails"),
    after=("host.driver-answers", "gpu.node-ready", "gpu.cni", "gpu.operator", "gpu.driver-owner"),
    applies=_has_gpu,
)
def toolkit(spec: GpuSpec, observed: GpuState) -> Result:
    """On a light installation the toolkit is a package of the host, and this promise is empty."""
    pods = observed.of(Role.TOOLKIT)
    for pod in pods:
        if fault := toolkit_fault(pod, observed):
            return fault.result
    if pods:
        return passed(f"{pods[0].path} is ready")
    return passed(f"{len(observed.toolkits)} toolkit DaemonSets: the toolkit is the host's")


@contract(
    "gpu.runtime-handler",
    "containerd knows the handler of the NVIDIA runtime class, and its program is there",
    reasons=("HandlerMissing", "TemplateReplaced", "ToolkitMissing", "RuntimeBinaryMissing", "DockerRuntime"),
    after=("gpu.toolkit", "host.driver-loaded"),
    applies=_has_gpu,
)
def runtime_handler(spec: GpuSpec, observed: GpuState) -> Result:
    """The RuntimeClass proves nothing: k3s makes it on every machine."""
    fault = handler_fault(spec, observed)
    return fault.result if fault else passed(f"the handler of runtime class {spec.runtime_class} is known")


@contract(
    "gpu.cgroup-driver",
    "the NVIDIA handler uses the same cgroup driver as the default one",
    reasons=("CgroupDriverDiffers",),
    after=("gpu.runtime-handler",),
    applies=_has_gpu,
)
def cgroup_driver(spec: GpuSpec, observed: GpuState) -> Result:
    """Where they differ, the kubelet takes every pod of the class for dead after seconds."""
    fault = cgroup_fault(spec, observed)
    return fault.result if fault else passed("one cgroup driver for all handlers")


@contract(
    "gpu.runtime-class",
    "the RuntimeClass of GPU pods exists",
    reasons=("RuntimeClassMissing",),
    after=("gpu.api",),
    applies=_has_gpu,
)
def runtime_class(spec: GpuSpec, observed: GpuState) -> Result:
    """Without it the API server refuses the pods that ask for it, and there is no pod to look at."""
    classes = observed.runtime_classes
    if spec.runtime_class in classes:
        return passed(f"{spec.runtime_class} exists, its handler is {classes[spec.runtime_class]}")
    if observed.cdi_plugin and not observed.needs_class(spec.runtime_class):
        return passed("no runtime class is needed: the device plugin hands devices over by CDI")
    return failed(
        "RuntimeClassMissing",
        f"there is no RuntimeClass {spec.runtime_class!r}; pods that ask for it are refused",
        runtime_class=spec.runtime_class,
    )


@contract(
    "gpu.cdi",
    "what the runtime mounts into GPU containers is of the loaded driver",
    reasons=("StaleCdi", "CdiDeviceUnknown", "CdiDisabled", "ContainerDriverMismatch"),
    after=("host.driver-answers", "gpu.node-ready"),
    applies=_has_gpu,
)
def cdi(spec: GpuSpec, observed: GpuState) -> Result:
    """A CDI specification made before a driver upgrade names files that are gone."""
    if fault := cdi_fault(observed):
        return fault.result
    return passed("no container fails on what is mounted into it")


@contract(
    "gpu.sandboxes",
    "pods of the NVIDIA class start, stay, and keep the GPU they were given",
    reasons=("SandboxesFail", "SandboxesRecycled", "DevicesLost"),
    after=(
        "gpu.runtime-handler",
        "gpu.cgroup-driver",
        "gpu.runtime-class",
        "gpu.cni",
        "gpu.cdi",
        "host.driver-answers",
        "host.card-healthy",
        "host.device-nodes",
        "host.driver-fit",
    ),
    applies=_has_gpu,
)
def sandboxes(spec: GpuSpec, observed: GpuState) -> Result:
    """The effect is asked for, not the object."""
    stuck = [
        each
        for each in observed.troubles(*_ANY_CLASS, *_OF_THE_CLASS)
        if each.pod.spec.runtime_class == spec.runtime_class or each.kind in _ANY_CLASS
    ]
    if stuck:
        first = stuck[0]
        return failed(
            "SandboxesFail",
            f"{len(stuck)} GPU pods do not start, {first.pod.path} among them: {first.said[-260:]}",
            namespace=first.pod.namespace,
            pod=first.pod.name,
        )
    if again := recycled(spec, observed):
        return again.result
    if lost := lost_devices(observed):
        return lost.result
    count = len(observed.cast.of_class(spec.runtime_class))
    return passed(
        f"no GPU pod fails to start, is recycled, or has lost its GPU; {count} have the runtime class"
    )
