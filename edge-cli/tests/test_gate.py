"""The gate of each layer."""

from collections.abc import Callable
from typing import Any

import pytest
from edge_cli.gate import gate
from edge_llm_tests import Layer, Recording, evaluate
from edge_llm_tests.profile import Profile


@pytest.fixture
def closed_by(
    layers: tuple[Layer, ...], profile: Profile, seen: Callable[..., Recording]
) -> Callable[..., list[str]]:
    def closed(name: str, odd: dict[str, Any]) -> list[str]:
        layer = next(each for each in layers if each.name == name)
        found = gate(evaluate(layers, profile, seen(odd)), layer, frozenset({"gpu.api"}))
        assert found.layer == name
        assert found.open is (not found.closed_by)
        return [finding.contract.id for finding in found.closed_by]

    return closed


def test_a_gate_is_open_where_everything_below_holds(closed_by: Callable[..., list[str]]) -> None:
    assert closed_by("serving", {"serving.running": "Broken", "telemetry.crds": "Broken"}) == []


@pytest.mark.parametrize("odd", ["Broken", None, {"outcome": "unknown", "reason": "Missing"}])
def test_a_failure_or_a_gap_below_closes_it(closed_by: Callable[..., list[str]], odd: Any) -> None:
    assert closed_by("serving", {"gpu.offered": odd}) == ["gpu.offered"]


def test_a_consequence_below_closes_it_too(closed_by: Callable[..., list[str]]) -> None:
    odd = {"host.driver": "Broken", "gpu.offered": "Broken"}
    assert closed_by("serving", odd) == ["host.driver", "gpu.offered"]


def test_an_advisory_contract_closes_nothing(closed_by: Callable[..., list[str]]) -> None:
    assert closed_by("telemetry", {"host.disk": "Broken"}) == []


def test_of_its_own_contracts_only_the_preconditions_count(closed_by: Callable[..., list[str]]) -> None:
    assert closed_by(
        "gpu", {"gpu.api": "Broken", "gpu.offered": {"outcome": "fail", "reason": "Broken"}}
    ) == ["gpu.api"]
    assert closed_by("host", {"host.driver": "Broken"}) == []


def test_validation_stands_on_every_layer_and_no_layer_stands_on_it(
    closed_by: Callable[..., list[str]],
) -> None:
    assert closed_by("validation", {"telemetry.targets": "Broken"}) == ["telemetry.targets"]
    assert closed_by("telemetry", {"profile.processor": "Broken"}) == []
