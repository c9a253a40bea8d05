"""The verdict as a document and as an exit code."""

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from edge_cli.report import Report, report
from edge_cli.tree import Tree
from edge_cli.verdict import document, exit_code, refusal
from edge_llm_tests import Layer, Recording
from edge_llm_tests.errors import ExitCode
from edge_llm_tests.profile import Profile

Reported = Callable[..., Report]
SCHEMA = json.loads((files("edge_cli") / "schemas" / "diagnosis-v1.json").read_text())


@pytest.fixture
def reported(
    layers: tuple[Layer, ...], profile: Profile, tree: Tree, seen: Callable[..., Recording]
) -> Reported:
    return lambda odd=None, **more: report(layers, profile, seen(odd, **more), tree)


BROKEN = {
    "gpu.offered": "Missing",
    "host.disk": "Broken",
    "telemetry.targets": None,
    "serving.running": "Broken",
}


@pytest.mark.parametrize("odd", [{}, BROKEN, {"gpu.api": None}, {"host.disk": "Missing"}])
def test_every_verdict_is_of_its_schema(reported: Reported, odd: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document(reported(odd)), SCHEMA)


def test_the_document_has_what_its_format_promises(reported: Reported) -> None:
    found = document(reported(BROKEN, simulated=True))
    assert found["schema"] == "edge.diagnosis/v1"
    assert (found["outcome"], found["also"], found["simulated"]) == ("fail", [], True)
    assert found["route"] == {
        "rung": "gpu",
        "layer": 1,
        "owner": "k3s-nvidia-edge",
        "contract": "gpu.offered",
        "reason": "Missing",
        "message": "gpu.offered is broken",
        "remedy": {"do": "Restore it.", "commands": [], "docs": "", "grave": "outage", "careful": ""},
    }
    by_id = {each["contract"]: each for each in found["findings"]}
    assert by_id["gpu.offered"]["evidence"] == ["file:/gpu.offered"]
    assert by_id["serving.running"]["blocked_by"] == "gpu.offered"
    assert by_id["serving.running"]["remedy"] is None
    assert by_id["profile.processor"]["layer"] == "validation"
    assert found["not_observed"] == ["file:/telemetry.targets"]
    assert found["undecided"] == {}


def test_what_was_not_seen_says_what_it_leaves_undecided(reported: Reported) -> None:
    found = document(reported({"telemetry.targets": None}))
    assert found["undecided"] == {"file:/telemetry.targets": ["telemetry.targets"]}


def test_a_secret_in_a_message_or_a_placeholder_is_in_no_part_of_the_document(reported: Reported) -> None:
    odd = {
        "outcome": "fail",
        "reason": "Broken",
        "message": "log says HF_TOKEN=canary1",
        "about": {"thing": "Bearer canary2345678"},
    }
    found = json.dumps(document(reported({"gpu.api": odd})))
    assert "canary" not in found
    assert found.count("<redacted:") >= 3


API = {"api:/version": {"status": 200, "body": {}, "error": None}}
NODES = "api:/api/v1/nodes"
PODS = "api:/api/v1/pods"
REFUSED = {"status": 403, "body": {"message": "no"}, "error": None}
DOWN = {"status": None, "body": "connection refused", "error": "unreachable"}
GOOD = {"status": 200, "body": {"kind": "NodeList", "items": []}, "error": None}


@pytest.mark.parametrize(
    ("reads", "code"),
    [
        ({}, None),
        ({**API}, None),
        ({**API, NODES: REFUSED, PODS: REFUSED}, ExitCode.UNAUTHORISED),
        ({**API, NODES: REFUSED, PODS: GOOD}, None),
        ({NODES: {"status": 401, "body": "", "error": None}}, ExitCode.UNAUTHORISED),
        ({NODES: DOWN, PODS: DOWN}, ExitCode.UNREACHABLE),
        ({NODES: DOWN, PODS: REFUSED}, ExitCode.UNAUTHORISED),
        ({NODES: {**DOWN, "error": "tls"}}, ExitCode.UNREACHABLE),
        ({NODES: "damaged"}, None),
        ({NODES: {"status": 503, "body": "", "error": None}}, None),
    ],
)
def test_a_cluster_that_shows_nothing_is_out_of_reach_or_refuses(
    reads: dict[str, Any], code: ExitCode | None
) -> None:
    found = refusal(Recording(reads=reads))
    assert (found.code if found else None) is code


@pytest.mark.parametrize(
    ("odd", "reads", "advisory", "code"),
    [
        ({}, {}, False, 0),
        ({"host.disk": "Broken"}, {}, False, 0),
        ({"host.disk": "Broken"}, {}, True, 4),
        ({}, {}, True, 0),
        ({"gpu.api": "Broken"}, {NODES: DOWN}, True, 3),
        ({"gpu.api": None}, {}, False, 3),
        ({"gpu.api": None}, {NODES: DOWN}, False, 6),
        ({"gpu.api": None}, {NODES: REFUSED}, False, 7),
    ],
)
def test_exit_codes(
    reported: Reported, odd: dict[str, Any], reads: dict[str, Any], advisory: bool, code: int
) -> None:
    found = reported(odd, reads=reads)
    assert exit_code(found.verdict, found.recording, fail_on_advisory=advisory) == code
