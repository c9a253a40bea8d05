"""One read of a recording, typed: what came back, or why it could not be seen."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, ParamSpec, TypeVar

import msgspec

from edge_llm_tests.fields import MalformedError, mapping, objects, optional_text

__all__ = [
    "READ_REASONS",
    "ApiRead",
    "CommandRead",
    "FileRead",
    "Sight",
    "UnseenError",
    "see",
    "touched_reads",
]

READ_REASONS = (
    "NotObserved",
    "TimedOut",
    "Unreachable",
    "NotTrusted",
    "NameNotResolved",
    "Unauthorised",
    "Forbidden",
    "PermissionDenied",
    "Unavailable",
    "Malformed",
    "JudgeFault",
)
"""Why a read did not show anything. Any contract can be unknown for one of these, without declaring it."""

_REFUSALS = {401: ("Unauthorised", "401 Unauthorized"), 403: ("Forbidden", "403 Forbidden")}
_HTTP_OK, _HTTP_REDIRECT, _HTTP_CLIENT_ERROR, _HTTP_BUSY, _HTTP_SERVER_ERROR = 200, 300, 400, 429, 500
_API_ERRORS = {
    "unreachable": "Unreachable",
    "timeout": "TimedOut",
    "tls": "NotTrusted",
    "dns": "NameNotResolved",
}
_UNREACHABLE = "unreachable"
_COMMAND_ERRORS = {
    "not-found": "Unavailable",
    "timeout": "TimedOut",
    "permission-denied": "PermissionDenied",
    _UNREACHABLE: "Unreachable",
}
_SAID_LIMIT = 160


class UnseenError(Exception):
    """A judge asked for what was not seen; `evaluate` makes it an `unknown` of this reason.

    Attributes:
        key: The read, as in the recording.
        reason: One of `READ_REASONS`.
    """

    def __init__(self, key: str, reason: str, message: str) -> None:
        super().__init__(message)
        self.key = key
        self.reason = reason
        self.message = message


_touched: ContextVar[list[str] | None] = ContextVar("touched", default=None)


def touch(key: str) -> None:
    """Note that a read was looked at, for the evidence of the finding."""
    noted = _touched.get()
    if noted is not None and key not in noted:
        noted.append(key)


@contextmanager
def touched_reads() -> Iterator[list[str]]:
    """Collect the keys of the reads that are looked at inside."""
    noted: list[str] = []
    token = _touched.set(noted)
    try:
        yield noted
    finally:
        _touched.reset(token)


class CommandRead(msgspec.Struct, frozen=True):
    """A host command's exit code and output."""

    key: str
    rc: int | None
    stdout: str
    stderr: str
    error: str | None
    took_s: float

    @property
    def output(self) -> str:
        """Standard output of a command that ran and exited 0.

        Raises:
            UnseenError: It could not be run, did not end, or failed.
        """
        return self.output_of(0)

    def output_of(self, *codes: int) -> str:
        """Standard output of a command that ran and exited with one of `codes`.

        Raises:
            UnseenError: It could not be run, did not end, or failed.
        """
        if self.error is not None:
            said = f": {self.stderr.strip()[:_SAID_LIMIT]}" if self.error == _UNREACHABLE else ""
            raise UnseenError(
                self.key, _COMMAND_ERRORS.get(self.error, "Malformed"), f"{self.key}: {self.error}{said}"
            )
        if self.rc not in codes:
            said = (self.stdout + self.stderr).strip()[:_SAID_LIMIT]
            raise UnseenError(self.key, "Unavailable", f"{self.key}: exit code {self.rc}: {said}")
        return self.stdout


class FileRead(msgspec.Struct, frozen=True):
    """A host file's text and modification time (RFC 3339)."""

    key: str
    text: str | None
    mtime: str | None
    error: str | None

    @property
    def content(self) -> str:
        """The file's text.

        Raises:
            UnseenError: It is absent or may not be read; ask `error` where absence is an answer.
        """
        if self.text is None:
            reason = "PermissionDenied" if self.error == "permission-denied" else "Unavailable"
            raise UnseenError(self.key, reason, f"{self.key}: {self.error or 'no text'}")
        return self.text


class ApiRead(msgspec.Struct, frozen=True):
    """The answer to one GET of the Kubernetes API or of a service."""

    key: str
    status: int | None
    body: Any
    error: str | None

    @property
    def problem(self) -> UnseenError | None:
        """Why the answer shows nothing, or None where it is an answer (404 and other 4xx included)."""
        if self.error is not None:
            return UnseenError(
                self.key, _API_ERRORS.get(self.error, "Malformed"), f"{self.key}: {self.error}{self._said()}"
            )
        if self.status is None:
            return UnseenError(self.key, "Malformed", f"{self.key}: neither a status nor an error")
        if self.status in _REFUSALS:
            reason, words = _REFUSALS[self.status]
            return UnseenError(self.key, reason, f"{self.key}: {words}{self._said()}")
        if self.status == _HTTP_BUSY or self.status >= _HTTP_SERVER_ERROR:
            return UnseenError(self.key, "Unavailable", f"{self.key}: HTTP {self.status}{self._said()}")
        if _HTTP_REDIRECT <= self.status < _HTTP_CLIENT_ERROR:
            said = "a redirect, which no API sends: a proxy or a sign-on page answers in its place"
            return UnseenError(self.key, "Malformed", f"{self.key}: HTTP {self.status}, {said}")
        return None

    def _said(self) -> str:
        if isinstance(self.body, Mapping):
            said = self.body.get("message", self.body.get("error"))
        else:
            said = self.body
        return f": {said.strip()[:_SAID_LIMIT]}" if isinstance(said, str) and said.strip() else ""

    @property
    def answer(self) -> Any:
        """The body of a 2xx answer, parsed.

        Raises:
            UnseenError: There was no answer, or it was not a success.
        """
        if (problem := self.problem) is not None:
            raise problem
        if self.status is None or not _HTTP_OK <= self.status < _HTTP_REDIRECT:
            raise UnseenError(self.key, "Unavailable", f"{self.key}: HTTP {self.status}{self._said()}")
        return self.body

    @property
    def document(self) -> Mapping[str, Any]:
        """The body of a 2xx answer that is a JSON object; a body kept as text is parsed.

        Raises:
            UnseenError: No answer, or an empty body, HTML, or other JSON.
        """
        body = self.answer
        if isinstance(body, str):
            try:
                body = json.loads(body)
            except (ValueError, RecursionError):
                kind = "an empty body" if not body.strip() else f"not JSON: {body.strip()[:60]!r}"
                if body.lstrip()[:1] == "<":
                    kind = "a web page (HTML), not JSON: a proxy or a sign-on page answers in its place"
                raise UnseenError(self.key, "Malformed", f"{self.key}: HTTP 200 with {kind}") from None
        if not isinstance(body, Mapping):
            raise UnseenError(self.key, "Malformed", f"{self.key}: the JSON body is not an object")
        return body

    @property
    def items(self) -> tuple[Mapping[str, Any], ...]:
        """The objects of a Kubernetes list.

        Raises:
            UnseenError: No answer, or not a list.
        """
        document = self.document
        try:
            if (optional_text(document, "kind") or "").endswith("List") and "items" in document:
                if not optional_text(mapping(document, "metadata"), "continue"):
                    return objects(document, "items")
                raise UnseenError(self.key, "Malformed", f"{self.key}: the list is cut short (`continue`)")
        except MalformedError as error:
            raise UnseenError(self.key, "Malformed", f"{self.key}: {error}") from None
        raise UnseenError(self.key, "Malformed", f"{self.key}: the body is no Kubernetes list")


T = TypeVar("T")
P = ParamSpec("P")


class Sight(msgspec.Struct, Generic[T], frozen=True):
    """What an observer made of some reads, or why it could make nothing.

    Looking at `value` notes the reads as evidence, so a finding names what decided it.
    """

    keys: tuple[str, ...]
    _value: T | None = None
    _unseen: UnseenError | None = None

    @property
    def value(self) -> T:
        """The observed value.

        Raises:
            UnseenError: It was not seen; the contract that asked becomes unknown.
        """
        for key in self.keys:
            touch(key)
        if self._unseen is not None:
            touch(self._unseen.key)
            raise self._unseen.with_traceback(None)
        return self._value  # type: ignore[return-value]  # None only if T allows it: `see` stored it

    @property
    def seen(self) -> bool:
        """Whether there is a value."""
        return self._unseen is None

    @property
    def unseen(self) -> UnseenError | None:
        """Why there is no value."""
        return self._unseen

    def or_else(self, default: T) -> T:
        """The value where it was seen, else `default`: for refinements alone."""
        return self.value if self._unseen is None else default


def see(observer: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Sight[T]:
    """Call an observer and keep its value, or why there is none.

    Parsers work on what the outside world sent: whatever such damage makes them raise is `Malformed` here.
    """
    with touched_reads() as keys:
        try:
            value = observer(*args, **kwargs)
        except UnseenError as unseen:
            return Sight(tuple(keys), None, unseen)
        except (
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            AttributeError,
            RecursionError,
            OverflowError,
        ) as error:
            key = keys[-1] if keys else ""
            return Sight(tuple(keys), None, UnseenError(key, "Malformed", f"{key}: {error}"))
    return Sight(tuple(keys), value)
