"""Events."""

from datetime import datetime

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import integer, optional_text, text
from edge_llm_tests.objects.meta import Meta, moment

__all__ = ["Event", "events"]


class Event(Meta, frozen=True):
    """An event; `message` may be empty and either time field may be absent."""

    @property
    def warning(self) -> bool:
        """Whether its type is Warning."""
        return text(self.raw, "type") == "Warning"

    @property
    def reason(self) -> str:
        """Reason, for example `FailedScheduling`."""
        return text(self.raw, "reason")

    @property
    def message(self) -> str:
        """Message."""
        return text(self.raw, "message")

    @property
    def count(self) -> int:
        """How often it was seen."""
        return integer(self.raw, "count", default=1)

    @property
    def last(self) -> datetime | None:
        """When it was last seen."""
        for path in (("lastTimestamp",), ("series", "lastObservedTime"), ("eventTime",), ("firstTimestamp",)):
            if (value := optional_text(self.raw, *path)) is not None:
                return moment(value)
        return self.created

    @property
    def about(self) -> tuple[str, str, str]:
        """Kind, namespace and name of the object it speaks of."""
        return (
            text(self.raw, "involvedObject", "kind"),
            text(self.raw, "involvedObject", "namespace"),
            text(self.raw, "involvedObject", "name"),
        )


def events(recording: Recording) -> tuple[Event, ...]:
    """All events, oldest first. Use as `recording.view(events)`."""
    found = [Event(raw) for raw in recording.api("/api/v1/events").items]
    return tuple(sorted(found, key=lambda event: event.last.timestamp() if event.last else 0.0))
