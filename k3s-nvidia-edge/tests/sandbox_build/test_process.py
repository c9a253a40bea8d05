import os
import threading
import time
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox.build.errors import BuildError
from k3s_nvidia_edge.sandbox.build.process import Processes, ask


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 10
    while alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_output_goes_to_the_log_and_line_by_line_to_the_listener(tmp_path: Path) -> None:
    lines: list[str] = []
    Processes().run(
        ["sh", "-c", "echo one; echo two >&2"],
        log=tmp_path / "deep/log",
        environment=os.environ,
        on_line=lines.append,
    )
    assert lines == ["one", "two"]
    assert (tmp_path / "deep/log").read_text().endswith("one\ntwo\n")


def test_failure_carries_command_last_words_log_and_next_step(tmp_path: Path) -> None:
    command = ["sh", "-c", "seq 100; echo 'x.c:1: error: no such thing'; exit 3"]
    with pytest.raises(BuildError, match=r"ended with code 3: x\.c:1: error: no such thing") as caught:
        Processes().run(command, log=tmp_path / "log", environment=os.environ, next_step="do this")
    error = caught.value
    assert error.command == tuple(command)
    assert error.tail[-1] == "x.c:1: error: no such thing"
    assert len(error.tail) == 30
    assert error.log == tmp_path / "log"
    assert str(error).endswith("do this")
    assert "\n" not in str(error)


def test_absent_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="/absent/tool cannot be started: No such file or directory"):
        Processes().run(["/absent/tool"], log=tmp_path / "log", environment=os.environ)


def test_an_interruption_ends_the_program_and_its_children(tmp_path: Path) -> None:
    pids: list[int] = []

    def interrupt(line: str) -> None:
        pids.extend(int(word) for word in line.split())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Processes().run(
            ["sh", "-c", "sleep 60 & echo $$ $!; wait"],
            log=tmp_path / "log",
            environment=os.environ,
            on_line=interrupt,
        )
    assert len(pids) == 2
    for pid in pids:
        wait_until_gone(pid)


def test_end_all_ends_what_runs_in_other_threads_and_lets_nothing_start(tmp_path: Path) -> None:
    processes, started, failures = Processes(), threading.Event(), []

    def run() -> None:
        try:
            processes.run(
                ["sh", "-c", "echo up; sleep 60"],
                log=tmp_path / "log",
                environment=os.environ,
                on_line=lambda _: started.set(),
            )
        except BuildError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(10)
    processes.end_all()
    thread.join(10)
    assert not thread.is_alive()
    assert len(failures) == 1
    with pytest.raises(BuildError, match="the build is ending"):
        processes.run(["true"], log=tmp_path / "log", environment=os.environ)


def test_ask_returns_nothing_for_absent_and_failing_programs(tmp_path: Path) -> None:
    assert ask(["echo", "1.2"]) == "1.2"
    assert ask(["false"]) == ""
    assert ask(["/absent/tool"]) == ""
    assert ask(["pwd"], directory=tmp_path) == str(tmp_path)
