"""The serving engine that the driver must suit, and whether it says that the driver does not."""

import re

from edge_llm_tests import Recording
from edge_llm_tests.ollama import container_of, current_log, installations, version
from edge_llm_tests.phrase import Phrase
from edge_llm_tests.reads import UnseenError

__all__ = ["complaint", "cuda_failure", "engine_version", "lost_in_suspend"]

_RELEASE = Phrase(r"(\d+)\.(\d+)(?:\.\d+)?")
_TOO_OLD = Phrase(
    r"driver(?: version)?(?: is)? (?:too old|insufficient)|driver too old|"
    r"cuda driver version is insufficient|ptx was compiled with an unsupported toolchain",
    re.IGNORECASE,
)
_CUDA_FAILED = Phrase(r"failed to initiali[sz]e cuda|cuinit err|cuda driver library failed", re.IGNORECASE)
_CUDA_GONE = Phrase(
    r"(?:failed to initiali[sz]e cuda|cuinit|cuda driver library).*(?:unknown error|999)", re.IGNORECASE
)


def engine_version(recording: Recording) -> tuple[int, int]:
    """Major and minor release of Ollama: by its API, else by its image's tag.

    Raises:
        UnseenError: Neither tells.
    """
    told = recording.view(version).or_else("")
    if found := _RELEASE.match(told):
        return int(found[1]), int(found[2])
    for one in recording.view(installations).value[:1]:
        images = [each.image for pod in one.live_pods if (each := container_of(pod)) is not None]
        images += [each.image for each in (one.workload.containers if one.workload else ())]
        for image in images:
            tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
            if found := _RELEASE.match(tag):
                return int(found[1]), int(found[2])
    raise UnseenError("http:ollama:/api/version", "Unavailable", "the engine's version is not known")


def cuda_failure(recording: Recording) -> str:
    """The line in which Ollama says that CUDA does not start; empty where it does."""
    return _said(recording, _CUDA_FAILED)


def complaint(recording: Recording) -> str:
    """The line in which Ollama calls the driver too old; empty where it does not."""
    return _said(recording, _TOO_OLD)


def lost_in_suspend(recording: Recording) -> str:
    """The line in which Ollama says that CUDA fails without a known reason; empty where it does not."""
    return _said(recording, _CUDA_GONE)


def _said(recording: Recording, words: Phrase) -> str:
    for line in reversed(recording.view(current_log).or_else(())):
        if words.search(line.raw):
            return line.message.strip()[:200]
    return ""
