"""Whether a promised model is on Ollama's disk, and why not."""

from edge_llm_tests.contract import Result, failed
from edge_llm_tests.ollama import PresentModel, canonical

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.provisioning import PROVISIONING_REASONS, diagnose_provisioning
from llm_observability_stack.serving.spec import ModelPromise
from llm_observability_stack.serving.store import passing_store

__all__ = ["PRESENCE_REASONS", "diagnose_absent", "diagnose_unlisted", "diagnose_weights"]

PRESENCE_REASONS = (
    "Absent",
    "OtherTag",
    "DeletedButLoaded",
    "WrongDigest",
    "EmptyModel",
    "StoreUnreadable",
    "StoreNotKept",
    *PROVISIONING_REASONS,
)
_STORE_WORDS = (
    "permission denied",
    "input/output error",
    "no space left",
    "read-only file system",
    "no such file",
)
_MESSAGE_LIMIT = 240
_SERVER_ERROR = 500


def diagnose_absent(
    observed: ServingState, promise: ModelPromise, present: tuple[PresentModel, ...]
) -> Result:
    """Why `promise`, which `/api/tags` does not list, is not there."""
    name = canonical(promise.name)
    listed = ", ".join(each.name for each in present) or "none"
    absent = f"model {promise.name} is not present: /api/tags lists {listed}"
    if (pull := diagnose_provisioning(observed, promise)) is not None:
        return pull
    if any(each.name == name for each in observed.loaded.or_else(())):
        return failed(
            "DeletedButLoaded",
            f"{absent}, yet /api/ps has it loaded: it was deleted, and the next load finds nothing",
            independent=True,
            model=promise.name,
        )
    family = name.partition(":")[0]
    twins = [each for each in present if promise.digest and each.digest == promise.digest]
    same = twins or [each for each in present if each.name.partition(":")[0] == family]
    if same:
        what = "the same weights are" if twins else "another tag of it is"
        return failed(
            "OtherTag",
            f"{absent}; {what} there as {same[0].name}, but clients ask for {promise.name}",
            independent=True,
            model=promise.name,
            other=same[0].name,
        )
    asking = observed.asking
    if not present and asking is not None and (passing := passing_store(asking)):
        return failed(
            "StoreNotKept",
            f"{absent}; {asking.where} keeps its models where they go with the pod: {passing}",
            model=promise.name,
        )
    return failed("Absent", absent, independent=True, model=promise.name)


def diagnose_weights(promise: ModelPromise, found: PresentModel) -> Result | None:
    """What is wrong with a model that is listed; None where nothing is."""
    if promise.digest and found.digest and found.digest != promise.digest.removeprefix("sha256:"):
        return failed(
            "WrongDigest",
            f"model {promise.name} is present with digest {found.digest[:12]}, the profile promises "
            f"{promise.digest[:12]}",
            independent=True,
            model=promise.name,
        )
    if found.size_bytes == 0:
        return failed(
            "EmptyModel",
            f"model {promise.name} is listed with 0 bytes: its pull did not bring the weights",
            independent=True,
            model=promise.name,
        )
    return None


def diagnose_unlisted(observed: ServingState) -> Result | None:
    """What Ollama itself says of its disk where it cannot list its models; None where it did not say."""
    if observed.present.seen or not observed.tags_read.seen:
        return None
    answer = observed.tags_read.value
    said = str(answer.body or "")
    if (answer.status or 0) >= _SERVER_ERROR and any(word in said.lower() for word in _STORE_WORDS):
        return failed(
            "StoreUnreadable",
            f"Ollama cannot read its models: HTTP {answer.status}: {said[:_MESSAGE_LIMIT]}",
            independent=True,
        )
    return None
