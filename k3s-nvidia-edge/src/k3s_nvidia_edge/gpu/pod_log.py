"""The last lines of a pod's containers."""

from collections.abc import Sequence

from edge_llm_tests import Recording
from edge_llm_tests.objects import Pod
from edge_llm_tests.ollama import log_key
from edge_llm_tests.reads import UnseenError

__all__ = ["last_log", "read_log"]


def read_log(recording: Recording, pod: Pod, containers: Sequence[str]) -> str:
    """The log of the first container of which one was read, the empty one of a rotated file included."""
    unseen: UnseenError | None = None
    for container in containers:
        try:
            return recording.log(pod.namespace, pod.name, container)
        except UnseenError as error:
            unseen = unseen or error
    raise unseen or UnseenError("api:/api/v1/pods", "Unavailable", f"{pod.path} has no container")


def last_log(recording: Recording, pod: Pod, container: str) -> tuple[str | None, UnseenError | None]:
    """Its last lines, those before its restart where it has none now; or why there are none."""
    unseen: UnseenError | None = None
    for previous in (False, True):
        try:
            if body := recording.log(pod.namespace, pod.name, container, previous=previous):
                return body, None
        except UnseenError as error:
            unseen = unseen or error
    return None, unseen or UnseenError(
        log_key(pod, container), "Unavailable", f"the log of {pod.path} is empty"
    )
