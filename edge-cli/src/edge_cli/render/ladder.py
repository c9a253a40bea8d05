"""The ladder as a picture: an SVG whose rungs hold, are broken, hang loose or were not seen."""

from collections.abc import Iterator
from html import escape

from edge_cli.report import Footing, Report, RungReport

__all__ = ["STYLES", "ladder"]

STYLES = {
    Footing.HOLDS: "holds",
    Footing.FAILS: "fails",
    Footing.BLOCKED: "blocked",
    Footing.UNSEEN: "unseen",
    Footing.NOT_ASKED: "asked",
}
_WIDTH, _STEP, _MARGIN = 340, 58, 34  # units of the picture
_LEFT, _RIGHT, _TEXT = 18, 118, 140  # the two rails, and where the words begin


def ladder(report: Report) -> str:
    """The ladder, the host at its foot."""
    height = 2 * _MARGIN + _STEP * (len(report.rungs) - 1)
    said = "; ".join(f"{rung.name} {rung.footing}" for rung in report.rungs)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(f"The ladder: {said}")}">',
        *(_line("rail", (x, 6), (x, height - 6), 7, ' stroke-linecap="round"') for x in (_LEFT, _RIGHT)),
    ]
    for number, rung in enumerate(reversed(report.rungs)):
        parts += _rung(rung, _MARGIN + number * _STEP)
    return "\n".join((*parts, "</svg>"))


def _rung(rung: RungReport, y: int) -> Iterator[str]:
    style = STYLES[rung.footing]
    yield from _bar(rung.footing, style, y)
    layer = f"layer {rung.layer}" if isinstance(rung.layer, int) else rung.layer
    yield f'<text x="{_TEXT}" y="{y - 2}" font-size="16" font-weight="700">{escape(rung.name)}</text>'
    yield (
        f'<text class="{style}" x="{_WIDTH - 4}" y="{y - 2}" font-size="14" font-weight="700" '
        f'text-anchor="end">{escape(rung.footing.value)}</text>'
    )
    yield (
        f'<text class="soft" x="{_TEXT}" y="{y + 15}" font-size="12">'
        f"{escape(layer)} · {escape(rung.owner)}</text>"
    )


def _bar(footing: Footing, style: str, y: int) -> Iterator[str]:
    """The rung itself: whole, snapped in the middle, dashed, dotted, or a faint line."""
    inner_left, inner_right, middle = _LEFT + 4, _RIGHT - 4, (_LEFT + _RIGHT) // 2
    if footing is Footing.FAILS:
        yield _line(style, (inner_left, y), (middle - 7, y + 9), 9)
        yield _line(style, (middle + 7, y + 9), (inner_right, y), 9)
        yield _line(style, (middle - 5, y - 9), (middle + 5, y + 1), 3)
        yield _line(style, (middle - 5, y + 1), (middle + 5, y - 9), 3)
        return
    dashes = {
        Footing.BLOCKED: ' stroke-dasharray="12 9"',
        Footing.UNSEEN: ' stroke-dasharray="1 10" stroke-linecap="round"',
        Footing.NOT_ASKED: ' opacity="0.45"',
    }.get(footing, "")
    thickness = {Footing.HOLDS: 9, Footing.UNSEEN: 6, Footing.NOT_ASKED: 2}.get(footing, 5)
    yield _line(style, (inner_left, y), (inner_right, y), thickness, dashes)


def _line(style: str, start: tuple[int, int], end: tuple[int, int], thickness: int, more: str = "") -> str:
    places = f'x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}"'
    return f'<line class="{style}" {places} stroke-width="{thickness}"{more}/>'
