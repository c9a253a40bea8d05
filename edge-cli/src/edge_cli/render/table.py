"""The verdict for a terminal: the ladder, then the one thing to fix, then what else and what was not seen."""

from collections.abc import Iterator

from edge_llm_tests.contract import Outcome
from edge_llm_tests.layer import Remedy

from edge_cli.report import Footing, Report, RungReport
from edge_cli.routing import Gap, Step, Verdict
from edge_cli.terminal import Page, Paint, printable, wrapped

__all__ = ["render", "rung_line", "title"]

_MARKS = {
    Outcome.PASS: ("✓", "+", "green"),
    Outcome.FAIL: ("✗", "x", "red"),
    Outcome.UNKNOWN: ("?", "?", "yellow"),
    Outcome.BLOCKED: ("·", ".", "dim"),
}
_ADVISORY = ("!", "!", "yellow")
_NOT_ASKED = ("-", "-", "dim")
_FOOTINGS = {
    Footing.HOLDS: Outcome.PASS,
    Footing.FAILS: Outcome.FAIL,
    Footing.UNSEEN: Outcome.UNKNOWN,
    Footing.BLOCKED: Outcome.BLOCKED,
}
_NAMED_LIMIT = 4  # reads or contracts named in one breath; the rest is a number


def render(report: Report, page: Page) -> str:
    """The ladder, the advice, then what was not seen."""
    verdict = report.verdict
    lines = [title(report, page), ""]
    for rung in report.rungs:
        lines.append(rung_line(rung, page.paint))
        lines += _odd(rung, page)
    lines += _nodes(report, page)
    lines += ["", *_conclusion(report, page)]
    lines += _gaps(verdict.not_observed, page)
    return "\n".join(lines) + "\n"


def _nodes(report: Report, page: Page) -> Iterator[str]:
    """With several hosts, a line for each: what it comes to, and where its fault would send."""
    if report.nodes:
        yield ""
    for node in report.nodes:
        route = node.verdict.route
        sent = f"  {route.finding.contract.id} {route.finding.result.reason or ''}".rstrip() if route else ""
        yield f"{_mark(_MARKS[node.verdict.outcome], page.paint)} host {printable(node.name)}{sent}"


def title(report: Report, page: Page) -> str:
    """What was looked at, in one line."""
    paint, recording = page.paint, report.recording
    parts = [f"profile {printable(report.profile)}"]
    parts += [f"context {printable(recording.context)}"] if recording.context else []
    parts += [f"host {printable(recording.host)}"] if recording.host else []
    parts.append(f"seen {printable(recording.recorded_at)}")
    simulated = paint("  SIMULATED", "yellow", "bold") if report.simulated else ""
    return paint(", ".join(parts), "dim") + simulated


def rung_line(rung: RungReport, paint: Paint) -> str:
    """A rung in one line: mark, layer, name, what it comes to, how many contracts came to what."""
    outcome = _FOOTINGS.get(rung.footing)
    mark = _mark(_MARKS[outcome] if outcome else _NOT_ASKED, paint)
    style = _MARKS[outcome][2] if outcome else "dim"
    layer = str(rung.layer) if isinstance(rung.layer, int) else " "
    name, footing = paint(f"{rung.name:<10}", "bold"), paint(f"{rung.footing:<14}", style)
    return f"{mark} {layer} {name} {footing}{_counts(rung)}".rstrip()


def _counts(rung: RungReport) -> str:
    words = {
        Outcome.FAIL: "fail",
        Outcome.BLOCKED: "blocked",
        Outcome.UNKNOWN: "not seen",
        Outcome.PASS: "hold",
    }
    required = [step.finding.outcome for step in rung.steps if step.finding.contract.required]
    advised = [step for step in rung.steps if not step.finding.contract.required and _is_odd(step)]
    parts = [f"{required.count(outcome)} {word}" for outcome, word in words.items() if outcome in required]
    advised_words = [f"{len(advised)} advisory"] if advised else []
    return ", ".join((*parts, *advised_words))


def _is_odd(step: Step) -> bool:
    return step.finding.outcome is Outcome.FAIL


def _mark(mark: tuple[str, str, str], paint: Paint) -> str:
    return paint(mark[0] if paint.unicode else mark[1], mark[2])


def _odd(rung: RungReport, page: Page) -> Iterator[str]:
    """The contracts of a rung that do not hold; consequences in one line for each thing that blocks them."""
    for step in rung.steps:
        if page.verbose or not _folded(step):
            yield from _contract(step, page)
    if not page.verbose:
        folded = [each.finding for each in rung.steps if each.finding.blocked_by and _folded(each)]
        mark = _mark(_MARKS[Outcome.BLOCKED], page.paint)
        for blocker in dict.fromkeys(finding.blocked_by for finding in folded):
            names = _named([each.contract.id for each in folded if each.blocked_by == blocker])
            yield from _hung(f"    {mark} ", f"blocked by {blocker}: {names}", page, 6)


def _folded(step: Step) -> bool:
    """Whether a contract needs no line of its own: it holds, is a consequence, or an advisory not seen."""
    finding = step.finding
    if finding.outcome is Outcome.BLOCKED:
        return not finding.result.message.startswith("caused by ")  # a cause above is worth a word
    return finding.outcome is Outcome.PASS or (not finding.contract.required and not _is_odd(step))


def _contract(step: Step, page: Page) -> Iterator[str]:
    finding = step.finding
    advisory = not finding.contract.required and _is_odd(step)
    mark = _mark(_ADVISORY if advisory else _MARKS[finding.outcome], page.paint)
    reason = f"  {page.paint(finding.result.reason, 'bold')}" if finding.result.reason else ""
    after = " (advisory)" if advisory else f" (blocked by {finding.blocked_by})" if finding.blocked_by else ""
    yield f"    {mark} {finding.contract.id}{reason}{after}"
    yield from wrapped(finding.result.message, page.columns, " " * 8)


def _named(ids: list[str]) -> str:
    rest = f" and {len(ids) - _NAMED_LIMIT} more" if len(ids) > _NAMED_LIMIT else ""
    return ", ".join(ids[:_NAMED_LIMIT]) + rest


def _hung(first: str, text: str, page: Page, indent: int) -> list[str]:
    """The text wrapped, `first` standing in the place of the first line's indent."""
    lines = wrapped(text, page.columns, " " * indent)
    return [first + lines[0].lstrip(), *lines[1:]] if lines else [first.rstrip()]


def _conclusion(report: Report, page: Page) -> Iterator[str]:
    verdict = report.verdict
    if verdict.route is None:
        yield _all_holds(verdict, page)
        return
    yield from _fix(verdict.route, page, verdict.outcome)
    if verdict.also:
        yield ""
        yield page.paint("Then, being no consequence of it:", "bold")
        for number, step in enumerate(verdict.also, 1):
            yield from _also(number, step, page)


def _all_holds(verdict: Verdict, page: Page) -> str:
    if verdict.outcome is Outcome.PASS:
        return page.paint("Every required contract holds.", "green", "bold")
    return page.paint("Nothing is known: no required contract applies.", "yellow", "bold")


def _fix(step: Step, page: Page, outcome: Outcome) -> Iterator[str]:
    finding, paint = step.finding, page.paint
    broken = outcome is Outcome.FAIL
    head = "Fix first" if broken else "Not known yet; to decide it"
    color = "red" if broken else "yellow"
    where = f"{paint(finding.rung, 'bold')} ({_layer(step)}), {_owner(step, page)}"
    yield f"{paint(head + ':', color, 'bold')} {where}"
    yield f"  {finding.contract.id}  {paint(str(finding.result.reason), 'bold')}"
    yield from wrapped(finding.result.message, page.columns, "  ")
    yield from _advice(step.remedy, page, "  ")
    yield from wrapped(f"More: edge explain {finding.contract.id}", page.columns, "  ")


def _layer(step: Step) -> str:
    number = step.finding.layer.number
    return "validation" if number is None else f"layer {number}"


def _owner(step: Step, page: Page) -> str:
    return f"owner {page.paint(step.finding.layer.owner, 'bold')}"


def _advice(remedy: Remedy | None, page: Page, indent: str) -> Iterator[str]:
    if remedy is None:
        return
    deeper = len(indent) + 9
    yield from _hung(f"{indent}{page.paint('Do:', 'green', 'bold'):}      ", remedy.do, page, deeper)
    for command in remedy.commands:
        yield f"{' ' * (deeper + 2)}{page.paint(printable_command(command), 'cyan')}"
    if remedy.careful:
        yield from _hung(f"{indent}{page.paint('Careful:', 'yellow', 'bold')} ", remedy.careful, page, deeper)


def printable_command(command: str) -> str:
    """The command on one line, spaces kept."""
    return "".join(each if each.isprintable() else " " for each in command)


def _also(number: int, step: Step, page: Page) -> Iterator[str]:
    finding = step.finding
    yield f"  {number}. {page.paint(finding.rung, 'bold')} ({_layer(step)}), {_owner(step, page)}"
    yield f"     {finding.contract.id}  {page.paint(str(finding.result.reason), 'bold')}"
    yield from wrapped(finding.result.message, page.columns, " " * 5)
    yield from _advice(step.remedy, page, " " * 5)


def _gaps(gaps: tuple[Gap, ...], page: Page) -> Iterator[str]:
    """The reads that showed nothing: how many, and those that leave something undecided."""
    if not gaps:
        return
    undecided = dict.fromkeys(gap.undecided for gap in gaps if gap.undecided)
    nothing = "" if undecided else ", which leaves nothing undecided"
    more = "" if page.verbose else " (-v lists them)"
    yield ""
    yield f"{page.paint(f'Not seen: {len(gaps)} of the core reads', 'bold')}{nothing}{more}"
    for ids in undecided:
        keys = [gap.key for gap in gaps if gap.undecided == ids]
        leave = "leaves" if len(keys) == 1 else "leave"
        yield from _hung("  ", f"{_named(keys)} {leave} undecided {_named(list(ids))}", page, 4)
    if page.verbose:
        yield from (f"  {printable(gap.key)}" for gap in gaps)
