"""`edge up` with bad input, without a cluster, or with one that refuses: one line, the right exit code."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

Edge = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _nobody_s_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings, no sandbox, no cluster of the user's; a helm that must not be reached."""
    for name in ("KUBECONFIG", "EDGE_PROFILE", "EDGE_KUBECONFIG", "EDGE_TIMEOUT", "EDGE_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    helm = tmp_path / "helm"
    helm.write_text("#!/bin/sh\necho 'Error: reached' >&2; exit 1\n")
    helm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


@pytest.fixture
def refusing(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A kubeconfig of an API server that answers everything with one status."""
    servers: list[ThreadingHTTPServer] = []

    def kubeconfig(status: int) -> Path:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content = json.dumps({"kind": "Status", "message": "no"}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return written(tmp_path, f"http://127.0.0.1:{server.server_address[1]}")

    yield kubeconfig
    for server in servers:
        server.shutdown()
        server.server_close()


def written(folder: Path, server: str) -> Path:
    path = folder / "kube.conf"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "hunter2"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--profile", "cppu"], "did you mean `cpu`?"),
        (["--profile", "/nowhere/profile.yaml"], "/nowhere/profile.yaml"),
        (["--to", "servin"], "did you mean serving?"),
        (["--timeout", "5x"], "write it like 90s, 5m or 1h30m"),
        (["-o", "jsn"], "did you mean json?"),
        (["--sandbox", "--kubeconfig", "x"], "leave --kubeconfig and --context out"),
        (["--sandbox", "--profile", "sandbx"], "did you mean `sandbox`?"),
        (["--kubeconfig", "/nowhere/kube.conf"], "/nowhere/kube.conf"),
        ([], "--kubeconfig"),
        (["--frobnicate"], "edge up --help"),
    ],
)
def test_bad_input_is_one_line_that_names_it_and_the_next_step(
    edge: Edge, args: list[str], words: str
) -> None:
    code, out, err = edge("up", *args)
    assert code == 2, err
    assert out == ""
    assert words in err
    assert len(err.strip().splitlines()) == 1
    assert err.startswith("edge: ")


def test_no_profile_is_an_error_that_says_how_to_give_one(edge: Edge, tmp_path: Path) -> None:
    code, _, err = edge("up", "--kubeconfig", written(tmp_path, "http://127.0.0.1:1"))
    assert code == 2
    assert "--profile" in err


def test_no_helm_is_an_error_that_says_where_to_get_it(
    edge: Edge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    code, _, err = edge("up", "--profile", "cpu", "--kubeconfig", written(tmp_path, "http://127.0.0.1:1"))
    assert code == 2
    assert "helm is not on PATH" in err


@pytest.mark.parametrize("command", [["up", "--profile", "cpu"], ["down", "--yes"]])
def test_a_cluster_that_is_not_there_is_exit_6(edge: Edge, tmp_path: Path, command: list[str]) -> None:
    # port 1 answers nobody
    helm = tmp_path / "helm"
    helm.write_text(
        "#!/bin/sh\necho 'Error: Kubernetes cluster unreachable: connection refused' >&2; exit 1\n"
    )
    code, _, err = edge(*command, "--kubeconfig", written(tmp_path, "http://127.0.0.1:1"))
    assert code == 6, err
    assert "hunter2" not in err


def test_what_no_digest_pins_is_said(edge: Edge, tmp_path: Path) -> None:
    lock = tmp_path / "edge" / "lock.yaml"
    lock.parent.mkdir()
    lock.write_text(
        f"schema: edge.lock/v1\nimages: {{'docker.io/ollama/ollama:0.33.0': 'sha256:{'0' * 64}'}}\n"
    )
    _, _, err = edge("up", "--profile", "cpu", "--kubeconfig", written(tmp_path, "http://127.0.0.1:1"))
    said = next(line for line in err.splitlines() if line.startswith("not pinned:"))
    assert "quay.io/prometheus/prometheus:v3.16.0" in said
    assert "ollama" not in said
    assert "edge lock" in err


def test_a_wrong_lock_file_is_bad_input(edge: Edge, tmp_path: Path) -> None:
    lock = tmp_path / "edge" / "lock.yaml"
    lock.parent.mkdir()
    lock.write_text("schema: edge.lock/v1\nimages: {a/b:1: md5:0}\n")
    code, _, err = edge("up", "--profile", "cpu", "--kubeconfig", written(tmp_path, "http://127.0.0.1:1"))
    assert code == 2
    assert "a/b:1" in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_cluster_that_refuses_is_exit_7(edge: Edge, refusing: Callable[[int], Path], status: int) -> None:
    code, out, err = edge("up", "--profile", "cpu", "--kubeconfig", refusing(status))
    assert code == 7, err
    assert str(status) in err
    assert "--kubeconfig" in err
    assert "hunter2" not in err + out


def test_a_sandbox_that_does_not_run_has_nothing_to_plan(edge: Edge) -> None:
    code, _, err = edge("plan", "--sandbox")
    assert code == 2
    assert "edge up --sandbox" in err


@pytest.mark.parametrize("options", [["--purge-volumes"], ["--kubeconfig", "x"], ["--context", "x"]])
def test_down_of_the_sandbox_takes_no_other_options(edge: Edge, options: list[str]) -> None:
    code, _, err = edge("down", "--sandbox", *options)
    assert code == 2
    assert "edge sandbox down --purge" in err


def test_the_state_of_a_sandbox_that_was_never_started(edge: Edge) -> None:
    code, out, _ = edge("sandbox", "status")
    assert code == 0
    assert out.startswith("state       down")


def test_a_shell_in_a_sandbox_that_does_not_run(edge: Edge) -> None:
    code, _, err = edge("sandbox", "shell")
    assert code == 1
    assert "edge sandbox up" in err


def test_an_unknown_part_of_the_sandbox_is_named(edge: Edge) -> None:
    code, _, err = edge("sandbox", "build", "kubernetess", "--plan")
    assert code == 1
    assert "kubernetess" in err
