"""Whether a promised model can be loaded, is loaded, and stays."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from edge_llm_tests.contract import Result, failed, unknown
from edge_llm_tests.fields import text
from edge_llm_tests.objects import Pod
from edge_llm_tests.ollama import FailureKind, canonical, failure_kind, loads, standing_failure

from llm_observability_stack.serving.keep_alive import short_keep_alive
from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.spec import ModelPromise

__all__ = ["LOAD_REASONS", "RESIDENCY_REASONS", "diagnose_load", "diagnose_residency", "diagnose_shown"]

LOAD_REASONS = (
    "EngineTooOld",
    "EngineTooNew",
    "NotEnoughSystemMemory",
    "CardMemory",
    "CorruptModel",
    "StoreUnreadable",
    "LoadTimeout",
    "RunnerKilled",
    "EngineUnfitForCard",
    "CacheNeedsFlashAttention",
    "RunnerCrashed",
)
RESIDENCY_REASONS = (
    "NotResident",
    "PushedOut",
    "KeepAliveShort",
    "ServerKeepAliveShort",
    "OtherWeightsLoaded",
    "Reloading",
    "CardMemory",
    "AwaitsModel",
    "JustStarted",
)
_OF_KIND = {
    FailureKind.ENGINE_TOO_OLD: ("EngineTooOld", "the engine is too old for it"),
    FailureKind.ENGINE_TOO_NEW: ("EngineTooNew", "the engine no longer reads its format"),
    FailureKind.SYSTEM_MEMORY: ("NotEnoughSystemMemory", "Ollama counts too little system memory for it"),
    FailureKind.CORRUPT: ("CorruptModel", "its file is damaged"),
    FailureKind.STORE: ("StoreUnreadable", "its file cannot be read"),
    FailureKind.TIMEOUT: ("LoadTimeout", "loading takes longer than OLLAMA_LOAD_TIMEOUT"),
    FailureKind.KILLED: ("RunnerKilled", "the engine is killed while it loads"),
    FailureKind.UNFIT: ("EngineUnfitForCard", "the engine was built without this generation of cards"),
    FailureKind.CACHE: (
        "CacheNeedsFlashAttention",
        "a quantised KV cache was asked for without flash attention",
    ),
    FailureKind.FAULTED: ("RunnerCrashed", "the engine fails in its computation and ends"),
    FailureKind.CRASHED: ("RunnerCrashed", "the engine ends while it loads or serves"),
}
_FOR_EVER = timedelta(days=30)
"""An expiry beyond this counts as for ever; Ollama writes one of some centuries."""
_RELOAD_SPAN = timedelta(minutes=2)
_SAID_LIMIT = 240
_SERVER_ERROR = 500


def diagnose_load(observed: ServingState, waited_for: list[str]) -> Result | None:
    """The failed load that still stands, where a promised model is not loaded; None where there is none."""
    failure = standing_failure(observed.log.or_else(()))
    if failure is None or not waited_for:
        return None
    names = ", ".join(waited_for)
    if failure.kind is FailureKind.CARD_MEMORY:
        return unknown(
            "CardMemory",
            f"whether {names} can be loaded is not decided: the card's memory did not suffice for what was "
            f"asked of it ({failure.said[:_SAID_LIMIT]}); see profile.vram",
        )
    reason, what = _OF_KIND[failure.kind]
    return failed(
        reason, f"{names} cannot be loaded: {what}: {failure.said[:_SAID_LIMIT]}", model=waited_for[0]
    )


def diagnose_shown(observed: ServingState, promise: ModelPromise) -> Result | None:
    """What `/api/show` tells against loading a model; None where it tells nothing."""
    shown = observed.shown[canonical(promise.name)]
    if shown.seen and shown.value.status == _SERVER_ERROR:
        return _unshown(promise, shown.value.body)
    if not shown.seen or shown.value.problem is not None:
        return None
    body = shown.value.body
    needs = text(body, "requires") if isinstance(body, dict) else ""
    if needs and observed.version.seen and _numbers(observed.version.value) < _numbers(needs):
        return failed(
            "EngineTooOld",
            f"{promise.name} requires Ollama {needs}, this is {observed.version.value}",
            model=promise.name,
        )
    return None


def _unshown(promise: ModelPromise, body: Any) -> Result | None:
    """What Ollama says where it cannot open a model that it lists; None where it says something else."""
    said = str(body.get("error", "")) if isinstance(body, Mapping) else str(body or "")
    kind = failure_kind(said)
    if kind not in (FailureKind.STORE, FailureKind.CORRUPT):
        return None
    reason, what = _OF_KIND[kind]
    if "no such file" in said.lower():
        reason, what = _OF_KIND[FailureKind.CORRUPT][0], "a part of it is gone from the disk"
    return failed(
        reason,
        f"{promise.name} cannot be loaded: {what}; /api/show says: {said[:_SAID_LIMIT]}",
        model=promise.name,
    )


def _numbers(version: str) -> tuple[int, ...]:
    plain = version.lstrip("v").partition("-")[0]
    return tuple(int(part) for part in plain.split(".") if part.isdecimal())


def diagnose_residency(observed: ServingState, promise: ModelPromise) -> Result | None:
    """Why a promised model is not loaded to stay; None where it is."""
    name = canonical(promise.name)
    disk = next((each for each in observed.present.or_else(()) if each.name == name), None)
    found = next((each for each in observed.loaded.value if each.name == name), None)
    if found is None and disk is not None and disk.digest:
        # the same weights, loaded by another of their names
        found = next((each for each in observed.loaded.value if each.digest == disk.digest), None)
    if found is None and disk is None and observed.present.seen:
        return unknown("AwaitsModel", f"{promise.name} is not on the disk, so it cannot be loaded yet")
    if found is None:
        return _unloaded(observed, promise)
    if disk is not None and disk.digest and found.digest and disk.digest != found.digest:
        return failed(
            "OtherWeightsLoaded",
            f"{promise.name} is loaded with digest {found.digest[:12]}, on disk it has {disk.digest[:12]}",
            model=promise.name,
        )
    left = found.expires_at - observed.now if found.expires_at is not None else None
    if left is not None and timedelta(0) < left < _FOR_EVER:
        if told := short_keep_alive(observed):
            return failed(
                "ServerKeepAliveShort",
                f"{promise.name} is resident now and expires at {found.expires_at}, in {left}: {told}, while"
                " the profile promises it for ever",
                model=promise.name,
            )
        return failed(
            "KeepAliveShort",
            f"{promise.name} is resident now and expires at {found.expires_at}, in {left}: the profile "
            "promises it for ever, and a keep_alive in a request goes before OLLAMA_KEEP_ALIVE",
            model=promise.name,
        )
    return None


def _youth(observed: ServingState, pod: Pod) -> timedelta:
    """How long the youngest container of a pod runs."""
    begun = [each.state.started for each in pod.containers if each.state.started is not None]
    return observed.now - max(begun) if begun else observed.age(pod)


def _unloaded(observed: ServingState, promise: ModelPromise) -> Result:
    lines = observed.log.or_else(())
    if (failure := standing_failure(lines)) is not None and failure.kind is FailureKind.CARD_MEMORY:
        return unknown(
            "CardMemory", f"{promise.name} is not loaded: the card had no memory for it; see profile.vram"
        )
    history = loads(lines)
    if history and not history[-1].finished:
        begun = history[-1].at
        if begun is not None and observed.now - begun < _RELOAD_SPAN:
            return unknown("Reloading", f"{promise.name} is being loaded since {begun}")
    young = [pod for pod in observed.live_pods if pod.ready and _youth(observed, pod) < _RELOAD_SPAN]
    if young and not history:
        return unknown(
            "JustStarted", f"pod {young[0].path} has just started, and {promise.name} is to be loaded again"
        )
    if told := short_keep_alive(observed):
        return failed(
            "ServerKeepAliveShort",
            f"{promise.name} is not loaded, the profile promises it resident: {told}, and unloads it then",
            model=promise.name,
        )
    others = sorted({each.name for each in observed.loaded.value})
    room = observed.asking.container.env.get("OLLAMA_MAX_LOADED_MODELS", "") if observed.asking else ""
    if others and room.isdecimal() and 0 < int(room) <= len(others):
        return failed(
            "PushedOut",
            f"{promise.name} is not loaded, the profile promises it resident: {', '.join(others)} is loaded"
            f" in its place, and OLLAMA_MAX_LOADED_MODELS={room} leaves no room for another model",
            model=promise.name,
            other=others[0],
        )
    return failed(
        "NotResident",
        f"{promise.name} is not loaded, the profile promises it resident: it expired or was unloaded by a "
        "client's own keep_alive",
        model=promise.name,
    )
