"""The command as an operator starts it: serving, ending, refusing."""

import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from edge_llm_tests.errors import ExitCode
from llm_observability_stack.exporter.__main__ import main

COMMAND = [sys.executable, "-m", "llm_observability_stack.exporter"]
PORTS = ["--address", "127.0.0.1", "--port", "0", "--health-port", "0"]


@contextmanager
def running(*flags: str) -> Iterator[tuple["subprocess.Popen[str]", int, int]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EDGE_EXPORTER_")}
    process = subprocess.Popen([*COMMAND, *PORTS, *flags], stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        ports = re.fullmatch(r"metrics on \S+:(\d+)/metrics, health on \S+:(\d+)/healthz and /readyz\n", said)
        assert ports is not None, said
        yield process, int(ports[1]), int(ports[2])
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def get(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    response = connection.getresponse()
    found = response.status, response.read().decode()
    connection.close()
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_a_signal_ends_it(number: signal.Signals) -> None:
    with running("--profile", "sandbox", "--ollama-url", "http://127.0.0.1:9") as (
        process,
        port,
        health_port,
    ):
        status, body = get(port, "/metrics")
        assert status == 200
        assert "edge_ollama_up 0.0" in body
        assert 'edge_exporter_source_up{source="profile"} 1.0' in body
        assert get(port, "/")[0] == 404
        assert get(health_port, "/readyz")[0] == 200
        process.send_signal(number)
        assert process.wait(5) == ExitCode.OK


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], "no profile is given"),
        (["--profile", "sandbocks"], "sandbox"),
        (["--profile", "sandbox", "--ollama-url", "ollama"], "--ollama-url"),
        (["--profile", "sandbox", "--kubeconfig", "/nowhere/config"], "/nowhere/config"),
        (["--profile", "sandbox", "--address", "203.0.113.1"], "203.0.113.1"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    flags: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EDGE_EXPORTER_PROFILE", raising=False)
    assert main(["--port", "0", "--health-port", "0", *flags]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert words in said


def test_without_the_extra_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client.core", None)
    for name in [name for name in sys.modules if name.startswith("llm_observability_stack.exporter.")]:
        if not name.endswith(("settings", "__main__")):
            monkeypatch.delitem(sys.modules, name)
    assert main(["--profile", "sandbox"]) == ExitCode.USAGE
    assert "llm-observability-stack[exporter]" in capsys.readouterr().err
