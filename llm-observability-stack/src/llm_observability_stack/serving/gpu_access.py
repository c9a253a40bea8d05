"""What brings a GPU into the Ollama container: its request, the runtime class or CDI, its environment."""

import re

from edge_llm_tests.contract import Result, failed, passed, unknown
from edge_llm_tests.fields import flag, mapping, objects, texts
from edge_llm_tests.objects import Container
from edge_llm_tests.ollama import engine_libraries
from edge_llm_tests.reads import see

from llm_observability_stack.serving.observe import Asking, ServingState
from llm_observability_stack.serving.scheduling import VENDOR, gpu_resources
from llm_observability_stack.serving.spec import GpuPromise

__all__ = ["ACCESS_REASONS", "diagnose_access", "diagnose_no_access"]

ACCESS_REASONS = (
    "NoGpuRequest",
    "OtherResourceName",
    "TooFewGpus",
    "NoComputeCapability",
    "DevicesHidden",
    "EngineForcedToCpu",
    "EngineOfOtherVendor",
    "NoRuntimeClass",
    "RuntimeUndecided",
    "GpuNotPromised",
    "ClassNotPromised",
)
_UUID = re.compile(r"<uuid>\s*(\S+?)\s*</uuid>")
_CONTAINERD = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
_CLUSTER_POLICIES = "/apis/nvidia.com/v1/clusterpolicies"


def diagnose_no_access(observed: ServingState, asking: Asking) -> Result:
    """Whether Ollama, promised to do without a GPU, waits for one all the same."""
    asked = gpu_resources(asking.container)
    running = any(pod.ready for pod in observed.live_pods)
    class_name = asking.spec.runtime_class
    if running:
        return passed(f"{asking.where} runs without a promised GPU ({_listed(asked) or 'asks for none'})")
    if asked:
        return failed(
            "GpuNotPromised",
            f"{asking.where} asks for {_listed(asked)} on a machine whose profile promises no GPU",
            independent=True,
        )
    if "nvidia" in class_name:
        return failed(
            "ClassNotPromised",
            f"{asking.where} asks for the RuntimeClass {class_name} on a machine whose profile promises no "
            "GPU: k3s makes the object by itself, a handler behind it is not there",
            independent=True,
            runtime_class=class_name,
        )
    return passed(f"{asking.where} asks for no GPU, as promised")


def diagnose_access(observed: ServingState, promise: GpuPromise, asking: Asking) -> Result:
    """Whether Ollama asks for its GPU such that the runtime brings it."""
    asked = gpu_resources(asking.container)
    if not asked and not objects(asking.spec.raw, "resourceClaims"):
        visible = asking.container.env.get("NVIDIA_VISIBLE_DEVICES")
        beside = f" (NVIDIA_VISIBLE_DEVICES={visible} takes the card past the scheduler)" if visible else ""
        return failed(
            "NoGpuRequest",
            f"{asking.where} does not ask for {promise.resource}: its container has no such limit{beside}",
            independent=True,
            resource=promise.resource,
        )
    if (named := _by_name(observed, promise, asking, asked)) is not None:
        return named
    if (hidden := _by_environment(asking) or _hidden_by_name(observed, asking)) is not None:
        return hidden
    tag = asking.container.image.partition("@")[0].rpartition(":")[2]
    if "rocm" in tag.lower():
        return failed(
            "EngineOfOtherVendor",
            f"{asking.where} runs the image {asking.container.image}, whose engine is built for cards of "
            "another vendor (ROCm): it has no CUDA, so it works on the CPU",
            independent=True,
            image=asking.container.image,
        )
    return _by_runtime(observed, promise, asking, asked)


def _by_name(
    observed: ServingState, promise: GpuPromise, asking: Asking, asked: dict[str, int]
) -> Result | None:
    known = observed.nodes.or_else(())
    offered = sorted({name for node in known for name in node.allocatable if name.startswith(VENDOR)})
    offered = [name for name in offered if any(node.offers(name) for node in known)]
    missing = [name for name in asked if name not in offered]
    if missing and offered:
        return failed(
            "OtherResourceName",
            f"{asking.where} asks for {missing[0]}, the nodes offer {', '.join(offered)}",
            resource=missing[0],
            offered=offered[0],
        )
    if 0 < asked.get(promise.resource, 0) < promise.count:
        return failed(
            "TooFewGpus",
            f"{asking.where} asks for {_listed(asked)}, the profile promises {promise.count}",
            independent=True,
            count=str(promise.count),
        )
    return None


def _by_environment(asking: Asking) -> Result | None:
    env = asking.container.env
    capabilities = env.get("NVIDIA_DRIVER_CAPABILITIES", "")
    given = {word.strip().lower() for word in capabilities.split(",") if word.strip()}
    if given and not given & {"all", "compute"}:
        return failed(
            "NoComputeCapability",
            f"{asking.where} sets NVIDIA_DRIVER_CAPABILITIES={capabilities}: without `compute` libcuda is "
            "not mounted, so Ollama finds no GPU though nvidia-smi would work",
            independent=True,
        )
    hidden = env.get("CUDA_VISIBLE_DEVICES", "")
    if hidden.strip().lower() in ("-1", "none", "nodevfiles"):
        return failed(
            "DevicesHidden",
            f"{asking.where} sets CUDA_VISIBLE_DEVICES={hidden}: every GPU is hidden from it",
            independent=True,
        )
    library = env.get("OLLAMA_LLM_LIBRARY", "")
    if library.lower().startswith("cpu"):
        return failed(
            "EngineForcedToCpu",
            f"{asking.where} sets OLLAMA_LLM_LIBRARY={library}: it may not use a GPU",
            independent=True,
        )
    return None


def _hidden_by_name(observed: ServingState, asking: Asking) -> Result | None:
    """A setting that names no card which the container has, where the engine indeed found none."""
    if engine_libraries(observed.log.or_else(())) != {"cpu"}:
        return None
    visible = asking.container.env.get("CUDA_VISIBLE_DEVICES", "")
    given = asking.container.env.get("NVIDIA_VISIBLE_DEVICES", "")
    granted = sum(gpu_resources(asking.container).values())
    if visible and not any(_names_card(observed, word.strip(), granted) for word in visible.split(",")):
        said = f"CUDA_VISIBLE_DEVICES={visible}, which names no card that it has: the engine found none"
    elif given.lower() in ("void", "none"):
        said = f"NVIDIA_VISIBLE_DEVICES={given}, by which the runtime brings no card: the engine found none"
    else:
        return None
    return failed("DevicesHidden", f"{asking.where} sets {said}", independent=True)


def _names_card(observed: ServingState, word: str, granted: int) -> bool:
    """Whether an index is among the granted cards, a UUID among the host's; what cannot be told, is."""
    if word.isdecimal():
        return int(word) < max(granted, 1)
    cards = see(lambda: _UUID.findall(observed.recording.command("nvidia-smi -q -x").output)).or_else([])
    return not cards or any(card.startswith(word) for card in cards)


def _by_runtime(observed: ServingState, promise: GpuPromise, asking: Asking, asked: dict[str, int]) -> Result:
    class_name = asking.spec.runtime_class
    ask = _listed(asked) or "a GPU by resource claim"
    if class_name == promise.runtime_class or "nvidia" in class_name:
        return passed(f"{asking.where} asks for {ask} with RuntimeClass {class_name}")
    libraries = engine_libraries(observed.log.or_else(()))
    if libraries - {"cpu"}:
        return passed(f"{asking.where} asks for {ask}; without a runtime class the engine found {libraries}")
    cdi, default = _cdi(observed), _default_runtime(observed)
    brings = "CDI" if cdi else default if default is not None and "nvidia" in default else ""
    if brings:
        return passed(f"{asking.where} asks for {ask}, which {brings} brings without a runtime class")
    if libraries or (cdi is False and default is not None):
        return failed(
            "NoRuntimeClass",
            f"{asking.where} asks for {ask} and has no RuntimeClass {promise.runtime_class} "
            f"({class_name or 'none'}): the runtime {default or 'runc'} ignores the GPU that it was given",
            independent=True,
            runtime_class=promise.runtime_class,
        )
    return unknown(
        "RuntimeUndecided",
        f"{asking.where} asks for {ask} without a runtime class; nothing seen tells if CDI brings it",
    )


def _cdi(observed: ServingState) -> bool | None:
    """Whether devices reach containers by CDI; None where nothing seen tells."""
    policies = see(lambda: observed.recording.api(_CLUSTER_POLICIES).items)
    for policy in policies.or_else(()):
        if mapping(policy, "spec", "cdi"):
            return flag(policy, "spec", "cdi", "enabled")
    strategies = [
        strategy
        for pod in observed.pods.or_else(())
        if not pod.finished
        for container in pod.containers
        if "device-plugin" in container.image
        for strategy in _strategies(container)
    ]
    return any("cdi" in each for each in strategies) if strategies else None


def _strategies(container: Container) -> tuple[str, ...]:
    words = (*texts(container.raw, "command"), *texts(container.raw, "args"))
    said = [word for word in words if "device-list-strategy" in word]
    return (*said, container.env.get("DEVICE_LIST_STRATEGY", "envvar"))


def _default_runtime(observed: ServingState) -> str | None:
    """Name of containerd's default runtime; None where its configuration was not seen."""
    config = see(lambda: observed.recording.file(_CONTAINERD).content)
    if not config.seen:
        return None
    for line in config.value.splitlines():
        name, equals, value = line.partition("=")
        if equals and name.strip() == "default_runtime_name":
            return value.strip().strip("\"'")
    return "runc"


def _listed(asked: dict[str, int]) -> str:
    return ", ".join(f"{count} x {name}" for name, count in asked.items())
