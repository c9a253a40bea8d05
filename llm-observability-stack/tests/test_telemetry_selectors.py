"""Label selectors, with the operator's meaning of nil and empty."""

from typing import Any

import pytest
from edge_llm_tests.fields import MalformedError
from llm_observability_stack.telemetry.selectors import described, matches, selects_namespace

LABELS = {"release": "stack", "app": "x"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"release": "stack"}}, True),
        ({"matchLabels": {"release": "other"}}, False),
        ({"matchLabels": {"release": "stack", "team": "a"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["y"]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}, False),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_matches(selector: dict[str, Any] | None, expected: bool) -> None:
    assert matches(selector, LABELS) is expected


def test_an_operator_that_nobody_knows_is_damage() -> None:
    with pytest.raises(MalformedError):
        matches({"matchExpressions": [{"key": "app", "operator": "Like"}]}, LABELS)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"kubernetes.io/metadata.name": "llm"}}, True),
        ({"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}, False),
        ({"matchLabels": {"team": "llm"}}, None),
    ],
)
def test_namespaces(selector: dict[str, Any] | None, expected: bool | None) -> None:
    assert selects_namespace(selector, "monitoring", "llm") is expected


def test_nil_means_the_own_namespace() -> None:
    assert selects_namespace(None, "monitoring", "monitoring") is True


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (None, "nil"),
        ({}, "{}"),
        ({"matchLabels": {"a": "b", "c": "d"}}, "a=b, c=d"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a Exists"),
    ],
)
def test_described(selector: dict[str, Any] | None, text: str) -> None:
    assert described(selector) == text
