from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox import cgroups, preflight
from k3s_nvidia_edge.sandbox.errors import PrerequisiteError
from k3s_nvidia_edge.sandbox.preflight import Machine
from msgspec.structs import replace

STATE = Path("/state")
GOOD = Machine(
    root=True,
    capabilities=frozenset(range(41)),
    namespaces=frozenset(("mnt", "net", "pid", "uts", "ipc", "cgroup")),
    overlay=True,
    bridge_netfilter=True,
    modules_loadable=False,
    hierarchies=(
        cgroups.Hierarchy(("memory",), Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup/memory")),
    ),
    controllers=frozenset(("cpu", "cpuset", "memory", "pids")),
    file_system="ext4",
    free_bytes=50_000_000_000,
    free_memory_bytes=8_000_000_000,
    inotify_limit=128,
    inotify_used=10,
    absent_programs=(),
)


def test_a_good_machine_lacks_nothing() -> None:
    assert list(preflight.lacking(GOOD, STATE)) == []
    preflight.check(GOOD, STATE, [])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"root": False}, "sudo"),
        ({"capabilities": frozenset(range(41)) - {21}}, "CAP_SYS_ADMIN"),
        ({"namespaces": frozenset(("mnt", "net", "pid", "uts", "ipc"))}, "no cgroup namespaces"),
        ({"overlay": False}, "overlay"),
        ({"bridge_netfilter": False}, "br_netfilter"),
        ({"controllers": frozenset(("cpu", "memory", "pids"))}, "cpuset"),
        ({"file_system": "nfs4"}, "--state-dir"),
        ({"free_bytes": 1_000_000_000}, "1.0 GB free, 3 GB are needed"),
        ({"free_memory_bytes": 500_000_000}, "0.5 GB of memory"),
        ({"inotify_used": 120}, "sysctl fs.inotify.max_user_instances=512"),
        ({"absent_programs": ("iptables (rules): apt-get install iptables",)}, "apt-get install iptables"),
    ],
)
def test_each_lack_is_one_line_with_its_next_step(change: dict[str, object], words: str) -> None:
    (line,) = preflight.lacking(replace(GOOD, **change), STATE)  # type: ignore[arg-type]  # the table's keys are Machine's
    assert words in line


def test_all_lacks_come_in_one_error() -> None:
    machine = replace(GOOD, overlay=False, free_bytes=0)
    with pytest.raises(PrerequisiteError) as caught:
        preflight.check(machine, STATE, [Path("/nowhere/kubelet"), Path("/nowhere/runc")])
    assert len(caught.value.missing) == 3
    assert "not built yet in /nowhere: kubelet, runc: run `edge sandbox build`" in caught.value.missing
    assert "\n" not in str(caught.value)


def test_cap_sys_resource_decides_about_limits() -> None:
    assert GOOD.may_raise_limits
    assert not replace(GOOD, capabilities=frozenset(range(41)) - {24}).may_raise_limits


def test_this_machine_is_looked_at(tmp_path: Path) -> None:
    machine = preflight.inspect(tmp_path / "not" / "made" / "yet")
    assert machine.free_bytes > 0
    assert machine.free_memory_bytes > 0
    assert machine.inotify_limit > 0
    assert machine.hierarchies
    assert not (tmp_path / "not").exists()


def test_the_longest_mount_point_wins() -> None:
    mountinfo = (
        "1 0 8:1 / / rw - ext4 /dev/a rw\n"
        "2 1 8:2 / /data rw - xfs /dev/b rw\n"
        "3 1 0:9 / /data\\040x rw - nfs4 host:/x rw\n"
        "4 1 8:3 / /data rw - btrfs /dev/c rw\n"  # mounted over the second
    )
    assert preflight.file_system_of(Path("/data/a"), mountinfo) == "btrfs"
    assert preflight.file_system_of(Path("/data x"), mountinfo) == "nfs4"
    assert preflight.file_system_of(Path("/database"), mountinfo) == "ext4"


def test_no_module_is_loaded_where_the_kernel_has_none() -> None:
    assert preflight.load_modules(replace(GOOD, overlay=False)) == ()
