"""Routing to the lowest layer that cannot satisfy its contract."""

from collections.abc import Callable
from typing import Any

import pytest
from edge_cli.routing import Verdict, route
from edge_cli.tree import Tree
from edge_llm_tests import Layer, Recording, evaluate
from edge_llm_tests.profile import Profile

Routed = Callable[..., Verdict]


@pytest.fixture
def routed(layers: tuple[Layer, ...], profile: Profile, tree: Tree, seen: Callable[..., Recording]) -> Routed:
    return lambda odd=None, **more: route(evaluate(layers, profile, seen(odd, **more)), tree)


def outcomes(verdict: Verdict) -> dict[str, str]:
    return {step.finding.contract.id: step.finding.outcome.value for step in verdict.steps}


def routes(verdict: Verdict) -> list[str]:
    steps = ([verdict.route] if verdict.route else []) + list(verdict.also)
    return [step.finding.contract.id for step in steps]


def test_where_everything_holds_there_is_no_route(routed: Routed) -> None:
    verdict = routed()
    assert (verdict.outcome, verdict.route, verdict.also) == ("pass", None, ())
    assert all(step.remedy is None for step in verdict.steps)


def test_the_lowest_failing_layer_is_the_route_and_what_stands_on_it_is_blocked(routed: Routed) -> None:
    verdict = routed({"host.driver": "Broken", "gpu.offered": "Missing", "profile.processor": "Broken"})
    assert routes(verdict) == ["host.driver"]
    assert outcomes(verdict)["gpu.offered"] == "blocked"
    assert outcomes(verdict)["profile.processor"] == "blocked"
    assert {step.finding.contract.id for step in verdict.steps if step.remedy} == {"host.driver"}


def test_an_independent_fault_is_listed_after_the_route_in_the_order_of_the_ladder(routed: Routed) -> None:
    verdict = routed(
        {
            "gpu.offered": "Missing",
            "serving.running": {"outcome": "fail", "reason": "Broken", "message": "m", "independent": True},
            "telemetry.targets": {"outcome": "fail", "reason": "Broken", "message": "m", "independent": True},
        }
    )
    assert routes(verdict) == ["gpu.offered", "serving.running", "telemetry.targets"]


def test_without_a_failure_the_lowest_unseen_contract_is_the_route(routed: Routed) -> None:
    verdict = routed({"gpu.api": None, "telemetry.targets": None})
    assert (verdict.outcome, routes(verdict)) == ("unknown", ["gpu.api"])
    assert verdict.route is not None
    assert verdict.route.remedy is not None
    assert verdict.route.remedy.do == "Make it readable."


def test_a_failure_above_comes_before_what_was_not_seen_below(routed: Routed) -> None:
    verdict = routed({"host.driver": None, "gpu.api": "Broken"})
    assert (verdict.outcome, routes(verdict)) == ("fail", ["gpu.api"])


def test_an_advisory_failure_is_a_finding_with_a_remedy_and_no_route(routed: Routed) -> None:
    verdict = routed({"host.disk": "Missing"})
    assert (verdict.outcome, routes(verdict)) == ("pass", [])
    assert [step.finding.contract.id for step in verdict.steps if step.remedy] == ["host.disk"]


def test_a_cause_above_is_routed_first_and_what_it_causes_is_its_consequence(routed: Routed) -> None:
    verdict = routed({"gpu.offered": "Broken", "telemetry.crds": "Missing", "serving.running": "Broken"})
    assert routes(verdict) == ["telemetry.crds"]
    found = {step.finding.contract.id: step.finding for step in verdict.steps}
    assert found["gpu.offered"].blocked_by == "telemetry.crds"
    assert found["gpu.offered"].result.message == "caused by telemetry.crds: gpu.offered is broken"
    assert found["serving.running"].blocked_by == "gpu.offered"
    assert found["telemetry.crds"].result.message == "telemetry.crds is broken"


@pytest.mark.parametrize(
    "odd",
    [
        {"gpu.offered": "Broken"},
        {"gpu.offered": "Broken", "telemetry.crds": "Broken"},
        {"gpu.offered": "Missing", "telemetry.crds": "Missing"},
        {"gpu.offered": "Broken", "telemetry.crds": None},
    ],
    ids=["the cause holds", "it fails otherwise", "another reason", "it was not seen"],
)
def test_a_cause_counts_only_with_its_own_reason(routed: Routed, odd: dict[str, Any]) -> None:
    assert routes(routed(odd))[0] == "gpu.offered"


def test_a_cause_that_is_itself_a_consequence_of_something_else_stays_one(routed: Routed) -> None:
    odd = {
        "gpu.offered": "Broken",
        "telemetry.crds": {"outcome": "fail", "reason": "Broken", "message": "m", "independent": True},
        "telemetry.targets": "Missing",
    }
    verdict = routed(odd)
    assert routes(verdict) == ["telemetry.crds"]
    found = {step.finding.contract.id: step.finding.blocked_by for step in verdict.steps}
    assert found["gpu.offered"] == "telemetry.targets"
    assert found["telemetry.targets"] == "telemetry.crds"


def test_placeholders_are_filled_quoted_for_the_shell_and_named_where_unknown(routed: Routed) -> None:
    about = {"thing": "pod/ollama; rm -rf ~", "node": "edge-1\x1b[2J"}
    verdict = routed({"gpu.api": {"outcome": "fail", "reason": "Broken", "message": "m", "about": about}})
    assert verdict.route is not None
    remedy = verdict.route.remedy
    assert remedy is not None
    assert remedy.do == "Repair pod/ollama; rm -rf ~ on edge-1 [2J."
    assert remedy.careful == "Do not restart pod/ollama; rm -rf ~ while it serves."
    assert remedy.commands == (
        "kubectl -n <namespace> describe 'pod/ollama; rm -rf ~'",
        "kubectl get nodes -o jsonpath='{range .items[*]}{end}'",
    )


def test_a_reason_that_the_tree_does_not_know_has_no_remedy(routed: Routed, tree: Tree) -> None:
    verdict = routed({"gpu.api": {"outcome": "fail", "reason": "Undeclared", "message": "m"}})
    assert verdict.route is not None
    assert verdict.route.remedy is None


def test_a_leaf_that_the_owner_does_not_keep_has_no_remedy(
    layers: tuple[Layer, ...], profile: Profile, tree: Tree, seen: Callable[..., Recording]
) -> None:
    layers[1].__dict__["remedies"] = {}
    verdict = route(evaluate(layers, profile, seen({"gpu.api": "Broken"})), tree)
    assert verdict.route is not None
    assert verdict.route.remedy is None


def test_what_was_not_seen_names_what_it_leaves_undecided(routed: Routed) -> None:
    verdict = routed({"serving.running": None, "host.disk": None})
    gaps = {gap.key: gap.undecided for gap in verdict.not_observed}
    assert gaps == {"file:/serving.running": ("serving.running",), "file:/host.disk": ("host.disk",)}
    blocked = {"serving.running": None, "model.loaded": None}
    gaps = {gap.key: gap.undecided for gap in routed(blocked).not_observed}
    assert gaps["file:/serving.running"] == ("serving.running", "model.loaded")
    assert gaps["file:/model.loaded"] == ()
