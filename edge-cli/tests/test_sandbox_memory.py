"""Predicted memory against the sandbox's own Ollama: what its engine logs, and what `ollama ps` shows.

The programs are those of the sandbox's image, run on loopback without a cluster. One model is a real one; the
other has the architecture with sliding windows and SIMULATED weights (zeros), as memory asks for no more.
"""

import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from gguf_observability.compute import Engine
from gguf_observability.engines import engine_of, shown_by_ollama
from gguf_observability.estimate import Estimate, estimate
from gguf_observability.header import Array, Header
from gguf_observability.kv_cache import Exactness, Serving
from gguf_observability.reader import read_header
from k3s_nvidia_edge.sandbox.build.pipeline import build

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(900)]

MIB = 1 << 20
REAL, SIMULATED = "smollm2:135m", "simulated-gemma3:zeros"
POINTS = ((512, 512), (2048, 512), (4096, 128), (8192, 1024))
LOGGED = re.compile(r"(\S+)\s+(model|KV|compute|output|RS)\s+buffer size =\s+([\d.]+) MiB")
F32, F16, Q4_0 = 0, 1, 2
"""Numbers of tensor types."""


def packed(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def scalar(value: float | str | bool) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    return struct.pack("<I", 8) + packed(value)


def simulated_model(like: Path) -> bytes:
    """A small gemma3 of zeros with the vocabulary of another model."""
    header, content = read_header(like), like.read_bytes()
    words = header.metadata["tokenizer.ggml.tokens"]
    assert isinstance(words, Array)
    embedding, feed, layers, heads, width = 256, 1024, 12, 4, 64
    shape = {"block_count": layers, "embedding_length": embedding, "feed_forward_length": feed}
    shape |= {"context_length": 32768, "attention.head_count": heads, "attention.head_count_kv": heads}
    shape |= {"attention.key_length": width, "attention.value_length": width, "attention.sliding_window": 512}
    pairs = [packed("general.architecture") + scalar("gemma3"), packed("general.name") + scalar("SIMULATED")]
    pairs += [packed(f"gemma3.{key}") + scalar(value) for key, value in shape.items()]
    pairs.append(packed("gemma3.attention.layer_norm_rms_epsilon") + scalar(1e-6))
    for key, value in header.metadata.items():
        if key.startswith("tokenizer."):
            raw = content[value.offset - 12 : value.offset + value.size] if isinstance(value, Array) else None
            pairs.append(packed(key) + (scalar(value) if raw is None else struct.pack("<I", 9) + raw))  # type: ignore[arg-type] # what is no array is one of these
    tensors = [("token_embd", (embedding, words.count), F16), ("output_norm", (embedding,), F32)]
    for layer in range(layers):
        norms = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
        tensors += [(f"blk.{layer}.{name}", (embedding,), F32) for name in norms]
        tensors += [(f"blk.{layer}.{name}", (width,), F32) for name in ("attn_q_norm", "attn_k_norm")]
        wide = (embedding, heads * width)
        tensors += [(f"blk.{layer}.{name}", wide, F16) for name in ("attn_q", "attn_k", "attn_v")]
        tensors.append((f"blk.{layer}.attn_output", (heads * width, embedding), F16))
        tensors += [(f"blk.{layer}.{name}", (embedding, feed), Q4_0) for name in ("ffn_gate", "ffn_up")]
        tensors.append((f"blk.{layer}.ffn_down", (feed, embedding), Q4_0))
    infos, offset = b"", 0
    for name, dimensions, kind in tensors:
        infos += packed(f"{name}.weight") + struct.pack("<I", len(dimensions))
        infos += struct.pack(f"<{len(dimensions)}Q", *dimensions) + struct.pack("<IQ", kind, offset)
        elements = dimensions[0] * (dimensions[1] if len(dimensions) > 1 else 1)
        size = {F32: elements * 4, F16: elements * 2, Q4_0: elements // 32 * 18}[kind]
        offset += -(-size // 32) * 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs) + infos
    return head + bytes(-len(head) % 32) + bytes(offset)


@dataclass
class Ollama:
    """A running Ollama."""

    port: int
    log: Path
    process: subprocess.Popen[bytes]

    def ask(self, verb: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        try:
            connection.request(verb, path, None if body is None else json.dumps(body))
            return json.loads(connection.getresponse().read().splitlines()[-1])
        finally:
            connection.close()

    def loaded(self, model: str, context: int, batch: int) -> tuple[list[tuple[str, float]], int]:
        """Buffers that the engine logged for a fresh load, in MiB, and SIZE of `ollama ps`."""
        for each in self.ask("GET", "/api/ps")["models"]:
            self.ask("POST", "/api/generate", {"model": each["name"], "keep_alive": 0})
        while self.ask("GET", "/api/ps")["models"]:
            time.sleep(0.1)
        before = self.log.stat().st_size
        options = {"num_ctx": context, "num_batch": batch, "num_predict": 1}
        told = self.ask(
            "POST", "/api/generate", {"model": model, "prompt": "one", "stream": False, "options": options}
        )
        assert told.get("done"), told
        text = self.log.read_bytes()[before:].decode(errors="replace")
        buffers = [(kind, float(size)) for _, kind, size in LOGGED.findall(text)]
        [shown] = self.ask("GET", "/api/ps")["models"]
        return buffers, shown["size"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A folder laid out as the image is, the real model, and the simulated one."""
    built = build(["ollama-program", "ollama-engine", "smollm2"])
    folder = tmp_path_factory.mktemp("ollama")
    (folder / "bin").mkdir()
    (folder / "lib").mkdir()
    os.link(built.outputs["ollama-program"] / "ollama", folder / "bin" / "ollama")
    (folder / "lib" / "ollama").symlink_to(built.outputs["ollama-engine"] / "lib")
    simulated = folder / "simulated.gguf"
    simulated.write_bytes(simulated_model(built.models[0]))
    return folder, built.models[0], simulated


@pytest.fixture(scope="module", params=["f16", "q8_0"])
def ollama(
    request: pytest.FixtureRequest, programs: tuple[Path, Path, Path]
) -> Iterator[tuple[Ollama, str, dict[str, Header]]]:
    folder, real, simulated = programs
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / f"{request.param}.log"
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "OLLAMA_NO_CLOUD": "1"}
    environment |= {"OLLAMA_HOST": f"127.0.0.1:{port}", "OLLAMA_MODELS": str(folder / "models")}
    environment |= {"OLLAMA_FLASH_ATTENTION": "1", "OLLAMA_KV_CACHE_TYPE": request.param, "OLLAMA_DEBUG": "1"}
    with log.open("wb") as written:
        process = subprocess.Popen(
            [folder / "bin" / "ollama", "serve"], env=environment, stdout=written, stderr=written
        )
    try:
        found = Ollama(port, log, process)
        for _ in range(200):
            try:
                found.ask("GET", "/api/version")
                break
            except OSError:
                time.sleep(0.1)
        for name, file in ((REAL, real), (SIMULATED, simulated)):
            recipe = folder / "Modelfile"
            recipe.write_text(f"FROM {file}\n")
            create = [folder / "bin" / "ollama", "create", name, "-f", recipe]
            subprocess.run(create, env=environment, check=True, capture_output=True, timeout=120)
        yield found, request.param, {REAL: read_header(real), SIMULATED: read_header(simulated)}
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


@pytest.mark.parametrize(("context", "batch"), POINTS)
@pytest.mark.parametrize("model", [REAL, SIMULATED])
def test_predicted_is_what_the_engine_logs_and_ollama_shows(
    ollama: tuple[Ollama, str, dict[str, Header]], model: str, context: int, batch: int
) -> None:
    served, cache, headers = ollama
    version = served.ask("GET", "/api/version")["version"]
    engine = engine_of(version)
    assert engine is Engine.B10488
    buffers, shown = served.loaded(model, context, batch)
    serving = Serving(context, ubatch=batch, cache_k=cache, cache_v=cache)
    found: Estimate = estimate(headers[model], serving, engine=engine)
    assert {term.exactness for _, term in found.terms} == {Exactness.EXACT}

    def logged(kind: str) -> list[float]:
        return [size for each, size in buffers if each == kind]

    caches = [size for size in (found.full.size, found.sliding.size) if size]
    assert logged("KV") == [round(size / MIB, 2) for size in caches]
    [compute] = logged("compute")
    assert compute == pytest.approx(found.compute.size / MIB, abs=0.006)
    assert sum(logged("model")) == pytest.approx(found.weights.size / MIB, abs=0.011)
    assert logged("output") == [round(found.output.size / MIB, 2)]
    assert shown == shown_by_ollama(found).size
