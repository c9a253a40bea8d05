"""`--host`: what is refused, and a diagnosis of two hosts through a real sshd on loopback."""

import getpass
import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from edge_cli.hosts import HostChoice
from edge_cli.report import foremost, report
from edge_cli.settings import Settings
from edge_cli.verdict import document
from edge_llm_tests.errors import UsageError
from msgspec.structs import replace

Edge = Callable[..., tuple[int, str, str]]
SSHD = "/usr/sbin/sshd"


@pytest.fixture(autouse=True)
def _nobody_s_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "EDGE_PROFILE", "EDGE_KUBECONFIG", "EDGE_HOST", "EDGE_SSH_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["diagnose", "--host", "box"], "write it like ssh://user@box"),
        (["diagnose", "--host", "ssh://box", "--demo"], "--demo and --host exclude each other"),
        (["diagnose", "--host", "ssh://box", "--sandbox"], "--sandbox and --host exclude each other"),
        (["status", "--host", "ssh://box", "--from", "x.json"], "--from and --host exclude each other"),
        (["evidence", "record", "-o", "x", "--host", "ssh://b", "--sandbox"], "exclude each other"),
        (["up", "--host", "ssh://box", "--install-k3s"], "--install-k3s and --host exclude each other"),
        (["diagnose", "--demo", "--sudo"], "--demo and --sudo exclude each other"),
        (["status", "--sandbox", "--ssh-config", "x"], "--sandbox and --ssh-config exclude each other"),
        (["profile", "init", "--from", "x.json", "--sudo"], "--from and --sudo exclude each other"),
        (["diagnose", "--sudo"], "give --host"),
        (
            ["diagnose", "--host", "ssh://box", "--ssh-config", "/nowhere"],
            "/nowhere: no such file",
        ),
        (["diagnose", "--host", "ssh://box", "--host", "ssh://u@box"], "is given 2 times"),
    ],
)
def test_what_is_refused(edge: Edge, args: list[str], words: str) -> None:
    code, out, err = edge(*args)
    assert (code, out) == (2, ""), err
    assert words in err
    assert len(err.strip().splitlines()) == 1


def test_one_host_where_one_is_read() -> None:
    with pytest.raises(UsageError, match="given 2 times"):
        HostChoice(("ssh://a", "ssh://b")).connected(Settings(), most=1)


def test_no_host_is_this_one() -> None:
    assert HostChoice().connected(Settings()) == {}


def test_of_several_hosts_the_lowest_fault_leads(layers: Any, profile: Any, seen: Any, tree: Any) -> None:
    found = {"a": {}, "b": {"serving.running": "Broken"}, "c": {"gpu.offered": "Missing"}}
    reports = tuple(
        replace(made, recording=replace(made.recording, host=name))
        for name, faults in found.items()
        for made in (report(layers, profile, seen(faults), tree),)
    )
    leading = foremost(reports)
    assert leading.recording.host == "c"
    nodes = document(leading)["nodes"]
    assert {name: each["outcome"] for name, each in nodes.items()} == {"a": "pass", "b": "fail", "c": "fail"}
    assert nodes["b"]["route"]["contract"] == "serving.running"
    assert "nodes" not in document(foremost(reports[:1]))


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of an sshd that lets this user in, and a configuration of ssh for it."""
    if not Path(SSHD).exists():
        pytest.fail("needs sshd (apt-get install openssh-server)")
    for name in ("host", "client"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {(tmp_path / 'host.pub').read_text()}")
    (tmp_path / "ssh_config").write_text(
        f"IdentityFile {tmp_path}/client\nIdentitiesOnly yes\nUserKnownHostsFile {tmp_path}/known\n"
    )
    (tmp_path / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nPidFile none\nUsePAM no\n"
        f"StrictModes no\nAuthorizedKeysFile {tmp_path}/client.pub\nPermitRootLogin prohibit-password\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", tmp_path / "sshd_config"], stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            break
        except OSError:
            time.sleep(0.05)
    yield f"ssh://{getpass.getuser()}@127.0.0.1:{port}", tmp_path / "ssh_config"
    process.terminate()
    process.wait(timeout=10)


def test_two_hosts_are_read_recorded_and_judged(edge: Edge, ssh: tuple[str, Path], tmp_path: Path) -> None:
    address, config = ssh
    cluster = tmp_path / "kube.conf"
    cluster.write_text(
        json.dumps(
            {
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    dead = "ssh://localhost:1"
    target = ("--kubeconfig", str(cluster), "--profile", "cpu", "--ssh-config", str(config))
    written = tmp_path / "r.json"
    code, _, err = edge("evidence", "record", "-o", written, *target, "--host", address, "--host", dead)
    assert code == 0, err
    recorded = json.loads(written.read_text())
    assert recorded["target"]["host"] == "127.0.0.1"
    assert recorded["reads"]["file:/proc/meminfo"]["text"].startswith("MemTotal:")
    assert recorded["nodes"]["localhost"]["file:/proc/meminfo"]["error"] == "unreachable"
    _, out, _ = edge("diagnose", "--from", written, "-o", "json")
    verdict = json.loads(out)
    assert verdict["target"]["host"] == "localhost"  # its host rung was not seen; that comes first
    assert verdict["nodes"]["localhost"]["route"]["rung"] == "host"
    assert verdict["nodes"]["127.0.0.1"]["route"]["rung"] == "gpu"
    _, out, _ = edge("diagnose", "--from", written)
    assert "? host localhost  host.memory-available" in out
    code, out, _ = edge("evidence", "show", written)
    assert "localhost: file:/proc/meminfo" in out


def test_a_host_that_cannot_be_entered_is_exit_6(edge: Edge, tmp_path: Path) -> None:
    code, out, err = edge("diagnose", "--profile", "cpu", "--host", "ssh://127.0.0.1:1")
    assert (code, out) == (6, "")
    assert "ssh://127.0.0.1:1: connection refused" in err
