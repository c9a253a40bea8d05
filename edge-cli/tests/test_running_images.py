"""The images that run, held to the lock file by the digests that the kubelet reports."""

from typing import Any

import pytest
from edge_cli.lock import Lock
from edge_cli.running_images import strangers
from edge_llm_tests.evidence import Recording

ONE, TWO = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
LOCK = Lock(images={"docker.io/a/b:1": ONE, "docker.io/c/d:2": ""})


def seen(image: str, image_id: Any) -> Recording:
    pod = {
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"containers": [{"name": "c", "image": image}]},
        "status": {"containerStatuses": [{"name": "c", "imageID": image_id}]},
    }
    return Recording({"api:/api/v1/pods": {"status": 200, "body": {"kind": "PodList", "items": [pod]}}})


@pytest.mark.parametrize("image", ["docker.io/a/b:1", f"docker.io/a/b:1@{ONE}"])
def test_another_image_than_the_pinned_one_is_named_with_both_digests(image: str) -> None:
    (said,) = strangers(seen(image, f"docker.io/a/b@{TWO}"), LOCK)
    for word in ("docker.io/a/b:1", "n/p", ONE, TWO):
        assert word in said


@pytest.mark.parametrize(
    ("image", "image_id"),
    [
        ("docker.io/a/b:1", f"docker.io/a/b@{ONE}"),
        ("docker.io/c/d:2", f"docker.io/c/d@{TWO}"),
        ("docker.io/e/f:3", f"docker.io/e/f@{TWO}"),
        ("docker.io/a/b:1", TWO),
        ("docker.io/a/b:1", ""),
        ("docker.io/a/b:1", 7),
    ],
)
def test_what_is_as_pinned_or_has_nothing_to_compare_is_no_stranger(image: str, image_id: Any) -> None:
    assert strangers(seen(image, image_id), LOCK) == ()


def test_pods_that_were_not_seen_are_no_strangers() -> None:
    assert strangers(Recording({}), LOCK) == ()
