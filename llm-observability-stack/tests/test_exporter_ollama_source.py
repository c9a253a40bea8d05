"""Ollama as the exporter tells it: alive, killed, hanging, talking nonsense, and full of models."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from llm_observability_stack.exporter.board import Board
from llm_observability_stack.exporter.ollama_source import ollama_source
from llm_observability_stack.exporter.source import Source
from prometheus_client import CollectorRegistry, generate_latest

DEADLINE_S = 0.6
Answer = Callable[[str], bytes]


def model(name: str, size: int = 10, **more: Any) -> dict[str, Any]:
    return {"name": name, "model": name, "size": size, "digest": "sha256:abcdef0123456789", **more}


ANSWERS: dict[str, Any] = {
    "/api/version": {"version": "0.33.0"},
    "/api/tags": {
        "models": [
            model(
                "a:1", 100, details={"family": "llama", "parameter_size": "1B", "quantization_level": "Q4_0"}
            ),
            model("b:1", 200),
        ]
    },
    "/api/ps": {
        "models": [
            model("a:1", 150, size_vram=50, context_length=4096, expires_at="2030-01-01T00:00:00Z"),
            model("gone:1", 7, size_vram=0, expires_at="0001-01-01T00:00:00Z"),
        ]
    },
}


def told(answers: Mapping[str, Any]) -> Answer:
    return lambda path: json.dumps(answers[path]).encode()


@contextmanager
def serving(answer: Answer, status: int = 200) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - signature of http.server
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def exporting(url: str, max_models: int = 50, deadline_s: float = 5.0) -> Iterator[CollectorRegistry]:
    board = Board([ollama_source(url, deadline_s, 60.0, max_models)], "1")
    registry = CollectorRegistry(auto_describe=False)
    registry.register(board)
    board.start()
    try:
        yield registry
    finally:
        board.stop()


def scrape(registry: CollectorRegistry) -> dict[str, float]:
    """Series to value, as Prometheus would see them."""
    lines = generate_latest(registry).decode().splitlines()
    return {
        series: float(value)
        for series, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
    }


def of_ollama(found: Mapping[str, float]) -> dict[str, float]:
    return {series: value for series, value in found.items() if series.startswith("edge_ollama")}


def test_what_ollama_says() -> None:
    with serving(told(ANSWERS)) as url, exporting(url) as registry:
        found = scrape(registry)
    assert of_ollama(found) == {
        "edge_ollama_up": 1.0,
        'edge_ollama_info{version="0.33.0"}': 1.0,
        "edge_ollama_models": 2.0,
        "edge_ollama_models_loaded": 2.0,
        "edge_ollama_models_without_series": 0.0,
        'edge_ollama_model_info{digest="abcdef012345",family="llama",model="a:1",'
        'parameters="1B",quantization="Q4_0"}': 1.0,
        'edge_ollama_model_info{digest="abcdef012345",family="",model="b:1",'
        'parameters="",quantization=""}': 1.0,
        'edge_ollama_model_size_bytes{model="a:1"}': 100.0,
        'edge_ollama_model_size_bytes{model="b:1"}': 200.0,
        'edge_ollama_model_loaded{model="a:1"}': 1.0,
        'edge_ollama_model_loaded{model="b:1"}': 0.0,
        'edge_ollama_model_loaded{model="gone:1"}': 1.0,
        'edge_ollama_model_memory_bytes{model="a:1"}': 150.0,
        'edge_ollama_model_memory_bytes{model="gone:1"}': 7.0,
        'edge_ollama_model_gpu_bytes{model="a:1"}': 50.0,
        'edge_ollama_model_gpu_bytes{model="gone:1"}': 0.0,
        'edge_ollama_model_context_tokens{model="a:1"}': 4096.0,
        'edge_ollama_model_expiry_timestamp_seconds{model="a:1"}': 1893456000.0,
    }
    assert found['edge_exporter_source_up{source="ollama"}'] == 1.0


def test_killed_between_two_scrapes_the_next_one_says_so_and_nothing_old_is_left() -> None:
    with serving(told(ANSWERS)) as url:
        context = exporting(url)
        registry = context.__enter__()
        assert scrape(registry)["edge_ollama_up"] == 1.0
    time.sleep(0.2)
    found = scrape(registry)
    context.__exit__(None, None, None)
    assert of_ollama(found) == {"edge_ollama_up": 0.0}
    assert found['edge_exporter_source_up{source="ollama"}'] == 0.0
    assert found['edge_exporter_source_failures_total{reason="unreachable",source="ollama"}'] == 1.0


def test_a_process_that_accepts_and_never_answers_holds_no_scrape_beyond_the_deadline() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        exporting(f"http://127.0.0.1:{listener.getsockname()[1]}", deadline_s=DEADLINE_S) as registry,
    ):
        began = time.monotonic()
        found = scrape(registry)
        took = time.monotonic() - began
    assert of_ollama(found) == {"edge_ollama_up": 0.0}
    assert took < DEADLINE_S + 2


def test_an_answer_that_trickles_is_no_answer_in_time() -> None:
    ended = threading.Event()

    def trickle(listener: socket.socket) -> None:
        listener.settimeout(0.05)
        held: list[socket.socket] = []
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                held.append(listener.accept()[0])
            for each in held:
                try:
                    each.send(b"H")
                except OSError:
                    continue
        for each in held:
            each.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=trickle, args=(listener,))
        thread.start()
        with exporting(f"http://127.0.0.1:{listener.getsockname()[1]}", deadline_s=DEADLINE_S) as registry:
            began = time.monotonic()
            found = scrape(registry)
            took = time.monotonic() - began
        ended.set()
        thread.join()
    assert of_ollama(found) == {"edge_ollama_up": 0.0}
    assert took < DEADLINE_S + 2


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"Ollama is running",
        b"<html>sign on</html>",
        b"[]",
        b"{}",
        b'{"models": "none"}',
        b"\xff\xfe",
        b'{"version": 1}',
        b"[" * 100_000,
        b'{"version": "1", "models": [1]}',
        b'{"version": "1", "models": {"a": 1}}',
        b'{"version": "1", "models": [{"name": ["a"], "size": 1, "size_vram": 0}]}',
        b'{"version": "1", "models": [{"name": "a", "size": true, "size_vram": 0}]}',
        b'{"version": "1", "models": [{"name": "a", "size": 1.5, "size_vram": 0}]}',
        b'{"version": "1", "models": [{"name": "a", "size": -1, "size_vram": 0}]}',
        b'{"version": "1", "models": [{"name": "a", "size": 1e300, "size_vram": 0}]}',
        b'{"version": "1", "models": [{"name": "a", "size": 1' + b"0" * 400 + b', "size_vram": 0}]}',
        b'{"version": "1", "models": [{"name": "a", "size": 1, "size_vram": -1}]}',
        b'{"version": "1", "models": [{"name": "a", "size": 1, "size_vram": 0, "context_length": -1}]}',
        b'{"version": "1", "models": [{"name": "a", "size": 1, "size_vram": 0, "expires_at": "soon"}]}',
        b'{"version": "1", "models": [{"name": "a", "size": 1, "size_vram": 0, "details": []}]}',
    ],
)
def test_nonsense_is_not_taken_for_an_empty_ollama(body: bytes) -> None:
    with serving(lambda path: body) as url, exporting(url) as registry:
        found = scrape(registry)
    assert of_ollama(found) == {"edge_ollama_up": 0.0}
    assert found['edge_exporter_source_failures_total{reason="malformed",source="ollama"}'] == 1.0


@pytest.mark.parametrize("path", list(ANSWERS))
def test_one_question_without_an_answer_is_enough_to_be_down(path: str) -> None:
    with serving(told({**ANSWERS, path: {"error": "busy"}})) as url, exporting(url) as registry:
        assert of_ollama(scrape(registry)) == {"edge_ollama_up": 0.0}


def test_an_error_of_the_server_is_no_answer() -> None:
    with serving(told(ANSWERS), status=500) as url, exporting(url) as registry:
        found = scrape(registry)
    assert of_ollama(found) == {"edge_ollama_up": 0.0}
    assert found['edge_exporter_source_failures_total{reason="unavailable",source="ollama"}'] == 1.0


def test_more_models_than_the_limit_are_counted_and_the_loaded_ones_keep_their_series() -> None:
    many = {
        **ANSWERS,
        "/api/tags": {"models": [model(f"m{number:03}:1") for number in range(300)]},
        "/api/ps": {"models": [model("m299:1", 5, size_vram=5)]},
    }
    with serving(told(many)) as url, exporting(url, max_models=3) as registry:
        found = scrape(registry)
    assert found["edge_ollama_models"] == 300.0
    assert found["edge_ollama_models_without_series"] == 297.0
    names = {series for series in found if series.startswith("edge_ollama_model_loaded{")}
    assert names == {f'edge_ollama_model_loaded{{model="{name}:1"}}' for name in ("m299", "m000", "m001")}
    assert len(of_ollama(found)) < 20


def test_a_name_that_is_long_or_foul_makes_one_bounded_printable_label() -> None:
    foul = 'x"\n\\\t' + "é" * 500
    twin = foul[:-1] + "z"
    names = {**ANSWERS, "/api/tags": {"models": [model(f"{foul}:1"), model(f"{twin}:1"), model(f"{foul}:1")]}}
    with serving(told({**names, "/api/ps": {"models": []}})) as url, exporting(url) as registry:
        text = generate_latest(registry).decode()
    lines = [line for line in text.splitlines() if line.startswith("edge_ollama_model_size_bytes")]
    assert len(lines) == 2  # told apart by a hash, and the doubled one served once
    assert max(len(line) for line in lines) < 200


def test_a_source_is_live_so_that_a_scrape_tells_what_is() -> None:
    found: Source = ollama_source("http://127.0.0.1:1", 1.0, 30.0, 5)
    assert (found.name, found.live, found.deadline_s) == ("ollama", True, 1.0)
