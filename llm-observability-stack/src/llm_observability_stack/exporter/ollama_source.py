"""What Ollama's API says: version, models on its disk, models loaded and where."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError, objects, text
from edge_llm_tests.ollama import canonical, loaded_models, present_models, version
from edge_llm_tests.readers.service import ask_service
from edge_llm_tests.readers.wire import Origin
from prometheus_client.core import Metric

from llm_observability_stack.exporter.catalogue import family
from llm_observability_stack.exporter.source import Source

__all__ = ["ollama_families", "ollama_source"]

_LARGEST = 2**63 - 1  # Ollama counts in signed 64 bits
_PATHS = ("/api/version", "/api/tags", "/api/ps")


def ollama_source(url: str, deadline_s: float, interval_s: float, max_models: int) -> Source:
    """The source `ollama`; asked anew at each scrape."""
    return Source(
        name="ollama",
        collect=lambda: ollama_families(_ask(url, deadline_s), max_models),
        deadline_s=deadline_s,
        interval_s=interval_s,
        live=True,
        when_down=lambda: (family("edge_ollama_up", [((), 0.0)]),),
    )


def _ask(url: str, deadline_s: float) -> Recording:
    """All questions at once, each on a connection of its own: one that hangs does not hide the others."""
    with ThreadPoolExecutor(len(_PATHS)) as pool:
        answers = pool.map(lambda path: (path, _entry(url, path, deadline_s)), _PATHS)
        return Recording(reads={f"http:ollama:{path}": entry for path, entry in answers})


def _entry(url: str, path: str, deadline_s: float) -> dict[str, Any]:
    origin = Origin(url)
    try:
        return ask_service(origin, path, deadline_s)
    finally:
        origin.close()


def ollama_families(recording: Recording, max_models: int) -> tuple[Metric, ...]:
    """Families of what Ollama answered; of more than `max_models` models the rest is only counted.

    Raises:
        UnseenError: Ollama did not answer a question.
        MalformedError: What it answered is not what Ollama answers.
    """
    engine = version(recording)
    present, loaded = present_models(recording), loaded_models(recording)
    _require_sizes(
        *(each.size_bytes for each in present),
        *(size for each in loaded for size in (each.size_bytes, each.vram_bytes, each.context_length or 0)),
    )
    # loaded models first: what takes memory now is what one would miss most
    names = dict.fromkeys([*(each.name for each in loaded), *sorted(each.name for each in present)])
    kept = frozenset(list(names)[:max_models])
    on_disk = [each for each in present if each.name in kept]
    in_memory = [each for each in loaded if each.name in kept]
    details = _details(recording)
    running = {each.name for each in loaded}
    return (
        family("edge_ollama_up", [((), 1.0)]),
        family("edge_ollama_info", [((engine,), 1.0)]),
        family("edge_ollama_models", [((), len(present))]),
        family("edge_ollama_models_loaded", [((), len(loaded))]),
        family("edge_ollama_models_without_series", [((), len(names) - len(kept))]),
        family(
            "edge_ollama_model_info",
            [((each.name, each.digest[:12], *details.get(each.name, ("", "", ""))), 1.0) for each in on_disk],
        ),
        family("edge_ollama_model_size_bytes", _by_name((each.name, each.size_bytes) for each in on_disk)),
        family(
            "edge_ollama_model_loaded", _by_name((name, name in running) for name in names if name in kept)
        ),
        family(
            "edge_ollama_model_memory_bytes", _by_name((each.name, each.size_bytes) for each in in_memory)
        ),
        family("edge_ollama_model_gpu_bytes", _by_name((each.name, each.vram_bytes) for each in in_memory)),
        family(
            "edge_ollama_model_context_tokens",
            _by_name(
                (each.name, each.context_length) for each in in_memory if each.context_length is not None
            ),
        ),
        family(
            "edge_ollama_model_expiry_timestamp_seconds",
            _by_name(
                (each.name, each.expires_at.timestamp()) for each in in_memory if each.expires_at is not None
            ),
        ),
    )


def _require_sizes(*sizes: int) -> None:
    """Refuse what no engine counts to: a graph would show it, and a share of it would wake somebody."""
    for size in sizes:
        if not 0 <= size <= _LARGEST:
            raise MalformedError("a size is below 0, or beyond 64 bits")


def _by_name(pairs: Iterable[tuple[str, float]]) -> Sequence[tuple[tuple[object, ...], float]]:
    return [((name,), float(value)) for name, value in pairs]


def _details(recording: Recording) -> dict[str, tuple[str, str, str]]:
    """Family, parameters and quantisation of each model on the disk."""
    return {
        canonical(text(raw, "name")): (
            text(raw, "details", "family"),
            text(raw, "details", "parameter_size"),
            text(raw, "details", "quantization_level"),
        )
        for raw in objects(recording.http("ollama", "/api/tags").document, "models")
    }
