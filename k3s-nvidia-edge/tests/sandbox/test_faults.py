from pathlib import Path
from typing import Any

import pytest
from k3s_nvidia_edge.sandbox import faults
from k3s_nvidia_edge.sandbox.errors import NotRunningError, UnknownFaultError
from k3s_nvidia_edge.sandbox.faults import FAULTS, Fault
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.node import Node
from k3s_nvidia_edge.sandbox.simulation import Driver


@pytest.fixture
def acts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A node on which faults only say what they would do."""
    Layout(tmp_path).simulate.mkdir()
    said: list[str] = []

    def act(word: str) -> Any:
        return lambda node: said.append(word)

    fakes = {
        one.name: Fault(one.name, one.shows, one.group, act(f"break {one.name}"), act(f"heal {one.name}"))
        for one in FAULTS.values()
    }
    monkeypatch.setattr(faults, "FAULTS", fakes)
    monkeypatch.setattr(faults, "find", lambda layout: Node(tmp_path, 1, tmp_path))
    return said


def test_every_state_of_the_driver_but_health_can_be_provoked() -> None:
    assert sum(one.group == "driver" for one in FAULTS.values()) == len(Driver) - 1
    assert {"driver-mismatch", "driver-hang", "runtime-handler-missing"} <= set(FAULTS)


def test_an_unknown_fault_is_an_error_that_lists_the_known_ones(tmp_path: Path) -> None:
    for call in (faults.break_, faults.heal):
        with pytest.raises(UnknownFaultError, match="'driver-mismath': there are driver-mismatch, "):
            call("driver-mismath", tmp_path)


def test_without_a_node_nothing_can_be_broken(tmp_path: Path) -> None:
    with pytest.raises(NotRunningError):
        faults.break_("driver-hang", tmp_path)


def test_what_is_broken_is_noted_until_it_is_healed(tmp_path: Path, acts: list[str]) -> None:
    layout = Layout(tmp_path)
    assert faults.active(layout) == ()
    faults.break_("driver-hang", tmp_path)
    faults.break_("kubelet-stopped", tmp_path)
    faults.break_("kubelet-stopped", tmp_path)
    assert faults.active(layout) == ("driver-hang", "kubelet-stopped")
    faults.heal("driver-hang", tmp_path)
    faults.heal("driver-hang", tmp_path)  # not broken any more: nothing to do
    assert faults.active(layout) == ("kubelet-stopped",)
    assert acts == ["break driver-hang", "break kubelet-stopped", "break kubelet-stopped", "heal driver-hang"]


def test_the_driver_is_in_one_state_at_a_time(tmp_path: Path, acts: list[str]) -> None:
    faults.break_("driver-hang", tmp_path)
    faults.break_("runtime-binary-missing", tmp_path)
    faults.break_("driver-mismatch", tmp_path)
    assert faults.active(Layout(tmp_path)) == ("runtime-binary-missing", "driver-mismatch")
    faults.heal("driver-hang", tmp_path)  # must not heal the mismatch that replaced it
    assert "heal driver-hang" not in acts
