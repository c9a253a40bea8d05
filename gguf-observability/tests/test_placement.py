"""Where layers go, and what Ollama shows of it."""

from pathlib import Path

import pytest
from gguf_files import gguf
from gguf_observability.compute import Engine
from gguf_observability.engines import engine_of, guessed_before_load, shown_by_ollama
from gguf_observability.estimate import Estimate, estimate
from gguf_observability.header import Header, Tensor
from gguf_observability.kv_cache import Serving
from gguf_observability.model import Model
from gguf_observability.placement import place
from gguf_observability.reader import read_header

MIB = 1 << 20


@pytest.fixture
def small(tmp_path: Path) -> Header:
    """SmolLM2-135M by its metadata and the sizes of its tensors."""
    keys = {"block_count": 30, "embedding_length": 576, "feed_forward_length": 1536, "context_length": 8192}
    keys |= {"attention.head_count": 9, "attention.head_count_kv": 3, "vocab_size": 49152}
    path = tmp_path / "s.gguf"
    path.write_bytes(gguf({"general.architecture": "llama"} | {f"llama.{k}": v for k, v in keys.items()}))
    header = read_header(path)
    blocks = [Tensor(f"blk.{layer}.all.weight", (1,), "Q4_1", 0, 2216448) for layer in range(30)]
    header.tensors = (
        Tensor("token_embd.weight", (576, 49152), "Q8_0", 0, 30081024),
        Tensor("output_norm.weight", (576,), "F32", 0, 2304),
        *blocks,
    )
    return header


def on_card(found: Estimate) -> tuple[int, int, int]:
    return found.weights.devices[0], found.kv_cache.devices[0], found.compute.devices[0]


@pytest.mark.parametrize(
    ("layers", "wanted"),
    [(1, (30083328, 0, 198912)), (10, (50031360, 28311552, 16001056)), (31, (96576768, 94371840, 18364448))],
)
def test_offload_splits_are_what_the_engine_logged(
    small: Header, layers: int, wanted: tuple[int, int, int]
) -> None:
    assert on_card(estimate(small, Serving(4096), gpu_layers=layers)) == wanted


def test_the_last_layers_are_offloaded_and_the_output_first(small: Header) -> None:
    model = Model(small.metadata)
    one = place(small, model, 1)
    assert set(one.blocks) == {-1}
    assert one.output == 0
    assert place(small, model, 30).blocks[:2] == (-1, 0)
    assert place(small, model, 99).blocks == (0,) * 30
    assert place(small, model, 0).device_bytes == ()


def test_two_equal_cards_have_half_of_the_layers_each(small: Header) -> None:
    found = place(small, Model(small.metadata), 31, (1.0, 1.0))
    assert found.counts == (16, 14)
    assert found.output == 1


def test_ollama_ps_of_the_small_model(small: Header) -> None:
    shown = shown_by_ollama(estimate(small, Serving(4096)))
    assert shown.size == sum(int(each * MIB) for each in (92.10, 90.00, 18.64, 0.19))
    assert shown.processor == "100% CPU"
    whole = shown_by_ollama(estimate(small, Serving(4096), gpu_layers=31))
    assert whole.processor == "100% GPU"
    assert "are not shown" in whole.distortions[0]


def test_the_engine_of_the_sandbox_logs_15_51_mib_at_2048(small: Header) -> None:
    found = estimate(small, Serving(2048), engine=Engine.B10488)
    assert round(found.compute.size / MIB, 2) == 15.51
    assert round(found.kv_cache.size / MIB, 2) == 45.0


@pytest.mark.parametrize(
    ("version", "engine"),
    [("0.24.0", None), ("0.33.0-rc2", Engine.B10488), ("0.40.1", Engine.B11434), ("unknown", None)],
)
def test_engine_of_a_version(version: str, engine: Engine | None) -> None:
    assert engine_of(version) is engine


def test_the_guess_before_a_load_is_the_usual_formula(small: Header) -> None:
    model = Model(small.metadata)
    assert guessed_before_load(small, model, 4096) == small.file_size + 2 * 30 * 3 * 64 * 4096 * 2


def test_ollama_ps_loses_the_cache_of_layers_that_see_everything(tmp_path: Path) -> None:
    shape = {"block_count": 6, "embedding_length": 64, "feed_forward_length": 256, "context_length": 8192}
    shape |= {"attention.head_count": 4, "attention.head_count_kv": 4, "attention.sliding_window": 512}
    path = tmp_path / "g.gguf"
    keys = {f"gemma3.{key}": value for key, value in shape.items()}
    path.write_bytes(gguf({"general.architecture": "gemma3", **keys}, [("token_embd.weight", (64, 8192))]))
    found = estimate(read_header(path), Serving(8192))
    shown = shown_by_ollama(found)
    assert found.full.size == 4 * 16 * 2 * 2 * 8192
    assert found.sliding.size == 5 * 4 * 16 * 2 * 2 * 1024
    assert shown.size == pytest.approx(found.size - found.full.size, abs=0.02 * MIB)
    assert "left out" in shown.distortions[0]
