"""Down, and every way in which a node or its tool can die: nothing is left, and the next start works."""

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from k3s_nvidia_edge.sandbox import Node, NotRunningError, State, down, faults, network, record, status, up
from k3s_nvidia_edge.sandbox.build import Artifacts
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.record import Identity, Record

pytestmark = pytest.mark.sandbox

NODE_READY_S = 15.0  # the promises
TEARDOWN_S = 2.0


def recorded(state: Path) -> tuple[Record, Identity]:
    kept = record.read(Layout.of(state).record)
    assert kept is not None
    assert kept.init is not None
    return kept, kept.init


def processes(kept: Record) -> set[Identity]:
    """Every process of the node, containers included, by the node's own cgroups."""
    pids = {
        int(word)
        for group in kept.cgroups
        for folder, _, _ in os.walk(group)
        for word in Path(folder, "cgroup.procs").read_text().split()
    }
    return {identity for identity in map(Identity.of, pids) if identity is not None}


def nothing_left(after: Any, before: Any, kept: Record) -> None:
    assert [one for one in after.mounts if one not in before.mounts] == []
    assert after.links == before.links
    assert after.routes == before.routes
    assert after.places == before.places
    assert [one for one in kept.cgroups if Path(one).exists()] == []
    assert after.sysctls == before.sysctls


def test_down_leaves_nothing_but_its_data(  # noqa: PLR0917 - fixtures, by name
    state: Path, before: Any, claim: str, gpu_pod: str, look_at_host: Any, measured: Any
) -> None:
    kept, _ = recorded(state)
    running = processes(kept)
    assert len(running) > 15  # the supervisor, the components, and each container with its shim and pause
    began = time.monotonic()
    down(state)
    took = time.monotonic() - began
    measured("down", took)
    assert took <= TEARDOWN_S
    assert not {one for one in running if one.alive()}
    nothing_left(look_at_host(), before, kept)
    assert status(state).state is State.DOWN
    with pytest.raises(NotRunningError):
        faults.heal("driver-hang", state)
    assert list((state / "k3s" / "storage").glob(f"*_{claim}/file"))


def test_a_warm_start_brings_back_objects_volumes_and_images(  # noqa: PLR0917 - fixtures, by name
    artifacts: Artifacts,
    state: Path,
    kubectl: Any,
    base: str,
    wait: Any,
    inside: Any,
    claim: str,
    gpu_pod: str,
    measured: Any,
) -> None:
    began = time.monotonic()
    up(artifacts, state, wait_for_images=[base])
    took = time.monotonic() - began
    measured("up to Ready, warm state", took)
    assert took <= NODE_READY_S
    assert kubectl.get("pvc", claim)["status"]["phase"] == "Bound"
    wait(
        "the pod is back", lambda: kubectl.get("pod", gpu_pod)["status"]["containerStatuses"][0].get("ready")
    )
    assert inside("nvidia-smi", "-q", "-x").returncode == 0


def test_a_node_that_was_killed_is_stale_and_cleared_by_the_next_up(
    artifacts: Artifacts, state: Path, node: Node, wait: Any
) -> None:
    kept, init = recorded(state)
    os.kill(init.pid, 9)
    wait("the first process is gone", lambda: status(state).state is State.STALE)
    assert any(Path(one).exists() for one in kept.cgroups)
    steps: list[str] = []
    again = up(artifacts, state, lambda event: steps.append(event.step))
    assert "clear" in steps
    assert again.init_pid != init.pid
    assert not any(Path(one).exists() for one in kept.cgroups)


def test_a_node_whose_record_was_removed_is_found_and_cleared(  # noqa: PLR0917 - fixtures, by name
    artifacts: Artifacts, state: Path, node: Node, before: Any, look_at_host: Any, wait: Any
) -> None:
    for killed in (False, True):
        kept, init = recorded(state)
        Layout.of(state).record.unlink()
        if killed:
            os.kill(init.pid, 9)
            wait("the first process is gone", lambda gone=init: not gone.alive())
            for one in kept.cgroups:
                os.utime(one, (0, 0))  # of a node that ended long ago, not of one that is about to start
        down(state)
        assert not init.alive()
        nothing_left(look_at_host(), before, kept)
        up(artifacts, state)


def test_another_directorys_up_clears_a_dead_node_too(
    artifacts: Artifacts, state: Path, node: Node, tmp_path: Path, wait: Any
) -> None:
    _, init = recorded(state)
    os.kill(init.pid, 9)
    wait("the first process is gone", lambda: status(state).state is State.STALE)
    other = tmp_path / "other"
    try:
        up(artifacts, other, wait=False)
        assert status(other).state is State.UP
        down(state)  # undoes what it recorded, and leaves the other's network alone
        assert network.owned_by(network.look(), str(other))
    finally:
        down(other, purge=True)
    assert not other.exists()


def test_an_interrupted_start_leaves_nothing(
    artifacts: Artifacts, tmp_path: Path, before: Any, monkeypatch: pytest.MonkeyPatch, look_at_host: Any
) -> None:
    records: list[Record] = []

    def interrupt(init_pid: int, owner: str) -> None:
        records.append(recorded(Path(owner))[0])
        raise KeyboardInterrupt

    monkeypatch.setattr(network, "connect", interrupt)
    with pytest.raises(KeyboardInterrupt):
        up(artifacts, tmp_path / "state")
    assert status(tmp_path / "state").state is State.DOWN
    nothing_left(look_at_host(), before, records[0])


def test_a_start_whose_tool_was_killed_is_cleared(
    artifacts: Artifacts, tmp_path: Path, before: Any, wait: Any, look_at_host: Any
) -> None:
    # the tool dies before it says `go`: the first process ends by itself, `down` clears the rest
    state = tmp_path / "state"
    script = (
        "import os, pickle, sys\n"
        "from pathlib import Path\n"
        "from k3s_nvidia_edge.sandbox import network, up\n"
        "network.connect = lambda pid, owner: os.kill(os.getpid(), 9)\n"
        f"up(pickle.load(sys.stdin.buffer), Path({str(state)!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=pickle.dumps(artifacts), check=False, timeout=60
    )
    assert done.returncode == -9
    kept, init = recorded(state)
    wait("the first process ended by itself", lambda: not init.alive())
    assert any(Path(one).exists() for one in kept.cgroups)
    down(state)
    nothing_left(look_at_host(), before, kept)


def test_purge_removes_the_state_directory(
    artifacts: Artifacts, tmp_path: Path, before: Any, look_at_host: Any
) -> None:
    up(artifacts, tmp_path / "state", wait=False)
    kept, _ = recorded(tmp_path / "state")
    down(tmp_path / "state", purge=True)
    assert list(tmp_path.iterdir()) == []
    nothing_left(look_at_host(), before, kept)
