"""Routing: from findings to the one thing to fix first, its owner and its remedy. Pure.

The golden rule: a failure is routed to the lowest layer that cannot satisfy its contract.
"""

import re
import shlex
from collections.abc import Mapping

import msgspec
from edge_llm_tests.contract import Outcome
from edge_llm_tests.evaluate import Evaluation, Finding
from edge_llm_tests.layer import Remedy
from msgspec.structs import replace

from edge_cli.tree import Tree

__all__ = ["Gap", "Step", "Verdict", "route"]

_PLACEHOLDER = re.compile(r"(?<![{$])\{([a-z][a-z0-9_]*)\}(?!\})")
_OTHER_LANGUAGES = frozenset(("end", "print"))  # `{end}` is jsonpath's, `{print}` is awk's
_SHOWS_NOTHING = re.compile(r"[\x00-\x1f\x7f-\x9f\U00010000-\U0010ffff]")


class Step(msgspec.Struct, frozen=True):
    """A finding, with the remedy that its owner keeps for it.

    Attributes:
        finding: What was found.
        remedy: What to do, its placeholders filled; None on a pass, and where the finding is a consequence.
    """

    finding: Finding
    remedy: Remedy | None


class Gap(msgspec.Struct, frozen=True):
    """A read that showed nothing, and what that leaves undecided.

    Attributes:
        key: The read, as in recordings.
        undecided: Ids of the contracts that needed it.
    """

    key: str
    undecided: tuple[str, ...]


class Verdict(msgspec.Struct, frozen=True):
    """What a diagnosis comes to.

    Attributes:
        outcome: pass, fail or unknown.
        route: The one thing to fix first; None where everything required passed.
        also: Further faults that are no consequence of it, in the order to fix them.
        steps: Every finding in the order of the ladder, causes settled.
        not_applicable: Ids of contracts that the profile does not ask for.
        not_observed: Reads that showed nothing.
    """

    outcome: Outcome
    route: Step | None
    also: tuple[Step, ...]
    steps: tuple[Step, ...]
    not_applicable: tuple[str, ...]
    not_observed: tuple[Gap, ...]


def route(evaluation: Evaluation, tree: Tree) -> Verdict:
    """The verdict on an evaluation."""
    findings, causes = _settled(evaluation.findings, tree)
    steps = tuple(Step(finding, _remedy(finding, tree)) for finding in findings)
    counted = [step for step in steps if step.finding.contract.required or step.finding.contract.id in causes]
    broken = [step for step in counted if step.finding.outcome is Outcome.FAIL]
    unseen = [step for step in counted if step.finding.outcome is Outcome.UNKNOWN]
    return Verdict(
        outcome=evaluation.outcome,
        route=next(iter(broken or unseen), None),
        also=tuple(broken[1:]),
        steps=steps,
        not_applicable=evaluation.not_applicable,
        not_observed=tuple(Gap(key, _undecided(key, findings)) for key in evaluation.not_observed),
    )


def _settled(findings: tuple[Finding, ...], tree: Tree) -> tuple[tuple[Finding, ...], frozenset[str]]:
    """The findings, each fail whose cause lies above blocked by that cause; and the causes."""
    by_id = {finding.contract.id: finding for finding in findings}
    moved = {
        id_: cause
        for id_, finding in by_id.items()
        if finding.outcome is Outcome.FAIL and (cause := _cause(finding, by_id, tree)) is not None
    }
    causes = frozenset(moved.values())
    settled = []
    for id_, finding in by_id.items():
        if id_ in moved:
            settled.append(_blocked(finding, moved[id_]))
        elif id_ in causes and finding.blocked_by in moved:
            settled.append(_freed(finding))
        else:
            settled.append(finding)
    return tuple(settled), causes


def _cause(finding: Finding, by_id: Mapping[str, Finding], tree: Tree) -> str | None:
    edge = tree.edge(finding.contract.id, finding.result.reason)
    for cause in edge.caused_by if edge else ():
        above = by_id.get(cause.contract)
        if above and above.result.reason == cause.reason and above.outcome in (Outcome.FAIL, Outcome.BLOCKED):
            return cause.contract
    return None


def _blocked(finding: Finding, cause: str) -> Finding:
    message = f"caused by {cause}: {finding.result.message}"
    result = replace(finding.result, outcome=Outcome.BLOCKED, message=message)
    return replace(finding, result=result, blocked_by=cause)


def _freed(finding: Finding) -> Finding:
    """A cause that was taken for a consequence of what it causes."""
    return replace(finding, result=replace(finding.result, outcome=Outcome.FAIL), blocked_by=None)


def _undecided(key: str, findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """The contracts that are unknown for want of this read, and those that stand on them."""
    lacking = {
        finding.contract.id
        for finding in findings
        if finding.outcome is Outcome.UNKNOWN and key in finding.evidence
    }
    return tuple(
        finding.contract.id
        for finding in findings
        if finding.contract.id in lacking or finding.blocked_by in lacking
    )


def _remedy(finding: Finding, tree: Tree) -> Remedy | None:
    if finding.outcome not in (Outcome.FAIL, Outcome.UNKNOWN):
        return None
    edge = tree.edge(finding.contract.id, finding.result.reason)
    remedy = finding.layer.remedies.get(edge.remedy) if edge else None
    if remedy is None:
        return None
    about = {key: _SHOWS_NOTHING.sub(" ", str(value)) for key, value in finding.result.about.items()}
    quoted = {key: shlex.quote(value) for key, value in about.items()}
    return msgspec.structs.replace(
        remedy,
        do=_filled(remedy.do, about),
        careful=_filled(remedy.careful, about),
        commands=tuple(_filled(command, quoted) for command in remedy.commands),
    )


def _filled(text: str, about: Mapping[str, str]) -> str:
    """The text with `{placeholders}` filled, those without a value as `<placeholder>`."""

    def value(match: "re.Match[str]") -> str:
        name = match[1]
        if name in _OTHER_LANGUAGES:
            return match[0]
        return about.get(name, f"<{name}>")

    return _PLACEHOLDER.sub(value, text)
