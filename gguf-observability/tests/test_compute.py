"""Compute buffers against the engine's own allocations."""

from typing import Any

import pytest
from gguf_files import GOLDEN, model_of
from gguf_observability.compute import Engine, compute_buffers
from gguf_observability.kv_cache import Exactness, Serving, kv_cache

SHAPE = {
    "block_count": 8,
    "embedding_length": 2048,
    "context_length": 32768,
    "feed_forward_length": 8192,
    "attention.head_count": 16,
    "attention.head_count_kv": 4,
}


@pytest.mark.parametrize("row", GOLDEN["rows"], ids=lambda row: f"{row['model']}-{row['n_ctx']}")
def test_golden_rows(row: dict[str, Any]) -> None:
    entry = GOLDEN["models"][row["model"]]
    model = model_of(entry["architecture"], entry["metadata"])
    serving = Serving(
        row["n_ctx"],
        parallel=row["n_seq"],
        ubatch=row["n_ubatch"],
        cache_k=row["cache_type"],
        cache_v=row["cache_type"],
        unified=row["kv_unified"],
        swa_full=row["swa_full"],
        flash_attention=row["flash_attn"],
    )
    found = compute_buffers(model, serving, kv_cache(model, serving), vocabulary=1000)
    assert found.host == row["compute_bytes"]


def test_all_dense_golden_rows_count_as_exact() -> None:
    dense = ("llama3.1-8b", "mistral-7b-swa4096", "llama3.3-70b", "qwen2.5-7b", "gemma2-27b", "gemma3-27b")
    for name in (*dense, "gemma4-12b"):
        entry = GOLDEN["models"][name]
        model = model_of(entry["architecture"], entry["metadata"])
        for on in (True, False):
            serving = Serving(4096, flash_attention=on)
            found = compute_buffers(model, serving, kv_cache(model, serving), vocabulary=1000)
            assert found.exactness is Exactness.EXACT


@pytest.mark.parametrize(
    ("architecture", "size"),
    [("gemma", 75509792), ("cohere2", 84430880), ("gpt2", 41955360), ("exaone4", 77090848)],
)
def test_allocations_of_b10488(architecture: str, size: int) -> None:
    """As the engine of Ollama 0.33 logged them for these shapes at 8192 tokens."""
    window = {"cohere2": 4096, "exaone4": 1024}.get(architecture)
    shape = SHAPE | ({"attention.sliding_window": window} if window else {})
    model = model_of(architecture, shape | ({"block_count": 64} if architecture == "exaone4" else {}))
    serving = Serving(8192)
    found = compute_buffers(model, serving, kv_cache(model, serving), vocabulary=1000, engine=Engine.B10488)
    assert found.host == size
    assert found.exactness is Exactness.EXACT
