"""The rules as files: each alert says what it is, where it belongs, and has a unit test that it can fail."""

import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

RULES = files("llm_observability_stack") / "charts" / "edge-telemetry" / "files" / "rules"
LAYERS = {
    "0": "host-admin",
    "1": "k3s-nvidia-edge",
    "2": "llm-observability-stack",
    "3": "llm-observability-stack",
}
AT_ONCE = {
    "Watchdog",
    "GpuXid",
    "GpuRowRemapFailed",
    "GpuEccUncorrectable",
    "GpuPcieReplays",
    "GpuNvlinkErrors",
}  # windowed or for good
FROM_THE_SERIES = {
    "ContractFailing",
    "ContractUndecided",
    "AdvisoryFailing",
    "PodNotReady",
    "ContainerRestarting",
    "ContainerOutOfMemory",
}  # layer, rung and owner are its labels


def groups() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((RULES / "edge-llm.yml").read_bytes())["groups"]
    return found


def alerts() -> dict[str, dict[str, Any]]:
    return {rule["alert"]: rule for group in groups() for rule in group["rules"] if "alert" in rule}


def cases() -> list[dict[str, Any]]:
    tests = yaml.safe_load((RULES / "edge-llm.test.yml").read_bytes())["tests"]
    return [case for test in tests for case in test.get("alert_rule_test", ())]


def test_the_group_that_profiles_promise_is_there() -> None:
    assert [group["name"] for group in groups()] == ["edge-llm", "edge-gpu", "edge-host"]


def test_no_name_is_given_twice() -> None:
    names = [rule.get("alert") or rule["record"] for group in groups() for rule in group["rules"]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", alerts())
def test_an_alert_says_what_it_is_how_grave_it_is_and_where_its_page_is(name: str) -> None:
    alert = alerts()[name]
    assert name[0].isupper()
    assert name.isalnum()
    assert set(alert["annotations"]) == {"summary", "description", "runbook_url"}
    assert alert["annotations"]["runbook_url"] == f"docs/runbooks/{name}.md"
    assert alert["labels"]["severity"] in ("critical", "warning", "info", "none")
    assert "for" in alert or name in AT_ONCE


@pytest.mark.parametrize("name", sorted(set(alerts()) - FROM_THE_SERIES))
def test_an_alert_says_where_on_the_ladder_it_belongs(name: str) -> None:
    labels = alerts()[name]["labels"]
    assert labels["rung"] in ("host", "gpu", "serving", "model", "telemetry", "profile")
    if labels["layer"] == "profile":
        assert labels["owner"] == "gguf-observability"
    else:
        assert labels["owner"] == LAYERS[labels["layer"]]


@pytest.mark.parametrize("name", sorted(set(alerts()) - {"Watchdog"}))
def test_an_alert_is_tested_to_fire_and_not_to_fire(name: str) -> None:
    own = [case for case in cases() if case["alertname"] == name]
    assert any(case.get("exp_alerts") for case in own)
    assert any(not case.get("exp_alerts") for case in own)


def test_only_alerts_that_exist_are_tested() -> None:
    assert {case["alertname"] for case in cases()} == set(alerts())


def test_a_recording_rule_is_named_by_level_metric_and_operation() -> None:
    for group in groups():
        for rule in group["rules"]:
            if "record" in rule:
                level, metric, operation = rule["record"].split(":")
                assert all((level, metric, operation))
                assert metric.startswith("edge_")


def promtool() -> str:
    """The program, from PATH or as the sandbox builds it."""
    found = shutil.which("promtool")
    if found is None:
        from k3s_nvidia_edge.sandbox.build import build

        found = str(build(["prometheus"]).bin_dir / "promtool")
    return found


def run(*argv: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [promtool(), *argv],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ},
    )


@pytest.mark.rules
def test_promtool_accepts_the_rules_and_their_unit_tests_pass() -> None:
    folder = Path(str(RULES))
    checked = run("check", "rules", "--lint=all", "--lint-fatal", "edge-llm.yml", folder=folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tested = run("test", "rules", "edge-llm.test.yml", folder=folder)
    assert tested.returncode == 0, tested.stdout + tested.stderr


@pytest.mark.rules
@pytest.mark.parametrize("wrong", ["vector(1) < 0", "vector(1)"])
def test_the_unit_tests_notice_alerts_that_never_or_always_fire(wrong: str, tmp_path: Path) -> None:
    shutil.copy(str(RULES / "edge-llm.test.yml"), tmp_path)
    broken = groups()
    for rule in (rule for group in broken for rule in group["rules"]):
        if "alert" in rule and rule["alert"] != "Watchdog":
            rule["expr"] = wrong
            rule.pop("for", None)
    (tmp_path / "edge-llm.yml").write_text(yaml.safe_dump({"groups": broken}))
    tested = run("test", "rules", "edge-llm.test.yml", folder=tmp_path)
    said = tested.stdout + tested.stderr
    assert [name for name in alerts() if name != "Watchdog" and f"alertname: {name}," not in said] == []
