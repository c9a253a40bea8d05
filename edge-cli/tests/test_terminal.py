"""What is safe and wanted on a terminal."""

import io

import pytest
from edge_cli.terminal import Color, Paint, choosing_color, paint, printable, stdout_page, wrapped


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_is_coloured_and_a_pipe_is_not() -> None:
    assert paint(Terminal())("x", "red", "bold") == "\x1b[31;1mx\x1b[0m"
    assert paint(io.StringIO())("x", "red") == "x"
    assert Paint(color=True)("x") == "x"


def test_no_color_and_a_dumb_terminal_are_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert not paint(Terminal()).color
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not paint(Terminal()).color


def test_the_flag_wins_over_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with choosing_color(Color.ALWAYS):
        assert paint(io.StringIO()).color
    with choosing_color(Color.NEVER):
        assert not paint(Terminal()).color
    assert not paint(io.StringIO()).color


def test_marks_are_unicode_only_where_the_encoding_is() -> None:
    ascii_stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert paint(Terminal()).unicode
    assert not paint(ascii_stream).unicode


def test_a_page_is_as_wide_as_the_terminal_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    for columns, wanted in (("60", 60), ("300", 110)):
        monkeypatch.setenv("COLUMNS", columns)
        assert stdout_page().columns == wanted
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert stdout_page(verbose=True).columns == 80


def test_text_is_made_safe_and_wrapped() -> None:
    assert printable("a\x1b[31m\tb\r\n\u202ec \u200bd") == "a [31m b c d"
    assert wrapped("one two three", 8, "  ") == ["  one two three"]
    assert wrapped("alpha beta gamma delta epsilon", 24, "  ") == ["  alpha beta gamma delta", "  epsilon"]
    assert wrapped("x" * 50, 24) == ["x" * 50]
    assert wrapped("", 24) == []
