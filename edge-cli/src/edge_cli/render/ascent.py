"""How `edge up` ended, for a terminal: what holds and what to try; or what to fix, and what waits for it."""

from collections.abc import Iterator

from edge_cli.ascent import End
from edge_cli.conclusion import Conclusion
from edge_cli.duration import spoken
from edge_cli.render import Output
from edge_cli.render import render as render_report
from edge_cli.terminal import Page

__all__ = ["render"]


def render(conclusion: Conclusion, output: Output, page: Page) -> str:
    """The conclusion in a format; other than as a table it is the report of a diagnosis."""
    if output is not Output.TABLE:
        return render_report(conclusion.report, output, page)
    shown = Page(page.paint, page.columns, verbose=True) if conclusion.holds else page
    lines = [render_report(conclusion.report, output, shown), *_releases(conclusion, page)]
    lines += _next(conclusion, page) if conclusion.holds else _kept_out(conclusion, page)
    return "\n".join(lines) + "\n"


def _releases(conclusion: Conclusion, page: Page) -> Iterator[str]:
    acts = conclusion.ascent.acts
    if not conclusion.ascent.changed and conclusion.holds:
        yield page.paint("Nothing had to be changed.", "bold")
        return
    for act in acts:
        took = f" ({act.took_s:.1f} s)" if act.took_s else ""
        release = act.release
        yield f"{act.verb:<10} {release.name} in {release.namespace}, revision {act.revision}{took}"


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
    for release in ascent.not_installed:
        yield f"not installed: {release.name} (layer {release.layer}), its gate is closed"
    yield "When it is fixed, run the same command again: it goes on from here."
