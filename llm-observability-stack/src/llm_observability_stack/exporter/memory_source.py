"""Where the memory of loaded models goes, predicted and observed, by whoever is installed that can tell."""

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from edge_llm_tests.evidence import Recording
from edge_llm_tests.ollama import loaded_models
from edge_llm_tests.readers.service import ask_service
from edge_llm_tests.readers.wire import Origin
from prometheus_client.core import Metric

from llm_observability_stack.exporter.catalogue import catalogue, family
from llm_observability_stack.exporter.source import Source

__all__ = ["GROUP", "Gauges", "blobs_below", "installed_gauges", "memory_families", "memory_source"]

GROUP = "edge.model-memory"
"""Entry points of this group are functions that tell the gauges of a recording of Ollama."""

_DEADLINE_S = 10.0
_READ_DEADLINE_S = 3.0
_MODELS_LIMIT = 10  # loaded at once; each is asked for by itself
_SAMPLES_LIMIT = 300
_METRIC = "edge_model_memory_bytes"


class _Gauge(Protocol):
    """One value: `labels` by name, and its size in bytes."""

    @property
    def labels(self) -> Mapping[str, str]: ...

    @property
    def size_bytes(self) -> int: ...


Gauges = Callable[..., Iterable[_Gauge]]


def installed_gauges() -> Gauges | None:
    """The installed function that tells them, given a recording and `blobs`; None where there is none."""
    found = sorted(entry_points(group=GROUP), key=lambda each: each.name)
    return found[0].load() if found else None


def blobs_below(volume: str) -> str:
    """Where Ollama's blobs are below the mounted volume of the models; empty where they are not seen."""
    places = (Path(volume) / "models" / "blobs", Path(volume) / "blobs")
    return next((str(each) for each in places if volume and each.is_dir()), "")


def memory_source(url: str, volume: str, interval_s: float, gauges: Gauges) -> Source:
    """The source `memory`; a model's header is read, which takes a moment, so not at each scrape."""

    def collect() -> tuple[Metric, ...]:
        return memory_families(_ask(url), gauges, blobs_below(volume))

    return Source("memory", collect, _DEADLINE_S, interval_s)


def _ask(url: str) -> Recording:
    origin = Origin(url)
    reads: dict[str, Any] = {}
    try:
        for path in ("/api/version", "/api/ps"):
            reads[f"http:ollama:{path}"] = ask_service(origin, path, _READ_DEADLINE_S)
        for model in loaded_models(Recording(reads=reads))[:_MODELS_LIMIT]:
            path = f"/api/show {model.name}"
            reads[f"http:ollama:{path}"] = ask_service(origin, path, _READ_DEADLINE_S)
    finally:
        origin.close()
    return Recording(reads=reads)


def memory_families(recording: Recording, gauges: Gauges, blobs: str) -> tuple[Metric, ...]:
    """The family of all gauges; whatever their labels, only those of the list are kept.

    Raises:
        UnseenError: Ollama did not answer.
        MalformedError: What it answered is not what Ollama answers.
    """
    names = catalogue()[_METRIC].labels
    told = list(gauges(recording, blobs=blobs))[:_SAMPLES_LIMIT]
    samples = [(tuple(each.labels.get(name, "") for name in names), float(each.size_bytes)) for each in told]
    return (family(_METRIC, samples),)
