"""An answer of the API server to the installer: status, body, and when, by the server's own clock."""

import http.client
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

__all__ = ["Answer", "all_going", "answered", "is_going"]


class Answer(msgspec.Struct, frozen=True):
    """What the API server said, and when, by its own clock."""

    status: int
    body: Mapping[str, Any]
    at: datetime

    @property
    def ok(self) -> bool:
        """Whether it did what was asked."""
        return self.status < http.client.MULTIPLE_CHOICES

    @property
    def message(self) -> str:
        """What it says about a refusal."""
        return str(self.body.get("message", f"HTTP {self.status}"))


def answered(response: http.client.HTTPResponse) -> Answer:
    """The answer that a response carries."""
    return Answer(response.status, _json(response.read()), _server_time(response.getheader("Date")))


def _json(content: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return {"message": content[:200].decode("utf-8", "replace").strip() or "an empty answer"}
    return body if isinstance(body, dict) else {}


def _server_time(date: str | None) -> datetime:
    try:
        return parsedate_to_datetime(date or "").astimezone(UTC)
    except ValueError:
        return datetime.now(UTC)


def is_going(document: Mapping[str, Any]) -> bool:
    """Whether an object is being deleted."""
    return "deletionTimestamp" in document.get("metadata", {})


def all_going(listed: Answer) -> bool:
    """Whether there is something left in a list, all of which is being deleted."""
    items = listed.body.get("items", []) if listed.ok else []
    return bool(items) and all(is_going(item) for item in items)
