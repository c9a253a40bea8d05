import os
import time
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox import cgroups
from k3s_nvidia_edge.sandbox.cgroups import Hierarchy
from k3s_nvidia_edge.sandbox.errors import StartError

# one hierarchy a controller, a unified one beside them, the caller deeper in one of them
HYBRID_CGROUP = """\
9:name=systemd:/
4:memory:/jobs/7
3:cpuset:/
2:cpu,cpuacct:/
0::/
"""
HYBRID_MOUNTS = """\
30 25 0:20 / /sys/fs/cgroup rw - tmpfs tmpfs rw
31 30 0:21 / /sys/fs/cgroup/cpu,cpuacct rw shared:5 - cgroup cgroup rw,cpu,cpuacct
32 30 0:22 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
33 30 0:23 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
34 30 0:24 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
35 30 0:25 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""
UNIFIED_CGROUP = "0::/user.slice/session-3.scope\n"
UNIFIED_MOUNTS = "30 25 0:20 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"


def test_a_hybrid_machine_gives_its_v1_hierarchies() -> None:
    found = cgroups.hierarchies(HYBRID_CGROUP, HYBRID_MOUNTS)
    assert [(one.directory_name, one.mount_options) for one in found] == [
        ("systemd", "none,name=systemd"),
        ("memory", "memory"),
        ("cpuset", "cpuset"),
        ("cpu,cpuacct", "cpu,cpuacct"),
    ]
    assert not any(one.unified for one in found)


def test_the_node_lies_below_the_caller() -> None:
    found = cgroups.hierarchies(HYBRID_CGROUP, HYBRID_MOUNTS)
    assert Path("/sys/fs/cgroup/memory/jobs/7/node") in cgroups.directories(found, "node")
    assert Path("/sys/fs/cgroup/systemd/node") in cgroups.directories(found, "node")


def test_a_unified_machine_gives_one_hierarchy() -> None:
    (only,) = cgroups.hierarchies(UNIFIED_CGROUP, UNIFIED_MOUNTS)
    assert only.unified
    assert only.own == Path("/sys/fs/cgroup/user.slice/session-3.scope")


def test_a_hierarchy_mounted_from_elsewhere_in_the_tree_is_not_ours() -> None:
    mounts = "33 30 0:23 /other /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    assert cgroups.hierarchies("4:memory:/jobs/7\n", mounts) == ()
    mounts = "33 30 0:23 /jobs /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    (inner,) = cgroups.hierarchies("4:memory:/jobs/7\n", mounts)
    assert inner.own == Path("/sys/fs/cgroup/memory/7")


def unified(top: Path, own: Path) -> Hierarchy:
    own.mkdir(parents=True, exist_ok=True)
    for directory in (own, *own.parents):
        (directory / "cgroup.subtree_control").write_text("")
        if directory == top:
            break
    return Hierarchy((), top, own)


def test_v2_takes_the_nearest_directory_that_hands_everything_down(tmp_path: Path) -> None:
    hierarchy = unified(tmp_path, tmp_path / "user.slice" / "session.scope")
    (tmp_path / "cgroup.subtree_control").write_text("cpuset cpu io memory pids")
    (tmp_path / "user.slice" / "cgroup.subtree_control").write_text("memory pids")
    assert cgroups.directories([hierarchy], "node") == (tmp_path / "node",)
    (tmp_path / "user.slice" / "cgroup.subtree_control").write_text("cpuset cpu memory pids")
    assert cgroups.directories([hierarchy], "node") == (tmp_path / "user.slice" / "node",)


def test_v2_falls_back_to_the_top_and_enables_what_is_missing(tmp_path: Path) -> None:
    hierarchy = unified(tmp_path, tmp_path / "scope")
    (directory,) = cgroups.directories([hierarchy], "node")
    assert directory == tmp_path / "node"
    cgroups.make([(hierarchy, directory)])
    assert directory.is_dir()
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+pids"  # a plain file keeps the last write


def test_v2_without_delegation_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    hierarchy = Hierarchy((), tmp_path, tmp_path)
    (tmp_path / "cgroup.subtree_control").mkdir()  # writing to it fails, as EBUSY would
    with pytest.raises(StartError, match="systemd-run --scope -p Delegate=yes"):
        cgroups.make([(hierarchy, tmp_path / "node")])


def test_a_v1_cpuset_gets_processors_and_memory(tmp_path: Path) -> None:
    (tmp_path / "cpuset.cpus").write_text("0-1\n")
    (tmp_path / "cpuset.mems").write_text("0\n")
    node = tmp_path / "node"
    cgroups.make([(Hierarchy(("cpuset",), tmp_path, tmp_path), node)])
    assert (node / "cpuset.cpus").read_text() == "0-1\n"
    assert (node / "cpuset.mems").read_text() == "0\n"
    assert (node / "cgroup.clone_children").read_text() == "1"


def test_remove_takes_the_deepest_first_and_reports_what_stays(tmp_path: Path) -> None:
    gone, stays = tmp_path / "gone", tmp_path / "stays"
    (gone / "kubepods" / "pod1").mkdir(parents=True)
    stays.mkdir()
    (stays / "file").touch()  # a real cgroup with a process in it refuses like a directory that is not empty
    assert cgroups.remove([gone, stays, tmp_path / "never-made"], patience_s=0.1) == (stays,)
    assert not gone.exists()


def test_end_processes_leaves_empty_groups_alone(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").write_text("")
    cgroups.end_processes([tmp_path])  # returns at once


def test_an_abandoned_directory_is_a_nodes_empty_and_not_young(tmp_path: Path) -> None:
    mount = tmp_path / "memory"
    mountinfo = f"30 20 0:26 / {mount} rw - cgroup cgroup rw,memory\n31 20 0:27 / /tmp rw - tmpfs tmpfs rw\n"
    ages = {
        "edge-sandbox-0123abcd": ("", 60.0),
        "deep/er/edge-sandbox-11111111": ("", 60.0),
        "edge-sandbox-22222222": ("4711\n", 60.0),
        "edge-sandbox-33333333": ("", 0.0),
        "edge-sandbox-of-somebody": ("", 60.0),
    }
    for name, (pids, age_s) in ages.items():
        inner = mount / name / "kubepods"
        inner.mkdir(parents=True)
        (mount / name / "cgroup.procs").write_text("")
        (inner / "cgroup.procs").write_text(pids)
        os.utime(mount / name, (time.time() - age_s,) * 2)
    assert set(cgroups.abandoned(mountinfo)) == {
        mount / "edge-sandbox-0123abcd",
        mount / "deep/er/edge-sandbox-11111111",
    }
