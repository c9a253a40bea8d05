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
import pytest
from edge_cli.report import report
from edge_cli.tree import load_tree
from edge_cli.verdict import document
from edge_llm_tests import Recording, load_layers
from edge_llm_tests.profile import load_profile

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
