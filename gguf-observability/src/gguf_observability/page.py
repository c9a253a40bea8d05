"""A self-contained page: where a served model's memory goes, as a picture. It loads nothing."""

from collections.abc import Sequence
from html import escape

from gguf_observability.quantity import shown
from gguf_observability.terminal import printable

__all__ = ["Bar", "page"]

_COLOURS = {
    "weights": "#4c78a8",
    "cache": "#f58518",
    "compute": "#54a24b",
    "output": "#b279a2",
    "claimed": "#9d9da1",
    "held": "#72b7b2",
}
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff}.bar{display:flex;height:2rem;margin:.2rem 0 1rem;background:#eee}"
    ".bar div{height:100%}table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:right;"
    "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}.bar{background:#333}}"
)


class Bar:
    """One bar of the picture: a label, and parts with name and bytes."""

    __slots__ = ("label", "parts")

    def __init__(self, label: str, parts: Sequence[tuple[str, int]]) -> None:
        self.label = label
        self.parts = tuple(parts)


def page(title: str, bars: Sequence[Bar], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """The page. Bars share one scale; the first of `rows` is the table's head."""
    widest = max((sum(size for _, size in bar.parts) for bar in bars), default=0) or 1
    drawn = "".join(_drawn(bar, widest) for bar in bars)
    head, *body = ("".join(f"<{tag}>{_safe(cell)}</{tag}>" for cell in row) for tag, row in _tagged(rows))
    table = f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in body)}</table>"
    said = "".join(f"<li>{_safe(note)}</li>" for note in notes)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{_safe(title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{_safe(title)}</h1>{drawn}{table}<ul>{said}</ul></body></html>\n"
    )


def _tagged(rows: Sequence[Sequence[str]]) -> list[tuple[str, Sequence[str]]]:
    return [("th" if index == 0 else "td", row) for index, row in enumerate(rows)]


def _drawn(bar: Bar, widest: int) -> str:
    parts = "".join(
        f'<div style="width:{size / widest * 100:.3f}%;background:{_COLOURS.get(name, "#888")}" '
        f'title="{_safe(name)} {_safe(shown(size))}"></div>'
        for name, size in bar.parts
    )
    told = ", ".join(f"{name} {shown(size)}" for name, size in bar.parts)
    return f'<div>{_safe(bar.label)}: {_safe(told)}</div><div class="bar">{parts}</div>'


def _safe(value: str) -> str:
    return escape(printable(value, 500))
