import os
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox import cgroups, lifecycle, network, record, supervision
from k3s_nvidia_edge.sandbox.errors import NotRunningError, SandboxError
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.lifecycle import State
from k3s_nvidia_edge.sandbox.network import Seen
from k3s_nvidia_edge.sandbox.node import enter_argv, find
from k3s_nvidia_edge.sandbox.progress import Progress
from k3s_nvidia_edge.sandbox.record import Identity, Record
from msgspec.structs import replace


def write(state: Path, init: Identity | None, phase: str = "running") -> None:
    state.mkdir(parents=True, exist_ok=True)
    record.write(Layout(state).record, Record("1", record.boot_id(), 5.0, phase, init, (), "sandbox0", ()))


def test_a_node_without_a_record_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Seen(link=True, owner=str(tmp_path), leftovers=(), foreign=())
    monkeypatch.setattr(network, "look", lambda: own)
    assert lifecycle.status(tmp_path).state is State.STALE


def test_nothing_is_down(tmp_path: Path) -> None:
    status = lifecycle.status(tmp_path / "none")
    assert (status.state, status.node, status.ready) == (State.DOWN, None, False)
    assert not (tmp_path / "none").exists()
    with pytest.raises(NotRunningError, match="edge sandbox up"):
        find(Layout(tmp_path / "none"))


def test_a_start_that_got_no_process_is_starting(tmp_path: Path) -> None:
    write(tmp_path, None, "starting")
    assert lifecycle.status(tmp_path).state is State.STARTING


def test_a_node_that_is_gone_is_stale(tmp_path: Path) -> None:
    write(tmp_path, Identity(os.getpid(), 1, "pid:[1]", record.boot_id()))
    assert lifecycle.status(tmp_path).state is State.STALE
    with pytest.raises(NotRunningError):
        find(Layout(tmp_path))


def test_a_node_without_an_answer_is_up_and_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_answer(init_pid: int) -> tuple[supervision.ProgramState, ...]:
        raise SandboxError("the node's supervisor does not answer")

    monkeypatch.setattr(supervision, "program_states", no_answer)
    write(tmp_path, Identity.of(os.getpid()))
    status = lifecycle.status(tmp_path)
    assert (status.state, status.ready, status.programs) == (State.UP, False, ())
    assert status.message == "the node's supervisor does not answer"
    assert status.node is not None
    assert status.node.kubeconfig == tmp_path / "kubeconfig" / "admin.conf"


def test_down_where_nothing_is_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "abandoned", lambda _mountinfo: ())
    monkeypatch.setattr(network, "look", lambda: Seen(link=False, owner=None, leftovers=(), foreign=()))
    said: list[Progress] = []
    lifecycle.down(tmp_path, on_progress=said.append)
    assert [event.step for event in said] == ["down"]


@pytest.mark.parametrize(
    ("seen", "removed"),
    [
        (Seen(link=True, owner="{own}", leftovers=("10.244.0.0/16",), foreign=()), True),
        (Seen(link=False, owner=None, leftovers=("10.244.0.0/16",), foreign=()), True),
        (Seen(link=True, owner="/another", leftovers=("10.244.0.0/16",), foreign=()), False),
        (Seen(link=True, owner=None, leftovers=(), foreign=()), False),
    ],
    ids=["its cable", "routes alone", "another's cable", "a cable of nobody"],
)
def test_down_without_a_record_removes_what_says_that_it_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: Seen, removed: bool
) -> None:
    gone: list[str] = []
    owned = replace(seen, owner=seen.owner and seen.owner.format(own=tmp_path))
    monkeypatch.setattr(network, "look", lambda: owned)
    monkeypatch.setattr(network, "remove", lambda link, _networks: gone.append(link))
    monkeypatch.setattr(cgroups, "abandoned", lambda _mountinfo: ())
    lifecycle.down(tmp_path)
    assert gone == (["sandbox0"] if removed else [])


def test_entering_brings_the_nodes_environment_only() -> None:
    argv = enter_argv(42, ["nvidia-smi", "-q", "-x"])
    assert argv[:5] == ["nsenter", "--target", "42", "--all", "--"]
    assert "--ignore-environment" in argv
    assert argv[-3:] == ["nvidia-smi", "-q", "-x"]
