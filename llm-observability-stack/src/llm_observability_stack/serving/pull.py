"""Why a container's image does not arrive."""

from edge_llm_tests.contract import Result, failed, unknown
from edge_llm_tests.objects import Container, Pod

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.where import Where

__all__ = ["PULL_REASONS", "diagnose_pull"]

PULL_REASONS = (
    "ImageNotFound",
    "PullDenied",
    "PullRateLimited",
    "RegistryUnreachable",
    "NoSpaceForImage",
    "OtherPlatform",
    "ImageNotPreloaded",
    "InvalidImageName",
    "PullFailed",
    "StillPulling",
)
_WAITING = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_UNPACKING = frozenset({"CreateContainerError", "RunContainerError"})
_NO_SPACE = ("no space left on device", "disk quota exceeded")
_WORDS = (
    (_NO_SPACE, "NoSpaceForImage", "there is no space left for it"),
    (("toomanyrequests", "too many requests", "rate limit", " 429"), "PullRateLimited", "rate limit"),
    (("no match for platform", "no matching manifest", "exec format"), "OtherPlatform", "other platform"),
    (
        ("manifest unknown", "not found", "does not exist", "name unknown"),
        "ImageNotFound",
        "the registry has no such image",
    ),
    (
        ("unauthorized", "authentication required", "denied", "forbidden", " 401", " 403"),
        "PullDenied",
        "the registry wants other credentials",
    ),
    (
        (
            "no such host",
            "dial tcp",
            "i/o timeout",
            "connection refused",
            "x509",
            "tls",
            "unreachable",
            "eof",
        ),
        "RegistryUnreachable",
        "the registry cannot be reached",
    ),
)


def diagnose_pull(observed: ServingState, pod: Pod, container: Container) -> Result | None:
    """Why the image of `container` does not arrive; None where it is not the image that it waits for."""
    waiting = container.state.waiting
    where: Where = {"pod": pod.name, "namespace": pod.namespace, "image": container.image}
    about = observed.about(pod.namespace, pod.name, "Pod")
    if waiting in _UNPACKING and any(word in container.state.message.lower() for word in _NO_SPACE):
        said = f"pod {pod.path} cannot unpack {container.image}: {container.state.message[:300]}"
        return failed("NoSpaceForImage", said, **where)
    if waiting not in _WAITING:
        last = next((each for each in reversed(about) if each.reason in ("Pulling", "Pulled")), None)
        if waiting == "ContainerCreating" and last is not None and last.reason == "Pulling":
            return unknown(
                "StillPulling", f"pod {pod.path} pulls {container.image} since {last.last}", **where
            )
        return None
    if waiting == "ErrImageNeverPull":
        return failed(
            "ImageNotPreloaded",
            f"pod {pod.path} may not pull {container.image}, and the node does not have it",
            **where,
        )
    if waiting == "InvalidImageName":
        return failed("InvalidImageName", f"pod {pod.path}: {container.image!r} is no image name", **where)
    said = " ".join(
        [
            container.state.message,
            *(
                each.message
                for each in about
                if each.reason in ("Failed", "BackOff") and _pulls(each.message)
            ),
        ]
    ).strip()
    lower = said.lower()
    for words, reason, what in _WORDS:
        if any(word in lower for word in words):
            return failed(
                reason, f"pod {pod.path} cannot pull {container.image}: {what}: {said[:300]}", **where
            )
    return failed("PullFailed", f"pod {pod.path} cannot pull {container.image}: {said[:300]}", **where)


def _pulls(message: str) -> bool:
    return "pull" in message.lower()
