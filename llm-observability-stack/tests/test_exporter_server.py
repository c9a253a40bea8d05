"""The two ports: /metrics alone on one, health on the other."""

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message

import pytest
from edge_llm_tests.errors import UsageError
from llm_observability_stack.exporter import source as source_module
from llm_observability_stack.exporter.board import Board
from llm_observability_stack.exporter.catalogue import family
from llm_observability_stack.exporter.server import Server, health_server, metrics_server
from llm_observability_stack.exporter.source import Source


@contextmanager
def listening(server: Server) -> Iterator[int]:
    server.start()
    try:
        yield server.port
    finally:
        server.stop()


def ask(port: int, path: str, verb: str = "GET", **headers: str) -> tuple[int, str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request(verb, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    found = response.status, response.getheader("Content-Type", ""), response.read().decode()
    connection.close()
    return found


def board(*sources: Source) -> Board:
    made = Board(sources, "1.2.3")
    made.start()
    return made


def quick() -> Source:
    return Source("quick", lambda: (family("edge_ollama_models", [((), 3.0)]),), 5.0, 60.0, live=True)


def test_metrics_in_the_format_that_is_asked_for() -> None:
    with listening(metrics_server("127.0.0.1", 0, board(quick()))) as port:
        status, kind, body = ask(port, "/metrics")
        assert (status, kind.partition(";")[0]) == (200, "text/plain")
        assert "edge_ollama_models 3.0" in body
        assert 'edge_exporter_info{version="1.2.3"} 1.0' in body
        _, kind, body = ask(port, "/metrics?x=1", Accept="application/openmetrics-text; version=1.0.0")
        assert kind.startswith("application/openmetrics-text")
        assert body.endswith("# EOF\n")


@pytest.mark.parametrize(
    "path", ["/", "/metric", "/metrics/", "/healthz", "/readyz", "/favicon.ico", "/-/quit", "*"]
)
def test_the_port_of_metrics_answers_404_to_anything_else(path: str) -> None:
    with listening(metrics_server("127.0.0.1", 0, board(quick()))) as port:
        assert ask(port, path)[0] == 404


@pytest.mark.parametrize("verb", ["HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_it_only_answers_questions(verb: str) -> None:
    with listening(metrics_server("127.0.0.1", 0, board(quick()))) as port:
        status, kind, body = ask(port, "/metrics", verb)
        assert (status, kind) == (404, "text/plain; charset=utf-8")
        assert body == ("" if verb == "HEAD" else "not found\n")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET //[ HTTP/1.1\r\n\r\n", b"404"),
        (b"GET http://[::1/metrics HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /%00\xff HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /metrics HTTP/9.9\r\n\r\n", b"505"),
        (b"\x16\x03\x01\x00\xa5\r\n\r\n", b"400"),
        (b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"431"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 16\r\n\r\nGET /metrics\r\n\r\n", b"404"),
    ],
)
def test_what_is_no_question_gets_one_short_answer_and_no_trace(
    sent: bytes, status: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    with (
        listening(metrics_server("127.0.0.1", 0, board(quick()))) as port,
        socket.create_connection(("127.0.0.1", port), timeout=5) as client,
    ):
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        said = b"".join(iter(lambda: client.recv(65536), b""))
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.split()[1] == status
    assert b"edge_" not in said
    assert len(body) < 20
    assert capfd.readouterr().err == ""


def test_health_has_a_port_of_its_own() -> None:
    made = board(quick())
    with listening(health_server("127.0.0.1", 0, made)) as port:
        assert ask(port, "/healthz")[0] == 200
        assert ask(port, "/metrics")[0] == 404


def test_ready_once_every_source_was_asked() -> None:
    free = threading.Event()
    waiting = Source("waiting", lambda: (free.wait(), ())[1], 30.0, 60.0)
    with listening(health_server("127.0.0.1", 0, board(quick(), waiting))) as port:
        status, _, body = ask(port, "/readyz")
        assert (status, body) == (503, "not yet collected: waiting\n")
        free.set()
        time.sleep(1)
        assert ask(port, "/readyz")[0] == 200


def test_a_source_that_fails_does_not_make_the_exporter_unready() -> None:
    def fail() -> tuple[()]:
        raise RuntimeError

    made = board(Source("failing", fail, 5.0, 60.0))
    time.sleep(1)
    with listening(health_server("127.0.0.1", 0, made)) as port:
        assert ask(port, "/readyz")[0] == 200
        assert ask(port, "/healthz")[0] == 200


def test_unhealthy_where_a_source_hangs_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "_WEDGED_DEADLINES", 2)
    free = threading.Event()
    made = board(Source("stuck", lambda: (free.wait(), ())[1], 0.05, 60.0))
    time.sleep(0.3)
    with listening(health_server("127.0.0.1", 0, made)) as port:
        assert ask(port, "/healthz") == (503, "text/plain; charset=utf-8", "hanging for good: stuck\n")
    free.set()


@pytest.mark.parametrize(("timeout", "limit_s"), [("0.5", 2.5), ("1", 3.0), ("soon", None), ("0", None)])
def test_a_scrape_lasts_no_longer_than_its_asker_waits(
    timeout: str, limit_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "llm_observability_stack.exporter.server.SCRAPE_DEADLINE_S", 0.3 if limit_s is None else 5.0
    )
    free = threading.Event()
    made = board(Source("slow", lambda: (free.wait(), ())[1], 30.0, 60.0, live=True))
    with listening(metrics_server("127.0.0.1", 0, made)) as port:
        began = time.monotonic()
        status, _, body = ask(port, "/metrics", X_Prometheus_Scrape_Timeout_Seconds=timeout)
        took = time.monotonic() - began
    free.set()
    assert status == 200
    assert 'edge_exporter_source_up{source="slow"} 0.0' in body
    assert took < (limit_s or 2.5)


def test_a_client_that_says_nothing_holds_nobody_up() -> None:
    with (
        listening(metrics_server("127.0.0.1", 0, board(quick()))) as port,
        socket.create_connection(("127.0.0.1", port)),
    ):
        assert ask(port, "/metrics")[0] == 200


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BrokenPipeError(32, "Broken pipe"), ""),
        (RuntimeError("odd"), "error: a question was not answered: RuntimeError: odd\n"),
    ],
)
def test_what_goes_wrong_with_a_client_is_a_line_at_most(
    error: Exception, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(_headers: Message) -> tuple[int, str, bytes]:
        raise error

    with (
        listening(Server("127.0.0.1", 0, {"/metrics": fail})) as port,
        pytest.raises(http.client.RemoteDisconnected),
    ):
        ask(port, "/metrics")
    assert capfd.readouterr().err == said


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UsageError) as caught:
        metrics_server("127.0.0.1", taken.getsockname()[1], Board((), "1"))
    assert "cannot listen on 127.0.0.1:" in str(caught.value)
    assert "--port" in str(caught.value)


def test_a_server_that_never_began_gives_its_port_back() -> None:
    server = metrics_server("127.0.0.1", 0, Board((), "1"))
    port = server.port
    server.stop()
    with socket.create_server(("127.0.0.1", port)):
        pass
