"""How `edge up` ended, for a terminal: what holds and what to try; or what to fix, and what waits for it."""

from collections.abc import Iterator

from edge_llm_tests.contract import Outcome

from edge_cli.ascent import End
from edge_cli.conclusion import Conclusion
from edge_cli.duration import spoken
from edge_cli.render import Output
from edge_cli.render import render as render_report
from edge_cli.render.table import rung_line, title
from edge_cli.report import Report
from edge_cli.terminal import Page, printable

__all__ = ["render"]

_MESSAGE_COLUMN = 34  # the longest contract id and its mark


def render(conclusion: Conclusion, output: Output, page: Page) -> str:
    """The conclusion in a format; other than as a table it is the report of a diagnosis."""
    if output is not Output.TABLE:
        return render_report(conclusion.report, output, page)
    if conclusion.holds:
        lines = [*_contracts(conclusion.report, page), "", *_releases(conclusion, page)]
        lines += _next(conclusion, page)
    else:
        lines = [render_report(conclusion.report, output, page), *_releases(conclusion, page)]
        lines += _kept_out(conclusion, page)
    return "\n".join(lines) + "\n"


def _contracts(report: Report, page: Page) -> Iterator[str]:
    """Every contract in a line; the whole sentences are `edge diagnose -v`'s."""
    yield title(report, page)
    yield ""
    for rung in report.rungs:
        yield rung_line(rung, page.paint)
        for step in rung.steps:
            finding = step.finding
            passes = finding.outcome is Outcome.PASS
            sign = ("✓" if page.paint.unicode else "+") if passes else "!"
            mark = page.paint(sign, "green" if passes else "yellow")
            room = page.columns - _MESSAGE_COLUMN
            said = printable(finding.result.message)
            said = said if len(said) <= room else f"{said[: room - 3].rstrip()}..."
            yield f"    {mark} {finding.contract.id:<{_MESSAGE_COLUMN - 6}}{page.paint(said, 'dim')}".rstrip()


def _releases(conclusion: Conclusion, page: Page) -> Iterator[str]:
    acts = conclusion.ascent.acts + (conclusion.back.acts if conclusion.back else ())
    if not conclusion.ascent.changed and conclusion.holds:
        yield page.paint("Nothing had to be changed.", "bold")
        return
    for act in acts:
        took = f" ({act.took_s:.1f} s)" if act.took_s else ""
        release = act.release
        yield f"{act.verb:<11} {release.name} in {release.namespace}, revision {act.revision}{took}"


def _next(conclusion: Conclusion, page: Page) -> Iterator[str]:
    yield ""
    yield page.paint("Try next:", "bold")
    for purpose, command in conclusion.next_commands:
        yield page.paint(f"  # {purpose}", "dim")
        yield f"  {page.paint(command, 'cyan')}"


def _kept_out(conclusion: Conclusion, page: Page) -> Iterator[str]:
    ascent = conclusion.ascent
    layer = ascent.layer.name if ascent.layer else ""
    yield ""
    yield page.paint(
        {
            End.CLOSED: f"The gate of layer {layer} is closed.",
            End.TERMINAL: f"Layer {layer} cannot come to hold: waiting does not mend this.",
            End.STALLED: f"Layer {layer} does not hold, and nothing moves any more.",
            End.TIMED_OUT: f"Layer {layer} did not hold within {spoken(ascent.limits.timeout_s)}.",
            End.HOLDS: "",
        }[ascent.end],
        "bold",
    )
    if ascent.unfinished:
        yield f"The roll-out of {ascent.unfinished} has not ended."
    yield from _after_return(conclusion, page)
    for release in ascent.not_installed:
        yield f"not installed: {release.name} (layer {release.layer}), its gate is closed"
    if conclusion.ascent.to_roll_back and conclusion.back is None:
        yield "`edge up --rollback` goes back to the revision before where an upgrade does not hold."
    yield "When it is fixed, run the same command again: it goes on from here."


def _after_return(conclusion: Conclusion, page: Page) -> Iterator[str]:
    """What the contracts say of the revision that was gone back to."""
    back, after = conclusion.back, conclusion.report_after_return
    layer = conclusion.ascent.layer
    if back is None or after is None or layer is None:
        return
    yield ""
    if back.holds:
        yield page.paint(
            f"The upgrade was rolled back, and the contracts of layer {layer.name} hold again.", "bold"
        )
        return
    yield page.paint(
        f"The upgrade was rolled back, and layer {layer.name} does not hold then either:", "bold"
    )
    yield render_report(after, Output.TABLE, page)
