"""The scripts of the serving chart, run by bash against an Ollama that is played on loopback."""

import hashlib
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest

DIGEST = "ab" * 32
OTHER = "cd" * 32


@dataclass
class Ollama:
    """A played Ollama: its models, what is loaded, and how it fails."""

    registry: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    embedding: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)
    blobs: set[str] = field(default_factory=set)
    broken_pulls: int = 0
    cut_pulls: int = 0
    stores_pulls: bool = True
    keeps_loaded: bool = True
    load_error: str = ""
    created: list[dict[str, Any]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0

    def count(self, path: str) -> int:
        return sum(asked == path for _, asked in self.asked)

    def listing(self, names: Iterator[str]) -> dict[str, Any]:
        return {
            "models": [
                {
                    "name": name,
                    "model": name,
                    "size": 1,
                    "digest": self.models[name],
                    "details": {"family": "llama"},
                    "capabilities": ["embedding"] if name in self.embedding else ["completion", "tools"],
                }
                for name in names
            ]
        }


class _Handler(BaseHTTPRequestHandler):
    ollama: Ollama

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it that
        """Nothing: the test's output is the scripts'."""

    def _json(self, code: int, body: object) -> None:
        content = json.dumps(body, separators=(",", ":")).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _stream(self, *lines: dict[str, object]) -> None:
        self.send_response(200)
        self.end_headers()
        for line in lines:
            self.wfile.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def do_HEAD(self) -> None:
        self.ollama.asked.append(("HEAD", self.path))
        self._json(200 if self.path.rpartition(":")[2] in self.ollama.blobs else 404, {})

    def do_GET(self) -> None:
        me = self.ollama
        me.asked.append(("GET", self.path))
        match self.path:
            case "/api/version":
                self._json(200, {"version": "0.33.0"})
            case "/api/tags":
                self._json(200, me.listing(iter(sorted(me.models))))
            case "/api/ps":
                self._json(200, me.listing(iter(sorted(me.loaded & me.models.keys()))))
            case _:
                self._json(404, {"error": "no such path"})

    def do_POST(self) -> None:
        me = self.ollama
        me.asked.append(("POST", self.path))
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/api/blobs/"):
            wanted = self.path.rpartition(":")[2]
            if hashlib.sha256(content).hexdigest() != wanted:
                self._json(400, {"error": "digest mismatch"})
                return
            me.blobs.add(wanted)
            self._json(201, {})
            return
        body = json.loads(content)
        name = body["model"]
        match self.path:
            case "/api/pull":
                self._pull(name)
            case "/api/create":
                me.created.append(body)
                if "from" in body and body["from"] not in me.models:
                    self._stream({"error": f"model '{body['from']}' not found"})
                    return
                me.models[name] = OTHER
                self._stream({"status": "parsing GGUF"}, {"status": "success"})
            case "/api/show":
                known = name in me.models
                self._json(200 if known else 404, {} if known else {"error": f"model '{name}' not found"})
            case "/api/generate" | "/api/embed":
                self._load(name)

    def _pull(self, name: str) -> None:
        me = self.ollama
        if me.broken_pulls:
            me.broken_pulls -= 1
            self._stream(
                {"status": "pulling manifest"},
                {"error": 'pull model manifest: Get "https://r/v2": no such host'},
            )
            return
        if name not in me.registry:
            self._stream(
                {"status": "pulling manifest"}, {"error": "pull model manifest: file does not exist"}
            )
            return
        progress = {
            "status": "pulling abc",
            "digest": "sha256:abc",
            "total": 4_000_000_000,
            "completed": 1_000_000_000,
        }
        if me.cut_pulls:
            me.cut_pulls -= 1
            self._stream(progress)
            return
        if me.stores_pulls:
            me.models[name] = me.registry[name]
        self._stream({"status": "pulling manifest"}, progress, {"status": "success"})

    def _load(self, name: str) -> None:
        me = self.ollama
        if (name in me.embedding) != (self.path == "/api/embed"):
            self._json(400, {"error": f'"{name}" does not support generate'})
        elif me.load_error:
            self._json(500, {"error": me.load_error})
        else:
            if me.keeps_loaded:
                me.loaded.add(name)
            self._json(200, {"done_reason": "load"})


@pytest.fixture
def ollama() -> Iterator[Ollama]:
    played = Ollama()
    handler = type("Handler", (_Handler,), {"ollama": played})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    played.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield played
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def scripts() -> Iterator[Path]:
    with as_file(files("llm_observability_stack") / "charts" / "edge-serving" / "files") as folder:
        yield folder


Provision = Callable[..., tuple[int, list[str]]]


def line(name: str, wanted: str, kind: str, source: str, *more: str) -> str:
    """A line of a plan; what follows the source is the digest and the request, `-` where it is not given."""
    return "\t".join((name, wanted, kind, source, *more, *("-", "-")[len(more) :]))


@pytest.fixture
def provision(ollama: Ollama, scripts: Path, tmp_path: Path) -> Provision:
    def run(*plan: str, port: int | None = None, wait_seconds: int = 5) -> tuple[int, list[str]]:
        written = tmp_path / "plan"
        written.write_text("".join(f"{each}\n" for each in plan))
        done = subprocess.run(
            ["bash", scripts / "provision.sh", written],
            env={
                "PATH": "/usr/bin:/bin",
                "OLLAMA_SERVICE": "127.0.0.1",
                "OLLAMA_SERVICE_PORT_NUMBER": str(port or ollama.port),
                "WAIT_SECONDS": str(wait_seconds),
                "STALL_SECONDS": "5",
                "ATTEMPTS": "3",
                "PAUSE_SECONDS": "0",
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()

    return run


def test_a_file_is_uploaded_made_into_a_model_and_loaded(
    ollama: Ollama, provision: Provision, tmp_path: Path
) -> None:
    weights = tmp_path / "own.gguf"
    weights.write_bytes(b"GGUF" + bytes(range(256)) * 1000)
    checksum = hashlib.sha256(weights.read_bytes()).hexdigest()
    request = (
        '{"files":{"own.gguf":"sha256:@SHA256@"},"model":"own:1","parameters":{"num_ctx":2048},"stream":true}'
    )
    code, log = provision(line("own:1", "resident", "file", str(weights), checksum, request))
    assert code == 0
    assert log[-1].endswith("DONE: present: own:1; loaded: own:1")
    assert ollama.created[0]["files"] == {"own.gguf": f"sha256:{checksum}"}
    assert ollama.created[0]["parameters"] == {"num_ctx": 2048}
    assert ollama.loaded == {"own:1"}


def test_weights_that_ollama_has_already_are_not_sent_again(
    ollama: Ollama, provision: Provision, tmp_path: Path
) -> None:
    weights = tmp_path / "own.gguf"
    weights.write_bytes(b"GGUF")
    request = '{"files":{"own.gguf":"sha256:@SHA256@"},"model":"own:1","stream":true}'
    plan = line("own:1", "on-demand", "file", str(weights), "-", request)
    assert provision(plan)[0] == 0
    assert provision(plan)[0] == 0
    assert sum(method == "POST" and path.startswith("/api/blobs/") for method, path in ollama.asked) == 1


def test_a_download_shows_its_progress_in_whole_lines(ollama: Ollama, provision: Provision) -> None:
    ollama.registry["big:7b"] = DIGEST
    code, log = provision(line("big:7b", "on-demand", "pull", "big:7b", DIGEST))
    assert code == 0
    assert any(each.endswith("big:7b: pulling abc: 25 % of 4000 MB") for each in log)
    assert all(each.isprintable() for each in log)
    assert log[-1].endswith("DONE: present: big:7b; loaded: none promised")
    assert ollama.loaded == set()


def test_a_model_with_the_promised_digest_is_not_downloaded_again(
    ollama: Ollama, provision: Provision
) -> None:
    ollama.models["big:7b"] = DIGEST
    assert provision(line("big:7b", "on-demand", "pull", "big:7b", DIGEST[:12]))[0] == 0
    assert ollama.count("/api/pull") == 0


def test_a_model_with_another_digest_is_downloaded(ollama: Ollama, provision: Provision) -> None:
    ollama.models["big:7b"] = OTHER
    ollama.registry["big:7b"] = DIGEST
    assert provision(line("big:7b", "on-demand", "pull", "big:7b", DIGEST))[0] == 0
    assert ollama.models["big:7b"] == DIGEST


def test_a_tag_that_moved_in_the_registry_is_refused(ollama: Ollama, provision: Provision) -> None:
    ollama.registry["big:7b"] = OTHER
    code, log = provision(line("big:7b", "on-demand", "pull", "big:7b", DIGEST))
    assert code == 2
    assert f"its digest is {OTHER}, and {DIGEST} was promised" in log[-1]


def test_a_model_that_the_registry_does_not_know_is_not_asked_for_again(
    ollama: Ollama, provision: Provision
) -> None:
    code, log = provision(line("nope:1", "on-demand", "pull", "nope:1"))
    assert code == 2
    assert log[-1].endswith("FAILED: model nope:1: pull model manifest: file does not exist")
    assert ollama.count("/api/pull") == 1


def test_a_download_that_fails_is_tried_again(ollama: Ollama, provision: Provision) -> None:
    ollama.registry["big:7b"] = DIGEST
    ollama.broken_pulls, ollama.cut_pulls = 1, 1
    code, log = provision(line("big:7b", "on-demand", "pull", "big:7b"))
    assert code == 0
    assert sum("trying again" in each for each in log) == 2
    assert ollama.count("/api/pull") == 3


def test_a_download_that_keeps_failing_ends_with_the_reason(ollama: Ollama, provision: Provision) -> None:
    ollama.broken_pulls = 99
    code, log = provision(line("big:7b", "on-demand", "pull", "big:7b"))
    assert code == 1
    assert log[-1].endswith(
        'FAILED: model big:7b: pull model manifest: Get "https://r/v2": no such host (tried 3 times)'
    )


def test_success_of_the_download_is_not_believed(ollama: Ollama, provision: Provision) -> None:
    ollama.registry["big:7b"] = DIGEST
    ollama.stores_pulls = False
    code, log = provision(line("big:7b", "on-demand", "pull", "big:7b"))
    assert code == 1
    assert "FAILED: model big:7b" in log[-1]


def test_a_model_made_from_another_one(ollama: Ollama, provision: Provision) -> None:
    ollama.registry["base:1"] = DIGEST
    request = '{"from":"base:1","model":"tuned:1","parameters":{"num_gpu":25},"stream":true}'
    code, _ = provision(line("tuned:1", "resident", "pull", "base:1", DIGEST, request))
    assert code == 0
    assert ollama.created == [json.loads(request)]
    assert ollama.loaded == {"tuned:1"}


def test_an_embedding_model_is_loaded_by_the_request_that_it_supports(
    ollama: Ollama, provision: Provision
) -> None:
    ollama.registry["embed:1"] = DIGEST
    ollama.embedding.add("embed:1")
    assert provision(line("embed:1", "resident", "pull", "embed:1"))[0] == 0
    assert ollama.loaded == {"embed:1"}


def test_a_file_that_is_not_in_the_image(provision: Provision, tmp_path: Path) -> None:
    code, log = provision(line("own:1", "resident", "file", str(tmp_path / "absent.gguf"), "-", "{}"))
    assert code == 2
    assert log[-1].endswith(f"FAILED: model own:1: {tmp_path}/absent.gguf is not in this image")


def test_a_file_with_another_checksum(provision: Provision, tmp_path: Path) -> None:
    weights = tmp_path / "own.gguf"
    weights.write_bytes(b"GGUF")
    code, log = provision(line("own:1", "resident", "file", str(weights), DIGEST, "{}"))
    assert code == 2
    assert f"the SHA-256 of {weights} is" in log[-1]


def test_a_model_that_cannot_be_loaded(ollama: Ollama, provision: Provision) -> None:
    ollama.registry["big:7b"] = DIGEST
    ollama.load_error = "model requires more system memory (9 GiB) than is available"
    code, log = provision(line("big:7b", "resident", "pull", "big:7b"))
    assert code == 1
    assert "FAILED: model big:7b: model requires more system memory (9 GiB)" in log[-1]


def test_a_model_that_does_not_stay_loaded(ollama: Ollama, provision: Provision) -> None:
    ollama.registry["big:7b"] = DIGEST
    ollama.keeps_loaded = False
    code, log = provision(line("big:7b", "resident", "pull", "big:7b"))
    assert code == 1
    assert "let it go again" in log[-1]


def test_an_ollama_that_does_not_answer(provision: Provision) -> None:
    code, log = provision(line("big:7b", "resident", "pull", "big:7b"), port=1, wait_seconds=1)
    assert code == 1
    assert "FAILED: Ollama does not answer at 127.0.0.1:1 (waited 1 s)" in log[-1]


@dataclass
class Sidecar:
    """The residency sidecar, running."""

    process: subprocess.Popen[str]
    log: Path

    def text(self) -> str:
        return self.log.read_text()


@pytest.fixture
def residency(ollama: Ollama, scripts: Path, tmp_path: Path) -> Iterator[Callable[..., Sidecar]]:
    running: list[subprocess.Popen[str]] = []

    def start(*plan: str) -> Sidecar:
        written = tmp_path / "plan"
        written.write_text("".join(f"{each}\n" for each in plan))
        log = tmp_path / "residency.log"
        with log.open("w") as out:
            process = subprocess.Popen(
                ["bash", scripts / "residency.sh", written],
                env={"PATH": "/usr/bin:/bin", "OLLAMA_PORT_NUMBER": str(ollama.port), "PERIOD_SECONDS": "1"},
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
            )
        running.append(process)
        return Sidecar(process, log)

    yield start
    for process in running:
        process.kill()
        process.wait()


def until(seen: Callable[[], bool], within_seconds: float = 15) -> bool:
    end = time.monotonic() + within_seconds
    while time.monotonic() < end:
        if seen():
            return True
        time.sleep(0.05)
    return seen()


def test_a_resident_model_is_loaded_again_after_a_restart(
    ollama: Ollama, residency: Callable[..., Sidecar]
) -> None:
    ollama.models = {"own:1": DIGEST, "embed:1": DIGEST, "other:1": DIGEST}
    ollama.embedding = {"embed:1"}
    sidecar = residency(
        line("own:1", "resident", "pull", "own:1"),
        line("other:1", "on-demand", "pull", "other:1"),
        line("embed:1", "resident", "pull", "embed:1"),
    )
    assert until(lambda: ollama.loaded == {"own:1", "embed:1"})
    ollama.loaded.clear()
    assert until(lambda: ollama.loaded == {"own:1", "embed:1"}), sidecar.text()
    assert sidecar.text().count("own:1: loaded in") == 2


def test_a_missing_model_is_named_once_and_never_downloaded(
    ollama: Ollama, residency: Callable[..., Sidecar]
) -> None:
    ollama.registry["own:1"] = DIGEST
    sidecar = residency(line("own:1", "resident", "pull", "own:1"))
    assert until(lambda: ollama.count("/api/tags") >= 3)
    assert sidecar.text().count("own:1 is promised to be loaded and is missing") == 1
    assert ollama.count("/api/pull") == 0
    ollama.models["own:1"] = DIGEST
    assert until(lambda: ollama.loaded == {"own:1"})


def test_a_model_that_cannot_be_loaded_is_tried_less_and_less_often(
    ollama: Ollama, residency: Callable[..., Sidecar]
) -> None:
    ollama.models["own:1"] = DIGEST
    ollama.load_error = "out of memory"
    sidecar = residency(line("own:1", "resident", "pull", "own:1"))
    assert until(lambda: ollama.count("/api/ps") >= 7)
    assert 2 <= ollama.count("/api/generate") <= 4
    assert sidecar.text().count("own:1: cannot be loaded: out of memory") == 1


def test_the_sidecar_ends_at_once_when_told(residency: Callable[..., Sidecar], ollama: Ollama) -> None:
    sidecar = residency(line("own:1", "resident", "pull", "own:1"))
    assert until(lambda: ollama.count("/api/ps") >= 1)
    sidecar.process.send_signal(signal.SIGTERM)
    assert sidecar.process.wait(timeout=2) == 0


@dataclass
class Stores:
    """Ollama's layout twice: what a bundle brought, and the volume."""

    brought: Path
    volume: Path

    def add(self, model: str, *blobs: bytes) -> str:
        digests = [hashlib.sha256(each).hexdigest() for each in blobs]
        (self.brought / "blobs").mkdir(parents=True, exist_ok=True)
        for digest, content in zip(digests, blobs, strict=True):
            (self.brought / "blobs" / f"sha256-{digest}").write_bytes(content)
        manifest = self.brought / "manifests" / model
        manifest.parent.mkdir(parents=True, exist_ok=True)
        layers = [{"digest": f"sha256:{digest}"} for digest in digests[1:]]
        manifest.write_text(json.dumps({"config": {"digest": f"sha256:{digests[0]}"}, "layers": layers}))
        return digests[-1]

    def seed(self) -> subprocess.CompletedProcess[str]:
        with as_file(files("llm_observability_stack") / "charts/edge-serving/files/seed.sh") as script:
            return subprocess.run(
                ["bash", script, self.brought, self.volume],
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )

    def tree(self) -> set[str]:
        return {str(each.relative_to(self.volume)) for each in self.volume.rglob("*") if each.is_file()}


QWEN = "registry.ollama.ai/library/qwen2.5/7b"


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return Stores(tmp_path / "brought", tmp_path / "volume")


def test_models_that_were_brought_are_copied_once(stores: Stores) -> None:
    weights = stores.add(QWEN, b"config", b"weights")
    stores.add("registry.ollama.ai/library/qwen2.5/7b-twin", b"config", b"weights")
    first = stores.seed()
    assert first.returncode == 0, first.stdout + first.stderr
    assert (stores.volume / "blobs" / f"sha256-{weights}").read_bytes() == b"weights"
    assert len(stores.tree()) == 4
    again = stores.seed()
    assert again.returncode == 0
    assert f"{QWEN}: already there" in again.stdout


def test_a_damaged_blob_brings_no_model(stores: Stores) -> None:
    weights = stores.add(QWEN, b"config", b"weights")
    (stores.brought / "blobs" / f"sha256-{weights}").write_bytes(b"other weights")
    said = stores.seed()
    assert said.returncode == 1
    assert said.stdout.splitlines()[-1].split(" ", 1)[1].startswith(f"FAILED: {QWEN}: the SHA-256 of blob")
    assert stores.tree() == {f"blobs/sha256-{hashlib.sha256(b'config').hexdigest()}"}


def test_a_blob_that_was_not_brought_is_named(stores: Stores) -> None:
    weights = stores.add(QWEN, b"config", b"weights")
    (stores.brought / "blobs" / f"sha256-{weights}").unlink()
    said = stores.seed()
    assert said.returncode == 1
    assert weights in said.stdout
    assert not any(name.startswith("manifests") for name in stores.tree())


def test_what_an_interrupted_copy_left_is_not_taken_for_a_blob(stores: Stores) -> None:
    weights = stores.add(QWEN, b"config", b"weights")
    (stores.volume / "blobs").mkdir(parents=True)
    (stores.volume / "blobs" / f".seed-sha256-{weights}").write_bytes(b"wei")
    assert stores.seed().returncode == 0
    assert not any(".seed" in name for name in stores.tree())


def test_without_models_it_says_what_to_do(stores: Stores) -> None:
    said = stores.seed()
    assert said.returncode == 1
    assert "load the bundle" in said.stdout
