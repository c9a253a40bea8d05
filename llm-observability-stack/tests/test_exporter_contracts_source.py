"""Outcomes of contracts as metrics, and the promises that alerts compare with."""

from typing import Any

import msgspec
import pytest
from edge_llm_tests import Outcome, Recording, contract, evaluate, failed, passed, unknown
from edge_llm_tests.contract import Contract, Result
from edge_llm_tests.errors import UsageError
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile
from edge_llm_tests.readers import ClusterReader
from llm_observability_stack.exporter import contracts_source as source_module
from llm_observability_stack.exporter.contracts_source import contracts_source, outcome_families
from llm_observability_stack.exporter.profile_source import profile_source
from llm_observability_stack.exporter.settings import Settings
from llm_observability_stack.serving import ServingSpec
from llm_observability_stack.serving.spec import ModelPromise
from llm_observability_stack.telemetry import TelemetrySpec
from prometheus_client.core import Metric

QWEN = (("model", "qwen2.5:7b"),)
NOMIC = (("model", "nomic-embed-text:latest"),)


class Reader:
    """A cluster that nobody asks."""


Series = dict[str, dict[tuple[tuple[str, str], ...], float]]


def series(families: tuple[Metric, ...]) -> Series:
    return {
        each.name: {tuple(sorted(sample.labels.items())): sample.value for sample in each.samples}
        for each in families
    }


@contract("gpu.one", "one holds", reasons=("Broken",))
def one(_spec: Any, _observed: Any) -> Result:
    return failed("Broken", "it does not")


@contract("gpu.two", "two holds", reasons=("Broken",), after=("gpu.one",))
def two(_spec: Any, _observed: Any) -> Result:
    return failed("Broken", "neither")


@contract("gpu.three", "three holds", reasons=("Dark",), required=False)
def three(_spec: Any, _observed: Any) -> Result:
    return unknown("Dark", "who knows")


@contract("gpu.four", "four holds", reasons=("Broken",))
def four(_spec: Any, _observed: Any) -> Result:
    return passed("it does")


def layer(number: int | None, *contracts: Contract) -> Layer:
    return Layer(
        "gpu", number, "owner", ("gpu",), TelemetrySpec, lambda spec, recording: None, contracts, "p"
    )


def outcomes(number: int | None = 1) -> Series:
    layers = (layer(number, one, two, three, four),)
    profile = Profile("test", specs={"gpu": TelemetrySpec()})
    return series(outcome_families(evaluate(layers, profile, Recording())))


def test_each_contract_has_a_series_for_each_outcome_and_one_of_them_holds() -> None:
    found = outcomes()["edge_contract_outcome"]
    assert len(found) == 4 * len(Outcome)
    held = {dict(labels)["contract"]: dict(labels) for labels, value in found.items() if value == 1.0}
    assert {name: labels["outcome"] for name, labels in held.items()} == {
        "gpu.one": "fail",
        "gpu.two": "blocked",
        "gpu.three": "unknown",
        "gpu.four": "pass",
    }
    assert held["gpu.one"] == {
        "contract": "gpu.one",
        "rung": "gpu",
        "layer": "1",
        "owner": "owner",
        "outcome": "fail",
    }


def test_a_layer_without_a_number_goes_by_its_name() -> None:
    assert {dict(labels)["layer"] for labels in outcomes(None)["edge_contract_outcome"]} == {"gpu"}


def test_what_is_required_and_what_comes_of_it() -> None:
    found = outcomes()
    assert found["edge_contract_required"] == {
        (("contract", "gpu.one"),): 1.0,
        (("contract", "gpu.two"),): 1.0,
        (("contract", "gpu.three"),): 0.0,
        (("contract", "gpu.four"),): 1.0,
    }
    assert found["edge_diagnosis_outcome"] == {
        (("outcome", "pass"),): 0.0,
        (("outcome", "fail"),): 1.0,
        (("outcome", "unknown"),): 0.0,
    }


def dark(id_: str, *after: str, read: str = "") -> Contract:
    def judge(_spec: Any, observed: Recording) -> Result:
        if read:
            observed.file(read)
        return unknown("Dark", "who knows")

    return contract(id_, "it holds", reasons=("Dark",), after=after)(judge)


UNSEEN, BLOCKED = "unknown", "blocked"


@pytest.mark.parametrize(
    ("below", "told"),
    [
        # an exporter in a pod sees no host: that says nothing of why the API cannot be read
        pytest.param(dark("host.memory"), (UNSEEN, BLOCKED, BLOCKED, BLOCKED), id="unseen"),
        pytest.param(
            contract("host.memory", "it holds", reasons=("Broken",))(
                lambda *_: failed("Broken", "it does not")
            ),
            (BLOCKED, BLOCKED, BLOCKED, BLOCKED),
            id="failing",
        ),
    ],
)
def test_a_host_that_nobody_sees_hides_nothing_above_but_what_is_its_own(
    below: Contract, told: tuple[str, ...]
) -> None:
    above = (
        dark("gpu.service", "host.memory", read="/etc/service"),
        dark("gpu.api", "host.memory", "gpu.service"),
        dark("gpu.node", "gpu.api"),
        dark("gpu.handler", "gpu.api", read="/etc/handler"),
    )
    layers = tuple(
        Layer(name, number, "o", (name,), TelemetrySpec, lambda spec, recording: recording, contracts, "p")
        for number, (name, contracts) in enumerate((("host", (below,)), ("gpu", above)))
    )
    profile = Profile("test", specs={"host": TelemetrySpec(), "gpu": TelemetrySpec()})
    found = series(outcome_families(evaluate(layers, profile, Recording())))["edge_contract_outcome"]
    held = {
        dict(labels)["contract"]: dict(labels)["outcome"] for labels, value in found.items() if value == 1.0
    }
    assert tuple(held[id_] for id_ in ("gpu.api", "gpu.service", "gpu.node", "gpu.handler")) == told


def test_the_reads_are_made_anew_at_each_check(monkeypatch: pytest.MonkeyPatch) -> None:
    targets: list[Any] = []

    def collected(layers: Any, profile: Any, target: Any) -> Recording:
        targets.append(target)
        return Recording()

    monkeypatch.setattr(source_module, "collect", collected)
    monkeypatch.setattr(ClusterReader, "in_cluster", Reader)
    settings = Settings("test", services={"ollama": "http://o:1"}, in_cluster=True)
    source = contracts_source(settings, (layer(1, four),), Profile("test", specs={"gpu": TelemetrySpec()}))
    assert (source.name, source.live) == ("contracts", False)
    for _ in range(2):
        assert series(source.collect())["edge_diagnosis_outcome"][(("outcome", "pass"),)] == 1.0
    assert targets[0].cluster is not targets[1].cluster  # a ServiceAccount's token does not last
    assert targets[0].services == {"ollama": "http://o:1"}


def test_a_cluster_that_cannot_be_read_is_refused_at_once(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = str(tmp_path / "kubeconfig")
    with pytest.raises(UsageError, match="kubeconfig"):
        contracts_source(Settings("test", kubeconfig=missing), (), Profile("test"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(UsageError):
        contracts_source(Settings("test", in_cluster=True), (), Profile("test"))


class Served(msgspec.Struct):
    """What the validation of a served model promises, as far as the exporter looks."""

    model: str = ""
    processor: str = ""


def promised(served: Served | None) -> Series:
    models = (ModelPromise("qwen2.5:7b", resident=True), ModelPromise("nomic-embed-text"))
    specs: dict[str, Any] = {"serving": ServingSpec(models=models)}
    if served is not None:
        specs["profile"] = served
    return series(profile_source(Profile("test", specs=specs)).collect())


def test_promises_of_the_profile() -> None:
    found = promised(None)
    assert found["edge_model_promised"] == {QWEN: 1.0, NOMIC: 1.0}
    assert found["edge_model_promised_resident"] == {QWEN: 1.0, NOMIC: 0.0}


@pytest.mark.parametrize(
    ("served", "expected"),
    [
        (None, {QWEN: 0.0, NOMIC: 0.0}),
        (Served(processor="cpu"), {QWEN: 0.0, NOMIC: 0.0}),
        (Served(processor="gpu"), {QWEN: 1.0, NOMIC: 1.0}),
        (Served(processor="gpu", model="qwen2.5:7b"), {QWEN: 1.0, NOMIC: 0.0}),
        (Served(processor="gpu", model="nomic-embed-text"), {QWEN: 0.0, NOMIC: 1.0}),
    ],
)
def test_the_processor_is_promised_by_whoever_validates_the_model(
    served: Served | None, expected: dict[tuple[tuple[str, str], ...], float]
) -> None:
    assert promised(served)["edge_model_promised_gpu"] == expected
