"""A recording: everything that a diagnosis read, as it was read (format `edge.evidence/v1`)."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from edge_llm_tests.errors import EvidenceError
from edge_llm_tests.evidence_file import RECORD_STEP, name_of, read_document, write_document
from edge_llm_tests.reads import ApiRead, CommandRead, FileRead, Sight, UnseenError, see, touch

__all__ = ["SCHEMA", "Recording"]

SCHEMA = "edge.evidence/v1"
HOST_READS = ("command:", "file:", "glob:")
"""How the keys of a host's reads begin."""
T = TypeVar("T")


class Recording(msgspec.Struct, frozen=True, dict=True):
    """What came back from each read, by key.

    Attributes:
        reads: `<kind>:<address>` to what came back (`docs/evidence.md`); an absent key was not read.
        recorded_at: RFC 3339 time of the run; contracts take it for "now".
        profile: Name of the profile it was recorded for.
        context: Name of the kubeconfig context.
        host: Name of the host whose reads these are; empty for the one that it was recorded on.
        nodes: Name of a further host to its reads, by key.
        simulated: Whether the target has simulated parts.
        redactions: How many values were replaced by `<redacted:kind>`.
        tool: Name and version of the program that wrote it.
    """

    reads: Mapping[str, Any] = msgspec.field(default_factory=dict)
    recorded_at: str = "1970-01-01T00:00:00Z"
    profile: str = ""
    context: str = ""
    simulated: bool = False
    redactions: int = 0
    tool: Mapping[str, str] = msgspec.field(default_factory=lambda: {"name": "edge", "version": "0.1.0"})
    host: str = ""
    nodes: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)

    @property
    def by_node(self) -> tuple["Recording", ...]:
        """One recording for each host that was read: its own reads, and those of the cluster."""
        first = replace(self, nodes={})
        shared = {key: read for key, read in self.reads.items() if not key.startswith(HOST_READS)}
        further = (replace(first, reads={**shared, **own}, host=name) for name, own in self.nodes.items())
        return (first, *further)

    @property
    def reads_of_all(self) -> dict[str, Any]:
        """The reads of the first host and of the cluster by key, those of further hosts by `HOST: key`."""
        further = {
            f"{name}: {key}": read for name, reads in self.nodes.items() for key, read in reads.items()
        }
        return {**self.reads, **further}

    @cached_property
    def now(self) -> datetime:
        """The time of the recording."""
        try:
            moment = datetime.fromisoformat(self.recorded_at)
        except ValueError:
            return datetime(1970, 1, 1, tzinfo=UTC)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    @cached_property
    def _views(self) -> dict[Callable[["Recording"], Any], Sight[Any]]:
        return {}

    def view(self, observer: Callable[["Recording"], T]) -> Sight[T]:
        """What `observer` makes of this recording, made once however many layers ask."""
        if observer not in self._views:
            self._views[observer] = see(observer, self)
        return self._views[observer]

    def has(self, key: str) -> bool:
        """Whether the read was made."""
        return key in self.reads

    def matching(self, prefix: str) -> tuple[str, ...]:
        """Keys of the reads that begin with `prefix`, in order."""
        return tuple(sorted(key for key in self.reads if key.startswith(prefix)))

    def _read(self, key: str) -> Mapping[str, Any]:
        touch(key)
        if key not in self.reads:
            raise UnseenError(key, "NotObserved", f"{key} was not read")
        entry = self.reads[key]
        if not isinstance(entry, Mapping):
            raise UnseenError(key, "Malformed", f"{key}: the read is not an object")
        return entry

    def command(self, argv: str) -> CommandRead:
        """The command `argv` (joined by one space).

        Raises:
            UnseenError: It was not made, or what the recording holds is damaged.
        """
        key = f"command:{argv}"
        entry = self._read(key)
        rc = _typed(key, entry, "rc", int)
        error = _typed(key, entry, "error", str)
        stdout, stderr = _typed(key, entry, "stdout", str), _typed(key, entry, "stderr", str)
        if error is None and (rc is None or stdout is None):
            raise UnseenError(key, "Malformed", f"{key}: neither an exit code with output nor an error")
        took_s = entry.get("took_s")
        seconds = float(took_s) if isinstance(took_s, (int, float)) else 0.0
        return CommandRead(key, rc, stdout or "", stderr or "", error, seconds)

    def file(self, path: str) -> FileRead:
        """The file at the absolute `path`.

        Raises:
            UnseenError: It was not read, or what the recording holds is damaged.
        """
        key = f"file:{path}"
        entry = self._read(key)
        content, error = _typed(key, entry, "text", str), _typed(key, entry, "error", str)
        if content is None and error is None:
            raise UnseenError(key, "Malformed", f"{key}: neither a text nor an error")
        return FileRead(key, content, _typed(key, entry, "mtime", str), error)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """The paths that matched `pattern`.

        Raises:
            UnseenError: It was not read, or what the recording holds is damaged.
        """
        key = f"glob:{pattern}"
        paths = self._read(key).get("paths")
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise UnseenError(key, "Malformed", f"{key}: `paths` is not a list of texts")
        return tuple(paths)

    def api(self, path: str) -> ApiRead:
        """The GET of the Kubernetes API at `path` (query included).

        Raises:
            UnseenError: It was not made, or what the recording holds is damaged.
        """
        return self._answer(f"api:{path}")

    def http(self, service: str, path: str) -> ApiRead:
        """The GET of a service (`ollama`, `prometheus`, ...) at `path`.

        Raises:
            UnseenError: It was not made, or what the recording holds is damaged.
        """
        return self._answer(f"http:{service}:{path}")

    def _answer(self, key: str) -> ApiRead:
        entry = self._read(key)
        status, error = _typed(key, entry, "status", int), _typed(key, entry, "error", str)
        return ApiRead(key, status, entry.get("body"), error)

    def log(self, namespace: str, pod: str, container: str, *, previous: bool = False) -> str:
        """The last log lines of a container.

        Raises:
            UnseenError: They were not read, or there are none to be had.
        """
        query = f"container={container}&tailLines=200" + ("&previous=true" if previous else "")
        answer = self.api(f"/api/v1/namespaces/{namespace}/pods/{pod}/log?{query}")
        body = answer.answer
        if not isinstance(body, str):
            raise UnseenError(answer.key, "Malformed", f"{answer.key}: the log is not text")
        return body

    def with_reads(self, reads: Mapping[str, Any]) -> "Recording":
        """The recording with more reads."""
        return replace(self, reads={**self.reads, **reads})

    def without(self, keys: Iterable[str]) -> "Recording":
        """The recording as if `keys` had not been read."""
        dropped = set(keys)
        return replace(self, reads={key: read for key, read in self.reads.items() if key not in dropped})

    def document(self) -> dict[str, Any]:
        """The recording as the JSON object of its format."""
        host = {"host": self.host} if self.host else {}
        nodes = {"nodes": {name: dict(reads) for name, reads in self.nodes.items()}} if self.nodes else {}
        return {
            "schema": SCHEMA,
            "recorded_at": self.recorded_at,
            "tool": dict(self.tool),
            "target": {"context": self.context, "profile": self.profile, **host},
            "simulated": self.simulated,
            "redactions": self.redactions,
            "reads": dict(self.reads),
            **nodes,
        }

    def save(self, path: Path) -> None:
        """Write the recording, readable by its owner alone, complete or not at all; `-` is standard output.

        Raises:
            EvidenceError: The file cannot be written.
        """
        write_document(path, self.document())

    @classmethod
    def load(cls, path: Path) -> "Recording":
        """Read a recording; `-` is standard input.

        Raises:
            EvidenceError: The file is missing, not JSON, or of another schema.
        """
        return cls.parse(read_document(path), name_of(path, "standard input"))

    @classmethod
    def parse(cls, document: Any, name: str = "recording") -> "Recording":
        """The recording of a parsed JSON document; `name` is how errors call it.

        Raises:
            EvidenceError: It is not of schema `edge.evidence/v1`.
        """
        if not isinstance(document, Mapping) or "schema" not in document:
            raise EvidenceError(f"{name}: no evidence recording (it has no `schema`)", RECORD_STEP)
        if document["schema"] != SCHEMA:
            raise EvidenceError(
                f"{name}: schema {document['schema']!r}, this version reads {SCHEMA!r}", RECORD_STEP
            )
        reads = document.get("reads")
        if not isinstance(reads, Mapping):
            raise EvidenceError(f"{name}: `reads` is missing or not an object", RECORD_STEP)
        target = document.get("target")
        target = target if isinstance(target, Mapping) else {}
        nodes = document.get("nodes", {})
        if not isinstance(nodes, Mapping) or not all(isinstance(each, Mapping) for each in nodes.values()):
            raise EvidenceError(f"{name}: `nodes` is not an object of objects", RECORD_STEP)
        tool = document.get("tool")
        redactions = document.get("redactions")
        return cls(
            reads=reads,
            recorded_at=_text(document.get("recorded_at")),
            profile=_text(target.get("profile")),
            context=_text(target.get("context")),
            simulated=document.get("simulated") is True,
            redactions=max(0, redactions) if isinstance(redactions, int) else 0,
            tool={str(key): str(value) for key, value in tool.items()} if isinstance(tool, Mapping) else {},
            host=_text(target.get("host")),
            nodes=nodes,
        )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _typed(key: str, entry: Mapping[str, Any], name: str, wanted: type) -> Any:
    value = entry.get(name)
    if value is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
        raise UnseenError(key, "Malformed", f"{key}: `{name}` is not of type {wanted.__name__}")
    return value
