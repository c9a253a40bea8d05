"""Neighbours of the field cases, each a change of a healthy box, are routed to their true owner.

`neighbours` has those of serving, model, telemetry and profile; `neighbours_below` those of host and cluster,
what could not be seen, and what is odd but sound.
"""

import json
import runpy
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from edge_cli.report import report
from edge_cli.tree import load_tree
from edge_cli.verdict import document
from edge_llm_tests import Recording, load_layers
from edge_llm_tests.profile import load_profile
from msgspec.structs import replace

CASES = Path(__file__).parent / "cases"
FOLDERS = ("neighbours", "neighbours_below")
SCHEMA = json.loads((Path(__file__).parents[1] / "src/edge_cli/schemas/diagnosis-v1.json").read_text())
LAYERS = load_layers()
TREE = load_tree()


def _catalogue(folder: str) -> dict[str, Any]:
    """The situations of a folder by name. It puts itself on the path when it is run, and leaves no trace."""
    before, path = set(sys.modules), list(sys.path)
    found = runpy.run_path(str(Path(__file__).parent / "cases" / folder))
    for name in set(sys.modules) - before:
        if name in ("box", "below") or name.startswith(("situations_", "below_")):
            del sys.modules[name]
    sys.path[:] = path
    return {each.name: (each, found["Box"]) for each in found["SITUATIONS"]}


CATALOGUES = {folder: _catalogue(folder) for folder in FOLDERS}
CATALOGUE = {f"{folder}-{name}": each for folder, found in CATALOGUES.items() for name, each in found.items()}
NAMES = sorted(CATALOGUE)


@cache
def found_in(name: str) -> dict[str, Any]:
    each, box = CATALOGUE[name]
    changed = box.of(each.base)
    each.change(changed)
    recording = Recording.parse(changed.whole)
    return dict(document(report(LAYERS, load_profile(recording.profile, LAYERS), recording, TREE)))


@pytest.mark.parametrize(
    ("folder", "at_least", "needs_words"),
    [("neighbours", 60, ("fail",)), ("neighbours_below", 80, ("fail", "unknown"))],
)
def test_there_are_neighbours(folder: str, at_least: int, needs_words: tuple[str, ...]) -> None:
    found = CATALOGUES[folder]
    assert len(found) >= at_least
    assert all(each.expect.message_any for each, _ in found.values() if each.expect.outcome in needs_words)


@pytest.mark.parametrize("name", NAMES)
def test_a_neighbour_is_routed_to_its_owner(name: str) -> None:
    expect = CATALOGUE[name][0].expect
    found = found_in(name)
    jsonschema.validate(found, SCHEMA)
    route = found["route"]
    told = [(step["contract"], step["reason"], step["message"]) for step in (route, *found["also"]) if step]
    assert found["outcome"] == expect.outcome, told
    if expect.outcome == "pass":
        assert route is None
        return
    if expect.rungs:
        assert route["rung"] in expect.rungs, told
    assert {route["owner"]} == {layer.owner for layer in LAYERS if route["rung"] in layer.rungs}
    remedy = route["remedy"]
    said = f"{route['reason']} {route['message']} {json.dumps(remedy, ensure_ascii=False)}".lower()
    assert any(word.lower() in said for word in expect.message_any), said
    advice = f"{remedy['do']} {' '.join(remedy['commands'])}".lower()
    assert [word for word in expect.remedy_not if word.lower() in advice] == []
    assert set(expect.also_rungs) <= {step["rung"] for step in found["also"]}


@pytest.mark.parametrize("name", NAMES)
def test_one_fault_is_one_fault(name: str) -> None:
    """What follows from the fault is blocked, and not named beside it as one more."""
    each = CATALOGUE[name][0]
    beside = [(step["rung"], step["contract"], step["reason"]) for step in found_in(name)["also"]]
    assert [step for step in beside if step[0] not in each.expect.also_rungs] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_judges_bear_a_neighbour(name: str) -> None:
    assert "JudgeFault" not in {finding["reason"] for finding in found_in(name)["findings"]}


def shown() -> set[tuple[str, str | None]]:
    """Every contract with every reason that a field case or a neighbour shows, whatever came of it."""
    found = {(each["contract"], each["reason"]) for name in NAMES for each in found_in(name)["findings"]}
    for path in sorted((CASES / "cases").glob("*.json")):
        case = json.loads(path.read_text())
        whole = json.loads((CASES / "base" / f"{case['base']}.json").read_text())
        reads = {key: read for key, read in whole["reads"].items() if key not in case.get("drop", [])}
        target = {**whole["target"], **case.get("target", {})}
        recording = Recording.parse({**whole, "target": target, "reads": {**reads, **case.get("set", {})}})
        verdict = report(LAYERS, load_profile(recording.profile, LAYERS), recording, TREE).verdict
        found |= {(step.finding.contract.id, step.finding.result.reason) for step in verdict.steps}
    return found


OF_OTHER_PROMISES = {("serving.gpu-request", "TooFewGpus")}
"""Shown below: no shipped profile promises that one pod has more than one card."""


def test_every_reason_of_every_contract_is_shown_by_a_recording() -> None:
    """A reason without one is a guess: nobody has seen what it says, nor where it leads."""
    declared = {(each.id, reason) for layer in LAYERS for each in layer.contracts for reason in each.reasons}
    assert declared - shown() - OF_OTHER_PROMISES == set()


def test_a_pod_with_fewer_cards_than_its_profile_promises() -> None:
    recording = Recording.parse(json.loads((CASES / "base" / "dual-4090-k3s.json").read_text()))
    profile = load_profile(recording.profile, LAYERS)
    serving = profile.specs["serving"]
    promise = msgspec.structs.replace(serving, gpu=msgspec.structs.replace(serving.gpu, count=2))
    profile = replace(profile, specs={**profile.specs, "serving": promise})
    route = report(LAYERS, profile, recording, TREE).verdict.route
    assert route is not None
    found = (route.finding.contract.id, route.finding.result.reason)
    assert {found} == OF_OTHER_PROMISES
    assert "1 x nvidia.com/gpu" in route.finding.result.message
