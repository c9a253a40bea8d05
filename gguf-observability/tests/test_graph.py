"""Graphs and their buffers against the engine's own allocations, on the host and over cards."""

import json
from pathlib import Path
from typing import Any

import pytest
from gguf_files import model_of
from gguf_observability.compute import Engine, compute_buffers, tokens_at_once
from gguf_observability.graph.allocator import allocate
from gguf_observability.graph.architectures import RECIPES, graph_of
from gguf_observability.graph.builder import Graph
from gguf_observability.graph.shape import Plan, kept_layers
from gguf_observability.kv_cache import Exactness, Serving, kv_cache
from gguf_observability.model import ModelError
from gguf_observability.placement import spread

GOLDEN = json.loads((Path(__file__).parent / "golden_compute.json").read_text())
ROWS: dict[str, list[dict[str, Any]]] = {}
for _values in GOLDEN["rows"]:
    _row = dict(zip(GOLDEN["columns"], _values, strict=True))
    ROWS.setdefault(_row["model"], []).append(_row)


def serving_of(row: dict[str, Any]) -> Serving:
    return Serving(
        row["n_ctx"],
        parallel=row["n_seq"],
        ubatch=row["n_ubatch"],
        cache_k=row["cache_type"],
        cache_v=row["cache_type"],
        flash_attention=row["flash_attn"],
    )


@pytest.mark.parametrize("name", ROWS)
def test_buffers_are_the_engine_s_own(name: str) -> None:
    entry = GOLDEN["models"][name]
    model = model_of(entry["architecture"], entry["metadata"])
    for row in ROWS[name]:
        serving = serving_of(row)
        cards = row["cards"]
        cache = kv_cache(model, serving)
        assert cache.size == row["kv_bytes"], row
        found = compute_buffers(
            model,
            serving,
            cache,
            vocabulary=entry["metadata"]["vocab_size"],
            homes=spread(model.layers, row["gpu_layers"], (1.0,) * cards),
            cards=cards,
        )
        assert found.exactness is Exactness.EXACT, row
        assert (list(found.devices), found.host) == (
            row["device_compute_bytes"],
            row["host_compute_bytes"],
        ), row


OLDER = json.loads((Path(__file__).parent / "golden_b10488.json").read_text())


@pytest.mark.parametrize("name", OLDER["models"])
def test_buffers_are_those_of_the_engine_that_ollama_brings(name: str) -> None:
    entry = OLDER["models"][name]
    model = model_of(entry["architecture"], entry["metadata"])
    words = entry["metadata"]["vocab_size"]
    for values in (each for each in OLDER["rows"] if each[0] == name):
        row = dict(zip(OLDER["columns"], values, strict=True))
        serving = serving_of(row)
        cache = kv_cache(model, serving)
        found = compute_buffers(model, serving, cache, vocabulary=words, engine=Engine.B10488)
        assert (cache.size, found.host) == (row["kv_bytes"], row["compute_bytes"]), row
        assert found.exactness is Exactness.EXACT, row


def test_every_architecture_that_counts_as_exact_was_compared() -> None:
    compared = {entry["architecture"] for entry in GOLDEN["models"].values()}
    assert compared == set(RECIPES)


def test_an_unknown_architecture_is_not_supported_and_a_known_one_without_graph_is_approximate() -> None:
    shape = {"block_count": 4, "embedding_length": 256, "attention.head_count": 4}
    shape |= {"feed_forward_length": 1024, "vocab_size": 1000}
    for architecture, wanted in (("neverheard", Exactness.UNSUPPORTED), ("arctic", Exactness.APPROXIMATE)):
        model = model_of(architecture, shape)
        cache = kv_cache(model, Serving(512))
        found = compute_buffers(model, Serving(512), cache, vocabulary=1000)
        assert found.exactness is wanted
        assert found.why
        assert found.host > 0
    assert kv_cache(model_of("neverheard", shape), Serving(512)).exactness is Exactness.UNSUPPORTED


SHAPE = {
    "block_count": 4,
    "context_length": 32768,
    "embedding_length": 2048,
    "feed_forward_length": 8192,
    "attention.head_count": 16,
    "attention.head_count_kv": 4,
    "rope.dimension_count": 128,
}
STOOD_IN: dict[str, tuple[dict[str, Any], int]] = {
    "grovemoe": ({"expert_count": 16, "expert_used_count": 4, "expert_feed_forward_length": 768}, 60_835_872),
    "chameleon": ({}, 75_548_704),
}
"""Keys beside the shape below, and what b11434 reserved at 4096 tokens."""


@pytest.mark.parametrize("architecture", STOOD_IN)
def test_without_a_graph_of_its_own_that_of_its_kind_is_close(architecture: str) -> None:
    more, wanted = STOOD_IN[architecture]
    model = model_of(architecture, SHAPE | more)
    found = compute_buffers(model, Serving(4096), kv_cache(model, Serving(4096)), vocabulary=32000)
    assert found.exactness is Exactness.APPROXIMATE
    assert found.host == pytest.approx(wanted, rel=0.02)


def test_a_model_without_a_cache_sees_no_more_than_its_batch() -> None:
    model = model_of("llada", SHAPE)
    near, far = (
        compute_buffers(model, serving, kv_cache(model, serving), vocabulary=32000).host
        for serving in (Serving(2048, flash_attention=False), Serving(32768, flash_attention=False))
    )
    assert near == far


def test_a_part_that_is_not_built_makes_a_graph_approximate() -> None:
    shape = GOLDEN["models"]["lfm2"]["metadata"] | {"attention.sliding_window": 1024}
    model = model_of("lfm2", shape)
    found = compute_buffers(model, Serving(512), kv_cache(model, Serving(512)), vocabulary=1000)
    assert found.exactness is Exactness.APPROXIMATE
    assert "sliding_window" in found.why
    other = model_of("jais2", GOLDEN["models"]["jais2"]["metadata"])
    cache = kv_cache(other, Serving(512))
    old = compute_buffers(other, Serving(512), cache, vocabulary=1000, engine=Engine.B10488)
    assert old.exactness is Exactness.APPROXIMATE


def test_a_file_of_very_many_blocks_is_not_built_whole() -> None:
    shape = GOLDEN["models"]["llama"]["metadata"] | {"block_count": 4096}
    model = model_of("llama", shape)
    found = compute_buffers(model, Serving(512), kv_cache(model, Serving(512)), vocabulary=1000)
    assert found.exactness is Exactness.APPROXIMATE
    few = model_of("llama", shape | {"block_count": 16})
    same = compute_buffers(few, Serving(512), kv_cache(few, Serving(512)), vocabulary=1000)
    assert found.host == same.host


def test_blocks_that_repeat_are_left_out_only_beyond_the_limit() -> None:
    kinds = ["a", "a", "b"] * 40
    assert kept_layers(kinds, 10) == (list(range(120)), True)
    kept, whole = kept_layers(kinds, 1000)
    assert not whole
    assert kept[-1] == 119
    assert len(kept) < 20


def test_more_experts_than_the_engine_takes_are_refused() -> None:
    shape = GOLDEN["models"]["qwen3moe"]["metadata"] | {"expert_used_count": 1 << 30}
    model = model_of("qwen3moe", shape)
    with pytest.raises(ModelError, match="expert_used_count"):
        compute_buffers(model, Serving(512), kv_cache(model, Serving(512)), vocabulary=1000)


def test_what_is_no_longer_needed_is_used_again() -> None:
    graph = Graph()
    x = graph.given(100)
    for _ in range(5):
        x = graph.new("mul_mat", (100, 1, 1, 1), x)
    graph.expand(x)
    for each in (*graph.nodes, *graph.leaves):
        each.backend = 0
    assert allocate(graph.nodes, graph.leaves, (32,)) == [2 * 416]


def test_tokens_at_once_are_a_multiple_of_the_slots() -> None:
    assert tokens_at_once(Serving(4096, parallel=3)) == 513
    assert tokens_at_once(Serving(4096, parallel=3, unified=True)) == 513
    assert tokens_at_once(Serving(256)) == 256


def test_values_that_are_the_keys_have_no_product_of_their_own() -> None:
    entry = GOLDEN["models"]["gemma3-27b"]["metadata"]
    model = model_of("gemma3", entry)
    cache = kv_cache(model, Serving(4096))
    names = [
        f"blk.{layer}.{name}.weight" for layer in range(62) for name in ("attn_q", "attn_k", "attn_q_norm")
    ]
    own = dict.fromkeys((*names, *(f"blk.{layer}.attn_v.weight" for layer in range(62))), (1, 1))
    graphs = [
        graph_of(
            Plan(
                model, Serving(4096), cache, 512, 1, 1000, (0,) * 63, 0, tensors=dict.fromkeys(found, (1, 1))
            )
        )
        for found in (own, names)
    ]
    assert len(graphs[0].nodes) - len(graphs[1].nodes) == 62
