"""Ollama's log: its own structured lines, its request lines, and the lines of the engine below it."""

import re
from datetime import datetime

import msgspec

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError
from edge_llm_tests.objects.meta import moment
from edge_llm_tests.ollama.installation import container_of, installations
from edge_llm_tests.reads import UnseenError

__all__ = ["LogLine", "current_log", "log_lines"]

_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_STRUCTURED = re.compile(r'time=(\S+) level=\w+ .*?msg=(?:"((?:[^"\\]|\\.)*)"|(\S+))')
_REQUEST = re.compile(
    r"\[GIN\] (\d{4})/(\d\d)/(\d\d) - (\d\d:\d\d:\d\d) \| +(\d{3}) \|[^|]*\|[^|]*\| *[A-Z]+ +\"([^\"]*)\""
)


class LogLine(msgspec.Struct, frozen=True):
    """One line.

    Attributes:
        at: When; None for the lines of the engine, which carry no time.
        message: The `msg` of a structured line, else the whole line.
        raw: The whole line.
        status: HTTP status of a request line, else None.
        path: Path of a request line, else empty.
    """

    at: datetime | None
    message: str
    raw: str
    status: int | None = None
    path: str = ""


def log_lines(log: str) -> tuple[LogLine, ...]:
    """The lines of a log, oldest first. Request lines name no zone: Ollama's image runs in UTC."""
    return tuple(_line(raw) for raw in _COLOUR.sub("", log).splitlines() if raw.strip())


def current_log(recording: Recording) -> tuple[LogLine, ...]:
    """The log of the Ollama that serves now.

    Raises:
        UnseenError: None runs, or its log was not read.
    """
    for one in recording.view(installations).value[:1]:
        for pod in sorted(one.live_pods, key=lambda each: not each.ready):
            container = container_of(pod)
            if container is not None and container.state.running:
                return log_lines(recording.log(pod.namespace, pod.name, container.name))
    raise UnseenError("api:/api/v1/pods", "Unavailable", "no Ollama runs, so there is no log of it")


def _line(raw: str) -> LogLine:
    if request := _REQUEST.search(raw):
        year, month, day, clock, status, path = request.groups()
        return LogLine(_moment(f"{year}-{month}-{day}T{clock}+00:00"), raw, raw, int(status), path)
    if structured := _STRUCTURED.search(raw):
        return LogLine(_moment(structured[1]), structured[2] or structured[3] or "", raw)
    return LogLine(None, raw, raw)


def _moment(value: str) -> datetime | None:
    try:
        return moment(value)
    except MalformedError:
        return None
