"""The readers against a real server on loopback, real commands and real files."""

import importlib
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from edge_llm_tests.errors import UsageError
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer, ServiceAddress
from edge_llm_tests.profile import Profile
from edge_llm_tests.readers import ClusterReader, HostReader, Target, collect
from edge_llm_tests.readers import host as host_module
from edge_llm_tests.readers.cluster import READER_IDENTITY
from edge_llm_tests.readers.service import ask_service
from edge_llm_tests.readers.wire import Origin, WireError, _ask, _Question, get, show_model
from edge_llm_tests.reads import UnseenError

collecting = importlib.import_module("edge_llm_tests.readers.collect")


class Api(BaseHTTPRequestHandler):
    """A server with the few answers that the tests ask for; it notes every request."""

    protocol_version = "HTTP/1.1"
    requests: ClassVar[list[tuple[str, str, str | None]]] = []
    reader_exists: ClassVar[bool] = True

    def do_GET(self) -> None:
        self.requests.append((self.command, self.path, self.headers.get("Impersonate-User")))
        if self.path == "/hang":
            time.sleep(3)
        if self.path.endswith("/serviceaccounts/edge-contract-reader"):
            return self.answer(200 if self.reader_exists else 404, {})
        if self.path.startswith("/api/v1/pods"):
            return self.answer(
                200, {"kind": "PodList", "items": [{"metadata": {"name": "a", "managedFields": [1]}}]}
            )
        if self.path.endswith("customresourcedefinitions"):
            item = {"metadata": {"name": "x.y", "uid": "1"}, "spec": {"large": 1}}
            return self.answer(200, {"kind": "CustomResourceDefinitionList", "items": [item]})
        if "/log?" in self.path:
            return self.raw(200, b'{"looks": "like json"}')
        if self.path == "/forbidden":
            return self.answer(403, {"message": "no"})
        if self.path.endswith("/proxy/api/tags"):
            return self.answer(200, {"models": []})
        return self.answer(200, {"gitVersion": "v1.35.4"})

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.requests.append((self.command, self.path, None))
        self.answer(200, {"asked": json.loads(self.rfile.read(length))["model"]})

    def answer(self, status: int, body: object) -> None:
        self.raw(status, json.dumps(body).encode())

    def raw(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Stay silent."""


@pytest.fixture
def url() -> Iterator[str]:
    Api.requests.clear()
    Api.reader_exists = True
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def origin(url: str) -> Iterator[Origin]:
    origin = Origin(url)
    yield origin
    origin.close()


@pytest.mark.parametrize("verb", ["PUT", "PATCH", "DELETE", "POST", "HEAD"])
def test_nothing_but_get_leaves_the_wire(url: str, verb: str) -> None:
    with pytest.raises(ValueError, match="readers only read"):
        _ask(Origin(url), "/api/v1/pods", _Question(verb, b"{}", 100), 1.0)
    assert Api.requests == []


def test_the_one_post_describes_a_model(origin: Origin) -> None:
    assert json.loads(show_model(origin, "qwen2.5:7b", 1.0)[1]) == {"asked": "qwen2.5:7b"}
    assert [request[:2] for request in Api.requests] == [("POST", "/api/show")]


def test_a_server_that_hangs_is_a_timeout_within_the_deadline(url: str) -> None:
    started = time.monotonic()
    with pytest.raises(WireError) as caught:
        get(Origin(url), "/hang", 0.2)
    assert caught.value.kind == "timeout"
    assert time.monotonic() - started < 1.0


HEAD = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def sending(*parts: bytes, pause_s: float) -> Iterator[Origin]:
    """A server that sends these parts one after the other, the last of them without end."""
    ended = threading.Event()

    def serve(listener: socket.socket) -> None:
        with suppress(OSError), listener, listener.accept()[0] as client:
            client.recv(65536)
            for part in parts[:-1]:
                client.sendall(part)
            while not ended.wait(pause_s):
                client.sendall(parts[-1])

    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(5)
    thread = threading.Thread(target=serve, args=(listener,))
    thread.start()
    yield Origin(f"http://127.0.0.1:{listener.getsockname()[1]}")
    ended.set()
    thread.join()


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((b"HTTP/1.1 100 Continue\r\n\r\n",), id="go on, for ever"),
        pytest.param((HEAD, b"X-More: y\r\n"), id="headers"),
        pytest.param((HEAD + b"Content-Length: 99999\r\n\r\n", b" "), id="a body of known length"),
        pytest.param((HEAD + b"\r\n", b" "), id="a body without end"),
        pytest.param((HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"), id="chunks"),
    ],
)
def test_a_server_that_trickles_gains_no_time_by_it(parts: tuple[bytes, ...]) -> None:
    with sending(*parts, pause_s=0.04) as origin:
        began = time.monotonic()
        with pytest.raises(WireError) as caught:
            get(origin, "/", 0.4)
    assert caught.value.kind == "timeout"
    assert time.monotonic() - began < 2


def test_an_answer_without_end_is_cut_off_and_said_to_be_malformed() -> None:
    with sending(HEAD + b"\r\n" + b'{"models": [', b" " * 2**20, pause_s=0) as origin:
        entry = ask_service(origin, "/api/tags", 10.0)
        origin.close()
    assert (entry["status"], entry["error"]) == (200, None)
    assert len(entry["body"]) < 200
    with pytest.raises(UnseenError) as caught:
        _ = Recording(reads={"http:ollama:/api/tags": entry}).http("ollama", "/api/tags").document
    assert caught.value.reason == "Malformed"
    assert "more than 16 MiB" in caught.value.message


def test_after_an_answer_that_was_cut_off_the_next_one_is_the_next_ones(origin: Origin) -> None:
    assert get(origin, "/version", 1.0, limit_bytes=5)[1] == b'{"gitV'[:6]
    assert json.loads(get(origin, "/version", 1.0)[1]) == {"gitVersion": "v1.35.4"}


def test_json_too_deep_to_be_read_is_malformed() -> None:
    entry = {"status": 200, "body": "[" * 100_000, "error": None}
    with pytest.raises(UnseenError) as caught:
        _ = Recording(reads={"http:ollama:/api/tags": entry}).http("ollama", "/api/tags").document
    assert caught.value.reason == "Malformed"


def test_nobody_there_is_unreachable_and_no_such_name_is_dns() -> None:
    with pytest.raises(WireError) as caught:
        get(Origin("http://127.0.0.1:1"), "/", 1.0)
    assert caught.value.kind == "unreachable"


def test_a_name_that_does_not_resolve_is_dns(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", resolve)
    with pytest.raises(WireError) as caught:
        get(Origin("http://prometheus.example.invalid"), "/", 1.0)
    assert caught.value.kind == "dns"


def test_plain_http_where_tls_is_expected_is_a_tls_error(url: str) -> None:
    with pytest.raises(WireError) as caught:
        get(Origin(url.replace("http:", "https:")), "/", 1.0)
    assert caught.value.kind == "tls"


def test_lists_lose_managed_fields_and_crds_all_but_names(origin: Origin) -> None:
    reader = ClusterReader(origin)
    assert reader.read("/api/v1/pods", 1.0)["body"]["items"] == [{"metadata": {"name": "a"}}]
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert reader.read(crds, 1.0)["body"]["items"] == [{"metadata": {"name": "x.y"}}]
    assert reader.read("/api/v1/namespaces/n/pods/p/log?container=c", 1.0)["body"] == '{"looks": "like json"}'
    assert reader.read("/forbidden", 1.0) == {"status": 403, "body": {"message": "no"}, "error": None}


def test_reads_are_made_as_the_reader_where_it_exists(url: str) -> None:
    reader = ClusterReader(Origin(url)).as_reader()
    assert reader.impersonating
    reader.read("/api/v1/pods", 1.0)
    assert Api.requests[-1] == ("GET", "/api/v1/pods", READER_IDENTITY)
    reader.close()
    Api.reader_exists = False
    user = ClusterReader(Origin(url)).as_reader()
    assert not user.impersonating
    user.close()


def test_every_command_of_the_list_only_looks() -> None:
    # whole, not program by program: `nvidia-smi -pm 1` and `dmesg --clear` change the host
    assert set(host_module.COMMANDS) == {
        "nvidia-smi -q -x",
        "lspci -Dnnk -d 10de:",
        "dmesg --time-format iso",
        "modinfo -F version nvidia",
        (
            "systemctl show k3s k3s-agent containerd docker"
            " --property=Id,LoadState,ActiveState,SubState,ActiveEnterTimestamp"
        ),
        "df -Pk",
    }


def test_no_file_of_the_list_is_one_of_secrets() -> None:
    for path in host_module.FILES:
        assert path.startswith(("/proc/", "/etc/rancher/k3s/", "/var/lib/rancher/k3s/agent/etc/")), path
        assert not any(word in path for word in ("k3s.yaml", "token", "cred", "tls", "key", "secret")), path


def test_host_commands_come_from_the_list() -> None:
    reader = HostReader()
    with pytest.raises(ValueError, match="not on the list"):
        reader.command("rm -rf /", 1.0)
    with pytest.raises(ValueError, match="not on the list"):
        reader.file("/etc/shadow")
    with pytest.raises(ValueError, match="not on the list"):
        reader.glob("/home/*")


def test_host_reads_say_what_came_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert HostReader().command("df -Pk", 5.0)["rc"] == 0
    absent = HostReader(prefix=("env",)).command("nvidia-smi -q -x", 5.0)
    assert absent["error"] == "not-found"
    monkeypatch.setattr(host_module, "COMMANDS", ("sleep 5", "no-such-program"))
    assert HostReader().command("sleep 5", 0.1)["error"] == "timeout"
    assert HostReader().command("no-such-program", 1.0)["error"] == "not-found"
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 1 kB\n")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidia0").touch()
    reader = HostReader(root=tmp_path)
    assert reader.file("/proc/meminfo") == {"text": "MemTotal: 1 kB\n", "mtime": None, "error": None}
    assert reader.file("/proc/modules")["error"] == "not-found"
    assert reader.glob("/dev/nvidia*") == {"paths": ["/dev/nvidia0"]}


def test_a_host_is_asked_in_english_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setattr(host_module, "COMMANDS", ("env",))
    assert "LC_ALL=C" in HostReader().command("env", 5.0)["stdout"].splitlines()


def test_a_program_that_is_none_failed_and_is_not_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidia-smi").write_bytes(b"\x00\x01")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = HostReader().command("nvidia-smi -q -x", 5.0)
    assert (found["rc"], found["error"]) == (126, None)
    assert "format" in found["stderr"]


def test_a_command_that_prints_without_end_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "COMMANDS", ("yes", "seq 2000000"))
    monkeypatch.setattr(host_module, "STREAM_LIMIT_BYTES", 100_000)
    tracemalloc.start()
    try:
        found = HostReader().command("yes", 0.5)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found["rc"], found["error"]) == (None, "timeout")
    assert found["stdout"].startswith("y\n") or found["stdout"].startswith("\ny")
    assert most_bytes < 2_000_000
    whole = HostReader().command("seq 2000000", 20.0)
    assert (whole["rc"], whole["error"], len(whole["stdout"])) == (0, None, 100_000)
    assert whole["stdout"].endswith("\n1999999\n2000000\n")


def test_a_command_that_closes_its_streams_and_stays_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "quiet"
    program.write_text("#!/bin/sh\necho said\nexec >&- 2>&-\nexec sleep 30\n")
    program.chmod(0o755)
    monkeypatch.setattr(host_module, "COMMANDS", (str(program),))
    began = time.monotonic()
    found = HostReader().command(str(program), 0.5)
    assert (found["error"], found["stdout"]) == ("timeout", "said\n")
    assert time.monotonic() - began < 5


def test_a_command_that_no_signal_ends_is_not_started_a_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    program = tmp_path / "stuck"
    program.write_text(f"#!/bin/sh\necho x >> {started}\nexec sleep 30\n")
    program.chmod(0o755)
    monkeypatch.setattr(host_module, "COMMANDS", (str(program),))
    monkeypatch.setattr(host_module.os, "killpg", lambda *_: None)  # as a process in the kernel takes it
    reader = HostReader()
    assert [reader.command(str(program), 0.3)["error"] for _ in range(4)] == ["timeout"] * 4
    assert started.read_text() == "x\n"
    [stuck] = [each for argv, each in host_module._left_behind.items() if argv == (str(program),)]
    stuck.kill()
    stuck.wait(5)
    reader.command(str(program), 0.3)
    assert started.read_text() == "x\nx\n"
    with host_module._left_behind.pop((str(program),)) as last:
        last.kill()


def layer(*core: str) -> Layer:
    def reads(spec: object, recording: Recording) -> tuple[str, ...]:
        found = recording.has("api:/api/v1/pods")
        return (*core, "http:ollama:/api/tags", *(("api:/version",) if found else ()))

    def services(spec: object, recording: Recording) -> dict[str, ServiceAddress]:
        return (
            {"ollama": ServiceAddress("llm", "ollama", "11434")} if recording.has("api:/api/v1/pods") else {}
        )

    return Layer(
        "l", 1, "o", ("l",), type(None), lambda spec, recording: None, (), "p", reads=reads, services=services
    )


def test_a_run_finds_services_by_what_it_saw_first(origin: Origin) -> None:
    target = Target(ClusterReader(origin, "ctx"), HostReader())
    recording = collect(
        (layer("api:/api/v1/pods", "command:df -Pk"),), Profile("p", specs={"l": None}), target
    )
    assert set(recording.reads) == {
        "api:/api/v1/pods",
        "command:df -Pk",
        "http:ollama:/api/tags",
        "api:/version",
    }
    assert recording.http("ollama", "/api/tags").document == {"models": []}
    assert recording.context == "ctx"
    proxied = "/api/v1/namespaces/llm/services/ollama:11434/proxy/api/tags"
    assert ("GET", proxied, None) in Api.requests


def test_what_the_target_cannot_read_is_absent(url: str) -> None:
    recording = collect(
        (layer("api:/api/v1/pods", "file:/proc/modules"),), Profile("p", specs={"l": None}), Target()
    )
    assert recording.reads == {}


def test_one_hanging_read_costs_its_deadline_and_no_other_read(
    origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "API_DEADLINE_S", 0.3)
    started = time.monotonic()
    hangs = layer("api:/api/v1/pods", "api:/hang")
    recording = collect((hangs,), Profile("p", specs={"l": None}), Target(ClusterReader(origin)))
    assert recording.reads["api:/hang"]["error"] == "timeout"
    assert recording.reads["api:/version"]["status"] == 200
    assert time.monotonic() - started < 2.0


PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}


def kubeconfig(tmp_path: Path, **changes: object) -> str:
    document = {
        "current-context": "box",
        "contexts": [{"name": "box", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        **changes,
    }
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(document))
    return str(file)


def test_a_kubeconfig_with_a_token_is_an_origin(tmp_path: Path) -> None:
    reader = ClusterReader.from_kubeconfig(kubeconfig(tmp_path), None)
    assert reader.context == "box"
    assert reader.origin.headers == {"Authorization": "Bearer t"}
    assert "Bearer" not in repr(reader)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"current-context": ""}, "`current-context` is missing"),
        ({"contexts": []}, "no context named 'box'"),
        ({"clusters": [{"name": "other"}]}, "no cluster named 'c' (there: other)"),
        ({"users": None}, "no user named 'u'"),
        ({"clusters": [{"name": "c", "cluster": {"server": "ftp://x"}}]}, "is no http(s) address"),
        ({"users": [{"name": "u", "user": {"tokenFile": "absent"}}]}, "tokenFile absent: No such file"),
        ({"users": [{"name": "u", "user": {"exec": {**PLUGIN, "command": "/absent/login"}}}]}, "plugin"),
        ({"users": [{"name": "u", "user": {"exec": {**PLUGIN, "command": "true"}}}]}, "plugin"),
        (
            {
                "clusters": [
                    {"name": "c", "cluster": {"server": "https://x", "certificate-authority-data": "%%"}}
                ]
            },
            "cannot be used",
        ),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_says_why(
    tmp_path: Path, changes: dict[str, object], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(UsageError) as caught:
        ClusterReader.from_kubeconfig(kubeconfig(tmp_path, **changes), None)
    assert said in caught.value.message
    assert "kubeconfig" in caught.value.message
    assert caplog.text == ""


def test_a_kubeconfig_that_is_none_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "broken"
    file.write_text("a: [")
    with pytest.raises(UsageError, match="not YAML"):
        ClusterReader.from_kubeconfig(str(file), None)
    with pytest.raises(UsageError, match="No such file"):
        ClusterReader.from_kubeconfig(str(tmp_path / "absent"), None)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setattr("edge_llm_tests.readers.credentials._DEFAULT_PATHS", ("~/.kube/config",))
    with pytest.raises(UsageError, match="no kubeconfig"):
        ClusterReader.from_kubeconfig(None, None)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(UsageError, match="this is no pod"):
        ClusterReader.in_cluster()
