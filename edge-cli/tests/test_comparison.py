"""What differs between two recordings."""

from typing import Any

import pytest
from edge_cli.comparison import Difference, compare
from edge_llm_tests import Recording

NODES = "api:/api/v1/nodes"


def changed(one: Any, other: Any) -> list[str]:
    found = list(compare(Recording(reads={NODES: {"body": one}}), Recording(reads={NODES: {"body": other}})))
    assert len(found) <= 1
    return [detail for each in found for detail in each.details]


def test_reads_of_one_side_are_named() -> None:
    one, other = Recording(reads={"a": 1, "b": 2}), Recording(reads={"b": 2, "c": 3})
    assert list(compare(one, other)) == [Difference("a", "only in A"), Difference("c", "only in B")]


def test_what_always_differs_is_no_difference() -> None:
    one = {"metadata": {"resourceVersion": "1"}, "took_s": 0.1, "status": [{"lastHeartbeatTime": "x"}]}
    other = {"metadata": {"resourceVersion": "2"}, "took_s": 0.2, "status": [{"lastHeartbeatTime": "y"}]}
    assert changed(one, other) == []


def named(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "llm"}, **fields}


@pytest.mark.parametrize(
    ("one", "other", "details"),
    [
        ({"a": 1}, {"a": 2}, ["body.a: 1 -> 2"]),
        ({"a": 1}, {"b": 1}, ["body.a: 1 -> absent", "body.b: absent -> 1"]),
        ({"a": "x" * 100}, {"a": 1}, [f'body.a: "{"x" * 76}... -> 1']),
        ([1, 2], [1, 3, 4], ["body: 2 -> 3 items", "body[1]: 2 -> 3"]),
        (
            [named("a"), named("b")],
            [named("b", x=1), named("c")],
            ["body: - llm/a", "body[llm/b].x: absent -> 1", "body: + llm/c"],
        ),
        (
            [{"type": "Ready", "status": "True"}],
            [{"type": "Ready", "status": "False"}],
            ['body[Ready].status: "True" -> "False"'],
        ),
        (
            [{"name": "a", "x": 1}, {"name": "a"}],
            [{"name": "a", "x": 2}, {"name": "a"}],
            ["body[0].x: 1 -> 2"],
        ),
        ([{"x": 1}], [{"x": 2}], ["body[0].x: 1 -> 2"]),
        ("a\nb\n", "a\nc\n", ["body: 2 lines differ", "  -b", "  +c"]),
    ],
)
def test_a_difference_is_said_where_it_is(one: Any, other: Any, details: list[str]) -> None:
    assert changed(one, other) == details


def test_many_differences_are_counted() -> None:
    details = changed({str(n): n for n in range(30)}, {str(n): n + 1 for n in range(30)})
    assert len(details) == 13
    assert details[-1] == "and 18 more"
