"""The verdict as one HTML file that asks nothing of anybody: the ladder, the one remedy, the evidence."""

from collections.abc import Iterator
from html import escape
from importlib.resources import files

from edge_llm_tests.contract import Outcome
from edge_llm_tests.layer import Remedy

from edge_cli.excerpt import excerpt
from edge_cli.render.ladder import STYLES, ladder
from edge_cli.report import Report, RungReport
from edge_cli.routing import Step
from edge_cli.terminal import Page

__all__ = ["render"]

_MARKS = {
    Outcome.PASS: ("✓", "holds"),
    Outcome.FAIL: ("✗", "fails"),
    Outcome.UNKNOWN: ("?", "unseen"),
    Outcome.BLOCKED: ("·", "blocked"),
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render(report: Report, page: Page) -> str:
    """The page; no script, no request, everything escaped."""
    return "\n".join(_document(report)) + "\n"


def _document(report: Report) -> Iterator[str]:
    style = (files("edge_cli") / "render" / "html.css").read_text(encoding="utf-8")
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
    yield f"<title>{escape(_headline(report))}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>"
    yield from _head(report)
    yield '<div class="top">'
    yield f'<section class="card ladder" aria-label="The ladder">\n{ladder(report)}\n</section>'
    yield from _fix(report)
    yield "</div>"
    yield from _also(report)
    yield from _gaps(report)
    yield from _evidence(report)
    tool = report.recording.tool
    yield f"<footer>{escape(tool.get('name', ''))} {escape(tool.get('version', ''))}</footer>"
    yield "</main>\n</body>\n</html>"


def _headline(report: Report) -> str:
    route = report.verdict.route
    if route is None:
        return "Everything holds" if report.verdict.outcome is Outcome.PASS else "Nothing is known"
    rung, owner = route.finding.rung, route.finding.layer.owner
    return (
        f"{rung} fails; {owner} fixes it"
        if report.verdict.outcome is Outcome.FAIL
        else f"{rung} was not seen"
    )


def _head(report: Report) -> Iterator[str]:
    simulated = ' <span class="simulated">SIMULATED</span>' if report.simulated else ""
    yield f"<h1>{escape(_headline(report))}{simulated}</h1>"
    context = f", context {report.recording.context}" if report.recording.context else ""
    about = f"Profile {report.profile}{context}, seen {report.recording.recorded_at}"
    yield f'<p class="meta">{escape(about)}</p>'


def _fix(report: Report) -> Iterator[str]:
    route, outcome = report.verdict.route, report.verdict.outcome
    yield f'<section class="card fix {outcome.value}">'
    if route is None:
        yield f"<h2>{escape(_headline(report))}</h2>"
        yield "<p>Every required contract passed.</p>" if outcome is Outcome.PASS else ""
    else:
        yield f'<p class="kicker">{"Fix first" if outcome is Outcome.FAIL else "To decide it"}</p>'
        yield from _step(route)
    yield "</section>"


def _step(step: Step) -> Iterator[str]:
    finding = step.finding
    layer = "validation" if finding.layer.number is None else f"layer {finding.layer.number}"
    yield f"<h3><code>{escape(finding.contract.id)}</code> {escape(str(finding.result.reason))}</h3>"
    owner = f'<span class="owner">{escape(finding.layer.owner)}</span>'
    yield f"<p>{escape(finding.rung)}, {layer}, owner {owner}</p>"
    yield f'<p class="message">{escape(finding.result.message)}</p>'
    if step.remedy is not None:
        yield from _remedy(step.remedy)


def _remedy(remedy: Remedy) -> Iterator[str]:
    yield f"<p><strong>Do:</strong> {escape(remedy.do)}</p>"
    if remedy.commands:
        yield '<ul class="commands">'
        yield from (f"<li><code>{escape(command)}</code></li>" for command in remedy.commands)
        yield "</ul>"
    if remedy.careful:
        yield f'<p class="careful"><strong>Careful:</strong> {escape(remedy.careful)}</p>'
    if remedy.docs:
        yield f'<p class="kicker">docs/{escape(remedy.docs)}</p>'


def _also(report: Report) -> Iterator[str]:
    if not report.verdict.also:
        return
    yield '<h2>Then, being no consequence of it</h2>\n<ol class="also">'
    for step in report.verdict.also:
        yield "<li>"
        yield from _step(step)
        yield "</li>"
    yield "</ol>"


def _gaps(report: Report) -> Iterator[str]:
    gaps = report.verdict.not_observed
    if not gaps:
        return
    yield f"<h2>Not seen</h2>\n<details{' open' if any(gap.undecided for gap in gaps) else ''}>"
    yield f'<summary>{len(gaps)} of the core reads showed nothing</summary>\n<ul class="gaps">'
    for gap in gaps:
        leaves = f" leaves undecided: {', '.join(gap.undecided)}" if gap.undecided else ""
        yield f"<li><code>{escape(gap.key)}</code>{escape(leaves)}</li>"
    yield "</ul></details>"


def _evidence(report: Report) -> Iterator[str]:
    yield "<h2>Evidence</h2>"
    for rung in report.rungs:
        yield from _rung(rung, report)


def _rung(rung: RungReport, report: Report) -> Iterator[str]:
    opened = " open" if STYLES[rung.footing] in ("fails", "unseen") else ""
    yield f'<details class="rung"{opened}><summary>{escape(rung.name)} '
    yield f'<span class="state {STYLES[rung.footing]}">{escape(rung.footing.value)}</span></summary>'
    yield f'<p class="kicker">{escape(rung.asks)}</p>\n<ul class="findings">'
    for step in rung.steps:
        yield from _finding(step, report)
    for id_ in rung.not_applicable:
        yield f'<li><span class="mark asked">-</span><code>{escape(id_)}</code> not asked for</li>'
    yield "</ul></details>"


def _finding(step: Step, report: Report) -> Iterator[str]:
    finding = step.finding
    mark, style = _MARKS[finding.outcome]
    advisory = "" if finding.contract.required else " (advisory)"
    reason = f" <strong>{escape(finding.result.reason)}</strong>" if finding.result.reason else ""
    yield f'<li><span class="mark {style}" title="{finding.outcome.value}">{mark}</span>'
    yield f"<code>{escape(finding.contract.id)}</code>{advisory}{reason}"
    yield f'<div class="message">{escape(finding.result.message)}</div>'
    if finding.outcome in (Outcome.FAIL, Outcome.UNKNOWN):
        for key in finding.evidence:
            found = excerpt(report.recording, key, finding.result.message)
            yield f"<details><summary><code>{escape(found.key)}</code> "
            yield f'<span class="came">{escape(found.came_to)}</span></summary>'
            yield f"<pre><code>{escape(found.text)}</code></pre></details>"
    yield "</li>"
