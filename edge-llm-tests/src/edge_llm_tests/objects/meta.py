"""What every Kubernetes object carries: name, namespace, labels, owner, conditions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from edge_llm_tests.fields import MalformedError, mapping, objects, optional_text, text

__all__ = ["Condition", "Meta", "moment"]


def moment(value: str | None) -> datetime | None:
    """An RFC 3339 time, or None where it is absent.

    Raises:
        MalformedError: It is not a time.
    """
    if not value:
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise MalformedError(f"{value!r} is not an RFC 3339 time") from None
    if parsed.tzinfo is None:
        raise MalformedError(f"{value!r} has no time zone")
    return parsed


class Condition(msgspec.Struct, frozen=True):
    """One of `.status.conditions`: status True, False or Unknown."""

    name: str
    status: str
    reason: str
    message: str
    changed: datetime | None

    @property
    def true(self) -> bool:
        """Whether the status is True."""
        return self.status == "True"


class Meta(msgspec.Struct, frozen=True):
    """The raw object, with its metadata typed."""

    raw: Mapping[str, Any]

    @property
    def name(self) -> str:
        """metadata.name."""
        return text(self.raw, "metadata", "name")

    @property
    def namespace(self) -> str:
        """metadata.namespace, empty for cluster-scoped objects."""
        return text(self.raw, "metadata", "namespace")

    @property
    def path(self) -> str:
        """`<namespace>/<name>`, as people write it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def uid(self) -> str:
        """metadata.uid."""
        return text(self.raw, "metadata", "uid")

    @property
    def labels(self) -> Mapping[str, Any]:
        """metadata.labels."""
        return mapping(self.raw, "metadata", "labels")

    @property
    def annotations(self) -> Mapping[str, Any]:
        """metadata.annotations."""
        return mapping(self.raw, "metadata", "annotations")

    @property
    def created(self) -> datetime | None:
        """metadata.creationTimestamp."""
        return moment(optional_text(self.raw, "metadata", "creationTimestamp"))

    @property
    def terminating(self) -> bool:
        """Whether metadata.deletionTimestamp is set."""
        return optional_text(self.raw, "metadata", "deletionTimestamp") is not None

    @property
    def owner(self) -> tuple[str, str] | None:
        """Kind and name of the controlling owner, or None."""
        references = objects(self.raw, "metadata", "ownerReferences")
        chosen = next((each for each in references if each.get("controller") is True), None)
        chosen = chosen or (references[0] if references else None)
        return (text(chosen, "kind"), text(chosen, "name")) if chosen else None

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """.status.conditions by type."""
        found = (_condition(raw) for raw in objects(self.raw, "status", "conditions"))
        return {condition.name: condition for condition in found}

    def condition(self, name: str) -> Condition | None:
        """One of .status.conditions, or None where it is absent."""
        for raw in objects(self.raw, "status", "conditions"):
            if text(raw, "type") == name:
                return _condition(raw)
        return None

    def holds(self, name: str) -> bool:
        """Whether the condition of that type is True; an absent one is not."""
        for raw in objects(self.raw, "status", "conditions"):
            if text(raw, "type") == name:
                return text(raw, "status") == "True"
        return False


def _condition(raw: Mapping[str, Any]) -> Condition:
    return Condition(
        text(raw, "type"),
        text(raw, "status", default="Unknown"),
        text(raw, "reason"),
        text(raw, "message"),
        moment(optional_text(raw, "lastTransitionTime")),
    )
