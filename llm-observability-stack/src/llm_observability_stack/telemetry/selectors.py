"""Label selectors of the Prometheus operator, with its own meaning of nil and empty."""

from collections.abc import Mapping
from typing import Any

from edge_llm_tests.fields import MalformedError, mapping, objects, text, texts

__all__ = ["described", "matches", "selects_namespace"]

_NAMESPACE_NAME = "kubernetes.io/metadata.name"


def matches(selector: Mapping[str, Any] | None, labels: Mapping[str, Any]) -> bool:
    """Whether `selector` takes an object with `labels`: nil takes none, the empty one takes all."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in mapping(selector, "matchLabels").items()):
        return False
    return all(_holds(each, labels) for each in objects(selector, "matchExpressions"))


def _holds(expression: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    key, operator, values = text(expression, "key"), text(expression, "operator"), texts(expression, "values")
    if operator == "In":
        return labels.get(key) in values
    if operator == "NotIn":
        return labels.get(key) not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    raise MalformedError(f"selector operator {operator!r}")


def selects_namespace(selector: Mapping[str, Any] | None, own: str, namespace: str) -> bool | None:
    """Whether monitors of `namespace` are looked at; None where that hangs on labels that were not read.

    Nil means the namespace of the Prometheus object alone, which surprises many; empty means all.
    """
    if selector is None:
        return namespace == own
    expressions = objects(selector, "matchExpressions")
    keys = {*mapping(selector, "matchLabels"), *(text(each, "key") for each in expressions)}
    if keys <= {_NAMESPACE_NAME}:
        return matches(selector, {_NAMESPACE_NAME: namespace})
    return None


def described(selector: Mapping[str, Any] | None) -> str:
    """The selector as people write it: `release=x`."""
    if selector is None:
        return "nil"
    parts = [f"{key}={value}" for key, value in mapping(selector, "matchLabels").items()]
    parts += [
        f"{text(each, 'key')} {text(each, 'operator')} {','.join(texts(each, 'values'))}".strip()
        for each in objects(selector, "matchExpressions")
    ]
    return ", ".join(parts) or "{}"
