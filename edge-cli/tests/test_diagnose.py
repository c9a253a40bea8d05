"""`edge diagnose` from a file, live, and with input that is wrong."""

import json
import os
import stat
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from edge_llm_tests import Recording

Edge = Callable[..., tuple[int, str, str]]
Seen = Callable[..., Recording]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    for name in ("KUBECONFIG", "EDGE_PROFILE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def recording(seen: Seen, tmp_path: Path) -> Callable[..., Path]:
    def save(odd: Any = None, **fields: Any) -> Path:
        path = tmp_path / "recording.json"
        seen(odd, **fields).save(path)
        return path

    return save


def target(output: str) -> str:
    profile: str = json.loads(output)["target"]["profile"]
    return profile


def test_flag_then_environment_then_recording_then_file_name_the_profile(
    edge: Edge,
    bench: SimpleNamespace,
    recording: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "edge").mkdir()
    (tmp_path / "edge" / "config.yaml").write_text("profile: from-file\noutput: json\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert target(edge("diagnose", "--from", recording(profile=""))[1]) == "from-file"
    path = recording(profile="from-recording")
    assert target(edge("diagnose", "--from", path)[1]) == "from-recording"
    monkeypatch.setenv("EDGE_PROFILE", "from-environment")
    assert target(edge("diagnose", "--from", path)[1]) == "from-environment"
    assert target(edge("diagnose", "--from", path, "--profile", "from-flag")[1]) == "from-flag"


def test_settings_choose_output_and_what_fails(
    edge: Edge, bench: SimpleNamespace, recording: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGE_OUTPUT", "yaml")
    monkeypatch.setenv("EDGE_FAIL_ON", "advisory")
    code, out, _ = edge("diagnose", "--from", recording({"host.disk": "Broken"}))
    assert (code, yaml.safe_load(out)["outcome"]) == (4, "pass")
    assert edge("diagnose", "--from", recording({"host.disk": "Broken"}), "--fail-on", "contract")[0] == 0


def test_save_keeps_what_was_judged_without_secrets(
    edge: Edge, bench: SimpleNamespace, recording: Callable[..., Path], tmp_path: Path
) -> None:
    secret = {"command:dmesg": {"rc": 0, "stdout": "HF_TOKEN=canary1", "stderr": "", "error": None}}
    kept = tmp_path / "kept.json"
    before = edge("diagnose", "--from", recording({"gpu.api": "Broken"}, reads=secret), "--save", kept)
    assert "canary" not in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert edge("diagnose", "--from", kept)[:2] == before[:2]


def test_the_demo_needs_nothing_and_names_the_fault(edge: Edge) -> None:
    code, out, err = edge("diagnose", "--demo", "-o", "json")
    verdict = json.loads(out)
    assert (code, err) == (3, "")
    assert verdict["route"]["rung"] == "gpu"
    assert verdict["route"]["owner"] == "k3s-nvidia-edge"
    assert "device plugin" in verdict["route"]["message"]
    assert verdict["route"]["remedy"]["commands"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"schema": "edge.evidence/v1", "reads": {"file:/x', "not a complete JSON document"),
        ('{"schema": "edge.evidence/v9", "reads": {}}', "schema 'edge.evidence/v9'"),
        ('{"kind": "Pod"}', "it has no `schema`"),
        ('{"schema": "edge.evidence/v1", "reads": []}', "`reads` is missing or not an object"),
        ("[" * 5000, "not a complete JSON document"),
        ("\x00\xff", "not a complete JSON document"),
        ('{"schema": "edge.evidence/v1", "reads": {}}', "names no profile"),
    ],
)
def test_a_damaged_recording_is_one_line(content: str, said: str, edge: Edge, tmp_path: Path) -> None:
    path = tmp_path / "recording.json"
    path.write_text(content)
    code, out, err = edge("diagnose", "--from", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert str(path) in err
    assert said in err


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ("rtx-4900", "unknown profile `rtx-4900` (did you mean `rtx-4090`?)"),
        ("extends: cpu\nspec: {hots: {}}", "unknown key `spec.hots` (did you mean `host`?)"),
        ("extends: cpu\nspek: {}", "unknown key `spek` (did you mean `spec`?)"),
        ("extends: [", "not YAML"),
        ("extends: nothing-like-it", "unknown profile `nothing-like-it`"),
    ],
)
def test_a_wrong_profile_is_one_line(
    profile: str, said: str, edge: Edge, recording: Callable[..., Path], tmp_path: Path
) -> None:
    name = profile
    if ":" in profile:
        (tmp_path / "mine.yaml").write_text(profile)
        name = str(tmp_path / "mine.yaml")
    code, out, err = edge("diagnose", "--from", recording(), "--profile", name)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def kubeconfig(tmp_path: Path, server: str, **user: str) -> Path:
    path = tmp_path / "kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "current-context": "edge",
                "contexts": [{"name": "edge", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": server}}],
                "users": [{"name": "u", "user": user or {"token": "canary-token-1"}}],
            }
        )
    )
    return path


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        ("", "empty, or not a mapping"),
        ("a: [", "not YAML"),
        ("current-context: gone\n", "no context named 'gone'"),
    ],
)
def test_a_wrong_kubeconfig_is_one_line(content: str | None, said: str, edge: Edge, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    code, out, err = edge("diagnose", "--profile", "cpu", "--kubeconfig", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert str(path) in err
    assert said in err


@pytest.mark.skipif(os.geteuid() != 0, reason="root reads what it may not: the file is a directory then")
def test_a_kubeconfig_that_cannot_be_read_is_one_line(edge: Edge, tmp_path: Path) -> None:
    code, out, err = edge("diagnose", "--profile", "cpu", "--kubeconfig", tmp_path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "Is a directory" in err


def test_a_kubeconfig_that_points_nowhere_is_unreachable(edge: Edge, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, "http://127.0.0.1:9")
    code, out, err = edge("diagnose", "--profile", "cpu", "--kubeconfig", path, "-o", "json")
    assert code == 6
    assert json.loads(out)["outcome"] == "unknown"
    assert err.startswith("edge: the cluster of context edge cannot be reached: ")
    assert "127.0.0.1:9" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("source", "flag", "names"),
    [
        (("--from", "a.json"), ("--context", "c"), "--from and --context"),
        (("--from", "a.json"), ("--sudo",), "--from and --sudo"),
        (("--from", "a.json"), ("--service", "ollama=http://x"), "--from and --service"),
        (("--from", "a.json"), ("--kubeconfig", "k"), "--from and --kubeconfig"),
        (("--from", "a.json"), ("--host", "ssh://b"), "--from and --host"),
        (("--demo",), ("--profile", "cpu"), "--demo and --profile"),
        (("--demo",), ("--ssh-config", "f"), "--demo and --ssh-config"),
        (("--sandbox",), ("--kubeconfig", "k"), "--kubeconfig and --sandbox"),
    ],
)
def test_a_flag_that_would_do_nothing_is_refused(
    edge: Edge, source: tuple[str, ...], flag: tuple[str, ...], names: str
) -> None:
    assert edge("diagnose", *source, *flag) == (
        2,
        "",
        f"edge: {names} exclude each other (give one of them)\n",
    )


@pytest.fixture
def refusing() -> Iterator[Callable[[int], str]]:
    """An API server that answers one status to everything."""
    servers = []

    def serve(status: int) -> str:
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps({"kind": "Status", "message": "no"}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("status", [401, 403])
def test_an_api_that_refuses_is_not_authorised(
    status: int, edge: Edge, tmp_path: Path, refusing: Callable[[int], str]
) -> None:
    path = kubeconfig(tmp_path, refusing(status))
    code, out, err = edge("diagnose", "--profile", "cpu", "--kubeconfig", path, "-o", "json")
    assert code == 7
    assert json.loads(out)["outcome"] == "unknown"
    assert err.startswith("edge: the cluster of context edge refuses the credentials: ")
    assert str(status) in err
    assert "canary" not in out + err
    assert err.count("\n") == 1
    assert edge("status", "--profile", "cpu", "--kubeconfig", path)[2] == err


def test_without_a_profile_or_a_target_the_next_step_is_named(edge: Edge, tmp_path: Path) -> None:
    code, out, err = edge("diagnose", "--kubeconfig", kubeconfig(tmp_path, "http://127.0.0.1:9"))
    assert (code, out) == (2, "")
    assert err.startswith("edge: no profile is given (give --profile NAME")
