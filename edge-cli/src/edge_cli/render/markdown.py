"""The verdict as Markdown, for a ticket."""

from collections.abc import Iterator

from edge_llm_tests.contract import Outcome

from edge_cli.report import Footing, Report, RungReport
from edge_cli.routing import Step
from edge_cli.terminal import Page, printable

__all__ = ["render"]

_MARKS = {
    Footing.HOLDS: "✅",
    Footing.FAILS: "❌",
    Footing.BLOCKED: "⏸️",
    Footing.UNSEEN: "❔",
    Footing.NOT_ASKED: "▫️",
}


def render(report: Report, page: Page) -> str:
    """Markdown: the ladder as a table, then what to fix, then every finding that does not hold."""
    return "\n".join(_document(report)) + "\n"


def _document(report: Report) -> Iterator[str]:
    verdict = report.verdict
    yield f"# Diagnosis: {verdict.outcome.value}{' (SIMULATED)' if report.simulated else ''}"
    yield ""
    context = f", context {_code(report.recording.context)}" if report.recording.context else ""
    yield f"Profile {_code(report.profile)}{context}, seen {_text(report.recording.recorded_at)}."
    yield from ("", "| | rung | asks | layer | owner | |", "|---|---|---|---|---|---|")
    for rung in report.rungs:
        yield _row(rung)
    if verdict.route is not None:
        yield from ("", "## Fix first" if verdict.outcome is Outcome.FAIL else "## To decide it", "")
        yield from _step(verdict.route)
    for number, step in enumerate(verdict.also, 1):
        yield from (() if number > 1 else ("", "## Then, being no consequence of it"))
        yield ""
        yield from _step(step)
    yield from _findings(report)
    if verdict.not_observed:
        yield from ("", "## Not seen", "")
        for gap in verdict.not_observed:
            leaves = f": leaves undecided {', '.join(map(_code, gap.undecided))}" if gap.undecided else ""
            yield f"- {_code(gap.key)}{leaves}"


def _row(rung: RungReport) -> str:
    cells = (
        _MARKS[rung.footing],
        f"**{rung.name}**",
        _text(rung.asks),
        str(rung.layer),
        _code(rung.owner),
        rung.footing.value,
    )
    return f"| {' | '.join(cells)} |"


def _step(step: Step) -> Iterator[str]:
    finding, remedy = step.finding, step.remedy
    what = f"{_code(finding.contract.id)} {finding.result.reason}"
    yield f"**{finding.rung}**, owner {_code(finding.layer.owner)}: {what}"
    yield from ("", f"> {_text(finding.result.message)}")
    if remedy is None:
        return
    yield from ("", _text(remedy.do))
    if remedy.commands:
        yield from ("", "```sh", *(command.replace("```", "'''") for command in remedy.commands), "```")
    if remedy.careful:
        yield from ("", f"**Careful:** {_text(remedy.careful)}")


def _findings(report: Report) -> Iterator[str]:
    odd = [step for step in report.verdict.steps if step.finding.outcome is not Outcome.PASS]
    if not odd:
        return
    yield from ("", "## Findings", "", "| contract | outcome | reason | message |", "|---|---|---|---|")
    for step in odd:
        finding = step.finding
        outcome = finding.outcome.value + ("" if finding.contract.required else " (advisory)")
        message = _text(finding.result.message)
        yield f"| {_code(finding.contract.id)} | {outcome} | {finding.result.reason or ''} | {message} |"


def _text(text: str) -> str:
    """Text without meaning as Markdown or HTML."""
    shown = printable(text).replace("\\", "\\\\")
    for character in "`*_[]|#":
        shown = shown.replace(character, f"\\{character}")
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    return "`" + printable(text).replace("`", "'").replace("|", "\\|") + "`"
