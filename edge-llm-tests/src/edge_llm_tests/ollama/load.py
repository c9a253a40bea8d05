"""Loads of a model, as Ollama's log tells them: when, with which context, what failed and still stands."""

import re
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec

from edge_llm_tests.ollama.log import LogLine
from edge_llm_tests.phrase import Phrase

__all__ = [
    "FailureKind",
    "Load",
    "LoadFailure",
    "engine_libraries",
    "failure_kind",
    "loads",
    "standing_failure",
]


class FailureKind(StrEnum):
    """What stopped a load, the most telling first."""

    ENGINE_TOO_OLD = "engine-too-old"
    ENGINE_TOO_NEW = "engine-too-new"
    SYSTEM_MEMORY = "system-memory"
    CARD_MEMORY = "card-memory"
    CORRUPT = "corrupt"
    STORE = "store"
    TIMEOUT = "timeout"
    KILLED = "killed"
    UNFIT = "unfit"
    CACHE = "cache"
    FAULTED = "faulted"
    CRASHED = "crashed"


_PHRASES: dict[FailureKind, tuple[str, ...]] = {
    FailureKind.ENGINE_TOO_OLD: (
        r"unknown (?:model|pre-tokenizer|architecture)",
        r"unsupported (?:model )?architecture",
        r"architecture .{0,60}(?:not supported|unsupported)",
        r"not (?:yet )?supported by your version of ollama",
        r"newer version of ollama",
        r"invalid ggml type",
        r"unknown (?:ggml )?type",
        r"missing tensor",
        r"wrong number of tensors",
    ),
    FailureKind.ENGINE_TOO_NEW: (
        r"no longer supported",
        r"unsupported gguf version",
        r"older version of ollama",
        r"(?:ggml_)?type .{0,40}(?:removed|deprecated)",
    ),
    FailureKind.SYSTEM_MEMORY: (
        r"requires more system memory",
        r"too large for system",
        r"cannot allocate memory",
        r"bad_alloc",
    ),
    FailureKind.CARD_MEMORY: (
        r"cuda error: out of memory",
        r"cudamalloc failed: out of memory",
        r"allocate cuda\d* buffer",
        r"requires more (?:gpu|video) memory",
        r"insufficient vram",
        r"cublas_status_alloc_failed",
    ),
    FailureKind.CORRUPT: (
        r"invalid (?:file )?magic",
        r"not within (?:the )?file bounds",
        r"corrupted or incomplete",
        r"exceeds file size",
        r"digest mismatch",
        r"not in gguf format",
        r"failed to read tensor",
    ),
    FailureKind.STORE: (
        r"blobs/sha256[^ ]*:? (?:no such file|permission denied|input/output error)",
        r"(?:no such file or directory|permission denied|input/output error|no space left).{0,80}blobs",
    ),
    FailureKind.TIMEOUT: (r"timed out waiting for (?:llama|the)[ -](?:runner|server|model)",),
    FailureKind.KILLED: (r"(?:runner|llama[- ]server).{0,40}(?:signal: killed|no longer running: 9)",),
    FailureKind.UNFIT: (r"no kernel image is available",),
    FailureKind.CACHE: (
        r"cache .{0,40}requires flash",
        r"cache quantization requires",
        r"unsupported cache type",
    ),
    FailureKind.FAULTED: (
        r"cuda error: (?:an )?(?:illegal|unspecified|misaligned|device-side|invalid)",
        r"ggml_assert\(|ggml_abort",
        r"cublas_status_(?!alloc_failed)\w+",
    ),
    FailureKind.CRASHED: (
        r"error loading llama server",
        r"llama runner process has terminated",
        r"llama[- ]server .{0,30}exited",
        r"llama runner terminated",
        r"(?:failed|unable) to load model",
    ),
}
_FAILURES = tuple((kind, Phrase("|".join(phrases), re.IGNORECASE)) for kind, phrases in _PHRASES.items())
_COMPLAINT = Phrase(
    r"\b(?:error|fatal|panic|fail(?:ed|ure)?|abort(?:ed)?|assert|unable|sig[a-z]{3,4})\b", re.IGNORECASE
)
"""What an engine says before it ends, whatever its words are."""
_COMPLAINT_LIMIT = 160
_STARTED = Phrase(r"(?:llama runner|llama[-_ ]server) started in|runner started in")
_STARTING = Phrase(r"reloading runner|starting (?:llama[-_ ]server|runner|llama runner)", re.IGNORECASE)
_CONTEXT = Phrase(r"(?:num_ctx[=: ]|KvSize:|-c |--ctx-size |n_ctx += +)(\d+)")
_MODEL = Phrase(r"\bmodel=(\S+)|--model (\S+)")
_OFFLOADED = Phrase(r"offloaded (\d+)/(\d+) layers")
_LIBRARY = Phrase(r"\blibrary=(\w+)")
_INFERENCE_PATHS = ("/api/chat", "/v1/chat/completions", "/v1/completions", "/api/embed", "/v1/embeddings")
_OK = 200


class Load(msgspec.Struct, frozen=True):
    """One load, or the beginning of one.

    Attributes:
        at: When.
        context: Tokens of context that it was asked with; None where the log does not tell.
        model: Model or blob; empty where the log does not tell.
        finished: Whether the engine started.
        offloaded: Layers on the card and layers in all; None where the log does not tell.
    """

    at: datetime | None
    context: int | None
    model: str
    finished: bool
    offloaded: tuple[int, int] | None


class LoadFailure(msgspec.Struct, frozen=True):
    """A failed load after which none succeeded."""

    kind: FailureKind
    said: str
    at: datetime | None


def failure_kind(said: str) -> FailureKind | None:
    """What stopped a load, by Ollama's own words; None where they tell of no failed load."""
    return next((kind for kind, pattern in _FAILURES if pattern.search(said)), None)


def loads(lines: Iterable[LogLine]) -> tuple[Load, ...]:
    """The loads of a log, oldest first."""
    found: list[Load] = []
    context: int | None = None
    model = ""
    begun: datetime | None = None
    offloaded: tuple[int, int] | None = None
    underway = False
    for line in lines:
        if _STARTED.search(line.message):
            found.append(Load(line.at or begun, context, model, finished=True, offloaded=offloaded))
            context, model, offloaded, underway = None, "", None, False
        elif _STARTING.search(line.message):
            context = int(size[1]) if (size := _CONTEXT.search(line.raw)) else context
            named = _MODEL.search(line.raw)
            model = (named[1] or named[2]) if named else model
            begun, underway = line.at, True
        elif layers := _OFFLOADED.search(line.raw):
            offloaded = (int(layers[1]), int(layers[2]))
    if underway:
        found.append(Load(begun, context, model, finished=False, offloaded=offloaded))
    return tuple(found)


def standing_failure(lines: Iterable[LogLine]) -> LoadFailure | None:
    """The failure to load that no later load or answered request has disproved."""
    worst: LoadFailure | None = None
    order = list(FailureKind)
    last: datetime | None = None
    complaint = ""
    for line in lines:
        last = line.at or last
        if _STARTED.search(line.message) or (line.status == _OK and line.path in _INFERENCE_PATHS):
            worst, complaint = None, ""
            continue
        if line.status is not None:
            continue  # a request's line names no cause
        kind = failure_kind(line.raw)
        if kind is None and _COMPLAINT.search(line.raw):
            complaint = line.raw.strip()[-_COMPLAINT_LIMIT:]
        if kind is not None and (worst is None or order.index(kind) <= order.index(worst.kind)):
            said = line.message.strip() if line.at is None else line.raw.strip()
            if kind is FailureKind.CRASHED and complaint:
                said = f"{complaint} / {said}"  # that the engine ended says less than its own last complaint
            worst = LoadFailure(kind, said, line.at or last)
    return worst


def engine_libraries(lines: Iterable[LogLine]) -> frozenset[str]:
    """Compute libraries that the engine found at its last start (`cuda`, `cpu`); empty if untold."""
    found: set[str] = set()
    discovering = False
    for line in lines:
        if "discovering available GPUs" in line.message:
            found, discovering = set(), True
        elif line.message.startswith("inference compute") and (library := _LIBRARY.search(line.raw)):
            if not discovering:
                found = set()
            found.add(library[1].lower())
            discovering = True
    return frozenset(found)
