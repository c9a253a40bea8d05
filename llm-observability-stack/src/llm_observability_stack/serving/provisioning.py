"""Why a promised model has not arrived: the Job that brings it, or what Ollama's log says of the pull."""

import re

from edge_llm_tests.contract import Result, failed, unknown
from edge_llm_tests.fields import texts
from edge_llm_tests.objects import Container, Pod

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.spec import ModelPromise
from llm_observability_stack.serving.where import Where

__all__ = ["PROVISIONING_REASONS", "diagnose_provisioning", "pull_reason"]

PROVISIONING_REASONS = (
    "StillPulling",
    "PullFails",
    "PullUnreachable",
    "PullCorrupted",
    "NoSpaceForModel",
    "StoreReadOnly",
    "NoSuchModel",
    "PullNeedsNewerEngine",
)
_OF_A_NAME = ("no such host", "server misbehaving", "name resolution", "lookup ")
_OWN_JOB = "ollama-models"
_OF_A_PULL = ("pull", "download", "registry", "-partial")
_SAID_LIMIT = 240
_WORDS = (
    (("digest mismatch", "must be downloaded again"), "PullCorrupted"),
    (("no space left", "disk quota"), "NoSpaceForModel"),
    (("read-only file system",), "StoreReadOnly"),
    (("newer version of ollama",), "PullNeedsNewerEngine"),
    (("file does not exist", "manifest unknown", "no such model"), "NoSuchModel"),
    (
        (
            "no such host",
            "server misbehaving",
            "name resolution",
            "dial tcp",
            "i/o timeout",
            "deadline exceeded",
            "connection timed out",
            "unreachable",
            "no route to host",
            "connection reset",
            "connection refused",
            "broken pipe",
            "eof",
            "max retries exceeded",
            "x509",
            "tls",
            "proxyconnect",
        ),
        "PullUnreachable",
    ),
)


def pull_reason(said: str) -> str:
    """The reason behind the words of a failed pull."""
    lower = said.lower()
    return next((reason for words, reason in _WORDS if any(word in lower for word in words)), "PullFails")


def _own(reason: str, said: str) -> bool:
    """Whether a pull fails by itself: not where the disk or the cluster's names may be at fault."""
    return reason != "StoreReadOnly" and not any(word in said.lower() for word in _OF_A_NAME)


def diagnose_provisioning(observed: ServingState, promise: ModelPromise) -> Result | None:
    """Why `promise` has not arrived; None where nothing seen is to bring it."""
    for pod in _bringing(observed, promise):
        if pod.phase == "Succeeded":
            break  # what failed before it no longer matters
        if (found := _of_pod(pod, promise)) is not None:
            return found
    return _of_log(observed, promise)


def _bringing(observed: ServingState, promise: ModelPromise) -> list[Pod]:
    """Pods that are to bring the model, newest first: those of our own Job, and those that name it."""
    found = []
    for pod in observed.pods.or_else(()):
        owner = pod.owner
        if owner is None or owner[0] != "Job":
            continue
        own = pod.labels.get("app.kubernetes.io/name") == _OWN_JOB
        if own or any(_names(each, promise) for each in pod.containers):
            found.append(pod)
    return sorted(found, key=lambda pod: str(pod.created), reverse=True)


def _names(container: Container, promise: ModelPromise) -> bool:
    words = (*texts(container.raw, "command"), *texts(container.raw, "args"), *container.env.values())
    named = re.compile(rf"(?<![\w./-]){re.escape(promise.name)}(?![\w.-])")
    return any(named.search(word) for word in words)


def _of_pod(pod: Pod, promise: ModelPromise) -> Result | None:
    where: Where = {"model": promise.name, "pod": pod.name, "namespace": pod.namespace}
    for container in pod.containers:
        for state in (container.state, container.last_state):
            if state.terminated and state.exit_code != 0:
                said = " ".join(state.message.split())[-_SAID_LIMIT:] or state.terminated
                reason = pull_reason(said)
                return failed(
                    reason,
                    f"model {promise.name} is not present: pod {pod.path} that is to bring it fails: {said}",
                    independent=_own(reason, said),
                    **where,
                )
        if container.state.running:
            since = container.state.started
            return unknown(
                "StillPulling",
                f"model {promise.name} is not present yet: pod {pod.path} brings it since {since}",
                **where,
            )
    return None


def _of_log(observed: ServingState, promise: ModelPromise) -> Result | None:
    """What Ollama's own log says of the last pull, where it failed in words that are known."""
    for line in reversed(observed.log.or_else(())):
        lower = line.raw.lower()
        if line.status is None and any(word in lower for word in _OF_A_PULL):
            reason = pull_reason(line.raw)
            if reason == "PullFails":
                continue
            return failed(
                reason,
                f"model {promise.name} is not present; Ollama's log says of a pull: "
                f"{line.raw.strip()[-_SAID_LIMIT:]}",
                independent=_own(reason, line.raw),
                model=promise.name,
            )
    return None
