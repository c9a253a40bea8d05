import os
import subprocess
import sys
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox import record
from k3s_nvidia_edge.sandbox.errors import RecordError
from k3s_nvidia_edge.sandbox.record import Identity, Record
from msgspec.structs import replace

RECORD = Record(
    sandbox="0123abcd",
    boot="boot",
    started_at=1.5,
    phase="starting",
    init=None,
    cgroups=("/sys/fs/cgroup/memory/edge-sandbox-0123abcd",),
    link="sandbox0",
    networks=("10.199.0.0/30",),
)


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    kept = replace(RECORD, init=Identity.of(os.getpid()), modules=("overlay",))
    record.write(tmp_path / "node.json", kept)
    assert record.read(tmp_path / "node.json") == kept
    assert [path.name for path in tmp_path.iterdir()] == ["node.json"]


def test_no_file_is_no_record(tmp_path: Path) -> None:
    assert record.read(tmp_path / "node.json") is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"sandbox": 1}', b"\xff"])
def test_a_broken_record_is_an_error_that_names_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "node.json"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"node\.json"):
        record.read(path)


def test_a_living_process_is_itself_only() -> None:
    me = Identity.of(os.getpid())
    assert me is not None
    assert me.alive()
    # the same pid in another life, another namespace or another boot is another process
    assert not replace(me, start_ticks=me.start_ticks + 1).alive()
    assert not replace(me, pid_namespace="pid:[1]").alive()
    assert not replace(me, boot="another").alive()


def test_a_zombie_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    identity = Identity.of(child.pid)
    assert os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT) is not None  # dead, and not reaped
    assert Identity.of(child.pid) is None
    assert identity is None or not identity.alive()
    child.wait()


def test_a_process_name_may_hold_anything(tmp_path: Path) -> None:
    program = tmp_path / "a) S (b"
    program.symlink_to("/bin/sleep")
    child = subprocess.Popen([program, "60"])
    try:
        identity = Identity.of(child.pid)
        assert identity is not None
        assert identity.start_ticks > 0
        assert identity.alive()
    finally:
        child.kill()
        child.wait()
