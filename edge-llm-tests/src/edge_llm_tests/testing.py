"""Test helpers of the vocabulary, for every package that declares a layer."""

from collections.abc import Mapping
from typing import Any

from edge_llm_tests.evaluate import Evaluation, Finding, evaluate
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile

__all__ = ["answer", "command", "content", "judge", "kubernetes_list", "recording_of"]


def recording_of(reads: Mapping[str, Any], *, recorded_at: str = "2026-06-15T12:00:00Z") -> Recording:
    """A recording that holds `reads`."""
    return Recording(reads=dict(reads), recorded_at=recorded_at)


def command(stdout: str = "", *, rc: int | None = 0, error: str | None = None) -> dict[str, Any]:
    """What a host command came to."""
    return {
        "rc": rc if error is None else None,
        "stdout": stdout,
        "stderr": "",
        "error": error,
        "took_s": 0.01,
    }


def content(text: str | None, *, error: str | None = None) -> dict[str, Any]:
    """What reading a file came to."""
    return {"text": text, "mtime": None, "error": error}


def answer(body: Any, *, status: int | None = 200, error: str | None = None) -> dict[str, Any]:
    """What a GET came to."""
    return {"status": status, "body": body, "error": error}


def kubernetes_list(*items: Mapping[str, Any], kind: str = "List") -> dict[str, Any]:
    """A GET that answers with a Kubernetes list."""
    return answer(
        {"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": list(items)}
    )


def judge(layer: Layer, spec: Any, recording: Recording) -> dict[str, Finding]:
    """The findings of one layer by contract id, as if the layers below held."""
    evaluation: Evaluation = evaluate((layer,), Profile("test", specs={layer.name: spec}), recording)
    return {finding.contract.id: finding for finding in evaluation.findings}
