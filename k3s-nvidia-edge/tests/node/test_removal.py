"""Removing k3s below a prefix: only what was installed, edited files and data kept, interruption, volumes."""

import shutil
from typing import Any

import pytest
from edge_llm_tests.errors import EdgeError, UsageError
from k3s_nvidia_edge.node import NodeSettings, Removal, forget, removable, removal, remove


def uninstall(box: Any, *, purge: bool = False) -> Removal:
    record, found = removable(box.host, purge=purge)
    assert record is not None
    remove(box.host, record, found, lambda _: None)
    return found


def test_what_was_never_installed_is_not_removed(box: Any) -> None:
    box.put("/usr/local/bin/k3s")
    assert removable(box.host, purge=True)[0] is None


def test_a_purge_leaves_the_host_as_it_was(box: Any) -> None:
    before = box.tree().keys()
    box.install()
    uninstall(box, purge=True)
    assert box.tree().keys() - before == {"etc", "etc/systemd", "etc/systemd/system", "var", "var/lib"}
    assert box.plan().notes == ()


def test_data_stays_unless_told_and_is_taken_up_again(box: Any) -> None:
    box.install()
    found = uninstall(box)
    assert box.path("/var/lib/rancher/k3s/server/db/etcd/SIMULATED").exists()
    assert found.kept["/var/lib/rancher/k3s"] == "data of the cluster (`--purge` deletes it)"
    for path in (
        "/usr/local/bin/k3s",
        "/usr/local/bin/kubectl",
        "/etc/rancher",
        "/etc/systemd/system/k3s.service",
    ):
        assert not box.path(path).exists()
    plan = box.plan()
    assert plan.foreign == ()
    assert plan.notes[0].startswith("data of an earlier installation is taken up again: /var/lib/rancher/k3s")
    box.install()
    assert box.plan().steps == ()


def test_the_service_is_stopped_with_what_it_left_running(box: Any) -> None:
    box.install()
    box.forget_calls()
    uninstall(box)
    assert box.calls() == [
        "disable --now k3s.service",
        "kill --kill-whom=all --signal=SIGKILL k3s.service",
        "stop kubepods.slice",
        "daemon-reload",
    ]


def test_a_service_whose_unit_was_deleted_by_hand_is_stopped(box: Any) -> None:
    box.install()
    box.path("/etc/systemd/system/k3s.service").unlink()
    box.forget_calls()
    uninstall(box, purge=True)
    assert box.calls()[0] == "stop k3s.service"
    assert (box.systemd / "active").exists() is False  # the reload forgot the unit
    assert removable(box.host, purge=True)[0] is None


def test_what_was_taken_away_by_hand_is_forgotten(box: Any) -> None:
    box.install()
    for folder in ("etc/rancher", "etc/systemd", "var/lib/rancher", "var/lib/kubelet", "usr/local/bin"):
        shutil.rmtree(box.root / folder)
    record, found = removable(box.host, purge=False)
    assert record is not None
    assert (found.files, found.data) == ([], [])
    forget(box.host, record, found)
    assert removable(box.host, purge=False)[0] is None


def test_data_behind_a_link_is_refused_before_the_service_is_stopped(box: Any) -> None:
    box.install()
    data = box.path("/var/lib/rancher/k3s")
    data.rename(box.path("/disk"))
    data.symlink_to(box.path("/disk"))
    box.forget_calls()
    with pytest.raises(EdgeError, match="is a link, not a folder"):
        uninstall(box, purge=True)
    assert box.calls() == []
    assert box.path("/disk/server/db/etcd/SIMULATED").exists()
    uninstall(box)  # without the data
    assert not box.path("/usr/local/bin/k3s").exists()


def test_nothing_is_deleted_behind_a_link_that_leads_out_of_the_host(box: Any) -> None:
    box.install()
    outside = box.root.parent / "outside"
    box.path("/etc/rancher").rename(outside)
    box.path("/etc/rancher").symlink_to(outside)
    box.forget_calls()
    with pytest.raises(UsageError, match="out of"):
        uninstall(box, purge=True)
    assert (outside / "k3s/config.yaml").exists()
    assert box.calls() == []


def test_an_edited_file_is_kept_and_named(box: Any) -> None:
    box.install()
    config = box.path("/etc/rancher/k3s/config.yaml")
    config.write_text("node-name: mine\n")
    found = uninstall(box, purge=True)
    assert found.kept == {"/etc/rancher/k3s/config.yaml": "it was edited since it was installed"}
    assert config.read_text() == "node-name: mine\n"
    assert box.plan().foreign == ()  # it is remembered as ours


def test_a_link_that_somebody_replaced_is_kept(box: Any) -> None:
    box.install()
    link = box.path("/usr/local/bin/kubectl")
    link.unlink()
    link.write_text("#!/bin/sh\n")
    assert "/usr/local/bin/kubectl" in uninstall(box, purge=True).kept
    assert link.exists()


def test_data_that_was_there_before_is_not_ours_to_delete(box: Any) -> None:
    box.put("/var/lib/kubelet/seccomp/mine.json")
    box.install()
    uninstall(box, purge=True)
    assert box.path("/var/lib/kubelet/seccomp/mine.json").exists()


def test_a_volume_that_is_mounted_in_the_data_is_never_deleted(box: Any) -> None:
    box.install()
    precious = box.put("/var/lib/rancher/k3s/storage/models/qwen.gguf")
    box.put("/proc/self/mounts", "/dev/sdb1 /var/lib/rancher/k3s/storage/models ext4 rw 0 0\n")
    with pytest.raises(EdgeError, match=r"storage/models is still mounted.*umount"):
        uninstall(box, purge=True)
    assert precious.exists()
    box.put("/proc/self/mounts", "")
    uninstall(box, purge=True)
    assert not precious.exists()


def test_a_disk_of_its_own_for_the_data_is_emptied_not_removed(box: Any) -> None:
    box.install()
    box.put("/proc/self/mounts", "/dev/sdb1 /var/lib/rancher/k3s ext4 rw 0 0\n")
    uninstall(box, purge=True)
    assert list(box.path("/var/lib/rancher/k3s").iterdir()) == []


def test_interrupted_the_next_run_goes_on(box: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    box.install()

    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(removal, "_remember", interrupted)
        with pytest.raises(KeyboardInterrupt):
            uninstall(box, purge=True)
    uninstall(box, purge=True)
    assert removable(box.host, purge=True)[0] is None
    assert box.plan(NodeSettings()).foreign == ()
