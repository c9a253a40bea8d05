"""A value that has to be on a list is, or the nearest is named."""

import msgspec
import pytest
from edge_cli.choice import chosen, layers_up_to
from edge_llm_tests.errors import UsageError
from edge_llm_tests.layer import Layer


class _Spec(msgspec.Struct, frozen=True):
    pass


def layer(name: str) -> Layer:
    return Layer(name, 1, "owner", (name,), _Spec, lambda _spec, recording: recording, (), "nowhere")


LAYERS = (layer("host"), layer("gpu"), layer("serving"))


def test_a_value_on_the_list_is_taken() -> None:
    assert chosen("--output", "json", ("table", "json")) == "json"


def test_the_nearest_is_named() -> None:
    with pytest.raises(UsageError, match=r"--output jsn.*did you mean json"):
        chosen("--output", "jsn", ("table", "json"))


def test_far_from_all_the_list_is_named() -> None:
    with pytest.raises(UsageError, match="table, json"):
        chosen("--output", "picture", ("table", "json"))


def test_layers_up_to_one_of_them() -> None:
    assert layers_up_to("gpu", LAYERS) == LAYERS[:2]
    assert layers_up_to(None, LAYERS) == LAYERS


def test_an_unknown_layer_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean serving"):
        layers_up_to("servin", LAYERS)
