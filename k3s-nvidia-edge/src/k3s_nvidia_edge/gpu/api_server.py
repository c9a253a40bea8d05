"""Whether the Kubernetes API answers, and lets itself be read."""

import re
from collections.abc import Mapping

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.reads import ApiRead, UnseenError

from k3s_nvidia_edge.gpu.store_fault import STORE_WORDS

__all__ = ["LISTS", "ApiServer", "api_server"]

LISTS = (
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/events",
    "/api/v1/services",
    "/api/v1/persistentvolumeclaims",
    "/apis/node.k8s.io/v1/runtimeclasses",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/daemonsets",
    "/apis/discovery.k8s.io/v1/endpointslices",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/nvidia.com/v1/clusterpolicies",
    "/apis/monitoring.coreos.com/v1/servicemonitors",
    "/apis/monitoring.coreos.com/v1/prometheuses",
)
_PROBES = ("/version", "/readyz")
_EXPIRED = (
    "certificate has expired",
    "certificate_expired",
    "certificate expired",
)
_EARLY = re.compile(
    r"not yet valid: current time \S+ is before|certificate is not yet valid(?!:)", re.IGNORECASE
)
_SAID_LIMIT = 240
_SERVER_ERROR = 500
_REFUSALS = (401, 403)
_NO_ANSWER_REASONS = ("Unauthorised", "NotTrusted", "Unreachable", "NameNotResolved", "TimedOut", "Forbidden")


class ApiServer(msgspec.Struct, frozen=True):
    """What came back from the reads of the API that were made."""

    reads: tuple[ApiRead, ...]

    @property
    def answered(self) -> int:
        """How many reads came back with what the Kubernetes API, and nothing else, answers.

        The probes answer strangers too: where every list was refused, they count for nothing.
        """
        answered = [read for read in self.reads if _is_kubernetes(read)]
        lists = [read for read in self.reads if not _is_probe(read)]
        return 0 if lists and all(_is_probe(read) for read in answered) else len(answered)

    @property
    def lets_nobody_in(self) -> bool:
        """Whether something answers there, with a refusal of the credentials."""
        return any(read.error is None and read.status in _REFUSALS for read in self.reads)

    @property
    def refusal(self) -> UnseenError:
        """Why it cannot be looked at, the most telling reason first."""
        problems = [problem for read in self.reads if (problem := read.problem) is not None]
        for reason in _NO_ANSWER_REASONS:
            for problem in problems:
                if problem.reason == reason:
                    return problem
        if problems:
            return problems[0]
        key = self.reads[0].key
        return UnseenError(key, "Malformed", f"{key}: what answers there is not the Kubernetes API")

    @property
    def refused(self) -> tuple[UnseenError, ...]:
        """Every read that was not answered."""
        return tuple(problem for read in self.reads if (problem := read.problem) is not None)

    @property
    def expired(self) -> str:
        """The words of a failed read that say a certificate has expired; empty where none does."""
        for read in self.reads:
            if read.problem is not None and any(word in _said(read).lower() for word in _EXPIRED):
                return _said(read)
        return ""

    @property
    def not_yet_valid(self) -> str:
        """The words of a failed read that say a certificate begins in the future; empty where none does."""
        for read in self.reads:
            if read.problem is not None and _EARLY.search(_said(read)) is not None:
                return _said(read)
        return ""

    @property
    def _store_words(self) -> str:
        """What a failed read repeats of the store behind the API, as a further clause; empty for nothing."""
        for read in self.reads:
            failed = read.error is None and (read.status or 0) >= _SERVER_ERROR and not _is_probe(read)
            if failed and STORE_WORDS.search(_said(read)):
                return f"; {_said(read)}"
        return ""

    @property
    def not_ready(self) -> str:
        """What the API says of itself where it answers and is not ready; empty otherwise."""
        for read in self.reads:
            if read.key.endswith(":/readyz") and read.error is None and (read.status or 0) >= _SERVER_ERROR:
                failing = [line for line in str(read.body or "").splitlines() if line.startswith("[-]")]
                return "; ".join(failing or [f"HTTP {read.status}"]) + self._store_words
        failing_all = [
            read for read in self.reads if read.error is None and (read.status or 0) >= _SERVER_ERROR
        ]
        if failing_all and len(failing_all) == len(self.reads):
            return f"HTTP {failing_all[0].status}: {_said(failing_all[0])}"
        return ""


def api_server(recording: Recording) -> ApiServer:
    """The state of the API. Use as `recording.view(api_server)`.

    Raises:
        UnseenError: Not one read of the API was made, or all that were are damaged.
    """
    made: list[ApiRead] = []
    damaged: UnseenError | None = None
    for path in (*_PROBES, *LISTS):
        if recording.has(f"api:{path}"):
            try:
                made.append(recording.api(path))
            except UnseenError as unseen:
                damaged = unseen
    if made:
        return ApiServer(tuple(made))
    raise damaged or UnseenError(
        "api:/version", "NotObserved", "no read of the Kubernetes API was made: api:/version was not read"
    )


def _is_probe(read: ApiRead) -> bool:
    return read.key.removeprefix("api:") in _PROBES


def _said(read: ApiRead) -> str:
    body = read.body
    said = body.get("message", body.get("error", "")) if isinstance(body, Mapping) else body
    return str(said or "").strip()[:_SAID_LIMIT]


def _is_kubernetes(read: ApiRead) -> bool:
    if read.key.endswith(":/readyz"):
        return read.problem is None and str(read.body).strip() == "ok"
    try:
        if read.key.endswith(":/version"):
            return isinstance(read.document.get("gitVersion"), str)
        return bool(read.items) or True
    except UnseenError:
        return False
