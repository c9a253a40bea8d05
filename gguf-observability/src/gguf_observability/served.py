"""A model as Ollama serves it: its account, its blob where that can be read, and what the card shows."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import prod
from typing import Any

from edge_llm_tests import Recording
from edge_llm_tests.errors import TargetUnreachableError
from edge_llm_tests.fields import mapping, objects, text
from edge_llm_tests.ollama import LoadedModel, canonical, loaded_models, version
from edge_llm_tests.readers.host import HostReader
from edge_llm_tests.readers.service import ask_service
from edge_llm_tests.readers.wire import Origin

from gguf_observability.errors import GgufError
from gguf_observability.header import Array, Header, Tensor
from gguf_observability.profile.card import Card, cards
from gguf_observability.splits import read_model
from gguf_observability.tensor_types import TENSOR_TYPES

__all__ = ["Served", "batch_size", "observe_served", "record"]

_DEADLINE_S = 10.0
_BATCH, _BATCHES = 512, ((32768, 2048), (4096, 1024))
"""What Ollama computes at once where nobody says: above so many tokens of context so many."""

_BATCH_LIMIT = 1 << 20
_SMI = "nvidia-smi -q -x"
_FROM = re.compile(r"^FROM (?P<blob>\S*(?P<digest>sha256[-:][0-9a-f]{64}))$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Served:
    """A served model.

    Attributes:
        name: Canonical name.
        version: Ollama's version.
        loaded: Its entry of `ollama ps`; None where it is not loaded.
        header: Its header; of `/api/show` alone, without tensors, where the blob cannot be read.
        blob: Path of the blob that was read; empty where none was.
        parameters: Its own parameters, `num_ctx` and the like.
        cards: The cards of this host; none where it has no nvidia-smi.
    """

    name: str
    version: str
    loaded: LoadedModel | None
    header: Header
    blob: str
    parameters: Mapping[str, str]
    cards: tuple[Card, ...]


def record(url: str, model: str) -> Recording:
    """Everything that is read, as evidence keeps it: contracts judge the same recording.

    Raises:
        TargetUnreachableError: Ollama does not answer.
    """
    origin = Origin(url if "://" in url else f"http://{url}")
    reads: dict[str, Any] = {}
    for path in ("/api/version", "/api/tags", "/api/ps", f"/api/show {canonical(model)}"):
        reads[f"http:ollama:{path}"] = answer = ask_service(origin, path, _DEADLINE_S)
        if answer["error"]:
            raise TargetUnreachableError(
                f"Ollama at {url}: {answer['body']}", "give its address with --ollama http://HOST:11434"
            )
    reads[f"command:{_SMI}"] = HostReader().command(_SMI, _DEADLINE_S)
    origin.close()
    return Recording(reads=reads, recorded_at=datetime.now(UTC).isoformat(timespec="seconds"))


def observe_served(recording: Recording, model: str, blobs: str = "") -> Served:
    """What the recording shows of `model`; `blobs` is where its blobs are seen from here.

    Raises:
        ValueError: Ollama does not know the model.
        UnseenError: What answered is not Ollama, or it failed.
        MalformedError: What it answered is not what Ollama answers.
    """
    name = canonical(model)
    answer = recording.http("ollama", f"/api/show {name}")
    if answer.status == 404:  # noqa: PLR2004 - not found
        raise ValueError(f"Ollama does not have {name}: see `ollama list`, or pull it")
    document = answer.document
    header, blob = _header(document, blobs)
    same = [each for each in loaded_models(recording) if each.name == name]
    found = recording.view(cards).or_else(())
    told = dict(
        line.split(maxsplit=1) for line in text(document, "parameters").splitlines() if " " in line.strip()
    )
    return Served(name, version(recording), same[0] if same else None, header, blob, told, found)


def batch_size(served: Served, slot: int) -> int:
    """Tokens computed at once for a slot of so many: the model's own `num_batch`, or what Ollama takes."""
    told = served.parameters.get("num_batch", "")
    if told.isdecimal() and 0 < int(told) <= _BATCH_LIMIT:
        return int(told)
    return next((size for above, size in _BATCHES if slot > above), _BATCH)


def _header(document: Mapping[str, Any], blobs: str) -> tuple[Header, str]:
    found = _FROM.search(text(document, "modelfile"))
    if found is not None:
        digest = found["digest"].replace(":", "-")
        path = f"{blobs}/{digest}" if blobs else found["blob"]
        if os.path.isabs(path) and os.path.exists(path):  # noqa: PTH110, PTH117 - a string is kept
            try:
                return read_model(path), path
            except (OSError, GgufError):
                if blobs:
                    raise
    header = Header("", 3, 0)
    header.tensors = _tensors(document)
    for key, content in mapping(document, "model_info").items():
        if isinstance(content, list):
            header.metadata[str(key)] = Array(4, len(content), 0, 0, tuple(content))
        elif isinstance(content, bool | int | float | str):
            header.metadata[str(key)] = content
    return header, ""


def _tensors(document: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """What Ollama tells of the tensors: sizes follow from types and shapes; none if one is not known."""
    blocks = {name: (block, size) for name, block, size in TENSOR_TYPES.values()}
    found, offset = [], 0
    for each in objects(document, "tensors"):
        kind, shape = text(each, "type").upper(), each.get("shape")
        if kind not in blocks or not isinstance(shape, list) or not shape:
            return ()
        if not all(isinstance(size, int) and size > 0 for size in shape):
            return ()
        block, size = blocks[kind]
        held = prod(shape) // block * size
        found.append(Tensor(text(each, "name"), tuple(shape), kind, offset, held))
        offset += held
    return tuple(found)
