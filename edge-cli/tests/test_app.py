"""The command line: what is loaded when, and where errors end."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from edge_cli.app import COMMANDS, run
from edge_llm_tests.errors import EdgeError

Edge = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there_and_says_of_itself_what_the_overview_says(
    name: str, edge: Edge
) -> None:
    module, _, attribute = COMMANDS[name].target.partition(":")
    assert hasattr(import_module(module), attribute)
    code, out, _ = edge(name, "--help")
    assert code == 0
    assert COMMANDS[name].help.rstrip(".") in " ".join(out.split())


def test_help_lists_every_command(edge: Edge) -> None:
    code, out, err = edge("--help")
    assert (code, err) == (0, "")
    assert all(f"  {name} " in out for name in COMMANDS)
    assert edge()[:2] == (0, out)
    assert edge("-h")[1] == out


def test_version(edge: Edge) -> None:
    code, out, _ = edge("--version")
    assert (code, out.split()[0]) == (0, "edge")


def test_the_overview_imports_no_command_and_nothing_heavy() -> None:
    probe = (
        "import sys; from edge_cli.app import run; run(['--help']);"
        "heavy = [m for m in sys.modules if m.startswith(('edge_cli.commands', 'edge_cli.render', 'rich', "
        "'kubernetes', 'pyhelm3', 'yaml', 'http.client', 'ssl', 'k3s_nvidia_edge', 'gguf_observability'))];"
        "sys.stderr.write(' '.join(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("diagnos",), 2, "edge: no such command `diagnos` (did you mean `edge diagnose`?)"),
        (("zebra",), 2, "edge: no such command `zebra` (see `edge --help`)"),
        (("diagnose", "--frm", "x"), 2, "edge: No such option: --frm"),
        (
            ("diagnose", "extra"),
            2,
            "edge: Got unexpected extra argument(s) (extra) (see `edge diagnose --help`)",
        ),
        (("--color", "pink", "diagnose"), 2, "edge: Invalid value for '--color'"),
        (("diagnose", "-o", "tabel"), 2, "edge: --output tabel: no such choice (did you mean table?)"),
        (
            ("diagnose", "--fail-on", "x", "--demo"),
            2,
            "edge: --fail-on x: no such choice (choose one of contract,",
        ),
        (("diagnose", "--demo", "--sandbox"), 2, "edge: --demo and --sandbox exclude each other"),
        (("diagnose", "--service", "ollama"), 2, "edge: --service ollama: not NAME=URL"),
        (
            ("explain", "gpu.alocatable"),
            2,
            "edge: no contract, reason or rung is called `gpu.alocatable` (did you",
        ),
        (("profile", "show", "rtx4090"), 2, "edge: unknown profile `rtx4090` (did you mean `rtx-4090`?)"),
        (
            ("diagnose", "--from", "/nonexistent.json"),
            2,
            "edge: /nonexistent.json: No such file or directory",
        ),
        (("evidence", "show", "/nonexistent.json"), 2, "edge: /nonexistent.json: No such file or directory"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_names_the_next_step(
    args: tuple[str, ...], code: int, said: str, edge: Edge
) -> None:
    found, out, err = edge(*args)
    assert (found, out) == (code, "")
    assert err.startswith(said)
    assert err.count("\n") == 1
    assert "(" in err


def test_a_group_without_a_command_prints_its_help(edge: Edge) -> None:
    code, out, err = edge("evidence")
    assert (code, out) == (2, "")
    assert "Usage: edge evidence" in err


def raising(error: BaseException) -> Callable[..., Any]:
    def command() -> None:
        raise error

    return command


@pytest.fixture
def ending(
    monkeypatch: pytest.MonkeyPatch, edge: Edge
) -> Callable[[Callable[..., Any]], tuple[int, str, str]]:
    """What a command comes to that ends so."""

    def end(command: Callable[..., Any]) -> tuple[int, str, str]:
        monkeypatch.setattr("edge_cli.app.import_module", lambda _name: SimpleNamespace(status=command))
        return edge("status")

    return end


End = Callable[[Callable[..., Any]], tuple[int, str, str]]


def test_an_unforeseen_error_is_one_line_with_its_place(ending: End, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = ending(raising(KeyError("x")))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("edge: internal fault: KeyError('x') at ")
    assert "test_app:" in err
    assert "EDGE_TRACEBACK=1" in err
    monkeypatch.setenv("EDGE_TRACEBACK", "1")
    assert "Traceback" in ending(raising(KeyError("x")))[2]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.ENOSPC, errno.EEXIST])
def test_a_file_that_cannot_be_had_is_named(ending: End, number: int) -> None:
    code, out, err = ending(raising(OSError(number, os.strerror(number), "/box/file")))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"edge: /box/file: {os.strerror(number)} (")


def test_an_interrupt_exits_with_130(ending: End) -> None:
    assert ending(raising(KeyboardInterrupt()))[::2] == (130, "edge: interrupted\n")
    assert ending(raising(EOFError()))[0] == 130


def test_a_question_answered_no_is_no_fault(ending: End) -> None:
    assert ending(raising(typer.Abort()))[::2] == (1, "edge: stopped (nothing was changed)\n")


def test_an_error_with_a_next_step_is_one_line_whatever_it_quotes(ending: End) -> None:
    assert ending(raising(EdgeError("bad\nthing \x1b[2J", "do\nthis")))[::2] == (
        1,
        "edge: bad thing [2J (do this)\n",
    )


def test_an_exit_code_is_kept(ending: End) -> None:
    assert ending(raising(typer.Exit(4)))[0] == 4


def test_a_reader_that_went_away_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = "import sys; from edge_cli.app import run; sys.exit(run(['--help']))"
    with subprocess.Popen(
        [sys.executable, "-c", probe], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(20) in (0, 1)


def run_apart(*args: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    probe = "import sys; sys.argv[0] = 'edge'; from edge_cli.app import main; main()"
    return subprocess.run(
        [sys.executable, "-c", probe, *args], stderr=subprocess.PIPE, check=False, timeout=60, **more
    )


def test_an_output_that_is_full_is_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_apart("explain", stdout=full)
    assert done.returncode == 1
    assert done.stderr == (
        b"edge: the output cannot be written: No space left on device (free space, or send it elsewhere)\n"
    )


def test_an_output_that_is_closed_takes_nothing_from_the_verdict() -> None:
    done = run_apart("diagnose", "--demo", preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (3, b"")


@pytest.mark.parametrize("output", ["html", "markdown", "table"])
def test_an_output_that_knows_ascii_alone_gets_a_whole_document(output: str) -> None:
    ascii_alone = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run_apart("diagnose", "--demo", "-o", output, stdout=subprocess.PIPE, env=ascii_alone)
    assert (done.returncode, done.stderr) == (3, b"")
    text = done.stdout.decode("ascii" if output == "table" else "utf-8")
    assert "PluginBlind" in text
    assert "\\u" not in text


def test_an_unforeseen_error_that_quotes_everything_is_cut(ending: End) -> None:
    assert len(ending(raising(ValueError("x" * 5000)))[2]) < 500


def test_a_command_that_is_not_installed_breaks_nothing_else(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        COMMANDS, "status", COMMANDS["status"].__class__("edge_cli.commands.missing:status", "x")
    )
    assert edge("status")[::2] == (
        2,
        "edge: `edge status` is not part of this installation (install edge-cli whole)\n",
    )
    assert edge("--help")[0] == 0


def test_a_module_that_lacks_an_import_is_not_taken_for_a_missing_command(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(_name: str) -> Any:
        raise ModuleNotFoundError("No module named 'pyhelm3'", name="pyhelm3")

    monkeypatch.setattr("edge_cli.app.import_module", lacking)
    assert "internal fault" in edge("status")[2]


def test_color_and_timings_may_stand_anywhere(
    edge: Edge, bench: SimpleNamespace, seen: Any, tmp_path: Any
) -> None:
    seen().save(tmp_path / "r.json")
    plain = edge("diagnose", "--from", tmp_path / "r.json")
    for args in (("--color", "always", "--timings"), ("--timings", "--color=always")):
        code, out, err = edge("diagnose", "--from", tmp_path / "r.json", *args)
        assert (code, "\x1b[" in out) == (0, True)
        assert "judge and route" in err
        assert "total" in err
    assert "\x1b[" not in plain[1]


def test_after_two_dashes_nothing_is_taken(ending: End, monkeypatch: pytest.MonkeyPatch, edge: Edge) -> None:
    def command(words: list[str]) -> None:
        sys.stdout.write(" ".join(words))

    monkeypatch.setattr("edge_cli.app.import_module", lambda _name: SimpleNamespace(status=command))
    assert edge("status", "--", "--timings", "--color")[1] == "--timings --color"


def test_settings_choose_the_colour_and_their_errors_end_here(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGE_COLOR", "always")
    assert "\x1b[" in edge("explain", "host")[1]
    monkeypatch.setenv("EDGE_COLOR", "pink")
    assert edge("--help")[::2] == (
        2,
        "edge: EDGE_COLOR: `color` is 'pink' (choose one of auto, always, never)\n",
    )


def test_completion_knows_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from edge_cli.app import main; main()"],
        env={
            "PATH": "/usr/bin:/bin",
            "_EDGE_COMPLETE": "complete_bash",
            "COMP_WORDS": "edge dia",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["diagnose"]
    assert done.stderr == ""


def test_run_is_what_main_exits_with(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["--version"]) == 0
