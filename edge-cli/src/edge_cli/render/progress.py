"""Progress on a terminal as a picture that moves, elsewhere as plain lines; always on standard error."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from edge_cli.progress import OnProgress, Progress, Stage
from edge_cli.terminal import paint

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["error_console", "showing"]

_REFRESH_PER_S = 8
_OF_RELEASES = (Stage.INSTALL, Stage.UNCHANGED)
_REPEAT_S = 15.0  # plain lines: a wait that does not change says so this often
_MARKS = {
    Stage.HOLDS: ("✓", "green"),
    Stage.STOPPED: ("✗", "red"),
    Stage.INSTALL: ("▸", "cyan"),
    Stage.WAIT: ("▸", "cyan"),
    Stage.REMOVE: ("▸", "cyan"),
    Stage.PREPARE: ("▸", "cyan"),
    Stage.LOOK: ("▸", "cyan"),
    Stage.UNCHANGED: ("▸", "cyan"),
}


def error_console() -> "Console":
    """Standard error, coloured as the user wants it."""
    import sys  # noqa: PLC0415 - with rich, used here alone

    from rich.console import Console  # noqa: PLC0415 - 40 ms that only commands with progress pay

    return Console(stderr=True, no_color=not paint(sys.stderr).color)


@contextmanager
def showing(console: "Console", layers: tuple[str, ...] = ()) -> Iterator[OnProgress]:
    """What to tell progress to while it is shown: a live picture where `console` is a terminal."""
    if not console.is_terminal:
        yield Lines(console)
        return
    from rich.live import Live  # noqa: PLC0415 - 30 ms that only a long command on a terminal pays

    board = Board(layers)
    with Live(
        console=console, get_renderable=board.picture, refresh_per_second=_REFRESH_PER_S, transient=False
    ):
        yield board


class Lines:
    """Plain lines: one for each step, and for each change of what is waited for."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._began_s = time.monotonic()
        self._last: tuple[str, ...] = ()
        self._last_s = 0.0

    def __call__(self, progress: Progress) -> None:
        """Print the step unless it says nothing new."""
        now_s = time.monotonic()
        said = (progress.stage.value, progress.layer, progress.subject, _sentence(progress))
        if said == self._last and now_s - self._last_s < _REPEAT_S:
            return
        self._last, self._last_s = said, now_s
        event = f" | last event: {progress.event}" if progress.event else ""
        where = f"{progress.layer}: " if progress.layer else ""
        text = f"[{now_s - self._began_s:6.1f} s] {where}{_sentence(progress)}{event}"
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def _sentence(progress: Progress) -> str:
    if progress.stage is Stage.WAIT:
        return f"waiting for {progress.subject}: {progress.message}"
    if progress.stage is Stage.HOLDS:
        return progress.message or "all contracts hold"
    if progress.stage is Stage.STOPPED:
        return progress.message or "stopped"
    kind = "release " if progress.stage in _OF_RELEASES else ""
    return f"{kind}{progress.subject}: {progress.message}" if progress.subject else progress.message


class Board:
    """The live picture: a row for each layer, below it what is waited for and the last event."""

    def __init__(self, layers: tuple[str, ...]) -> None:
        self._began_s = time.monotonic()
        self._rows: dict[str, Progress | None] = dict.fromkeys(layers)
        self._entered_s: dict[str, float] = {}
        self._took_s: dict[str, float] = {}
        self._now: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Take note of the step; the picture is drawn by itself."""
        now_s = time.monotonic()
        self._now = progress
        if progress.layer:
            self._entered_s.setdefault(progress.layer, now_s)
            self._rows[progress.layer] = progress
            self._took_s[progress.layer] = now_s - self._entered_s[progress.layer]

    def picture(self) -> "RenderableType":
        """The picture as of now."""
        from rich.console import Group  # noqa: PLC0415 - see `showing`
        from rich.table import Table  # noqa: PLC0415 - see `showing`
        from rich.text import Text  # noqa: PLC0415 - see `showing`

        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="ellipsis", no_wrap=True, ratio=1)
        table.add_column(justify="right", no_wrap=True)
        for layer, progress in self._rows.items():
            mark, style = _MARKS[progress.stage] if progress else ("·", "dim")
            said = Text(_sentence(progress) if progress else "", style="" if progress else "dim")
            table.add_row(Text(mark, style=style), Text(layer, style=style), said, self._seconds(layer))
        lines: list[RenderableType] = [table]
        now = self._now
        if now is not None and now.event:
            event = Text(f"   last event: {now.event}", style="dim", no_wrap=True, overflow="ellipsis")
            lines.append(event)
        lines.append(Text(f"   {time.monotonic() - self._began_s:.0f} s", style="dim"))
        return Group(*lines)

    def _seconds(self, layer: str) -> str:
        progress = self._rows[layer]
        if progress is None:
            return ""
        if progress.stage in (Stage.HOLDS, Stage.STOPPED):
            return f"{self._took_s[layer]:.1f} s"
        return f"{time.monotonic() - self._entered_s[layer]:.0f} s"
