import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox import network, record, teardown
from k3s_nvidia_edge.sandbox.errors import SandboxError
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.network import Seen
from k3s_nvidia_edge.sandbox.record import Identity, Record
from msgspec.structs import replace

NOTHING = Seen(link=False, owner=None, leftovers=(), foreign=())


class FakeNetwork:
    """The host's network, without touching the machine's: a sandbox may be up on it."""

    def __init__(self) -> None:
        self.seen = NOTHING
        self.removed: list[tuple[str, tuple[str, ...]]] = []

    def look(self) -> Seen:
        return self.seen

    def remove(self, link: str, networks: tuple[str, ...]) -> None:
        self.removed.append((link, networks))


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> FakeNetwork:
    fake = FakeNetwork()
    monkeypatch.setattr(network, "look", fake.look)
    monkeypatch.setattr(network, "remove", fake.remove)
    return fake


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def kept(layout: Layout, init: Identity | None, *, phase: str = "running", boot: str | None = None) -> Record:
    group = layout.state_dir / "cgroup"
    group.mkdir(parents=True)
    made = Record(
        "1", boot or record.boot_id(), 0.0, phase, init, (str(group),), "sandbox0", ("10.244.0.0/16",)
    )
    record.write(layout.record, made)
    return made


def test_the_recorded_process_is_ended_and_everything_forgotten(
    tmp_path: Path, net: FakeNetwork, child: subprocess.Popen[bytes]
) -> None:
    layout = Layout(tmp_path)
    teardown.clear(layout, kept(layout, Identity.of(child.pid)))
    assert child.wait(timeout=5) < 0
    assert net.removed == [("sandbox0", ("10.244.0.0/16",))]
    assert not (tmp_path / "cgroup").exists()
    assert record.read(layout.record) is None


def test_another_process_with_the_same_pid_lives_on(
    tmp_path: Path, net: FakeNetwork, child: subprocess.Popen[bytes]
) -> None:
    layout = Layout(tmp_path)
    identity = Identity.of(child.pid)
    assert identity is not None
    teardown.clear(layout, kept(layout, replace(identity, start_ticks=identity.start_ticks - 1)))
    assert child.poll() is None
    assert record.read(layout.record) is None


def test_after_a_reboot_no_process_and_no_cgroup_is_touched(
    tmp_path: Path, net: FakeNetwork, child: subprocess.Popen[bytes]
) -> None:
    layout = Layout(tmp_path)
    teardown.clear(layout, kept(layout, Identity.of(child.pid), boot="an earlier one"))
    assert child.poll() is None
    assert (tmp_path / "cgroup").exists()  # of the same name, and not of this record's boot
    assert record.read(layout.record) is None


@pytest.mark.parametrize(
    ("seen", "phase", "ours"),
    [
        (
            Seen(link=True, owner=None, leftovers=(), foreign=()),
            "starting",
            True,
        ),  # died before it said whose it is
        (Seen(link=True, owner=None, leftovers=(), foreign=()), "running", False),
        (Seen(link=True, owner="/another", leftovers=(), foreign=()), "running", False),
        (Seen(link=True, owner="SELF", leftovers=(), foreign=()), "running", True),
        (NOTHING, "running", True),
    ],
)
def test_the_network_of_another_sandbox_is_left_alone(
    tmp_path: Path, net: FakeNetwork, seen: Seen, phase: str, ours: bool
) -> None:
    net.seen = replace(seen, owner=str(tmp_path)) if seen.owner == "SELF" else seen
    layout = Layout(tmp_path)
    teardown.clear(layout, kept(layout, None, phase=phase))
    assert bool(net.removed) is ours


def test_what_cannot_be_removed_stays_on_record(tmp_path: Path, net: FakeNetwork) -> None:
    layout = Layout(tmp_path)
    made = kept(layout, None)
    (tmp_path / "cgroup" / "busy").touch()
    with pytest.raises(SandboxError, match=r"cgroup.*cannot be removed"):
        teardown.clear(layout, made)
    assert record.read(layout.record) == made


def test_purge_removes_the_sandboxs_own_and_nothing_else(tmp_path: Path) -> None:
    state = tmp_path / "state"
    layout = Layout(state)
    for directory in layout.directories():
        directory.mkdir(parents=True)
        (directory / "file").touch()
    (state / "mine.txt").touch()
    teardown.purge(layout)
    assert [path.name for path in state.iterdir()] == ["mine.txt"]
    (state / "mine.txt").unlink()
    teardown.purge(layout)
    assert not state.exists()
    teardown.purge(layout)  # once more is fine
