"""A report: the verdict on a recording, rung by rung, as every output format shows it."""

from enum import StrEnum

import msgspec
from edge_llm_tests.contract import Outcome
from edge_llm_tests.evaluate import Evaluation, Finding, evaluate
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile
from edge_llm_tests.redact import redact_quotable, redact_text
from msgspec.structs import replace

from edge_cli.routing import Step, Verdict, route
from edge_cli.tree import Tree

__all__ = ["Footing", "NodeVerdict", "Report", "RungReport", "foremost", "report"]


class Footing(StrEnum):
    """What a whole rung comes to."""

    HOLDS = "holds"
    FAILS = "fails"
    BLOCKED = "blocked"
    UNSEEN = "not seen"
    NOT_ASKED = "not asked for"


class RungReport(msgspec.Struct, frozen=True):
    """One rung.

    Attributes:
        name: `host`, `gpu`, ...
        layer: 0 to 3, or `validation`.
        owner: Who fixes it.
        asks: Its question.
        footing: What it comes to as a whole.
        steps: Its findings.
        not_applicable: Ids of its contracts that the profile does not ask for.
    """

    name: str
    layer: int | str
    owner: str
    asks: str
    footing: Footing
    steps: tuple[Step, ...]
    not_applicable: tuple[str, ...]


class NodeVerdict(msgspec.Struct, frozen=True):
    """What one host of several came to.

    Attributes:
        name: Name of the host.
        verdict: The verdict on its reads and the cluster's.
    """

    name: str
    verdict: Verdict


class Report(msgspec.Struct, frozen=True):
    """Everything that an output format may show.

    Attributes:
        verdict: What the diagnosis comes to.
        rungs: The ladder, from the host up.
        profile: Name of the profile.
        simulated: Whether parts of the target are simulated.
        recording: What was read.
        nodes: With several hosts, what each of them came to; this report is about the worst.
    """

    verdict: Verdict
    rungs: tuple[RungReport, ...]
    profile: str
    simulated: bool
    recording: Recording
    nodes: tuple[NodeVerdict, ...] = ()


def report(layers: tuple[Layer, ...], profile: Profile, recording: Recording, tree: Tree) -> Report:
    """Judge a recording and route what was found."""
    verdict = route(_clean(evaluate(layers, profile, redact_quotable(recording))), tree)
    return Report(
        verdict=verdict,
        rungs=tuple(_rung(name, layer, verdict, tree) for layer in layers for name in layer.rungs),
        profile=profile.name,
        simulated=recording.simulated or profile.simulated,
        recording=replace(
            recording, context=_clean_text(recording.context), host=_clean_text(recording.host)
        ),
    )


def foremost(reports: tuple[Report, ...]) -> Report:
    """The report that sends to the lowest rung, with the verdicts on all hosts where there are several."""
    if len(reports) == 1:
        return reports[0]
    ladder = [rung.name for rung in reports[0].rungs]

    def height(each: Report) -> int:
        route = each.verdict.route
        return len(ladder) if route is None else ladder.index(route.finding.rung)

    nodes = tuple(NodeVerdict(each.recording.host or "this host", each.verdict) for each in reports)
    return replace(min(reports, key=height), nodes=nodes)


def _rung(name: str, layer: Layer, verdict: Verdict, tree: Tree) -> RungReport:
    rung = tree.rungs.get(name)
    steps = tuple(step for step in verdict.steps if step.finding.rung == name)
    return RungReport(
        name=name,
        layer="validation" if layer.number is None else layer.number,
        owner=layer.owner,
        asks=rung.asks if rung else "",
        footing=_footing(steps, verdict),
        steps=steps,
        not_applicable=tuple(id_ for id_ in verdict.not_applicable if id_.partition(".")[0] == name),
    )


def _footing(steps: tuple[Step, ...], verdict: Verdict) -> Footing:
    """What a rung comes to; what waits for something that was not seen was not seen either."""
    unseen = {each.finding.contract.id for each in verdict.steps if each.finding.outcome is Outcome.UNKNOWN}
    required = [step.finding for step in steps if step.finding.contract.required]
    if any(finding.outcome is Outcome.FAIL for finding in required):
        return Footing.FAILS
    if any(finding.blocked_by and finding.blocked_by not in unseen for finding in required):
        return Footing.BLOCKED
    if any(finding.outcome is not Outcome.PASS for finding in required):
        return Footing.UNSEEN
    return Footing.HOLDS if steps else Footing.NOT_ASKED


def _clean(evaluation: Evaluation) -> Evaluation:
    """The evaluation without secrets: a message may quote a log of a recording that nobody redacted."""
    return replace(
        evaluation,
        findings=tuple(_clean_finding(finding) for finding in evaluation.findings),
        not_observed=tuple(_clean_text(key) for key in evaluation.not_observed),
    )


def _clean_finding(finding: Finding) -> Finding:
    about = {key: _clean_text(str(value)) for key, value in finding.result.about.items()}
    result = replace(finding.result, message=_clean_text(finding.result.message), about=about)
    return replace(finding, result=result, evidence=tuple(_clean_text(key) for key in finding.evidence))


def _clean_text(text: str) -> str:
    return redact_text(text)[0]
