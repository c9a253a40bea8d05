import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox.build import __main__ as command
from k3s_nvidia_edge.sandbox.build.components import COMPONENTS
from k3s_nvidia_edge.sandbox.build.errors import BuildError


def run(*arguments: str, cache: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "k3s_nvidia_edge.sandbox.build", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    )


def test_plan_lists_every_component_of_a_sandbox_and_builds_none(tmp_path: Path) -> None:
    done = run("--plan", cache=tmp_path)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        component.name for component in COMPONENTS if not component.on_demand
    ]
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_component_is_one_line(tmp_path: Path) -> None:
    done = run("kubernets", cache=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: no component is called 'kubernets': choose from ")
    assert len(done.stderr.splitlines()) == 1


def test_a_failure_ends_with_its_last_words_and_the_next_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise BuildError("it broke", next_step="mend it", tail=("one", "two"))

    monkeypatch.setattr(command, "build", fail)
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert command.main([]) == 1
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().err == "    one\n    two\nerror: it broke; mend it\n"
