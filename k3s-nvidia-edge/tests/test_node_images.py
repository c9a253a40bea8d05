"""Images of a bundle into k3s, by a stand-in for its program (SIMULATED): what is there is left alone."""

import json
import sys
from pathlib import Path

import pytest
from edge_llm_tests.errors import EdgeError, UsageError
from k3s_nvidia_edge.node.images import Brought, bring

SIMULATED_K3S = """#!{python}
import json, pathlib, sys
here = pathlib.Path(__file__).parent
state = json.loads((here / "state.json").read_text())
with open(here / "calls", "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
assert sys.argv[1:5] == ["ctr", "--namespace", "k8s.io", "images"], "SIMULATED k3s"
if state["error"]:
    sys.exit("SIMULATED: " + state["error"])
if sys.argv[5] == "list":
    print("REF TYPE DIGEST SIZE PLATFORMS LABELS")
    for ref, digest in state["stored"].items():
        print(ref, "application/vnd.oci.image.manifest.v1+json", digest, "1.0 MiB linux/amd64 -")
else:
    state["stored"].update(state["archives"].get(pathlib.Path(sys.argv[6]).name, dict()))
    (here / "state.json").write_text(json.dumps(state))
"""
ONE, TWO = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"


class Node:
    """A host with the stand-in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.k3s = folder / "k3s"
        self.k3s.write_text(SIMULATED_K3S.format(python=sys.executable))
        self.k3s.chmod(0o755)
        self.state = {"stored": {}, "archives": {}, "error": ""}
        self.said: list[str] = []

    def image(self, ref: str, digest: str, *, holds: bool = True) -> Brought:
        path = self.folder / f"{ref.rpartition('/')[2]}.tar"
        image = Brought(ref, digest, path)
        self.state["archives"][path.name] = dict.fromkeys(image.names, digest) if holds else {}  # type: ignore[index]  # a dict
        return image

    def bring(self, *images: Brought) -> tuple[str, ...]:
        (self.folder / "state.json").write_text(json.dumps(self.state))
        try:
            return bring(images, self.said.append, self.k3s)
        finally:
            self.state = json.loads((self.folder / "state.json").read_text())

    @property
    def imports(self) -> int:
        return (self.folder / "calls").read_text().count('"import"')


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_what_the_node_lacks_is_imported_once(node: Node) -> None:
    images = (node.image("docker.io/a/b:1", ONE), node.image("quay.io/c/d:2", TWO))
    assert node.bring(*images) == ("docker.io/a/b:1", "quay.io/c/d:2")
    assert node.bring(*images) == ()
    assert node.imports == 2
    assert node.said == ["image docker.io/a/b:1", "image quay.io/c/d:2"]


def test_an_older_image_of_the_same_tag_is_replaced(node: Node) -> None:
    node.bring(node.image("docker.io/a/b:1", ONE))
    assert node.bring(node.image("docker.io/a/b:1", TWO)) == ("docker.io/a/b:1",)


def test_an_image_that_is_there_by_its_tag_alone_is_imported(node: Node) -> None:
    image = node.image("docker.io/a/b:1", ONE)
    node.state["stored"] = {"docker.io/a/b:1": ONE}
    assert node.bring(image) == ("docker.io/a/b:1",)


def test_an_archive_without_the_image_is_noticed(node: Node) -> None:
    with pytest.raises(EdgeError, match=r"there is no docker\.io/a/b:1"):
        node.bring(node.image("docker.io/a/b:1", ONE, holds=False))


def test_an_archive_with_another_image_under_the_name_is_noticed(node: Node) -> None:
    image = node.image("docker.io/a/b:1", ONE)
    node.state["archives"]["b:1.tar"] = dict.fromkeys(image.names, TWO)  # type: ignore[index]  # a dict
    with pytest.raises(EdgeError, match=f"of {ONE}"):
        node.bring(image)


def test_a_containerd_that_refuses_is_an_error_with_its_words(node: Node) -> None:
    node.state["error"] = "permission denied"
    with pytest.raises(EdgeError, match="permission denied") as raised:
        node.bring(node.image("docker.io/a/b:1", ONE))
    assert "root" in raised.value.next_step


def test_a_host_without_k3s(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no k3s on this host") as raised:
        bring((), print, tmp_path / "k3s")
    assert "--install-k3s" in raised.value.next_step
