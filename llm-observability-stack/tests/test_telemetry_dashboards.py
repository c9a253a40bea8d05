"""Dashboards as files: their structure, and that expressions parse and ask for series that are published."""

import json
import re
import shutil
import subprocess
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from llm_observability_stack.exporter.catalogue import catalogue
from llm_observability_stack.telemetry.usage import asked_for

CHART = files("llm_observability_stack") / "charts" / "edge-telemetry"
FOLDER = CHART / "files" / "dashboards"
BOARDS: dict[str, dict[str, Any]] = {
    each.name.removesuffix(".json"): json.loads(each.read_text()) for each in FOLDER.iterdir()
}
KINDS = {"row", "stat", "timeseries", "table", "status-history"}
WIDTH = 24
VARIABLES = {"$__rate_interval": "5m"}
LADDER = ["host", "gpu", "serving", "model", "profile", "telemetry"]

each_board = pytest.mark.parametrize("board", BOARDS)


def panels(board: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = BOARDS[board]["panels"]
    return found


def expressions(board: str) -> list[str]:
    found = [target["expr"] for panel in panels(board) for target in panel.get("targets", ())]
    for name, value in VARIABLES.items():
        found = [each.replace(name, value) for each in found]
    return found


def known() -> set[str]:
    third_party = yaml.safe_load(
        (files("llm_observability_stack.telemetry") / "third_party.yaml").read_bytes()
    )
    groups = yaml.safe_load((CHART / "files" / "rules" / "edge-llm.yml").read_bytes())["groups"]
    recorded = {rule["record"] for group in groups for rule in group["rules"] if "record" in rule}
    return set(catalogue()) | recorded | {name for names in third_party.values() for name in names}


def test_the_dashboards_that_are_promised_are_there() -> None:
    assert set(BOARDS) == {"box", "gpu", "serving", "telemetry", "gpu-map"}


@each_board
def test_a_dashboard_is_found_by_a_name_that_never_changes(board: str) -> None:
    document = BOARDS[board]
    assert document["uid"] == f"edge-{board}"
    assert len(document["uid"]) <= 40  # Grafana's limit
    assert document["title"].startswith("Edge: ")
    assert document["description"]
    assert document["tags"] == ["edge"]
    assert "id" not in document  # Grafana gives it
    assert [each["name"] for each in document["templating"]["list"]] == ["datasource"]


@each_board
def test_panels_lie_side_by_side_within_the_width(board: str) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels(board):
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= WIDTH
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert cells
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in panels(board)}) == len(panels(board))
    assert len({panel["title"] for panel in panels(board)}) == len(panels(board))


@each_board
def test_a_panel_asks_the_chosen_prometheus_something(board: str) -> None:
    for panel in panels(board):
        assert panel["type"] in KINDS
        if panel["type"] == "row":
            continue
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["targets"]
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"]
            assert target["instant"] is not target["range"]


@each_board
def test_every_series_of_a_panel_is_published_by_somebody(board: str) -> None:
    for expression in expressions(board):
        asked = asked_for(expression)
        assert asked, expression
        assert asked <= known(), expression


def test_the_check_of_series_can_fail() -> None:
    assert not asked_for('max by (gpu) (edge_nonsense{a="b_c"})') <= known()


@each_board
def test_no_variable_of_grafana_is_left_unknown(board: str) -> None:
    for expression in expressions(board):
        assert "$" not in re.sub(r'"[^"]*"', "", expression)


def test_the_ladder_is_on_top_of_the_box_in_its_order() -> None:
    stats = [panel for panel in panels("box") if panel["type"] == "stat"][: len(LADDER)]
    assert [panel["title"] for panel in stats] == LADDER
    assert {panel["gridPos"]["y"] for panel in stats} == {1}
    assert [panel["gridPos"]["x"] for panel in stats] == sorted(panel["gridPos"]["x"] for panel in stats)
    for panel in stats:
        assert f'rung="{panel["title"]}"' in panel["targets"][0]["expr"]


def test_the_map_draws_each_card_of_one_query_and_bounds_what_grows_downwards() -> None:
    for panel in panels("gpu-map"):
        [target] = panel["targets"]
        if panel["type"] in ("table", "status-history"):
            assert target["expr"].startswith("topk(")
        elif "a tile a card" in panel["title"]:
            assert panel["options"]["orientation"] == "auto"
            assert panel["options"]["reduceOptions"]["values"] is False
            assert panel["gridPos"]["w"] == WIDTH


@cache
def promtool() -> str:
    """The program, from PATH or as the sandbox builds it."""
    found = shutil.which("promtool")
    if found is None:
        from k3s_nvidia_edge.sandbox.build import build

        found = str(build(["prometheus"]).bin_dir / "promtool")
    return found


def parses(expression: str) -> bool:
    done = subprocess.run(
        [promtool(), "--experimental", "promql", "format", expression],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return done.returncode == 0


OUTCOMES = ("pass", "fail", "unknown", "blocked")
PASS, UNKNOWN, BLOCKED, FAIL = 0, 1, 2, 3


def box_of(**outcomes: str) -> list[dict[str, str]]:
    """A contract of each rung, or two (`fail,blocked`), as the exporter tells it."""
    return [
        {
            "series": f'edge_contract_outcome{{contract="{rung}.{number}",rung="{rung}",outcome="{each}"}}',
            "values": str(int(each == outcome)),
        }
        for rung in LADDER
        for number, outcome in enumerate(outcomes.get(rung, "pass").split(","))
        for each in OUTCOMES
    ]


@pytest.mark.rules
@pytest.mark.parametrize(
    ("outcomes", "shown"),
    [
        pytest.param({}, {}, id="all hold"),
        pytest.param(
            {"host": "unknown,blocked", "gpu": "pass,blocked", "profile": "pass,blocked"},
            {"host": UNKNOWN},
            id="a healthy box seen from a pod, which sees no host",
        ),
        pytest.param(
            {"host": "fail,blocked", "gpu": "blocked", "serving": "blocked"},
            {"host": FAIL, "gpu": BLOCKED, "serving": BLOCKED},
            id="a broken host blocks",
        ),
        pytest.param(
            {"host": "unknown,blocked", "gpu": "pass,fail", "serving": "blocked"},
            {"host": UNKNOWN, "gpu": FAIL, "serving": BLOCKED},
            id="a broken offer blocks",
        ),
        pytest.param(
            {"host": "unknown,blocked", "gpu": "pass,blocked", "model": "fail", "profile": "blocked"},
            {"host": UNKNOWN, "model": FAIL, "profile": BLOCKED},
            id="what fails above blocks nothing below",
        ),
        pytest.param(
            {"gpu": "unknown", "serving": "blocked", "model": "blocked"},
            {"gpu": UNKNOWN, "serving": BLOCKED, "model": BLOCKED},
            id="what stands on the unknown does not pass",
        ),
    ],
)
def test_what_the_ladder_shows(outcomes: dict[str, str], shown: dict[str, int], tmp_path: Path) -> None:
    stats = {
        panel["title"]: panel["targets"][0]["expr"] for panel in panels("box") if panel["title"] in LADDER
    }
    cases = [
        {"expr": stats[rung], "exp_samples": [{"labels": "{}", "value": shown.get(rung, PASS)}]}
        for rung in LADDER
    ]
    test = {"interval": "1m", "input_series": box_of(**outcomes), "promql_expr_test": cases}
    (tmp_path / "ladder.yml").write_text(yaml.safe_dump({"rule_files": [], "tests": [test]}))
    done = subprocess.run(
        [promtool(), "test", "rules", "ladder.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.rules
@each_board
def test_every_expression_parses(board: str) -> None:
    assert [each for each in expressions(board) if not parses(each)] == []


@pytest.mark.rules
def test_the_check_of_expressions_can_fail() -> None:
    assert not parses("sum(rate(up[5m])")
