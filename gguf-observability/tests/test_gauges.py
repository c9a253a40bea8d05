"""Predicted and observed bytes for the exporter."""

from typing import Any

import pytest
from edge_llm_tests import Recording
from gguf_observability.compute import Engine
from gguf_observability.engines import shown_by_ollama
from gguf_observability.estimate import estimate
from gguf_observability.gauges import memory_gauges
from gguf_observability.kv_cache import Serving
from gguf_observability.served import observe_served

SHAPE = {"block_count": 2, "embedding_length": 256, "feed_forward_length": 1024, "context_length": 8192}
SHAPE |= {"attention.head_count": 4, "attention.head_count_kv": 2, "vocab_size": 1000}
TENSORS = [{"name": "token_embd.weight", "type": "Q8_0", "shape": [256, 1000]}] + [
    {"name": f"blk.{layer}.ffn_up.weight", "type": "F16", "shape": [256, 1024]} for layer in range(2)
]


def recording(vram: int = 0, tensors: object = TENSORS, **shape: object) -> Recording:
    info = {"general.architecture": "llama"} | {f"llama.{key}": each for key, each in (SHAPE | shape).items()}
    entry = {"name": "tiny:latest", "digest": "b", "size": 5000, "size_vram": vram, "context_length": 4096}
    entry["expires_at"] = "2126-01-01T00:00:00Z"
    bodies: dict[str, Any] = {
        "/api/version": {"version": "0.33.0"},
        "/api/ps": {"models": [entry]},
        "/api/show tiny:latest": {"modelfile": "", "parameters": "", "model_info": info, "tensors": tensors},
    }
    return Recording(
        reads={
            f"http:ollama:{path}": {"status": 200, "body": body, "error": None}
            for path, body in bodies.items()
        }
    )


def values(found: Recording) -> dict[tuple[str, str, str], int]:
    return {
        (each.labels["kind"], each.labels["part"], each.labels["place"]): each.size_bytes
        for each in memory_gauges(found)
    }


def test_what_ollama_tells_of_tensors_is_enough_for_the_weights() -> None:
    header = observe_served(recording(), "tiny").header
    assert header.weights_bytes == 256 * 1000 // 32 * 34 + 2 * 256 * 1024 * 2


def test_gauges_are_the_estimate_and_the_claim() -> None:
    told = values(recording())
    found = estimate(observe_served(recording(), "tiny").header, Serving(4096))
    assert told["observed", "shown", "all"] == 5000
    assert told["predicted", "weights", "all"] == found.weights.size
    assert told["predicted", "kv_cache", "all"] == found.kv_cache.size == 2 * 2 * 128 * 2 * 4096
    assert told["predicted", "weights", "cards"] == 0
    assert told["predicted", "shown", "all"] < shown_by_ollama(found).size  # b11434's buffers are larger


def test_a_model_wholly_on_the_card_is_predicted_there() -> None:
    told = values(recording(vram=5000))
    assert told["predicted", "kv_cache", "cards"] == told["predicted", "kv_cache", "all"]
    assert told["predicted", "shown", "cards"] == told["predicted", "shown", "all"]


@pytest.mark.parametrize(
    "broken",
    [
        {"vram": 2500},
        {"tensors": []},
        {"tensors": [{"name": "a", "type": "Q9_9", "shape": [1]}]},
        {"tensors": [{"name": "a", "type": "F32", "shape": ["x"]}]},
        {"block_count": 0},
    ],
)
def test_what_cannot_be_predicted_is_only_observed(broken: dict[str, Any]) -> None:
    assert {kind for kind, _, _ in values(recording(**broken))} == {"observed"}


def test_the_batch_is_what_ollama_takes_for_the_context_or_the_model_s_own() -> None:
    found = recording()
    loaded = found.reads["http:ollama:/api/ps"]["body"]["models"][0]
    loaded["context_length"] = 8192
    header = observe_served(found, "tiny").header
    wide = estimate(header, Serving(8192, ubatch=1024), engine=Engine.B10488)
    assert values(found)["predicted", "compute", "all"] == wide.compute.size
    found.reads["http:ollama:/api/show tiny:latest"]["body"]["parameters"] = "num_batch 64"
    narrow = estimate(header, Serving(8192, ubatch=64), engine=Engine.B10488)
    assert values(found)["predicted", "compute", "all"] == narrow.compute.size


def test_labels_hold_no_control_characters() -> None:
    found = recording()
    found.reads["http:ollama:/api/ps"]["body"]["models"][0]["name"] = "evil\x1b[2J:latest"
    for each in memory_gauges(found):
        assert each.labels["model"].isprintable()
