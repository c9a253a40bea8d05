"""Memory of loaded models, by whoever is installed that can predict it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests import Recording
from edge_llm_tests.reads import UnseenError
from edge_llm_tests.testing import answer
from llm_observability_stack.exporter import memory_source as module
from llm_observability_stack.exporter.memory_source import (
    GROUP,
    blobs_below,
    installed_gauges,
    memory_families,
    memory_source,
)


@dataclass(frozen=True)
class Gauge:
    labels: Mapping[str, str]
    size_bytes: int


def gauges(recording: Recording, *, blobs: str) -> Iterable[Gauge]:
    """A predictor that knows one part of each model."""
    for model in recording.http("ollama", "/api/ps").document["models"]:
        yield Gauge(
            {"model": model["name"], "kind": "predicted", "part": "weights", "x": blobs}, model["size"]
        )


def samples(found: Any) -> dict[tuple[tuple[str, str], ...], float]:
    [made] = found
    return {tuple(sorted(each.labels.items())): each.value for each in made.samples}


PS = {"http:ollama:/api/ps": answer({"models": [{"name": "a:1", "size": 7}]})}


def test_what_is_told_is_published_by_the_labels_of_the_list() -> None:
    found = samples(memory_families(Recording(reads=PS), gauges, "/blobs"))
    labels = (("kind", "predicted"), ("model", "a:1"), ("part", "weights"), ("place", ""))
    assert found == {labels: 7.0}


def test_a_flood_of_gauges_is_cut_off() -> None:
    many = [Gauge({"model": f"m{number}"}, 1) for number in range(10_000)]
    assert len(samples(memory_families(Recording(), lambda *_, **__: many, ""))) == 300


def test_ollama_that_does_not_answer_fails_the_source() -> None:
    source = memory_source("http://127.0.0.1:9", "", 60.0, gauges)
    with pytest.raises(UnseenError):
        source.collect()
    assert (source.name, source.live) == ("memory", False)


def test_it_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def points(*, group: str) -> tuple[EntryPoint, ...]:
        asked.append(group)
        return (EntryPoint("gauges", "json:dumps", group),)

    monkeypatch.setattr(module, "entry_points", points)
    found = installed_gauges()
    assert found is not None
    assert found.__name__ == "dumps"
    assert asked == [GROUP]
    monkeypatch.setattr(module, "entry_points", lambda *, group: ())
    assert installed_gauges() is None


def test_blobs_are_found_below_the_volume(tmp_path: Path) -> None:
    assert blobs_below("") == ""
    assert blobs_below(str(tmp_path)) == ""
    (tmp_path / "models" / "blobs").mkdir(parents=True)
    assert blobs_below(str(tmp_path)) == str(tmp_path / "models" / "blobs")
