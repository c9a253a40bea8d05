"""Installing below a prefix: files, modes, checksums, order, a second run, interruption, refusal."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests.errors import EdgeError, ExitCode, TargetUnreachableError, UsageError
from k3s_nvidia_edge.node import (
    Act,
    NodeSettings,
    apply,
    folder_source,
    installation,
    look,
    page_source,
    removable,
)
from k3s_nvidia_edge.node import survey as survey_module
from k3s_nvidia_edge.node.installation import ChecksumError
from k3s_nvidia_edge.node.record import load_record

MODES = {
    "/usr/local/bin/k3s": 0o755,
    "/etc/rancher/k3s/config.yaml": 0o600,
    "/etc/rancher/k3s/audit-policy.yaml": 0o600,
    "/etc/rancher/k3s/k3s.yaml": 0o600,
    "/etc/systemd/system/k3s.service": 0o644,
    "/var/lib/rancher/k3s/server": 0o700,
    "/var/lib/rancher/k3s/server/logs": 0o700,
    "/var/lib/edge/node.json": 0o600,
}


def test_a_bare_host_gets_everything_in_an_order_that_starts(box: Any) -> None:
    previous = os.umask(0o077)  # an administrator's umask must not change the modes
    try:
        done = box.install()
    finally:
        os.umask(previous)
    assert {path: box.path(path).stat().st_mode & 0o7777 for path in MODES} == MODES
    assert box.path("/usr/local/bin/kubectl").readlink() == Path("k3s")
    assert box.calls() == ["daemon-reload", "enable k3s.service", "start --no-block k3s.service"]
    assert [step.subject for step in done][-3:] == ["systemd", "k3s.service", "k3s.service"]
    record = load_record(box.root)
    assert record is not None
    assert (record.complete, record.version) == (True, "v1.36.4+k3s1")
    assert not list(box.root.rglob("*.partial"))


def test_a_look_writes_nothing(box: Any) -> None:
    before = box.tree()
    assert box.plan().steps
    assert box.tree() == before
    assert box.calls() == []


def test_the_second_run_changes_nothing(box: Any) -> None:
    box.install()
    before = box.tree()
    box.forget_calls()
    assert box.plan().steps == ()
    assert box.install() == []
    assert box.tree() == before
    assert box.calls() == []


@pytest.mark.parametrize("at", range(16))
def test_interrupted_at_any_step_the_next_run_goes_on(
    box: Any, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    does, seen_steps = installation._do, 0

    def interrupted(*arguments: Any) -> None:
        nonlocal seen_steps
        if seen_steps == at:
            raise KeyboardInterrupt
        seen_steps += 1
        does(*arguments)

    monkeypatch.setattr(installation, "_do", interrupted)
    with pytest.raises(KeyboardInterrupt):
        box.install()
    monkeypatch.setattr(installation, "_do", does)
    record = load_record(box.root)
    assert record is not None
    assert not record.complete
    again = box.plan()
    assert again.foreign == ()
    assert again.notes == ("an earlier run was interrupted; this one goes on",)
    box.install()
    assert box.plan().steps == ()
    assert {path: box.path(path).stat().st_mode & 0o7777 for path in MODES} == MODES


def test_a_file_that_is_not_the_pinned_one_is_not_kept(box: Any) -> None:
    (box.files / "k3s").write_text("#!/bin/sh\n# tampered\n")
    with pytest.raises(ChecksumError, match=r"^k3s: sha256 [0-9a-f]{64}, and [0-9a-f]{64} is pinned"):
        box.install()
    assert not box.path("/usr/local/bin/k3s").exists()
    assert not list(box.root.rglob("*.partial"))
    assert "start" not in " ".join(box.calls())


def test_a_file_that_is_missing_is_named(box: Any) -> None:
    (box.files / "k3s").unlink()
    with pytest.raises(UsageError, match=r"release/k3s: No such file.*put k3s of the k3s release into"):
        box.install()


@pytest.mark.parametrize(
    ("path", "sign"),
    [
        ("/usr/local/bin/k3s", "a k3s program"),
        ("/usr/bin/k3s", "a k3s program"),
        ("/etc/systemd/system/k3s.service", "a systemd unit"),
        ("/etc/systemd/system/k3s-agent.service", "a systemd unit"),
        ("/etc/rancher/k3s/config.yaml", "settings of k3s"),
        ("/etc/rancher/k3s/k3s.yaml", "settings of k3s"),
        ("/etc/rancher/k3s/audit-policy.yaml", "settings of k3s"),
        ("/etc/rancher/k3s/config.yaml.d/10-mine.yaml", "settings of k3s"),
        ("/var/lib/rancher/k3s/server/token", "data of k3s"),
        ("/etc/kubernetes/admin.conf", "another Kubernetes"),
        ("/var/lib/rancher/rke2/server/token", "another Kubernetes"),
    ],
)
def test_an_installation_that_is_not_ours_is_named_and_left_alone(box: Any, path: str, sign: str) -> None:
    box.put(path)
    before = box.tree()
    with pytest.raises(UsageError, match=f"{sign} .*--kubeconfig") as refused:
        box.install()
    assert refused.value.exit_code is ExitCode.USAGE
    assert box.tree() == before
    assert box.calls() == []


@pytest.mark.parametrize(("port", "name"), [("192B", "Kubernetes API"), ("280A", "kubelet")])
def test_an_api_that_listens_is_a_cluster(box: Any, port: str, name: str) -> None:
    head = "  sl  local_address rem_address   st tx_queue\n"
    box.put("/proc/net/tcp6", f"{head}   0: {'0' * 32}:{port} {'0' * 32}:0000 0A 0:0\n")
    assert [each.what for each in box.plan().foreign] == [f"a listening {name}"]
    box.put("/proc/net/tcp6", f"{head}   0: {'0' * 32}:{port} {'0' * 32}:0000 01 0:0\n")  # a connection only
    assert box.plan().foreign == ()


def test_an_empty_folder_is_no_installation(box: Any) -> None:
    box.path("/var/lib/rancher/k3s").mkdir(parents=True)
    box.path("/etc/rancher/k3s").mkdir(parents=True)
    assert box.plan().foreign == ()


def test_a_kubectl_of_the_user_s_is_left(box: Any) -> None:
    box.put("/usr/local/bin/kubectl", "#!/bin/sh\n")
    box.install()
    assert box.path("/usr/local/bin/kubectl").read_text() == "#!/bin/sh\n"


def test_a_file_that_was_edited_is_kept_and_named(box: Any) -> None:
    box.install()
    config = box.path("/etc/rancher/k3s/config.yaml")
    config.write_text("node-name: mine\n" + config.read_text())
    box.forget_calls()
    plan = box.plan(NodeSettings(snapshot_retention=3))
    assert [each.path for each in plan.kept] == ["/etc/rancher/k3s/config.yaml"]
    box.install(NodeSettings(snapshot_retention=3))
    assert config.read_text().startswith("node-name: mine\n")
    assert box.calls() == []


def test_a_changed_setting_is_written_and_the_service_starts_again(box: Any) -> None:
    box.install()
    box.forget_calls()
    done = box.install(NodeSettings(snapshot_retention=3))
    assert [step.act for step in done] == [Act.WRITE, Act.RESTART]
    assert "etcd-snapshot-retention: 3" in box.path("/etc/rancher/k3s/config.yaml").read_text()
    assert box.calls() == ["restart --no-block k3s.service"]


def test_a_newer_release_replaces_the_older_one(box: Any) -> None:
    box.install()
    box.publish_newer()
    done = box.install()
    assert [step.act for step in done] == [Act.FETCH, Act.FETCH, Act.RESTART]
    assert box.path("/usr/local/bin/k3s").read_text().endswith("# newer\n")
    assert box.plan().steps == ()


def test_a_mode_that_was_loosened_is_set_back(box: Any) -> None:
    box.install()
    box.path("/etc/rancher/k3s/config.yaml").chmod(0o644)
    assert [step.act for step in box.install()] == [Act.MODE]
    assert box.path("/etc/rancher/k3s/config.yaml").stat().st_mode & 0o777 == 0o600


def test_a_stopped_service_is_started(box: Any) -> None:
    box.install()
    (box.systemd / "active").write_text("inactive\n")
    assert [step.act for step in box.install()] == [Act.START]


def test_a_service_that_fails_says_where_to_look(box: Any) -> None:
    (box.systemd / "refuse").touch()
    with pytest.raises(EdgeError, match=r"k3s\.service has failed \(see `journalctl -u k3s\.service"):
        box.install()
    (box.systemd / "refuse").unlink()
    assert [step.act for step in box.install()] == [Act.START]


def test_a_service_that_never_comes_up_is_a_timeout(box: Any) -> None:
    (box.systemd / "hang").touch()
    with pytest.raises(EdgeError, match="is activating after 0 s") as late:
        box.install(deadline_s=0.2)
    assert late.value.exit_code is ExitCode.TIMEOUT


def test_a_service_that_came_up_late_completes_the_run(box: Any) -> None:
    (box.systemd / "hang").touch()
    with pytest.raises(EdgeError, match="is activating"):
        box.install(deadline_s=0.2)
    with pytest.raises(EdgeError, match="is activating"):  # it is waited for again, not started again
        box.install(deadline_s=0.2)
    (box.systemd / "active").write_text("active\n")
    box.forget_calls()
    assert [step.act for step in box.install()] == [Act.WAIT]
    assert box.calls() == []
    assert box.plan().steps == ()
    assert box.plan().notes == ()


@pytest.mark.parametrize(
    "link", ["/etc/rancher", "/etc", "/var/lib", "/var/lib/rancher/k3s", "/usr/local/bin"]
)
def test_a_link_that_leads_out_of_the_host_is_not_followed(box: Any, link: str) -> None:
    outside = box.root.parent / "outside"
    outside.mkdir()
    here = box.path(link)
    here.parent.mkdir(parents=True, exist_ok=True)
    if here.is_dir():
        here.rmdir()
    here.symlink_to(outside)
    before = box.tree()
    with pytest.raises(UsageError, match=r"leads to .*/outside.*, out of .*/host"):
        box.install()
    assert list(outside.iterdir()) == []
    assert box.tree() == before
    assert not (box.systemd / "calls").exists()


def test_links_that_go_in_a_circle_are_named(box: Any) -> None:
    box.path("/usr/local/bin").rmdir()
    box.path("/usr/local/bin").symlink_to("bin")
    with pytest.raises(UsageError, match=r"/usr/local/bin.*circle"):
        box.install()


def test_a_link_within_the_host_is_followed(box: Any) -> None:
    box.path("/disk/rancher").mkdir(parents=True)
    box.path("/var/lib").mkdir(parents=True)
    box.path("/var/lib/rancher").symlink_to("../../disk/rancher")
    box.install()
    assert box.path("/disk/rancher/k3s/agent/images").is_dir()
    assert box.plan().steps == ()


@pytest.mark.parametrize(
    ("path", "folder", "words"),
    [
        ("/etc/rancher", False, "/etc/rancher is a file, and k3s has a folder there"),
        ("/usr/local/bin/k3s", True, "/usr/local/bin/k3s is no file, and k3s has one there"),
        ("/etc/systemd/system/k3s.service", True, "k3s.service is no file, and k3s has one there"),
    ],
)
def test_what_is_of_another_kind_is_in_the_way(box: Any, path: str, folder: bool, words: str) -> None:
    if folder:
        box.path(path).mkdir(parents=True)
    else:
        box.put(path)
    with pytest.raises(UsageError, match=f"{words}.*move it away") as refused:
        box.install()
    assert refused.value.exit_code is ExitCode.USAGE
    assert not box.path("/var/lib/edge").exists()


@pytest.mark.parametrize("path", ["/usr/local/bin", "/etc", "/var/lib"])
def test_a_file_system_that_is_read_only_is_named_and_root_is_not_asked_for(
    box: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = box.path(path)
    closed.mkdir(parents=True, exist_ok=True)

    def is_closed(folder: Path) -> bool:
        return folder == closed or closed in folder.parents

    may = os.access
    monkeypatch.setattr(
        survey_module.os, "access", lambda folder, mode: not is_closed(Path(folder)) and may(folder, mode)
    )
    monkeypatch.setattr(survey_module, "_is_read_only", is_closed)
    with pytest.raises(
        UsageError, match=rf"nobody may write to {path}.*read-only.*mount it writable"
    ) as refused:
        box.install()
    assert "sudo" not in str(refused.value)


def test_what_is_not_root_s_to_write_asks_for_root(box: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_module.os, "access", lambda *_: False)
    with pytest.raises(UsageError, match=r"this is not root.*sudo"):
        box.install()


def test_settings_that_the_administrator_adds_to_ours_are_no_other_cluster(box: Any) -> None:
    box.install()
    mine = box.put("/etc/rancher/k3s/config.yaml.d/90-mine.yaml", "node-label: [a=b]\n")
    assert box.plan().foreign == ()
    assert box.plan().steps == ()
    box.install(NodeSettings(snapshot_retention=7))
    assert mine.read_text() == "node-label: [a=b]\n"


def test_the_default_runtime_needs_its_program(box: Any) -> None:
    settings = NodeSettings(default_runtime="nvidia")
    with pytest.raises(UsageError, match=r"default runtime is 'nvidia'.*NVIDIA container toolkit"):
        box.install(settings)
    box.put("/usr/bin/nvidia-container-runtime", "#!/bin/sh\n", 0o755)
    box.install(settings)
    assert "default-runtime: nvidia" in box.path("/etc/rancher/k3s/config.yaml").read_text()


def test_a_host_without_a_default_route_or_without_systemd_is_told(box: Any) -> None:
    box.path("/proc/net/route").write_text("Iface\tDestination\tGateway\neth0\t0000000A\t00000000\n")
    box.path("/run/systemd/system").rmdir()
    with pytest.raises(UsageError, match=r"systemd does not run.*no default route.*ip link add dummy0"):
        box.install()
    v6 = f"{'0' * 32} 00 {'0' * 32} 00 fe80{'0' * 28} 00000400 0 0 00450003 eth0\n"
    box.put("/proc/net/ipv6_route", v6)
    assert "default route" not in str(box.plan().obstacles)


def test_selinux_needs_the_policy_of_k3s(box: Any) -> None:
    box.put("/sys/fs/selinux/enforce", "1")
    with pytest.raises(UsageError, match=r"SELinux enforces here.*k3s-selinux"):
        box.install()
    box.put("/sys/fs/selinux/enforce", "0")
    assert box.plan().obstacles == ()
    box.put("/sys/fs/selinux/enforce", "1")
    box.put("/usr/share/selinux/packages/k3s.pp")
    assert box.plan().obstacles == ()


def test_a_download_that_is_interrupted_leaves_no_part(box: Any) -> None:
    seen, plan = look(box.host, NodeSettings(), "cpu")

    def interrupted(_step: Any, now: str) -> None:
        if "MiB of k3s," in now:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(box.host, plan, seen, folder_source(box.files), interrupted)
    assert not list(box.root.rglob("*.partial"))
    assert not box.path("/usr/local/bin/k3s").exists()


def test_two_runs_at_once_are_kept_apart(box: Any) -> None:
    seen, plan = look(box.host, NodeSettings(), "cpu")
    with box.host.alone(), pytest.raises(EdgeError, match="another `edge`"):
        apply(box.host, plan, seen, folder_source(box.files), lambda *_: None)


@pytest.mark.parametrize(
    "named", [{"data": ["/"]}, {"data": ["/etc/rancher"]}, {"files": {"/etc/passwd": []}}]
)
@pytest.mark.parametrize("also", [{}, {"directories": ["/var/lib/rancher/../../etc"]}])
def test_a_record_that_names_what_is_not_k3s_s_deletes_nothing(
    box: Any, named: dict[str, Any], also: dict[str, Any]
) -> None:
    passwd = box.put("/etc/passwd")
    known = {"version": "v1.36.4+k3s1", "profile": "cpu", "schema": "edge.node/v1"}
    box.put("/var/lib/edge/node.json", json.dumps(known | named | also))
    with pytest.raises(EdgeError, match="which is no place of k3s"):
        removable(box.host, purge=True)
    with pytest.raises(EdgeError, match="which is no place of k3s"):
        box.plan()
    assert passwd.exists()


def test_a_damaged_record_takes_nothing_for_ours(box: Any) -> None:
    box.install()
    box.put("/var/lib/edge/node.json", '{"version": ')
    with pytest.raises(EdgeError, match="not a record of an installation"):
        box.plan()


@pytest.fixture
def page(box: Any) -> Iterator[str]:
    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(box.files))

        def log_message(self, *_args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_release_page_serves_as_well_as_a_folder(box: Any, page: str) -> None:
    seen, plan = look(box.host, NodeSettings(), "cpu")
    apply(box.host, plan, seen, page_source(plan.release, page), lambda *_: None, start_deadline_s=5)
    assert box.plan().steps == ()


def test_a_page_that_lacks_the_file_or_is_not_there_is_named(box: Any, page: str) -> None:
    (box.files / "k3s").unlink()
    seen, plan = look(box.host, NodeSettings(), "cpu")
    with pytest.raises(EdgeError, match=r"/k3s: HTTP 404.*--k3s-from FOLDER"):
        apply(box.host, plan, seen, page_source(plan.release, page), lambda *_: None)
    with pytest.raises(TargetUnreachableError, match=r"127\.0\.0\.1:1/.*refused.*HTTPS_PROXY"):
        apply(box.host, plan, seen, page_source(plan.release, "http://127.0.0.1:1"), lambda *_: None)


def test_nothing_but_http_is_fetched(box: Any) -> None:
    seen, plan = look(box.host, NodeSettings(), "cpu")
    with pytest.raises(UsageError, match=r"file:///etc: no http\(s\) address"):
        apply(box.host, plan, seen, page_source(plan.release, "file:///etc"), lambda *_: None)
