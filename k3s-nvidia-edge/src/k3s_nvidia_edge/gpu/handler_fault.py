"""Why containerd cannot start a pod of the NVIDIA runtime class."""

from datetime import datetime

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.gpu.observe import GpuState
from k3s_nvidia_edge.gpu.spec import GpuSpec
from k3s_nvidia_edge.gpu.trouble import TroubleKind

__all__ = ["cgroup_fault", "handler_fault"]

_SEEN_FOLDERS = ("/usr/bin/", "/usr/local/nvidia/toolkit/")
_PROGRAM = "nvidia-container-runtime"
_RENDERED_BY = "k3s renders its configuration, and looks for the runtime, when it starts"


def handler_fault(spec: GpuSpec, observed: GpuState) -> Fault | None:
    """The fault, or None where the handler is known and its program is there.

    Raises:
        UnseenError: The configuration or the class was not seen, and no pod tells of it.
    """
    handler = observed.handler
    if node := observed.docker_node:
        if _docker_brings_gpu(spec, observed):
            return None
        return Fault(
            "DockerRuntime",
            f"node {node} runs its pods on Docker, where a RuntimeClass means nothing: RuntimeHandler"
            f" {handler!r} is"
            " not supported; GPU pods need k3s's own containerd",
            {"node": node},
        )
    for each in observed.known_troubles(TroubleKind.NO_HANDLER):
        if "nvidia" not in each.said and handler not in each.said:
            continue  # a runtime of somebody else's
        return _missing(observed, f"pod {each.pod.path} gets no sandbox: {each.said[-110:]}")
    for each in observed.known_troubles(TroubleKind.RUNTIME_BINARY):
        return Fault(
            "RuntimeBinaryMissing",
            f"pod {each.pod.path} does not start: {each.said[-200:]}",
            {"binary": _PROGRAM},
        )
    if observed.has_no_k3s_config and observed.class_pods_run:
        return None  # another containerd than k3s's, its configuration is elsewhere: its pods are the proof
    config, _ = observed.containerd.value, observed.runtime_classes  # raise where they were not seen
    if (known := config.handlers.get(handler)) is not None:
        return _binary_fault(known.binary, observed)
    if config.default_is_nvidia:
        return None
    if observed.cdi_plugin and not observed.needs_class(spec.runtime_class):
        return None  # devices come by CDI, and no pod asks for the class
    if config.drop_ins and observed.class_pods_run and observed.offers:
        return None  # added by a drop-in file, which is not read: its pods are the proof
    return _missing(observed, "")


def cgroup_fault(spec: GpuSpec, observed: GpuState) -> Fault | None:
    """Two handlers with different cgroup drivers.

    Raises:
        UnseenError: The configuration was not seen.
    """
    if observed.has_no_k3s_config and (observed.class_pods_run or _docker_brings_gpu(spec, observed)):
        return None
    config = observed.containerd.value
    nvidia, default = config.handlers.get(observed.handler), config.handlers.get("runc")
    if nvidia is None or default is None or bool(nvidia.systemd_cgroup) == bool(default.systemd_cgroup):
        return None
    return Fault(
        "CgroupDriverDiffers",
        f"SystemdCgroup is {_word(default.systemd_cgroup)} for handler runc and"
        f" {_word(nvidia.systemd_cgroup)} for"
        f" {nvidia.name}: the kubelet kills and re-creates the sandbox of every pod of that class",
        {"handler": nvidia.name},
    )


def _docker_brings_gpu(spec: GpuSpec, observed: GpuState) -> bool:
    """Whether Docker's default runtime, whose configuration is not read, brings the GPU: by its effect."""
    offers = bool(observed.docker_node) and any(observed.offers.values())
    return offers and not observed.needs_class(spec.runtime_class)


def _missing(observed: GpuState, said: str) -> Fault:
    """No handler: there is no toolkit, k3s has not looked again, or another containerd has it."""
    head = f"{said}; " if said else ""
    name = observed.handler
    about = {"handler": name}
    binaries = observed.runtime_binaries
    programs = sorted(path for path in binaries.or_else(frozenset()) if path.endswith(f"/{_PROGRAM}"))
    if binaries.seen and not programs:
        return Fault(
            "ToolkitMissing",
            f"{head}containerd of k3s has no handler {name!r}, and there is no {_PROGRAM} in"
            f" {' or '.join(_SEEN_FOLDERS)}:"
            " the NVIDIA container toolkit is not installed",
            about,
        )
    config = observed.containerd
    if config.seen and programs and not config.value.of_k3s and not config.value.drop_ins:
        return Fault(
            "TemplateReplaced",
            f"{head}containerd's configuration has no runtime handler {name!r}, and nothing of what k3s"
            " writes by itself: a template (config-v3.toml.tmpl) replaces it, so k3s adds no handler, though"
            f" {programs[0]} is there",
            about,
        )
    started = _k3s_start(observed)
    since = f" (k3s runs since {started:%Y-%m-%d %H:%M})" if started else ""
    found = f"{programs[0]} is there" if programs else "whether the toolkit is there was not seen"
    other = [
        unit.name
        for unit in observed.units.or_else({}).values()
        if unit.name in ("docker", "containerd") and unit.runs
    ]
    elsewhere = (
        f"; {' and '.join(other)} runs on this host too: was the toolkit configured for that one?"
        if other
        else ""
    )
    return Fault(
        "HandlerMissing",
        f"{head}containerd of k3s has no runtime handler {name!r}, while {found}: {_RENDERED_BY}{since}"
        f"{elsewhere}",
        about,
    )


def _binary_fault(binary: str, observed: GpuState) -> Fault | None:
    binaries = observed.runtime_binaries
    if not binary.startswith(_SEEN_FOLDERS) or binary in binaries.value:
        return None  # a folder that is not looked into, or it is there
    return Fault(
        "RuntimeBinaryMissing",
        f"the handler of runtime class {observed.spec.runtime_class} is to run {binary}, and there is"
        " no such program",
        {"binary": binary},
    )


def _k3s_start(observed: GpuState) -> datetime | None:
    unit = observed.units.or_else({}).get("k3s")
    return unit.since_about if unit else None


def _word(value: bool | None) -> str:
    return "not set" if value is None else str(value).lower()
