"""Layers that fit, and layers that a claim of Ollama means."""

from collections.abc import Callable
from pathlib import Path

import pytest
from gguf_files import GOLDEN, gguf
from gguf_observability.engines import shown_by_ollama
from gguf_observability.estimate import Estimate, estimate
from gguf_observability.kv_cache import Serving
from gguf_observability.layers import most, nearest
from gguf_observability.reader import read_header


@pytest.fixture
def at(tmp_path: Path) -> Callable[[int], Estimate]:
    entry = GOLDEN["models"]["llama3.1-8b"]["metadata"] | {"block_count": 8}
    blocks = [(f"blk.{layer}.ffn_up.weight", (256, 256)) for layer in range(8)]
    path = tmp_path / "m.gguf"
    keys = {"general.architecture": "llama"} | {f"llama.{key}": value for key, value in entry.items()}
    path.write_bytes(gguf(keys, [("token_embd.weight", (256, 512)), *blocks]))
    header = read_header(path)
    return lambda layers: estimate(header, Serving(4096), gpu_layers=layers)


def test_most_layers_are_those_of_which_one_more_does_not_fit(at: Callable[[int], Estimate]) -> None:
    for wanted in (0, 1, 5, 9):
        room = sum(at(wanted).device_sizes)
        assert most(at, room) == wanted
        if wanted:
            assert most(at, room - 1) == wanted - 1


def test_the_nearest_claim_is_found(at: Callable[[int], Estimate]) -> None:
    for wanted in (1, 2, 6, 9):
        claimed = shown_by_ollama(at(wanted)).vram
        assert nearest(at, claimed + 1000).layers == wanted
