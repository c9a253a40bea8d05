"""The one list of metrics, held against what the exporter exposes and what rules ask for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from edge_llm_tests import Recording, evaluate
from edge_llm_tests.profile import Profile
from edge_llm_tests.testing import answer, command
from llm_observability_stack.exporter.board import Board
from llm_observability_stack.exporter.catalogue import bounded, catalogue, family
from llm_observability_stack.exporter.cluster_source import cluster_families
from llm_observability_stack.exporter.contracts_source import outcome_families
from llm_observability_stack.exporter.gpu_source import gpu_families
from llm_observability_stack.exporter.kernel_log_source import xid_families
from llm_observability_stack.exporter.memory_source import memory_families
from llm_observability_stack.exporter.ollama_source import ollama_families
from llm_observability_stack.exporter.profile_source import profile_source
from llm_observability_stack.exporter.volume_source import volume_families
from llm_observability_stack.serving import ServingSpec
from llm_observability_stack.serving.spec import ModelPromise
from llm_observability_stack.telemetry import LAYER, TelemetrySpec
from llm_observability_stack.telemetry.metrics_page import main, page
from llm_observability_stack.telemetry.usage import asked_for, expressions, recorded, users
from prometheus_client.core import Metric

THIRD_PARTY: dict[str, list[str]] = yaml.safe_load(
    (files("llm_observability_stack.telemetry") / "third_party.yaml").read_bytes()
)
OTHERS = {name for names in THIRD_PARTY.values() for name in names}
MODEL = {
    "name": "a:1",
    "size": 1,
    "size_vram": 1,
    "digest": "d",
    "context_length": 2048,
    "expires_at": "2030-01-01T00:00:00Z",
}


@dataclass(frozen=True)
class Shown:
    """A gauge of whoever predicts memory."""

    labels: Mapping[str, str] = field(default_factory=lambda: {"model": "a:1", "kind": "observed"})
    size_bytes: int = 1


def of_ollama() -> tuple[Metric, ...]:
    reads = {
        "http:ollama:/api/version": answer({"version": "0.33.0"}),
        "http:ollama:/api/tags": answer({"models": [MODEL]}),
        "http:ollama:/api/ps": answer({"models": [MODEL]}),
    }
    return ollama_families(Recording(reads=reads), 10)


def of_the_cluster() -> tuple[Metric, ...]:
    base = Path(__file__).parents[2] / "edge-cli/tests/cases/base/a100-k3s.json"
    reads = json.loads(base.read_text())["reads"]
    return cluster_families(Recording(reads=reads), "nvidia.com/gpu")


def of_the_card() -> tuple[Metric, ...]:
    base = Path(__file__).parents[2] / "edge-cli/tests/cases/base/a100-k3s.json"
    smi = json.loads(base.read_text())["reads"]["command:nvidia-smi -q -x"]
    xid = command("2026-06-15T11:40:00,1+00:00 NVRM: Xid (PCI:0000:01:00): 62, x\n")
    reads = {"command:nvidia-smi -q -x": smi, "command:dmesg --time-format iso": xid}
    recording = Recording(reads=reads)
    return (*gpu_families(recording), *xid_families(recording, datetime(2026, 6, 15, 12, tzinfo=UTC)))


def exposed() -> dict[str, Metric]:
    """Every family that the exporter can expose, from each of its sources."""
    profile = Profile("test", specs={"telemetry": TelemetrySpec()})
    serving = ServingSpec(models=(ModelPromise("a:1"),))
    found = [
        *Board((), "1").collect(),
        *of_ollama(),
        *of_the_card(),
        *profile_source(Profile("test", specs={"serving": serving})).collect(),
        *memory_families(Recording(), lambda *_, **__: (Shown(),), ""),
        *volume_families({"metrics": "/"}),
        *of_the_cluster(),
        *outcome_families(evaluate((LAYER,), profile, Recording())),
    ]
    return {f"{each.name}_total" if each.type == "counter" else each.name: each for each in found}


def test_every_metric_of_the_list_is_exposed_and_every_exposed_one_is_listed() -> None:
    assert set(exposed()) == set(catalogue())


def test_type_help_and_labels_are_those_of_the_list() -> None:
    for name, made in exposed().items():
        entry = catalogue()[name]
        assert (made.type, made.documentation) == (entry.type, entry.help), name
        for sample in made.samples:
            assert set(sample.labels) == set(entry.labels), name
            for label, values in entry.values.items():
                assert sample.labels[label] in (*values, ""), name


def test_labels_of_a_fixed_few_values_are_labels_of_the_metric() -> None:
    for name, entry in catalogue().items():
        assert set(entry.values) <= set(entry.labels), name
        assert all(len(set(values)) == len(values) > 1 for values in entry.values.values()), name
    split = {
        name
        for name, each in catalogue().items()
        if {"outcome", "reason", "source", "scope"} & {*each.labels}
    }
    assert all(catalogue()[name].values for name in split)


def test_names_carry_their_unit_and_counters_end_in_total() -> None:
    for name, entry in catalogue().items():
        assert name.startswith("edge_")
        assert name.endswith("_total") is (entry.type == "counter")
        if entry.unit != "1":
            assert name.endswith(f"_{entry.unit}"), name
        assert entry.help.endswith((".", "CPU."))
        assert "\n" not in entry.help


def test_each_source_of_the_list_is_one_of_the_exporter() -> None:
    assert {entry.source for entry in catalogue().values()} == {
        "exporter",
        "profile",
        "ollama",
        "contracts",
        "gpu",
        "kernel-log",
        "memory",
        "volumes",
        "cluster",
    }


def test_every_series_that_a_rule_or_a_panel_asks_for_is_published_by_somebody() -> None:
    known = set(catalogue()) | OTHERS | recorded()
    asked = list(expressions())
    assert {user for user, _ in asked} >= {"OllamaDown", "rung:edge_contracts_failing:sum", "dashboard box"}
    for user, expression in asked:
        series = asked_for(expression)
        assert series or user == "Watchdog", user
        assert series <= known, f"{user} asks for {sorted(series - known)}, which nobody publishes"


def test_the_list_says_who_uses_each_metric() -> None:
    known = users()
    for name, entry in catalogue().items():
        assert entry.used_by == known.get(name, ()), f"{name}: correct `used_by` in metrics.yaml"


def test_the_page_of_metrics_is_what_the_lists_say() -> None:
    shown = Path(__file__).parents[2] / "docs" / "metrics.md"
    assert shown.read_text() == page(), (
        "python -m llm_observability_stack.telemetry.metrics_page docs/metrics.md"
    )


def test_the_page_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    assert main([str(tmp_path / "metrics.md")]) == 0
    assert (tmp_path / "metrics.md").read_text() == page()


def test_the_check_of_rules_can_fail() -> None:
    assert asked_for('edge_nonsense{a="b_c"} == 1 and on (x_y) up[5m]') == {"edge_nonsense", "up"}
    assert asked_for("increase(prometheus_x_total[10m]) > 0 or sum by (a_b) (edge_y)") == {
        "prometheus_x_total",
        "edge_y",
    }
    assert asked_for("absent(up)") == {"up"}


def test_metrics_of_others_that_are_allowed_are_used() -> None:
    assert set(users()) >= OTHERS


def test_a_label_value_is_bounded_printable_and_told_apart() -> None:
    assert bounded("qwen2.5:7b") == "qwen2.5:7b"
    assert bounded("a\nb\x00") == "a?b?"
    long, other = bounded("x" * 500), bounded("x" * 499 + "y")
    assert len(long) == len(other) == 120
    assert long != other
    assert bounded("\ud800") == "?"


def test_of_the_same_labels_the_first_wins() -> None:
    made: Any = family("edge_ollama_model_size_bytes", [(("a",), 1.0), (("a",), 2.0)])
    assert [(sample.labels, sample.value) for sample in made.samples] == [({"model": "a"}, 1.0)]
