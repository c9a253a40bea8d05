"""Where the served model is, and why not where it was promised."""

from edge_llm_tests.contract import Result, failed, passed, unknown
from edge_llm_tests.ollama import LoadedModel, container_of, loads

from gguf_observability.profile.asked import asked_for, parameter
from gguf_observability.profile.observe import MIB, ProfileState, total
from gguf_observability.profile.spec import ProfileSpec

__all__ = ["PLACEMENT_REASONS", "diagnose_cpu", "diagnose_gpu", "diagnose_last_load", "not_loaded"]

PLACEMENT_REASONS = (
    "NothingLoaded",
    "StillLoading",
    "CardHeldByOthers",
    "AsksTooMuch",
    "LayersLimited",
    "CardKeptFree",
    "CardHeldByOtherModels",
    "NoGpuInContainer",
    "OnCpu",
    "PartlyOnCpu",
    "ClaimedNotOnCard",
    "NotProven",
    "ImplausibleAccount",
    "OnGpu",
)
_PROOF_SHARE = 0.5
"""The card must show this share of what Ollama claims: its account and the driver's differ by overheads."""


def not_loaded(spec: ProfileSpec, observed: ProfileState) -> Result:
    """Nothing to compare."""
    loaded = ", ".join(each.name for each in observed.loaded.value) or "none"
    return unknown("NothingLoaded", f"{spec.model or 'no model'} is not loaded now (loaded: {loaded})")


def diagnose_last_load(spec: ProfileSpec, observed: ProfileState) -> Result:
    """Nothing is loaded: what the log tells of the last load, or what the engine can use at all."""
    libraries = observed.libraries
    layers = [each.offloaded for each in loads(observed.log.or_else(())) if each.offloaded]
    if spec.processor == "cpu":
        if libraries == {"cpu"} or (layers and layers[-1][0] == 0):
            return passed("nothing is loaded now; the engine found no GPU to load on")
        if observed.pods and not any(_asks_gpu(observed)):
            return passed("nothing is loaded now; Ollama asks for no GPU")
    elif layers and layers[-1][0] >= spec.gpu_share * layers[-1][1]:
        return passed(
            f"nothing is loaded now; the last load put {layers[-1][0]}/{layers[-1][1]} layers there"
        )
    return not_loaded(spec, observed)


def _asks_gpu(observed: ProfileState) -> list[bool]:
    return [
        "nvidia" in pod.spec.runtime_class or any(name.startswith("nvidia.com/") for name in container.limits)
        for pod in observed.pods
        if (container := container_of(pod)) is not None
    ]


def diagnose_cpu(_spec: ProfileSpec, _observed: ProfileState, model: LoadedModel) -> Result | None:
    """The profile promises the CPU."""
    if model.vram_bytes == 0:
        return None
    return failed(
        "OnGpu",
        f"{model.name} has {model.vram_bytes / MIB:.0f} MiB on a card, the profile promises the CPU",
        model=model.name,
    )


def diagnose_gpu(spec: ProfileSpec, observed: ProfileState, model: LoadedModel) -> Result | None:
    """The profile promises the GPU: claimed whole, and proven."""
    if model.size_bytes <= 0 or model.vram_bytes < 0 or model.vram_bytes > model.size_bytes:
        return unknown(
            "ImplausibleAccount",
            f"{model.name}: {model.vram_bytes} of {model.size_bytes} bytes on the card is no account",
        )
    short = model.vram_bytes / model.size_bytes < spec.gpu_share
    found = _short(observed, model) if short else _proof(observed, model)
    if found is not None and model.expires_at is None:
        return unknown("StillLoading", f"{model.name} is being loaded: where it will be is not decided yet")
    return found


def _short(observed: ProfileState, model: LoadedModel) -> Result:
    share = model.vram_bytes / model.size_bytes
    where = "on the CPU alone" if model.vram_bytes == 0 else f"only {share:.0%} on the card"
    size = model.size_bytes / MIB
    asked = asked_for(observed, model)
    memory = observed.memory_mib
    foreign = observed.foreign
    foreign_mib = total(each.memory_mib for each in foreign)
    if foreign and foreign_mib and memory and size <= memory < size + foreign_mib + _headroom(memory):
        named = "; ".join(str(each) for each in foreign)
        return failed(
            "CardHeldByOthers",
            f"{model.name} is {where}: it takes {size:.0f} MiB ({asked}), and another process has the card's "
            f"memory: {named}",
            model=model.name,
            pid=str(foreign[0].pid),
        )
    if memory and size > memory:
        return failed(
            "AsksTooMuch",
            f"{model.name} is {where}: as asked for ({asked}) it takes {size:.0f} MiB with its KV cache, the "
            f"card has {memory:.0f} MiB",
            model=model.name,
        )
    num_gpu = parameter(observed, "num_gpu")
    if num_gpu is not None and num_gpu >= 0:
        return failed(
            "LayersLimited",
            f"{model.name} is {where}: its parameter num_gpu is {num_gpu:.0f}, which limits the layers there",
            model=model.name,
        )
    if observed.libraries != {"cpu"} and memory and (kept := _kept(observed, model, memory)) is not None:
        return failed(
            kept[0], f"{model.name} is {where} ({size:.0f} MiB, {asked}): {kept[1]}", model=model.name
        )
    if observed.libraries == {"cpu"}:
        return failed(
            "NoGpuInContainer",
            f"{model.name} is {where}: the engine found no GPU at its start (library=cpu)",
            model=model.name,
        )
    reason = "OnCpu" if model.vram_bytes == 0 else "PartlyOnCpu"
    return failed(reason, f"{model.name} is {where} ({size:.0f} MiB, {asked})", model=model.name)


def _kept(observed: ProfileState, model: LoadedModel, memory_mib: float) -> tuple[str, str] | None:
    """Reason and words, where a setting or another model keeps the card's room; None where neither does."""
    size = model.size_bytes / MIB
    reserved = observed.setting("OLLAMA_GPU_OVERHEAD")
    if reserved.isdecimal() and size + int(reserved) / MIB > memory_mib - _headroom(memory_mib):
        return "CardKeptFree", (
            f"OLLAMA_GPU_OVERHEAD={reserved} keeps {int(reserved) / MIB:.0f} of {memory_mib:.0f} MiB of the"
            " card free of it"
        )
    others = [each for each in observed.loaded.value if each.name != model.name and each.vram_bytes > 0]
    held = sum(each.vram_bytes for each in others) / MIB
    if held and size + held > memory_mib - _headroom(memory_mib):
        named = ", ".join(f"{each.name} ({each.vram_bytes / MIB:.0f} MiB)" for each in others)
        return "CardHeldByOtherModels", f"another model of the same Ollama has the card's memory: {named}"
    return None


def _headroom(memory_mib: float) -> float:
    """What the driver, contexts and graphs take beside what is counted, in MiB."""
    return max(512.0, memory_mib * 0.05)


def _proof(observed: ProfileState, model: LoadedModel) -> Result | None:
    """Whether the card shows what Ollama claims."""
    claimed = sum(each.vram_bytes for each in observed.loaded.value) / MIB
    exported = observed.exported_mib.or_else(0.0)
    if exported >= claimed * _PROOF_SHARE:
        return None
    shown = _shown_mib(observed)
    if shown is None:
        if observed.libraries - {"cpu"}:
            return None  # the memory of this board is the system's; the engine found its GPU
        return unknown("NotProven", f"the card tells nothing of its memory, no log of a GPU for {model.name}")
    if shown >= claimed * _PROOF_SHARE:
        return None
    said = f"Ollama claims {claimed:.0f} MiB on the card, which shows {shown:.0f} MiB of it"
    if observed.gpu_nodes > 1:
        return unknown("NotProven", f"{said}; another of {observed.gpu_nodes} GPU nodes may have it")
    return failed("ClaimedNotOnCard", f"{model.name}: {said}", model=model.name)


def _shown_mib(observed: ProfileState) -> float | None:
    """What the cards show that may be Ollama's: its processes, or what no other process holds."""
    used = total(card.used_mib for card in observed.cards.value)
    foreign = total(each.memory_mib for each in observed.foreign) or 0.0
    listed = total(each.memory_mib for each in observed.holders if each.ollama)
    left = None if used is None else used - foreign
    return max((value for value in (left, listed) if value is not None), default=None)
