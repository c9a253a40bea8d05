"""Whatever is dropped, truncated or retyped: no exception, and no pass of what was not seen."""

import copy
import functools
import json
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests import Outcome
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.testing import judge, recording_of
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_observability_stack.telemetry import LAYER, TelemetrySpec

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
SPEC = TelemetrySpec(gpu_exporter=True, grafana=True)
STANDS_ON = {
    "http:prometheus:/api/v1/targets?state=any": (
        "telemetry.targets",
        "telemetry.gpu-target",
        "telemetry.samples",
    ),
    "http:prometheus:/api/v1/rules": ("telemetry.rules",),
    "http:prometheus:/api/v1/alertmanagers": ("telemetry.alertmanager",),
    "http:prometheus:/api/v1/query?query=up": ("telemetry.samples",),
    "http:prometheus:/api/v1/query?query=ALERTS%7Balertstate%3D%22firing%22%7D": ("telemetry.alerts",),
    "http:alertmanager:/api/v2/status": ("telemetry.alertmanager",),
    "http:alertmanager:/api/v2/alerts": ("telemetry.alerts",),
    "api:/apis/apiextensions.k8s.io/v1/customresourcedefinitions": ("telemetry.monitoring-crds",),
    "api:/apis/monitoring.coreos.com/v1/servicemonitors": ("telemetry.monitors",),
    "api:/apis/monitoring.coreos.com/v1/prometheuses": ("telemetry.monitors", "telemetry.retention"),
    "api:/api/v1/pods": ("telemetry.gpu-exporter", "telemetry.series", "telemetry.dashboards"),
    **{f"http:prometheus:/api/v1/query?query={name}": ("telemetry.series",) for name in SPEC.gpu_series},
}
DAMAGES: tuple[Any, ...] = (
    None,
    {},
    [],
    "text",
    {"status": 200, "body": "", "error": None},
    {"status": 200, "body": "<html>", "error": None},
    {"status": 200, "body": None, "error": None},
    {"status": 200, "body": [], "error": None},
    {"status": 200, "body": {}, "error": None},
    {"status": 200, "body": {"status": "success", "data": None}, "error": None},
    {"status": 200, "body": {"kind": "PodList", "items": [None]}, "error": None},
    {"status": 500, "body": "boom", "error": None},
    {"status": 403, "body": {"message": "forbidden"}, "error": None},
    {"status": 401, "body": None, "error": None},
    {"status": None, "body": None, "error": "timeout"},
    {"status": None, "body": None, "error": "tls"},
    {"status": "200", "body": {}, "error": 7},
)


@functools.cache
def healthy() -> dict[str, Any]:
    reads: dict[str, Any] = json.loads((BASES / "rtx-4090-k3s.json").read_text())["reads"]
    return reads


def findings(reads: dict[str, Any]) -> dict[str, Finding]:
    found = judge(LAYER, SPEC, recording_of(reads))
    assert [each for each in found.values() if each.result.reason == "JudgeFault"] == []
    return found


@pytest.mark.parametrize("key", STANDS_ON)
def test_what_a_missing_read_leaves_undecided_does_not_pass(key: str) -> None:
    found = findings({name: read for name, read in healthy().items() if name != key})
    assert [id_ for id_ in STANDS_ON[key] if found[id_].outcome is Outcome.PASS] == []


@pytest.mark.parametrize("key", STANDS_ON)
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_a_damaged_read_leaves_undecided_does_not_pass(key: str, damage: Any) -> None:
    found = findings({**healthy(), key: damage})
    assert [id_ for id_ in STANDS_ON[key] if found[id_].outcome is Outcome.PASS] == []


def test_of_nothing_nothing_passes() -> None:
    assert {each.outcome for each in findings({}).values()} <= {Outcome.UNKNOWN, Outcome.BLOCKED}


WRONG = st.sampled_from(
    [None, "x", 0, -1, 1.5, True, [], {}, [None], {"x": "y"}, "2026-13-45T99:00:00Z", ["a", 1]]
)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places inside a body, the body's own included."""
    found = [path]
    if isinstance(value, dict):
        for key in value:
            found += leaves(value[key], (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value[:3]):
            found += leaves(each, (*path, index))
    return found


PLACES = {
    key: leaves(healthy()[key]["body"])
    for key in healthy()
    if key.startswith(
        (
            "http:prometheus",
            "http:alertmanager",
            "api:/apis/monitoring",
            "api:/api/v1/pods",
            "api:/api/v1/ser",
        )
    )
}


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_a_value_of_another_type_anywhere_raises_nothing(data: st.DataObject) -> None:
    reads = dict(healthy())
    for key in data.draw(st.lists(st.sampled_from(sorted(PLACES)), min_size=1, max_size=3, unique=True)):
        read = copy.deepcopy(reads[key])
        place = data.draw(st.sampled_from(PLACES[key]))
        wrong = data.draw(WRONG)
        if not place:
            read["body"] = wrong
        else:
            here = read["body"]
            for step in place[:-1]:
                here = here[step]
            here[place[-1]] = wrong
        reads[key] = read
    findings(reads)


@settings(max_examples=100, deadline=None)
@given(st.sets(st.sampled_from(sorted(healthy())), min_size=1), st.sampled_from(DAMAGES))
def test_any_combination_of_damaged_reads_raises_nothing(keys: set[str], damage: Any) -> None:
    findings({key: damage if key in keys else read for key, read in healthy().items()})


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(PLACES)), st.floats(min_value=0.0, max_value=0.999))
def test_a_truncated_body_passes_nothing_that_stands_on_it(key: str, share: float) -> None:
    text = json.dumps(healthy()[key]["body"])
    read = {**healthy()[key], "body": text[: int(len(text) * share)]}
    found = findings({**healthy(), key: read})
    assert [id_ for id_ in STANDS_ON.get(key, ()) if found[id_].outcome is Outcome.PASS] == []
