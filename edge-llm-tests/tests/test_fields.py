from collections.abc import Callable
from typing import Any

import pytest
from edge_llm_tests.fields import (
    MalformedError,
    flag,
    integer,
    mapping,
    number,
    objects,
    optional_text,
    text,
    texts,
)

ACCESSORS: list[tuple[Callable[..., Any], object, object]] = [
    (text, "", "a"),
    (optional_text, None, "a"),
    (integer, 0, 3),
    (number, 0.0, 3.5),
    (flag, False, True),
    (mapping, {}, {"k": 1}),
    (objects, (), [{"k": 1}]),
    (texts, (), ["a"]),
]


@pytest.mark.parametrize(("accessor", "default", "value"), ACCESSORS)
def test_absent_is_the_default_present_is_the_value(
    accessor: Callable[..., Any], default: object, value: object
) -> None:
    assert accessor({}, "a", "b") == default
    assert accessor({"a": None}, "a", "b") == default
    expected = tuple(value) if isinstance(value, list) else value
    assert accessor({"a": {"b": value}}, "a", "b") == expected


DAMAGES: dict[str, list[object]] = {
    "text": [7, True, [1], {"x": 1}, 1.5],
    "optional_text": [7, True, [1], {"x": 1}],
    "integer": ["7", True, [1], {"x": 1}, 1.5],
    "number": ["7", True, [1], {"x": 1}],
    "flag": ["true", 1, [1], {"x": 1}],
    "mapping": ["x", 7, True, [1]],
    "objects": ["x", 7, {"x": 1}, [1], ["x"]],
    "texts": ["x", 7, {"x": 1}, [1], [None]],
}


@pytest.mark.parametrize(
    ("accessor", "damage"),
    [(accessor, damage) for accessor, _, _ in ACCESSORS for damage in DAMAGES[accessor.__name__]],
)
def test_a_mistyped_field_is_damage_never_a_default(accessor: Callable[..., Any], damage: object) -> None:
    with pytest.raises(MalformedError, match="a is"):
        accessor({"a": damage}, "a")


def test_a_path_through_something_else_says_where() -> None:
    with pytest.raises(MalformedError, match="metadata is a text, not an object"):
        text({"metadata": "x"}, "metadata", "name")
    with pytest.raises(MalformedError, match="the body is a list"):
        text([], "metadata")


def test_whole_floats_are_whole_numbers() -> None:
    assert integer({"a": 3.0}, "a") == 3
