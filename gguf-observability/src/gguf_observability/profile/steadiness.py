"""Reload upon reload, a model twice, a model stuck, a slowed card, a full queue."""

from datetime import timedelta

from edge_llm_tests.contract import Result, failed, passed
from edge_llm_tests.ollama import loads

from gguf_observability.profile.card import Card
from gguf_observability.profile.observe import ProfileState
from gguf_observability.profile.spec import ProfileSpec

__all__ = [
    "QUEUE_REASONS",
    "STEADINESS_REASONS",
    "THROTTLE_REASONS",
    "diagnose_clocks",
    "diagnose_queue",
    "diagnose_steadiness",
]

STEADINESS_REASONS = ("Reloading", "Swapping", "ReloadsOften", "Doubled", "StuckStopping")
THROTTLE_REASONS = ("Throttled",)
QUEUE_REASONS = ("Refused", "Failing")
_WINDOW = timedelta(minutes=15)
_RELOADS = 4
_RETURNS = 2
_RELOADS_OF_ONE = 6
_STUCK = timedelta(minutes=2)
_SLOWED_SHARE = 0.6
_BUSY_PERCENT = 50.0
_LAST_REQUESTS = 50
_REFUSED_LEAST, _REFUSED_SHARE, _FAILING_SHARE = 3, 0.2, 0.5
_SERVER_ERROR, _UNAVAILABLE = 500, 503
_INFERENCE = ("/api/chat", "/api/generate", "/api/embed", "/api/embeddings", "/v1/")


def diagnose_steadiness(_spec: ProfileSpec, observed: ProfileState) -> Result | None:
    """What unsettles the served model; None where nothing does."""
    for model in observed.loaded.value:
        if model.expires_at is not None and observed.now - model.expires_at > _STUCK:
            return failed(
                "StuckStopping",
                f"{model.name} should have been unloaded at {model.expires_at} and is still there "
                "(ollama ps: Stopping...): a running request that does not end keeps it",
                model=model.name,
            )
    names = [each.name for each in observed.loaded.value]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        return failed("Doubled", f"{twice[0]} is loaded {names.count(twice[0])} times", model=twice[0])
    return _runners(observed, len(names)) or _reloads(observed)


def _runners(observed: ProfileState, loaded: int) -> Result | None:
    for card in observed.cards.or_else(()):
        engines = [each for each in card.holders if each.ollama and (each.memory_mib or 0) > 0]
        if len({each.pid for each in engines}) > max(loaded, 1):
            named = "; ".join(str(each) for each in engines)
            return failed(
                "Doubled",
                f"{len(engines)} engines of Ollama hold memory of {card.name} for {loaded} loaded model(s): "
                f"{named}",
                pid=str(engines[0].pid),
            )
    return None


def _reloads(observed: ProfileState) -> Result | None:
    recent = [
        each
        for each in loads(observed.log.or_else(()))
        if each.at is not None and timedelta(0) <= observed.now - each.at <= _WINDOW
    ]
    if len(recent) < _RELOADS:
        return None
    count = f"{len(recent)} loads in the last {_WINDOW.seconds // 60} minutes"
    sizes = sorted({each.context for each in recent if each.context is not None})
    if len(sizes) > 1:
        return failed(
            "Reloading",
            f"{count}, with a context (num_ctx) of {' and '.join(str(size) for size in sizes)} in turn: "
            "clients ask with different options, and each reloads it (Open WebUI's background tasks do)",
        )
    named = [each.model for each in recent if each.model]
    models = sorted(set(named))
    if len(models) > 1:
        if max(named.count(model) for model in models) < _RETURNS:
            return None  # one after the other, none again: somebody tries models
        names = ", ".join(models)
        return failed(
            "Swapping", f"{count}, of several models in turn ({names}): there is room for fewer at once"
        )
    if len(recent) < _RELOADS_OF_ONE:
        return None
    return failed("ReloadsOften", f"{count} of the same model: it is unloaded between requests")


def diagnose_clocks(card: Card) -> Result | None:
    """Whether a card is slowed down by heat or power while it has work; None where it is not."""
    if not card.slowdowns or card.sm_clock_mhz is None or not card.sm_clock_max_mhz:
        return None
    share = card.sm_clock_mhz / card.sm_clock_max_mhz
    busy = card.utilization is None or card.utilization >= _BUSY_PERCENT
    if share >= _SLOWED_SHARE or not busy:
        return None
    return failed(
        "Throttled",
        f"{card.name} is slowed down to {card.sm_clock_mhz:.0f} of {card.sm_clock_max_mhz:.0f} MHz: "
        f"{', '.join(card.slowdowns)}",
    )


def diagnose_queue(observed: ProfileState) -> Result:
    """Whether requests are refused in numbers."""
    recent = [
        line
        for line in observed.log.value
        if line.status is not None
        and line.path.startswith(_INFERENCE)
        and line.at is not None
        and observed.now - line.at <= _WINDOW
    ][-_LAST_REQUESTS:]
    refused = [line for line in recent if line.status == _UNAVAILABLE]
    if len(refused) >= _REFUSED_LEAST and len(refused) >= _REFUSED_SHARE * len(recent):
        return failed(
            "Refused",
            f"{len(refused)} of the last {len(recent)} requests were refused with 503 (server busy): "
            "more come than the queue takes (OLLAMA_MAX_QUEUE, OLLAMA_NUM_PARALLEL)",
        )
    failing = [line for line in recent if (line.status or 0) >= _SERVER_ERROR and line not in refused]
    if len(failing) >= _REFUSED_LEAST and len(failing) >= _FAILING_SHARE * len(recent):
        return failed(
            "Failing",
            f"{len(failing)} of the last {len(recent)} requests failed with HTTP {failing[-1].status}: "
            "Ollama answers, its engine does not",
        )
    return passed(f"{len(refused)} of {len(recent)} requests of the last minutes were refused")
