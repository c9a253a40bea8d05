"""Metadata that no model has: an estimate is made, or one line says what is wrong; never anything else."""

import json
import time
from pathlib import Path

import pytest
from gguf_observability.estimate import estimate
from gguf_observability.graph.architectures import RECIPES
from gguf_observability.header import Array, Header
from gguf_observability.kv_cache import Serving
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

GOLDEN = json.loads((Path(__file__).parent / "golden_compute.json").read_text())
MODELS = {entry["architecture"]: entry["metadata"] for entry in GOLDEN["models"].values()}
NUMBERS = st.sampled_from((0, 1, 2, 3, 7, 255, 4096, 65537, (1 << 31) - 1, 1 << 32)) | st.integers(0, 1 << 33)
STRANGE = NUMBERS | st.sampled_from((True, False, 0.5, -1.0, float("inf"), float("nan"), "text", ""))
LISTS = st.lists(NUMBERS, max_size=12).map(lambda found: Array(4, len(found), 0, 0, tuple(found)))
ENOUGH_S = 8.0  # on a busy machine; alone none takes a second


def header_of(architecture: str, metadata: dict[str, object]) -> Header:
    header = Header("strange.gguf", 3, 1000)
    header.metadata["general.architecture"] = architecture
    for key, value in metadata.items():
        listed = Array(4, len(value), 0, 0, tuple(value)) if isinstance(value, list) else value
        header.metadata[f"{architecture}.{key}"] = listed  # type: ignore[assignment] # what JSON holds
    return header


@pytest.mark.parametrize("flash", [True, False])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_strange_metadata_is_estimated_or_refused(flash: bool, data: st.DataObject) -> None:
    architecture = data.draw(st.sampled_from(sorted(RECIPES)))
    metadata = dict(MODELS[architecture])
    for _ in range(data.draw(st.integers(1, 3))):
        metadata[data.draw(st.sampled_from(sorted(metadata)))] = data.draw(STRANGE | LISTS)
    serving = Serving(
        data.draw(st.sampled_from((1, 512, 4096, 1 << 30))),
        parallel=data.draw(st.sampled_from((1, 3, 64))),
        ubatch=data.draw(st.sampled_from((1, 512))),
        unified=data.draw(st.booleans()),
        flash_attention=flash,
    )
    cards = data.draw(st.sampled_from((1, 2)))
    began = time.monotonic()
    try:
        found = estimate(
            header_of(architecture, metadata),
            serving,
            gpu_layers=data.draw(st.sampled_from((0, 1, 99))),
            shares=(1.0,) * cards,
        )
    except ValueError:
        found = None
    assert found is None or found.size >= 0
    assert time.monotonic() - began < ENOUGH_S
