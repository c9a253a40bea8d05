"""What Ollama's API answered: version, models on its disk, models loaded."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError, integer, objects, optional_text, text
from edge_llm_tests.objects.meta import moment

__all__ = ["LoadedModel", "PresentModel", "canonical", "loaded_models", "present_models", "version"]

_DEFAULT_HOSTS = ("registry.ollama.ai/", "ollama.com/", "library/")
_EPOCH = datetime(1971, 1, 1, tzinfo=UTC)  # a model that is being loaded expires "at the epoch", or in year 1


class PresentModel(msgspec.Struct, frozen=True):
    """One entry of `/api/tags`: a model on Ollama's disk."""

    name: str
    digest: str
    size_bytes: int


class LoadedModel(msgspec.Struct, frozen=True):
    """One entry of `/api/ps`.

    Attributes:
        name: Canonical name.
        digest: Digest of the manifest that was loaded.
        size_bytes: What all of it takes, by Ollama's account.
        vram_bytes: What of it is on the card, by Ollama's account: a claim, not a measurement.
        context_length: Tokens of one slot; None from an engine that does not tell.
        expires_at: When it will be unloaded; None while it is being loaded.
    """

    name: str
    digest: str
    size_bytes: int
    vram_bytes: int
    context_length: int | None
    expires_at: datetime | None


def canonical(name: str) -> str:
    """The name by which Ollama lists a model: `nomic-embed-text` is `nomic-embed-text:latest`."""
    for host in _DEFAULT_HOSTS:
        name = name.removeprefix(host)
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


def present_models(recording: Recording) -> tuple[PresentModel, ...]:
    """The models on Ollama's disk."""
    return tuple(
        PresentModel(_name(raw), _digest(raw), integer(raw, "size"))
        for raw in _models(recording, "/api/tags")
    )


def loaded_models(recording: Recording) -> tuple[LoadedModel, ...]:
    """The models that Ollama says are loaded."""
    return tuple(_loaded(raw) for raw in _models(recording, "/api/ps"))


def version(recording: Recording) -> str:
    """The engine's version."""
    found = text(recording.http("ollama", "/api/version").document, "version")
    if not found:
        raise MalformedError("the answer names no version, so it is not Ollama's")
    return found


def _models(recording: Recording, path: str) -> tuple[Mapping[str, Any], ...]:
    document = recording.http("ollama", path).document
    if "models" not in document:
        raise MalformedError("the answer has no list of models")
    return objects(document, "models")


def _loaded(raw: Mapping[str, Any]) -> LoadedModel:
    if raw.get("size") is None or raw.get("size_vram") is None:
        raise MalformedError("a loaded model has no size, or none on the card")
    expires = moment(optional_text(raw, "expires_at"))
    return LoadedModel(
        _name(raw),
        _digest(raw),
        integer(raw, "size"),
        integer(raw, "size_vram"),
        integer(raw, "context_length") or None,
        expires if expires is not None and expires > _EPOCH else None,
    )


def _name(raw: Mapping[str, Any]) -> str:
    name = text(raw, "name") or text(raw, "model")
    if not name:
        raise MalformedError("a listed model has no name")
    return canonical(name)


def _digest(raw: Mapping[str, Any]) -> str:
    return text(raw, "digest").removeprefix("sha256:")
