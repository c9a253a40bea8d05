"""Which layers slide, by architecture."""

from typing import Any

import pytest
from gguf_observability.header import Array
from gguf_observability.model import Model
from gguf_observability.sliding import sliding_window

SHAPE = {
    "block_count": 12,
    "embedding_length": 64,
    "attention.head_count": 4,
    "attention.sliding_window": 1024,
}


def model(architecture: str, **shape: Any) -> Model:
    found = {f"{architecture}.{key}": content for key, content in {**SHAPE, **shape}.items()}
    return Model({"general.architecture": architecture, **found})


@pytest.mark.parametrize(
    ("architecture", "dense"),
    [
        ("gemma2", {1, 3, 5, 7, 9, 11}),
        ("gemma3", {5, 11}),
        ("gemma3n", {4, 9}),
        ("gpt-oss", {1, 3, 5, 7, 9, 11}),
        ("cohere2", {3, 7, 11}),
        ("olmo2", {3, 7, 11}),
        ("smallthinker", {0, 4, 8}),
        ("laguna", {0, 4, 8}),
        ("afmoe", {3, 7, 11}),
        ("plamo3", {7}),
        ("exaone-moe", {3, 7, 11}),
    ],
)
def test_patterns(architecture: str, dense: set[int]) -> None:
    found = sliding_window(model(architecture))
    assert {layer for layer, slides in enumerate(found.slides) if not slides} == dense
    assert found.known


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "phi3", "mistral3", "qwen3moe"])
def test_windows_that_the_engine_does_not_use(architecture: str) -> None:
    found = sliding_window(model(architecture))
    assert not any(found.slides)
    assert found.known


def test_a_list_of_the_file_comes_first() -> None:
    listed = Array(7, 12, 0, 0, (True, False) * 6)
    assert sliding_window(model("gemma3", **{"attention.sliding_window_pattern": listed})).slides[:3] == (
        True,
        False,
        True,
    )


def test_a_number_of_the_file_comes_first() -> None:
    found = sliding_window(model("gemma3", **{"attention.sliding_window_pattern": 3}))
    assert [layer for layer, slides in enumerate(found.slides) if not slides] == [2, 5, 8, 11]


def test_small_exaone_does_not_slide_and_the_large_one_does() -> None:
    assert not any(sliding_window(model("exaone4")).slides)
    assert any(sliding_window(model("exaone4", block_count=64)).slides)


def test_llama4_slides_unless_the_file_says_zero() -> None:
    without = {**SHAPE}
    del without["attention.sliding_window"]
    stated = Model(
        {"general.architecture": "llama4", **{f"llama4.{key}": each for key, each in without.items()}}
    )
    assert sliding_window(stated).tokens == 8192
    assert not any(sliding_window(model("llama4", **{"attention.sliding_window": 0})).slides)


def test_an_unknown_window_is_said() -> None:
    assert not sliding_window(model("never-heard-of")).known
