"""Models in Ollama's own layout: which files of a folder a model is made of."""

import hashlib
import json
import re
from pathlib import Path

from edge_llm_tests.errors import EdgeError, UsageError
from edge_llm_tests.layer import ModelNeed

__all__ = ["model_files"]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REGISTRY, _NAMESPACE = "registry.ollama.ai", "library"
_PARTS = 3  # registry, namespace, model


def model_files(folder: Path, need: ModelNeed) -> tuple[tuple[str, Path], ...]:
    """The model's files by their places in the layout: its manifest, then its blobs.

    Args:
        folder: Ollama's folder, with `manifests` and `blobs`, e.g. `~/.ollama/models`.
        need: Which model.

    Raises:
        UsageError: The folder does not have it, or not with the digest that is promised.
        EdgeError: Its manifest is damaged.
    """
    place = f"manifests/{_place(need.name)}"
    fetch = f"fetch it there: `OLLAMA_MODELS={folder} ollama serve` and `ollama pull {need.name}`"
    try:
        content = (folder / place).read_bytes()
    except OSError:
        raise UsageError(f"model {need.name} is not in {folder} ({place})", fetch) from None
    digest = hashlib.sha256(content).hexdigest()
    if need.digest and not digest.startswith(need.digest):
        raise UsageError(
            f"model {need.name}: its manifest in {folder} has digest {digest}, and the profile promises "
            f"{need.digest}",
            "promise the new digest, or fetch the promised one",
        )
    files = [(place, folder / place)]
    for blob in dict.fromkeys(_blobs(content, need.name, folder / place)):
        name = f"blobs/{blob.replace(':', '-')}"
        if not (folder / name).is_file():
            raise UsageError(f"model {need.name}: {folder / name} is missing", fetch)
        files.append((name, folder / name))
    return tuple(files)


def _place(name: str) -> str:
    """`qwen2.5:7b` as `registry.ollama.ai/library/qwen2.5/7b`."""
    model, _, tag = name.partition(":")
    parts = model.split("/")
    above = (_REGISTRY, _NAMESPACE)[: _PARTS - len(parts)]
    return "/".join((*above, *parts, tag or "latest"))


def _blobs(content: bytes, name: str, path: Path) -> tuple[str, ...]:
    try:
        document = json.loads(content)
        found = (document["config"]["digest"], *(layer["digest"] for layer in document["layers"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise EdgeError(f"model {name}: {path} is no manifest of Ollama", "fetch the model again") from None
    if not all(isinstance(each, str) and _DIGEST.fullmatch(each) for each in found):
        raise EdgeError(f"model {name}: {path} names a blob that is no digest", "fetch the model again")
    return found
