"""The one probe that is not read-only: what it asks, what it leaves, and who can reach it."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from edge_llm_tests.errors import TargetUnreachableError
from edge_llm_tests.ollama import LoadedModel
from gguf_observability import active_probe
from gguf_observability.active_probe import generate, kept_alive_s

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ROOT = Path(__file__).parents[2]


class Ollama(BaseHTTPRequestHandler):
    asked: ClassVar[list[tuple[str, dict[str, Any]]]] = []
    lines: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append((self.path, json.loads(body)))
        self.send_response(200)
        self.end_headers()
        for line in self.lines:
            self.wfile.write(json.dumps(line).encode() + b"\n")

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    Ollama.asked = []
    Ollama.lines = [
        {"response": ""},
        {"response": "one"},
        {
            "done": True,
            "response": "",
            "load_duration": 2_000_000_000,
            "prompt_eval_count": 20,
            "eval_count": 64,
            "eval_duration": 4_000_000_000,
        },
    ]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def loaded(expires_at: datetime | None) -> LoadedModel:
    return LoadedModel("small:latest", "sha256:1", 100, 0, 2048, expires_at)


def test_pace_is_the_first_token_by_the_clock_and_the_rest_by_ollama_s_account(url: str) -> None:
    pace = generate(url, "small:latest", None)
    assert (pace.tokens, pace.prompt_tokens, pace.load_s) == (64, 20, 2.0)
    assert pace.tokens_per_s == pytest.approx(16.0)
    assert 0 < pace.first_token_s < 5
    [(path, asked)] = Ollama.asked
    assert path == "/api/generate"
    assert asked["keep_alive"] == 0
    assert "num_ctx" not in asked["options"]


def test_a_loaded_model_keeps_its_context_and_what_is_left_of_its_keep_alive(url: str) -> None:
    generate(url, "small:latest", loaded(datetime.now(UTC) + timedelta(seconds=90)))
    [(_, asked)] = Ollama.asked
    assert asked["options"]["num_ctx"] == 2048
    assert 85 <= asked["keep_alive"] <= 90


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        (None, 0),
        (loaded(None), None),
        (loaded(NOW + timedelta(minutes=5)), 300),
        (loaded(NOW - timedelta(minutes=5)), 1),
        (loaded(NOW + timedelta(days=36500)), -1),
    ],
)
def test_keep_alive_is_left_as_it_was(model: LoadedModel | None, wanted: int | None) -> None:
    assert kept_alive_s(model, NOW) == wanted


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([{"error": "model requires more system memory"}], "requires more system memory"),
        ([{"response": "one"}], "ended early"),
        (["text"], "no document"),
    ],
)
def test_no_whole_answer_is_one_error(url: str, lines: list[Any], said: str) -> None:
    Ollama.lines = lines
    with pytest.raises(TargetUnreachableError, match=said):
        generate(url, "small:latest", None)


def test_nobody_there_is_said() -> None:
    with pytest.raises(TargetUnreachableError, match="did not answer"):
        generate("127.0.0.1:1", "small:latest", None)


def test_nothing_else_names_a_request_that_works_a_model_or_imports_the_probe() -> None:
    own = Path(active_probe.__file__).resolve()
    caller = own.parent / "commands" / "profile.py"
    packages = ("edge-cli", "edge-llm-tests", "gguf-observability", "k3s-nvidia-edge")
    seen = 0
    for package in (*packages, "llm-observability-stack"):
        for file in (ROOT / package / "src").rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            seen += 1
            if file.resolve() != own and package == "gguf-observability":
                assert "http.client" not in text, file
                assert "urllib.request" not in text, file
            if file.resolve() not in (own, caller):
                assert "active_probe" not in text, file
    assert seen > 100
    called = caller.read_text(encoding="utf-8")
    assert called.count("generate(options.ollama") == 1
    assert "_pace(served, options) if options.generate else None" in called
