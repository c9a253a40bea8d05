"""No recording, however damaged, breaks a diagnosis or any of its formats."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from edge_cli.render import Output, render
from edge_cli.report import Report, report
from edge_cli.terminal import Page
from edge_cli.tree import load_tree
from edge_cli.verdict import document, exit_code
from edge_llm_tests import Recording, load_layers
from edge_llm_tests.contract import Outcome
from edge_llm_tests.profile import load_profile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE.parent / "src/edge_cli/schemas/diagnosis-v1.json").read_text())
BASES = sorted(path.stem for path in (HERE / "cases" / "base").glob("*.json"))
LAYERS = load_layers()
TREE = load_tree()
SCRAP = st.sampled_from(
    [
        None,
        "",
        "x",
        "<html>",
        "\x00",
        0,
        -1,
        1e308,
        True,
        [],
        {},
        ["x"],
        {"items": [1]},
        {"items": None},
        {"error": 7},
    ]
)


@cache
def base(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / "cases" / "base" / f"{name}.json").read_text())
    return found


def judged(whole: dict[str, Any]) -> Report:
    recording = Recording.parse(whole)
    return report(LAYERS, load_profile(recording.profile, LAYERS), recording, TREE)


def damage(value: Any, data: st.DataObject, depth: int = 0) -> Any:
    """The value with something in it dropped, cut off, or of another type."""
    if depth > 2 and data.draw(st.booleans()):
        return data.draw(SCRAP)
    if isinstance(value, dict) and value:
        key = data.draw(st.sampled_from(sorted(value)))
        if data.draw(st.integers(0, 4)) == 0:
            return {each: inner for each, inner in value.items() if each != key}
        return {**value, key: damage(value[key], data, depth + 1)}
    if isinstance(value, list) and value:
        index = data.draw(st.integers(0, len(value) - 1))
        return [*value[:index], damage(value[index], data, depth + 1), *value[index + 1 :]]
    if isinstance(value, str) and value and data.draw(st.booleans()):
        return value[: data.draw(st.integers(0, len(value)))]
    return data.draw(SCRAP)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(BASES), st.data())
def test_any_damage_comes_to_a_verdict_in_every_format(name: str, data: st.DataObject) -> None:
    whole = {**base(name), "reads": dict(base(name)["reads"])}
    for key in data.draw(
        st.lists(st.sampled_from(sorted(whole["reads"])), min_size=1, max_size=6, unique=True)
    ):
        whole["reads"][key] = damage(copy.deepcopy(whole["reads"][key]), data)
        if data.draw(st.integers(0, 5)) == 0:
            del whole["reads"][key]
    found = judged(whole)
    assert exit_code(found.verdict, found.recording) in (0, 3, 6, 7)
    assert all(step.finding.result.reason != "JudgeFault" for step in found.verdict.steps)
    jsonschema.validate(document(found), SCHEMA)
    for output in Output:
        assert render(found, output, Page(verbose=True)).endswith("\n")


@pytest.mark.parametrize("name", BASES)
def test_an_empty_recording_passes_nothing(name: str) -> None:
    found = judged({**base(name), "reads": {}})
    passed = [
        step.finding.contract.id for step in found.verdict.steps if step.finding.outcome is Outcome.PASS
    ]
    assert passed == []
    assert found.verdict.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("name", BASES)
def test_a_recording_of_nothing_but_timeouts_passes_nothing(name: str) -> None:
    late = {
        "command": {"rc": None, "stdout": "", "stderr": "", "error": "timeout"},
        "file": {"text": None, "mtime": None, "error": "timeout"},
        "glob": {"paths": None, "error": "timeout"},
        "api": {"status": None, "body": None, "error": "timeout"},
        "http": {"status": None, "body": None, "error": "timeout"},
    }
    reads = {key: late[key.partition(":")[0]] for key in base(name)["reads"]}
    found = judged({**base(name), "reads": reads})
    passed = [
        step.finding.contract.id for step in found.verdict.steps if step.finding.outcome is Outcome.PASS
    ]
    assert passed == []
