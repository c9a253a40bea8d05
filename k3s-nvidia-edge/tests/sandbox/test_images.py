from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox import images
from k3s_nvidia_edge.sandbox.images import Archive, Outcome
from k3s_nvidia_edge.sandbox.layout import Layout

PAUSE = Archive("registry.k8s.io/pause:1", Path("/x/pause.tar"), "sha256:p")
OLLAMA = Archive("localhost/ollama:1", Path("/x/ollama.tar"), "sha256:o")


@pytest.mark.parametrize(
    ("ref", "spelled"),
    [
        ("busybox:1", "docker.io/library/busybox:1"),
        ("rancher/local-path-provisioner:v1", "docker.io/rancher/local-path-provisioner:v1"),
        ("localhost/ollama:1", "localhost/ollama:1"),
        ("registry.k8s.io/pause:1", "registry.k8s.io/pause:1"),
        ("box:5000/a/b:1", "box:5000/a/b:1"),
    ],
)
def test_a_reference_as_containerd_spells_it(ref: str, spelled: str) -> None:
    assert images.canonical(ref) == spelled


def test_only_what_is_stored_with_the_same_digest_is_left_alone() -> None:
    stored = frozenset((PAUSE.ref, OLLAMA.ref))
    known = {PAUSE.ref: Outcome("sha256:p"), OLLAMA.ref: Outcome("sha256:older")}
    assert images.pending([PAUSE, OLLAMA], known, stored) == (OLLAMA,)
    assert images.pending([PAUSE, OLLAMA], known, frozenset()) == (PAUSE, OLLAMA)
    assert images.pending([PAUSE], {PAUSE.ref: Outcome("sha256:p", "disk full")}, stored) == (PAUSE,)
    assert images.pending([PAUSE], {}, stored) == (PAUSE,)


@pytest.mark.parametrize("content", [None, "", "[]", '{"a": {"digest": 1}}'])
def test_no_or_half_a_list_means_that_nothing_is_known(tmp_path: Path, content: str | None) -> None:
    layout = Layout(tmp_path)
    layout.imported.parent.mkdir()
    if content is not None:
        layout.imported.write_text(content)
    assert images.outcomes(layout) == {}
