"""Xid lines of kernel logs: the detector's rule and the counters file against lines as drivers write them."""

import json
import re
from importlib.resources import files
from typing import Any

import pytest
import yaml

CHART = files("llm_observability_stack") / "charts" / "edge-telemetry"
MONITOR: dict[str, Any] = json.loads(
    (CHART / "files" / "node-problem-detector" / "nvidia-xid.json").read_text()
)
OF_APPLICATIONS = {13, 31, 43, 45, 69}
INFORMATION = {63, 92, 94}
LOST = 79

LOG = {
    "NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU fell off the bus.": "GpuFellOffBus",
    "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.": "GpuFellOffBus",
    "NVRM: Xid (PCI:0000:65:00): 48, pid=4711, A double bit error (DBE) has been detected": "GpuXid",
    "NVRM: Xid (PCI:0004:C1:00.0): 119, pid=812, name=ollama, Timeout waiting for RPC from GSP!": "GpuXid",
    "NVRM: Xid (PCI:0000:01:00): 74, NVLink: fatal error detected on link 3": "GpuXid",
    "NVRM: Xid (PCI:0000:01:00): 31, pid=99, name=python, MMU Fault: ENGINE GRAPHICS": None,
    "NVRM: Xid (PCI:0000:01:00): 13, pid=99, Graphics Exception": None,
    "NVRM: Xid (PCI:0000:01:00): 63, Row remapping event": None,
    "NVRM: GPU at PCI:0000:01:00: GPU-8a4c1b70-52d1-4be3-8f0e-6b5a49382716": None,
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  595.91.07": None,
    "usb 1-1: Xid of something else: 79, x": None,
}


def reasons(line: str) -> list[str]:
    return [rule["reason"] for rule in MONITOR["rules"] if re.search(rule["pattern"], line)]


@pytest.mark.parametrize(("line", "reason"), LOG.items())
def test_a_line_is_what_it_is(line: str, reason: str | None) -> None:
    assert reasons(line) == ([reason] if reason else [])


def test_the_detector_and_the_alert_leave_out_the_same_codes() -> None:
    told = {code: reasons(f"NVRM: Xid (PCI:0000:01:00): {code}, pid=1, something") for code in range(1, 200)}
    assert {code for code, found in told.items() if not found} == OF_APPLICATIONS | INFORMATION
    assert told[LOST] == ["GpuFellOffBus"]
    rules = yaml.safe_load((CHART / "files" / "rules" / "edge-llm.yml").read_text())["groups"]
    [expression] = [
        each["expr"] for group in rules for each in group["rules"] if each.get("alert") == "GpuXid"
    ]
    for left_out in re.findall(r'xid!~"([0-9|]+)"', expression):
        assert {int(code) for code in left_out.split("|")} - {0} == OF_APPLICATIONS | INFORMATION


def test_each_condition_of_a_rule_is_declared() -> None:
    declared = {each["type"] for each in MONITOR["conditions"]}
    assert {rule["condition"] for rule in MONITOR["rules"] if rule["type"] == "permanent"} == declared


def counters() -> dict[str, str]:
    lines = (CHART / "files" / "dcgm" / "counters.csv").read_text().splitlines()
    rows = [
        [cell.strip() for cell in line.split(",", 2)] for line in lines if line and not line.startswith("#")
    ]
    assert all(len(row) == 3 and row[2] for row in rows)
    assert len({row[0] for row in rows}) == len(rows)
    return {row[0]: row[1] for row in rows}


def test_the_counters_file_is_what_the_exporter_reads() -> None:
    for field, kind in counters().items():
        assert re.fullmatch(r"DCGM_(FI_DEV|EXP)_[A-Z0-9_]+", field)
        assert kind in ("gauge", "counter")


def test_every_series_of_dcgm_that_is_used_is_turned_on() -> None:
    third_party = yaml.safe_load(
        (files("llm_observability_stack.telemetry") / "third_party.yaml").read_text()
    )
    assert set(third_party["dcgm-exporter"]) <= set(counters())
