"""The images that run, held to the lock file: a tag may have been another image when a node fetched it."""

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError, text
from edge_llm_tests.objects import pods

from edge_cli.lock import Lock

__all__ = ["strangers"]


def strangers(recording: Recording, lock: Lock) -> tuple[str, ...]:
    """Pinned images of which a pod runs another one, each with both digests.

    An image that was imported from an archive without a name by digest has none to compare, and is left out.
    """
    found = []
    for pod in recording.view(pods).or_else(()):
        for container in pod.containers:
            try:
                ref, running = container.image.partition("@")[0], text(container.status, "imageID")
            except MalformedError:
                continue
            pinned, (_, at, digest) = lock.images.get(ref), running.rpartition("@")
            if pinned and at and digest != pinned:
                found.append(
                    f"{ref} in pod {pod.namespace}/{pod.name} runs as {digest}, the lock file says {pinned}"
                )
    return tuple(dict.fromkeys(found))
