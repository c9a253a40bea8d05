"""The verdict in the Common Test Report Format."""

from datetime import datetime
from typing import Any

import msgspec
from edge_llm_tests.contract import Outcome

from edge_cli.report import Report
from edge_cli.routing import Step
from edge_cli.terminal import Page

__all__ = ["render"]

_SPEC = "0.0.0"
_STATUS = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.UNKNOWN: "other",
    Outcome.BLOCKED: "skipped",
}


def render(report: Report, page: Page) -> str:
    """CTRF: unknown is `other`, blocked is `skipped`; ours stands in `rawStatus`."""
    tests = [_test(step) for step in report.verdict.steps]
    tests += [
        {"name": id_, "status": "skipped", "duration": 0, "rawStatus": "not applicable"}
        for id_ in report.verdict.not_applicable
    ]
    moment_ms = _milliseconds(report.recording.now)
    statuses = [test["status"] for test in tests]
    document = {
        "reportFormat": "CTRF",
        "specVersion": _SPEC,
        "results": {
            "tool": {"name": "edge", "version": report.recording.tool.get("version", "")},
            "summary": {
                "tests": len(tests),
                **{
                    each: statuses.count(each) for each in ("passed", "failed", "pending", "skipped", "other")
                },
                "start": moment_ms,
                "stop": moment_ms,
            },
            "tests": tests,
            "extra": {
                "outcome": report.verdict.outcome.value,
                "profile": report.profile,
                "simulated": report.simulated,
            },
        },
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _test(step: Step) -> dict[str, Any]:
    finding = step.finding
    advisory = not finding.contract.required and finding.outcome is Outcome.FAIL
    test: dict[str, Any] = {
        "name": finding.contract.id,
        "status": "other" if advisory else _STATUS[finding.outcome],
        "duration": 0,
        "rawStatus": f"{'advisory ' if advisory else ''}{finding.outcome.value}",
        "tags": [finding.rung, finding.layer.owner],
        "message": finding.result.message,
    }
    if finding.result.reason:
        test["trace"] = finding.result.reason
    if step.remedy is not None:
        test["extra"] = {"do": step.remedy.do, "commands": list(step.remedy.commands)}
    return test


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
