"""The program as users start it."""

import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from edge_llm_tests import Layer
from gguf_files import MALFORMED, gguf, golden_file, string
from gguf_observability import verdict
from gguf_observability.cli import main
from gguf_observability.profile import LAYER
from gguf_observability.quantity import amount

SHAPE = {
    "llama.block_count": 2,
    "llama.context_length": 8192,
    "llama.embedding_length": 64,
    "llama.feed_forward_length": 256,
    "llama.attention.head_count": 2,
    "llama.attention.head_count_kv": 1,
}
TENSORS = [
    ("token_embd.weight", (64, 100)),
    ("blk.0.attn_q.weight", (64, 64)),
    ("blk.1.attn_q.weight", (64, 64)),
]
TOKEN_BYTES, BLOCK_BYTES = 64 * 100 * 4, 64 * 64 * 4
KV_BYTES = 2 * 2 * 32 * 2 * 4096
DIGEST = "sha256-" + "a" * 64


def model(**more: Any) -> bytes:
    return gguf({"general.architecture": "llama", **SHAPE, **more}, [*TENSORS, ("output_norm.weight", (64,))])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(model())
    return path


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert main([str(each) for each in arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_estimate_of_one_point_by_place(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "estimate", file, "--context", 4096, "--gpu-layers", 2, "--json")
    assert found["weights_bytes"] == TOKEN_BYTES * 2 + BLOCK_BYTES * 2 + 256
    assert found["kv_cache_bytes"] == KV_BYTES
    assert found["output_bytes"] == 400
    assert found["host"]["weights_bytes"] == TOKEN_BYTES + BLOCK_BYTES
    assert found["devices"][0]["weights_bytes"] == TOKEN_BYTES + BLOCK_BYTES + 256
    assert found["devices"][0]["kv_cache_bytes"] == found["host"]["kv_cache_bytes"] == KV_BYTES // 2
    assert found["exactness"]["weights_bytes"] == found["exactness"]["kv_cache_bytes"] == "exact"
    assert found["exactness"]["compute_bytes"] == "exact"
    assert "CUDA" in found["why"]["compute_bytes"]


def test_two_cards_share_the_layers(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "estimate", file, "--context", 4096, "--gpu-layers", 3, "--split", "2,1", "--json")
    assert [each["kv_cache_bytes"] for each in found["devices"]] == [KV_BYTES, 0]
    assert found["devices"][1]["weights_bytes"] == TOKEN_BYTES + 256


def test_a_golden_row_through_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.gguf"
    path.write_bytes(golden_file("llama3.1-8b"))
    found = told(capsys, "estimate", path, "--context", 512, "--json")
    assert (found["kv_cache_bytes"], found["compute_bytes"]) == (67108864, 130566176)
    assert found["exactness"]["weights_bytes"] == "unsupported"


def test_a_table_over_contexts(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", str(file)]) == 0
    out = capsys.readouterr().out
    assert all(f"{context:>8} " in out for context in (2048, 4096, 8192))
    assert "16384" not in out


def test_fit_names_what_fits(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "fit", file, "--vram", "8GiB", "--json")
    assert found["gpu_layers"] == found["layers"] == 3
    assert found["largest_context"] == {"f16": 8192, "q8_0": 8192, "q4_0": 8192}
    tight = told(capsys, "fit", file, "--vram", "3MiB", "--reserve", "0", "--json")
    assert 0 < tight["gpu_layers"] < 3
    assert tight["card_bytes"] <= amount("3MiB")
    assert tight["largest_context"]["q4_0"] >= tight["largest_context"]["f16"]
    assert main(["fit", str(file), "--vram", "1KiB", "--reserve", "0"]) == 3


def test_fit_leaves_out_caches_that_the_engine_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "narrow.gguf"
    path.write_bytes(model(**{"llama.attention.head_count": 4}))
    found = told(capsys, "fit", path, "--vram", "8GiB", "--json")
    assert found["largest_context"] == {"f16": 8192, "q8_0": 0, "q4_0": 0}
    assert main(["fit", str(path), "--vram", "8GiB"]) == 0
    assert "key_length 16 is not a multiple of 32" in capsys.readouterr().out
    assert main(["fit", str(path), "--vram", "8GiB", "--cache-type", "q8_0"]) == 2


@pytest.mark.parametrize("written", ["-1", "1e9", "nan", "9" * 400 + "GiB", "99999999999999GiB", ""])
def test_what_is_no_amount_of_memory_is_a_wrong_option(
    written: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fit", str(file), f"--vram={written}"])
    assert ended.value.code == 2
    assert "write 8GiB" in capsys.readouterr().err


def test_less_memory_than_the_driver_keeps_is_no_room(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(file), "--vram", "100MiB"]) == 3
    assert "room: 0 B of 100.00 MiB" in capsys.readouterr().out


def test_fit_and_compare_say_what_is_not_exact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bare.gguf"
    path.write_bytes(gguf({"general.architecture": "llama", **SHAPE}))
    assert main(["fit", str(path), "--vram", "8GiB"]) == 0
    assert "weights: unsupported: the file has no tensors" in capsys.readouterr().out
    assert (
        told(capsys, "fit", path, "--vram", "8GiB", "--json")["exactness"]["weights_bytes"] == "unsupported"
    )
    assert main(["compare", str(path), str(path)]) == 0
    assert "weights: unsupported" in capsys.readouterr().out


def test_layers_below_zero_are_all_of_them(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    every = told(capsys, "estimate", file, "--context", 4096, "--gpu-layers", -1, "--json")
    assert every == told(capsys, "estimate", file, "--context", 4096, "--gpu-layers", 3, "--json")
    assert every["gpu_layers"] == 3


def test_inspect_measures_the_mix(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "inspect", file, "--json")
    assert found["mix"] == [{"type": "F32", "parameters": 14656, "bytes": 58624}]


def test_nothing_of_a_file_moves_the_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "evil.gguf"
    path.write_bytes(model(**{"a\x1b[2J": "\x1b]0;owned\x07 \u202egpj.exe \u2066x", "b": ["\r\n\x9b31m"]}))
    for arguments in (["inspect", path], ["inspect", path, "--json"], ["compare", path, path]):
        assert main([str(each) for each in arguments]) == 0
        out = capsys.readouterr().out
        assert not any(each in out for each in "\x1b\x07\x9b\u202e\u2066\r")


def test_json_is_json_whatever_the_file_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.gguf"
    odd = struct.pack("<IQQ", 3, 0, 3) + string("a") + struct.pack("<If", 6, float("nan"))
    odd += string("b") + struct.pack("<IIQff", 9, 6, 2, float("inf"), 1.5)
    path.write_bytes(b"GGUF" + odd + string("c") + struct.pack("<I", 8) + string(b"\xff\x1b"))

    def refused(constant: str) -> None:
        raise AssertionError(constant)

    assert main(["inspect", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=refused)["metadata"]
    assert found == {"a": "nan", "b": ["inf", 1.5], "c": "\\xff\x1b"}
    assert main(["scan", str(path), "--json"]) == 0
    json.loads(capsys.readouterr().out, parse_constant=refused)


def test_split_models_are_joined_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    split = {"split.count": 2, "split.tensors.count": 3}
    first = gguf({"general.architecture": "llama", **SHAPE, **split, "split.no": 0}, TENSORS[:2])
    second = gguf({"split.count": 2, "split.no": 1}, TENSORS[2:])
    names = [tmp_path / f"m-0000{number}-of-00002.gguf" for number in (1, 2)]
    names[0].write_bytes(first)
    names[1].write_bytes(second)
    assert told(capsys, "inspect", names[0], "--json")["tensor_count"] == 3
    assert main(["inspect", str(names[1])]) == 2
    assert "not the first part" in capsys.readouterr().err
    names[1].write_bytes(gguf({"split.count": 2, "split.no": 1}, TENSORS[:1]))
    assert main(["inspect", str(names[0])]) == 2
    assert "tensor in two parts" in capsys.readouterr().err
    names[1].unlink()
    assert main(["inspect", str(names[0])]) == 1
    assert "m-00002-of-00002.gguf" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ({"split.no": 1, "split.count": 2}, "part in the wrong place"),
        ({"split.no": 0, "split.count": "2"}, "split key is not a number from 0"),
        ({"split.no": 0, "split.count": 3}, "split file whose name does not say so"),
    ],
)
def test_parts_that_say_what_cannot_be_are_refused(
    first: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m-00001-of-00002.gguf"
    path.write_bytes(model(**first))
    assert main(["estimate", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_a_projector_counts_and_nothing_else_is_taken_for_one(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    projector = tmp_path / "mmproj-x.gguf"
    projector.write_bytes(gguf({"general.architecture": "clip"}, [("v.patch_embd.weight", (64, 64))]))
    point = ["estimate", file, "--context", 512]
    alone, both = told(capsys, *point, "--json"), told(capsys, *point, "--mmproj", projector, "--json")
    assert both["total_bytes"] == alone["total_bytes"] + BLOCK_BYTES
    assert main([str(each) for each in (*point, "--mmproj", projector)]) == 0
    assert f"{both['total_bytes']:,}" in capsys.readouterr().out
    assert main([str(each) for each in (*point, "--mmproj", file)]) == 2
    assert "not a projector" in capsys.readouterr().err
    assert main(["estimate", str(projector)]) == 2
    assert "a projector; give the model's file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["estimate"], ["estimate", "--context", "512"], ["fit", "--vram", "8GiB"]]
)
def test_an_architecture_that_no_engine_can_have_is_refused_in_plain_letters(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, name = tmp_path / "evil.gguf", "a\x1b[2J\u202e"
    keys = {key.replace("llama", name): content for key, content in SHAPE.items()}
    path.write_bytes(gguf({"general.architecture": name, **keys}))
    assert main([command[0], str(path), *command[1:]]) == 2
    seen = capsys.readouterr()
    assert "no engine has such a name" in seen.err
    assert not any(each in seen.out + seen.err for each in "\x1b\u202e")


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_one_line_without_a_traceback(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(MALFORMED[name][0])
    for command in ("inspect", "estimate"):
        assert main([command, str(path)]) == 2
        error = capsys.readouterr().err
        assert MALFORMED[name][1] in error
        assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--context", "0"], "context is 0"),
        (["--context", "512", "--cache-type", "q9"], "the engine takes f32, f16"),
        (["--context", "512", "--split", "a"], "write shares"),
        (["--context", "512", "--cache-type", "q8_0", "--flash-attention", "off"], "needs flash attention"),
    ],
)
def test_wrong_options_are_named(
    arguments: list[str], said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", str(file), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_file_without_an_architecture_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "n.gguf"
    path.write_bytes(gguf({"a": 1}))
    assert main(["estimate", str(path), "--context", "512"]) == 2
    assert "general.architecture" in capsys.readouterr().err


class _Ollama(BaseHTTPRequestHandler):
    answers: dict[str, Any]

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer()

    def _answer(self) -> None:
        answer = self.answers[self.path]
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(500 if body == b"failed" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@pytest.fixture
def answers(tmp_path: Path) -> dict[str, Any]:
    """What an Ollama answers that has one model loaded on the CPU; SIMULATED."""
    (tmp_path / DIGEST).write_bytes(model())
    entry = {"name": "tiny:latest", "digest": "b", "size": 3000000, "size_vram": 0, "context_length": 4096}
    entry["expires_at"] = "2126-01-01T00:00:00Z"
    return {
        "/api/version": {"version": "0.33.0"},
        "/api/tags": {"models": [{"name": "tiny:latest", "digest": "b", "size": 100}]},
        "/api/ps": {"models": [entry]},
        "/api/show": {
            "modelfile": f"# \nFROM /nowhere/{DIGEST}\n",
            "parameters": "num_ctx 4096",
            "model_info": {},
        },
    }


@pytest.fixture
def ollama(answers: dict[str, Any]) -> Iterator[str]:
    """An Ollama that gives these answers from memory; SIMULATED."""
    handler = type("Simulated", (_Ollama,), {"answers": answers})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_profile_of_a_served_model(ollama: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html = tmp_path / "page.html"
    found = told(capsys, "profile", "tiny", "--ollama", ollama, "--blobs", tmp_path, "--json", "--html", html)
    assert found["kv_cache_bytes"] == KV_BYTES
    assert found["engine"] == "b10488"
    assert found["loaded"]["size_bytes"] == 3000000
    assert any("against the prediction" in note for note in found["notes"])
    written = html.read_text()
    assert "tiny:latest" in written
    assert "http" not in written
    assert "<script" not in written


def test_profile_judges_the_contracts(
    ollama: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "schema: edge.profile/v1\ndescription: mine\n"
        "spec: {profile: {model: tiny, processor: gpu, context_length: 4096}}\n"
    )
    assert main(["check", "--profile", str(mine), "--ollama", ollama]) == 3
    out = capsys.readouterr().out
    assert "fail     profile.processor" in out or "unknown  profile.processor" in out
    assert "pass     profile.context" in out


def test_a_file_that_speaks_of_other_layers_as_well_is_a_profile_here_too(
    ollama: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `edge profile init` writes speaks of host and serving, whose layers are installed as well."""

    class HostSpec(msgspec.Struct, frozen=True):
        gpus: int = 0

    host = Layer(
        "host", 0, "somebody", ("host",), HostSpec, lambda _spec, seen: seen, (), "gguf_observability"
    )
    monkeypatch.setattr(verdict, "load_layers", lambda: (host, LAYER))
    mine = tmp_path / "mine.yaml"
    mine.write_text("spec: {host: {gpus: 1}, profile: {model: tiny, processor: cpu, context_length: 4096}}\n")
    assert main(["check", "--profile", str(mine), "--ollama", ollama]) in (0, 3)
    assert "pass     profile.context" in capsys.readouterr().out
    mine.write_text("spec: {host: {gpu: 1}}\n")
    assert main(["check", "--profile", str(mine), "--ollama", ollama]) == 2
    assert "did you mean `gpus`" in capsys.readouterr().err


def test_an_ollama_that_does_not_answer_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "tiny", "--ollama", "http://127.0.0.1:9"]) == 6
    assert "--ollama" in capsys.readouterr().err


def test_inspect_imports_no_more_than_it_needs(file: Path) -> None:
    program = (
        "import sys; from gguf_observability.cli import main; main(sys.argv[1:]); "
        "print(*sorted({each.partition('.')[0] for each in sys.modules}), file=sys.stderr)"
    )
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", program, "inspect", str(file)],
        capture_output=True,
        text=True,
        check=True,
        env=unmeasured,
    )
    assert not {"msgspec", "numpy", "json", "dataclasses", "edge_llm_tests"} & set(done.stderr.split())


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/api/show", b"<html>sign on</html>"),
        ("/api/show", b"\x00\xff{{{"),
        ("/api/show", b"failed"),
        ("/api/show", {"modelfile": "", "model_info": {}, "tensors": [{"name": "a", "type": 7}]}),
        ("/api/ps", []),
        ("/api/ps", {"models": [{"name": "tiny:latest", "size": "much", "size_vram": 0}]}),
        ("/api/version", {}),
    ],
)
def test_what_is_no_answer_of_an_ollama_is_one_line(
    path: str, answer: Any, ollama: str, answers: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    answers[path] = answer
    assert main(["profile", "tiny", "--ollama", ollama]) == 6
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "does not answer as Ollama does" in error
    assert error.count("--ollama") == 1


def test_the_model_s_own_parameters_are_what_is_predicted_with(
    ollama: str, answers: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def profile(*more: str) -> Any:
        return told(capsys, "profile", "tiny", "--ollama", ollama, "--blobs", tmp_path, "--json", *more)

    answers["/api/show"]["parameters"] = "num_ctx 4096\nnum_batch 64\nnum_gpu 2"
    found = profile()
    assert found["gpu_layers"] == 2
    assert found["compute_bytes"] == profile("--ubatch", "64")["compute_bytes"]
    assert found["compute_bytes"] < profile("--ubatch", "512")["compute_bytes"]
    answers["/api/show"]["parameters"] = "num_gpu -1\nnum_batch 99999999999"
    assert profile()["gpu_layers"] == 0


def test_a_context_that_cannot_be_is_not_believed(
    ollama: str, answers: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers["/api/ps"]["models"][0] |= {"context_length": -1, "size_vram": 3000000}
    found = told(capsys, "profile", "tiny", "--ollama", ollama, "--blobs", tmp_path, "--json")
    assert found["kv_cache_bytes"] == KV_BYTES
    assert any("context of -1 tokens: not believed" in note for note in found["notes"])
    assert any("this host shows no card" in note for note in found["notes"])
