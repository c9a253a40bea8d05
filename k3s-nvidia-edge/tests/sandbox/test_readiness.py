import time
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox import api, images, readiness, record, supervision
from k3s_nvidia_edge.sandbox.errors import NotReadyError, NotRunningError
from k3s_nvidia_edge.sandbox.images import Outcome
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.node import Node
from k3s_nvidia_edge.sandbox.record import Identity, Record
from k3s_nvidia_edge.sandbox.supervision import ProgramState


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node that is alive as far as its record says: this very process."""
    me = Identity.of(int(Path("/proc/self").readlink().name))
    assert me is not None
    layout = Layout(tmp_path)
    kept = Record("1", record.boot_id(), time.time(), "running", me, (), "sandbox0", ())
    record.write(layout.record, kept)
    layout.imported.parent.mkdir()
    layout.addons.parent.mkdir()
    return Node(tmp_path, me.pid, layout.admin_kubeconfig)


def test_a_node_that_does_not_become_ready_names_reason_and_culprits(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "ready", lambda pki: True)
    monkeypatch.setattr(api, "node_condition", lambda pki, since: ("False", "cni plugin not initialized"))
    states = (ProgramState("kubelet", "RUNNING", 1, 0.0, 0), ProgramState("kine", "FATAL", 0, 0.0, 1))
    monkeypatch.setattr(supervision, "program_states", lambda pid: states)
    said: list[str] = []
    with pytest.raises(
        NotReadyError, match=r"cni plugin not initialized\), kine FATAL: logs are in"
    ) as caught:
        readiness.wait_ready(node, 0.1, lambda step, message: said.append(step))
    assert "kubelet" not in str(caught.value)
    assert said == ["api"]


def test_a_node_that_dies_meanwhile_is_its_own_error(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "ready", lambda pki: record.remove(node.layout.record))
    with pytest.raises(NotRunningError):
        readiness.wait_ready(node, 5, lambda step, message: None)


def test_images_are_waited_for_by_name(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Outcome] = {"a:1": Outcome("d")}
    monkeypatch.setattr(images, "outcomes", lambda layout: known)
    readiness.wait_for_images(node, ["a:1"], 0.1)
    with pytest.raises(NotReadyError, match="no b:1 in the node in time"):
        readiness.wait_for_images(node, ["a:1", "b:1"], 0.1)
    known["b:1"] = Outcome("d", "no space left on device")
    began = time.monotonic()
    with pytest.raises(NotReadyError, match=r"b:1 \(no space left on device\)"):
        readiness.wait_for_images(node, ["b:1"], 30)
    assert time.monotonic() - began < 1


def test_addons_are_waited_for(node: Node) -> None:
    with pytest.raises(NotReadyError, match=r"addons\.log"):
        readiness.wait_for_addons(node, 0.1)
    node.layout.addons.touch()
    readiness.wait_for_addons(node, 0.1)
