"""Progress is a picture on a terminal and lines elsewhere, and says the same on both."""

import io
import time

import pytest
from edge_cli.progress import Progress, Stage
from edge_cli.render.progress import Board, Lines, showing
from rich.console import Console


def plain() -> tuple[Console, io.StringIO]:
    said = io.StringIO()
    return Console(file=said, width=100), said


def wait(message: str = "0 of 1", event: str = "pod/p Pulled: done") -> Progress:
    return Progress(Stage.WAIT, "gpu", "gpu.allocatable", message, event)


def test_a_step_is_a_line_with_the_time_and_what_is_waited_for() -> None:
    console, said = plain()
    with showing(console) as tell:
        tell(Progress(Stage.LOOK, "", message="looking"))
        tell(Progress(Stage.INSTALL, "gpu", "plugin", "installed"))
        tell(wait())
        tell(Progress(Stage.HOLDS, "gpu"))
        tell(Progress(Stage.STOPPED, "serving"))
    lines = [line.partition("] ")[2] for line in said.getvalue().splitlines()]
    assert lines == [
        "looking",
        "gpu: release plugin: installed",
        "gpu: waiting for gpu.allocatable: 0 of 1 | last event: pod/p Pulled: done",
        "gpu: all contracts hold",
        "serving: stopped",
    ]


def test_a_wait_that_says_nothing_new_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    console, said = plain()
    lines = Lines(console)
    for second in range(20):
        now_s = 100.0 + second
        lines(wait(event=f"event {second}"))
    assert len(said.getvalue().splitlines()) == 2, "one at the start, a sign of life after 15 s"
    lines(wait("1 of 1"))
    assert len(said.getvalue().splitlines()) == 3


def test_markup_in_a_message_is_text() -> None:
    console, said = plain()
    with showing(console) as tell:
        tell(wait("[red]not markup[/red]"))
    assert "[red]not markup[/red]" in said.getvalue()


def test_the_picture_has_a_row_for_each_layer_and_the_last_event() -> None:
    said = io.StringIO()
    console = Console(file=said, width=100, force_terminal=True, color_system=None)
    with showing(console, ("host", "gpu", "serving")) as tell:
        tell(Progress(Stage.HOLDS, "host"))
        tell(wait())
    text = said.getvalue()
    for words in (
        "host",
        "all contracts hold",
        "waiting for gpu.allocatable: 0 of 1",
        "serving",
        "last event: pod/p",
    ):
        assert words in text


def test_a_long_message_does_not_push_the_names_out() -> None:
    board = Board(("host", "gpu"))
    board(wait("word " * 100, event="event " * 100))
    console, said = plain()
    console.print(board.picture())
    host, gpu, event, _total = said.getvalue().splitlines()
    assert host.split() == ["·", "host"]
    assert gpu.startswith("▸  gpu   waiting for gpu.allocatable: word word")
    assert gpu.endswith("0 s")
    assert len(event) <= 100


def test_the_picture_counts_the_seconds_of_what_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    board = Board(("host", "gpu"))
    board(Progress(Stage.LOOK, "host"))
    now_s = 102.5
    board(Progress(Stage.HOLDS, "host"))
    board(wait(event=""))
    now_s = 109.5
    console, said = plain()
    console.print(board.picture())
    host, gpu, total = said.getvalue().splitlines()
    assert host.endswith("2.5 s")
    assert gpu.endswith("7 s")
    assert total.strip() == "10 s"
