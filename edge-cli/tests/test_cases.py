"""Every field case is routed to its true owner, with advice that does not harm."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from edge_cli.report import Report, report
from edge_cli.tree import load_tree
from edge_cli.verdict import document
from edge_llm_tests import Recording, load_layers
from edge_llm_tests.profile import load_profile
from edge_llm_tests.redact import redact

FOLDER = Path(__file__).parent / "cases"
CASES = sorted(path.stem for path in (FOLDER / "cases").glob("*.json"))
BASES = sorted(path.stem for path in (FOLDER / "base").glob("*.json"))
SCHEMA = json.loads((Path(__file__).parents[1] / "src/edge_cli/schemas/diagnosis-v1.json").read_text())
LAYERS = load_layers()
TREE = load_tree()


@cache
def case(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "cases" / f"{name}.json").read_text())
    return found


@cache
def base(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "base" / f"{name}.json").read_text())
    return found


def composed(given: dict[str, Any]) -> Recording:
    whole = copy.deepcopy(base(given["base"]))
    for key in given.get("drop", []):
        del whole["reads"][key]
    whole["reads"].update(copy.deepcopy(given.get("set", {})))
    whole["target"] |= given.get("target", {})
    return Recording.parse(whole)


def judged(recording: Recording) -> Report:
    return report(LAYERS, load_profile(recording.profile, LAYERS), recording, TREE)


@cache
def found_in(name: str) -> Report:
    return judged(composed(case(name)))


def test_there_are_cases() -> None:
    assert len(CASES) >= 119
    assert len(BASES) == 5


@pytest.mark.parametrize("name", BASES)
def test_a_healthy_box_holds(name: str) -> None:
    found = judged(Recording.parse(base(name)))
    assert found.verdict.outcome == "pass", found.verdict.route


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_routed_as_it_turned_out(name: str) -> None:
    expect = case(name)["expect"]
    found = document(found_in(name))
    jsonschema.validate(found, SCHEMA)
    assert found["outcome"] == expect["outcome"]
    route = found["route"]
    if expect["outcome"] == "pass":
        assert route is None
        return
    if route is None:
        assert expect["outcome"] == "unknown"
        return
    owners = {layer.owner for layer in LAYERS if route["rung"] in layer.rungs}
    assert route["rung"] in expect["rungs"]
    assert {route["owner"]} == owners
    if route["rung"] == expect["rungs"][0]:
        assert route["owner"] == expect["owner"]
    remedy = route["remedy"]
    said = f"{route['reason']} {route['message']} {json.dumps(remedy, ensure_ascii=False)}".lower()
    assert any(word.lower() in said for word in expect["message_any"] or [""]), said
    advice = f"{remedy['do']} {' '.join(remedy['commands'])}".lower()
    assert [word for word in expect["remedy_not"] if word.lower() in advice] == []
    assert set(expect["also_rungs"]) <= {step["rung"] for step in found["also"]}


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_no_fault_of_the_reader_of_it(name: str) -> None:
    reasons = {step.finding.result.reason for step in found_in(name).verdict.steps}
    assert "JudgeFault" not in reasons


@pytest.mark.parametrize("name", CASES)
def test_redaction_takes_nothing_that_a_contract_needs(name: str) -> None:
    assert document(judged(redact(composed(case(name))))) == document(found_in(name))


@pytest.mark.parametrize("name", CASES)
def test_every_command_to_paste_is_filled_or_names_what_is_to_be_filled_in(name: str) -> None:
    for step in found_in(name).verdict.steps:
        for command in step.remedy.commands if step.remedy else ():
            assert "{}" not in command
            assert command.strip() == command
            assert "\n" not in command
