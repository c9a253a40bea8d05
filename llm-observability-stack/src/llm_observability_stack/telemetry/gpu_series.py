"""What is wrong with the GPU series: absent, old, of too few cards, without the pod that holds the card."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import msgspec
from edge_llm_tests.objects import Pod

from llm_observability_stack.telemetry.cards import Cards
from llm_observability_stack.telemetry.gpu_exporter import exporter_pods
from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.prometheus_api import Sample
from llm_observability_stack.telemetry.roles import GPU_EXPORTER
from llm_observability_stack.telemetry.scrape import clocks_differ, overdue
from llm_observability_stack.telemetry.spec import TelemetrySpec

__all__ = ["SeriesFault", "series_fault"]

_SETTLING = timedelta(minutes=3)  # a new holder is named after the exporter's next look and the next scrape
_POD_LABELS = ("exported_pod", "pod_name", "exported_pod_name", "pod")
_NO_CARDS = Cards(frozenset(), sliced=False, shares_memory=False)


class SeriesFault(msgspec.Struct, frozen=True):
    """A fault of the GPU series.

    Attributes:
        reason: A reason of `telemetry.series`.
        message: What was seen.
        own: It is the exporter's own fault, whatever else is broken below.
        undecided: It is too early to tell.
    """

    reason: str
    message: str
    own: bool = False
    undecided: bool = False


def series_fault(spec: TelemetrySpec, observed: TelemetryState) -> SeriesFault | None:
    """The fault of the promised series, or None."""
    found = {name: observed.gpu_series[name].value for name in spec.gpu_series}
    cards = observed.cards.or_else(_NO_CARDS)
    fault = _absent(found, cards, observed) or _old(found, observed)
    if fault is None:
        fault = _cards_without(found, cards)
    if fault is None and spec.gpu_pod_named:
        fault = _unnamed(observed, [sample for samples in found.values() for sample in samples])
    return fault


def _just_started(observed: TelemetryState) -> bool:
    """Whether Prometheus or the exporter is too young to have been asked."""
    trouble = observed.trouble(GPU_EXPORTER) if observed.cast.seen else None
    return observed.just_started or (trouble is not None and trouble.kind == "Starting")


def _absent(
    found: Mapping[str, Sequence[Sample]], cards: Cards, observed: TelemetryState
) -> SeriesFault | None:
    absent = [name for name, samples in found.items() if not samples and not _unsupported(name, cards)]
    present = [name for name, samples in found.items() if samples]
    if not absent:
        return None
    if present:
        message = f"the GPU exporter publishes {', '.join(present)}, but no {', '.join(absent)}"
        return SeriesFault("SeriesMissing", message, own=True)
    if _just_started(observed):
        return SeriesFault(
            "NotYetScraped", "no GPU series yet: Prometheus or its exporter has just started", undecided=True
        )
    return SeriesFault("NoSeries", f"Prometheus has none of the GPU series: {', '.join(absent)}")


def _unsupported(name: str, cards: Cards) -> bool:
    """Whether the board has no such value: odd, not broken."""
    return (cards.shares_memory and "_FB_" in name) or (cards.sliced and name.endswith("_GPU_UTIL"))


def _old(found: Mapping[str, Sequence[Sample]], observed: TelemetryState) -> SeriesFault | None:
    for name, samples in found.items():
        if (age := overdue(samples, observed.now)) is not None:
            message = f"the newest {name} is {age.total_seconds() / 60:.0f} min old: it does not move"
            clocks = observed.targets.seen and clocks_differ(observed.targets.value, observed.now)
            return SeriesFault("SeriesOld", message, undecided=clocks)
    return None


def _cards_without(found: Mapping[str, Sequence[Sample]], cards: Cards) -> SeriesFault | None:
    """A card of this host that no series speaks of, while others have theirs."""
    told = {str(sample.labels.get("UUID", "")) for samples in found.values() for sample in samples}
    silent = sorted(cards.uuids - told)
    if not silent or not cards.uuids & told:
        return None  # none known: the exporter may name cards another way
    return SeriesFault("CardWithoutSeries", f"no GPU series for {', '.join(silent)}, which nvidia-smi lists")


def _unnamed(observed: TelemetryState, samples: Sequence[Sample]) -> SeriesFault | None:
    holders = observed.cast.value.holders
    if not holders:
        return None  # nobody asked for a card, so there is nobody to name
    names = {pod.name for pod in holders}
    own = {pod.name for pod in exporter_pods(observed)}
    told = {
        str(value)
        for sample in samples
        for label in _POD_LABELS
        if (value := sample.labels.get(label)) and str(value) not in own
    }
    if names & told:
        return None
    young = all(_younger(pod, observed, _SETTLING) for pod in holders)
    who = ", ".join(sorted(pod.path for pod in holders))
    if not told:
        message = f"no GPU series carries a pod label (exported_pod) although {who} holds a card"
        if young:
            return SeriesFault("PodNotNamedYet", f"{message}, which is new", undecided=True)
        return SeriesFault("PodNotNamed", message + _kubernetes_off(observed))
    message = f"the GPU series name the pod {', '.join(sorted(told))}; the card is held by {who}"
    if young:
        return SeriesFault("PodNotNamedYet", f"{message}, which is new", undecided=True)
    return SeriesFault("OtherPodNamed", message)


def _younger(pod: Pod, observed: TelemetryState, limit: timedelta) -> bool:
    begun = pod.started or pod.created
    return begun is not None and observed.now - begun < limit


def _kubernetes_off(observed: TelemetryState) -> str:
    logs = [observed.log(pod) for pod in exporter_pods(observed)]
    if any("Not enabling Kubernetes metrics collection" in log for log in logs):
        return "; the exporter's log says that Kubernetes metrics collection is not enabled"
    return ""
