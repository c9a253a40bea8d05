"""The verdict as a document (`edge.diagnosis/v1`), and as an exit code."""

from typing import Any

import msgspec
from edge_llm_tests.contract import Outcome
from edge_llm_tests.errors import EdgeError, ExitCode, TargetUnreachableError, UnauthorisedError
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer, Remedy
from edge_llm_tests.reads import ApiRead, UnseenError

from edge_cli.report import Report
from edge_cli.routing import Step, Verdict

__all__ = ["SCHEMA", "Refusal", "document", "exit_code", "refusal", "refusal_error"]

SCHEMA = "edge.diagnosis/v1"
_ANYONES = ("api:/version", "api:/readyz", "api:/livez")  # answered even to callers without any right
_REFUSED = ("Unauthorised", "Forbidden")
_OUT_OF_REACH = ("Unreachable", "TimedOut", "NotTrusted", "NameNotResolved")


def document(report: Report) -> dict[str, Any]:
    """The verdict as the JSON object of its format."""
    verdict, recording = report.verdict, report.recording
    return {
        "schema": SCHEMA,
        "outcome": verdict.outcome.value,
        "route": _routed(verdict.route) if verdict.route else None,
        "also": [_routed(step) for step in verdict.also],
        "findings": [_finding(step) for step in verdict.steps],
        "not_observed": [gap.key for gap in verdict.not_observed],
        "undecided": {gap.key: list(gap.undecided) for gap in verdict.not_observed if gap.undecided},
        "not_applicable": list(verdict.not_applicable),
        "target": {
            "context": recording.context,
            "profile": report.profile,
            **({"host": recording.host} if recording.host else {}),
        },
        **({"nodes": {each.name: _node(each.verdict) for each in report.nodes}} if report.nodes else {}),
        "recorded_at": recording.recorded_at,
        "simulated": report.simulated,
    }


def _node(verdict: Verdict) -> dict[str, Any]:
    route = verdict.route
    return {"outcome": verdict.outcome.value, "route": None if route is None else _routed(route)}


def _routed(step: Step) -> dict[str, Any]:
    finding = step.finding
    return {
        "rung": finding.rung,
        "layer": _layer(finding.layer),
        "owner": finding.layer.owner,
        "contract": finding.contract.id,
        "reason": finding.result.reason,
        "message": finding.result.message,
        "remedy": _remedy(step.remedy),
    }


def _finding(step: Step) -> dict[str, Any]:
    finding = step.finding
    return {
        "contract": finding.contract.id,
        "layer": _layer(finding.layer),
        "rung": finding.rung,
        "owner": finding.layer.owner,
        "outcome": finding.outcome.value,
        "reason": finding.result.reason,
        "message": finding.result.message,
        "required": finding.contract.required,
        "blocked_by": finding.blocked_by,
        "evidence": list(finding.evidence),
        "remedy": _remedy(step.remedy),
    }


def _layer(layer: Layer) -> int | str:
    return "validation" if layer.number is None else layer.number


def _remedy(remedy: Remedy | None) -> dict[str, Any] | None:
    if remedy is None:
        return None
    return {**msgspec.to_builtins(remedy), "commands": list(remedy.commands)}


class Refusal(msgspec.Struct, frozen=True):
    """Why nothing of a cluster could be seen.

    Attributes:
        code: `UNREACHABLE` or `UNAUTHORISED`.
        said: What the first read that failed came to.
    """

    code: ExitCode
    said: str


def refusal(recording: Recording) -> Refusal | None:
    """Why not one read of the Kubernetes API showed anything; None where one did, or none was made."""
    reads = [_problem(recording, key) for key in recording.matching("api:/") if key not in _ANYONES]
    if not reads or None in reads:
        return None
    for code, reasons in ((ExitCode.UNAUTHORISED, _REFUSED), (ExitCode.UNREACHABLE, _OUT_OF_REACH)):
        for unseen in reads:
            if unseen is not None and unseen.reason in reasons:
                return Refusal(code, unseen.message)
    return None


def refusal_error(recording: Recording) -> EdgeError | None:
    """The error of a run that saw nothing of its cluster; None where it saw something, or asked nothing."""
    refused = refusal(recording)
    if refused is None:
        return None
    target = f"the cluster of context {recording.context or 'default'}"
    if refused.code is ExitCode.UNAUTHORISED:
        return UnauthorisedError(
            f"{target} refuses the credentials: {refused.said}",
            "renew them, or choose others with --kubeconfig or --context",
        )
    return TargetUnreachableError(
        f"{target} cannot be reached: {refused.said}",
        "start k3s, or correct the address with --kubeconfig or --context",
    )


def _problem(recording: Recording, key: str) -> UnseenError | None:
    try:
        read: ApiRead = recording.api(key.removeprefix("api:"))
    except UnseenError as unseen:
        return unseen
    return read.problem


def exit_code(verdict: Verdict, recording: Recording, *, fail_on_advisory: bool = False) -> ExitCode:
    """The exit code of a diagnosis that came to this verdict."""
    if verdict.outcome is Outcome.FAIL:
        return ExitCode.CONTRACT
    if verdict.outcome is Outcome.UNKNOWN:
        refused = refusal(recording)
        return refused.code if refused else ExitCode.CONTRACT
    advisory = any(step.finding.outcome is Outcome.FAIL for step in verdict.steps)
    return ExitCode.ADVISORY if advisory and fail_on_advisory else ExitCode.OK
