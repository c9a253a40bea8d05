"""`edge node` and `edge up` on a host without a cluster: asked, refused, installed, removed.

The host is a temporary folder; systemd and k3s are SIMULATED, its files and layer 0's contracts are real.
"""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from edge_cli import node
from edge_llm_tests import load_layers
from edge_llm_tests.errors import UsageError
from k3s_nvidia_edge.node import Host, release
from k3s_nvidia_edge.node.release import Asset, Assets, Pinned
from k3s_nvidia_edge.node.service import Service

Edge = Callable[..., tuple[int, str, str]]
SIMULATED = Path(__file__).parents[2] / "k3s-nvidia-edge" / "tests" / "node" / "simulated"
MEMINFO = "MemTotal: 16000000 kB\nMemAvailable: {} kB\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a bare, sound host without a card; nobody's settings, kubeconfig or sandbox are near."""
    for name in ("KUBECONFIG", "EDGE_PROFILE", "EDGE_KUBECONFIG", "EDGE_TIMEOUT", "EDGE_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    root, programs = tmp_path / "host", tmp_path / "programs"
    for folder in (root / "run/systemd/system", root / "usr/local/bin", tmp_path / "release", programs):
        folder.mkdir(parents=True)
    for path, text in {
        "proc/net/route": "Iface\tDestination\tGateway\neth0\t00000000\t0100000A\n",
        "proc/meminfo": MEMINFO.format(12_000_000),
        "proc/uptime": "100.0 100.0\n",
        "proc/sys/kernel/osrelease": "6.12.0\n",
        "proc/sys/fs/inotify/max_user_instances": "1024\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    scripts = {
        "systemctl": (SIMULATED / "systemctl").read_text().replace("@ROOT@", str(root)),
        "helm": "#!/bin/sh\necho 'Error: Kubernetes cluster unreachable: connection refused' >&2; exit 1\n",
    }
    for name, text in scripts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    contents = {"k3s": (SIMULATED / "k3s").read_bytes(), "images.tar.zst": b"SIMULATED\n"}
    assets = []
    for name, content in contents.items():
        (tmp_path / "release" / name).write_bytes(content)
        assets.append(Asset(name, hashlib.sha256(content).hexdigest()))
    files = dict.fromkeys(("amd64", "arm64"), Assets(*assets))
    monkeypatch.setattr(release, "_pins", lambda: {"v1.36.4+k3s1": Pinned("v2", files)})
    monkeypatch.setattr(node, "this_host", lambda: Host(root, Service(str(programs / "systemctl"))))
    return root


@pytest.fixture
def files(root: Path) -> str:
    return str(root.parent / "release")


def test_without_a_terminal_k3s_is_only_installed_when_the_flag_says_so(edge: Edge, root: Path) -> None:
    code, out, err = edge("up", "--profile", "cpu")
    assert (code, out) == (2, "")
    assert "no kubeconfig" in err
    assert "--install-k3s" in err
    assert "v1.36.4+k3s1" in err
    assert len(err.strip().splitlines()) == 1
    assert not (root / "var").exists()


def test_a_plan_without_a_cluster_says_what_shows_the_first_step(edge: Edge, root: Path) -> None:
    code, out, err = edge("plan", "--profile", "cpu")
    assert (code, out) == (2, "")
    assert "no kubeconfig" in err
    assert "`edge node install --plan`" in err
    assert not (root / "var").exists()


def test_yes_alone_is_no_consent_to_install_k3s(edge: Edge, root: Path) -> None:
    code, _, _ = edge("up", "--profile", "cpu", "--yes")
    assert code == 2
    assert not (root / "usr/local/bin/k3s").exists()


@pytest.mark.parametrize("answer", ["n\n", "y\n"])
def test_on_a_terminal_the_plan_is_shown_and_asked(
    edge: Edge, root: Path, files: str, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: _answered(answer))
    _, _, err = edge("up", "--profile", "cpu", "--k3s-from", files)
    assert "fetch    /usr/local/bin/k3s" in err
    assert "write    /etc/rancher/k3s/config.yaml" in err
    assert (root / "usr/local/bin/k3s").exists() is (answer == "y\n")


def _answered(answer: str) -> bool:
    import typer

    if answer == "n\n":
        raise typer.Abort
    return True


def test_up_installs_k3s_and_then_climbs_on_its_kubeconfig(edge: Edge, root: Path, files: str) -> None:
    code, _, err = edge("up", "--profile", "cpu", "--install-k3s", "--k3s-from", files)
    assert (root / "etc/rancher/k3s/k3s.yaml").exists()
    # the SIMULATED k3s writes no real kubeconfig: the climb begins, and ends on it
    assert code == 2
    assert f"{root}/etc/rancher/k3s/k3s.yaml" in err


@pytest.mark.parametrize("other", [("--sandbox",), ("--kubeconfig", "x"), ("--context", "x")])
def test_install_k3s_goes_with_no_other_cluster(edge: Edge, root: Path, other: tuple[str, ...]) -> None:
    code, _, err = edge("up", "--profile", "cpu", "--install-k3s", *other)
    assert code == 2
    assert "leave --sandbox, --kubeconfig and --context out" in err


def test_node_install_twice_and_its_status(edge: Edge, root: Path, files: str) -> None:
    install = ("node", "install", "--profile", "cpu", "--k3s-from", files, "--yes")
    code, out, err = edge(*install)
    assert code == 0, err
    assert out == f"export KUBECONFIG={root}/etc/rancher/k3s/k3s.yaml\n"
    code, out, _ = edge(*install)
    assert (code, out) == (0, "k3s v1.36.4+k3s1 is installed, and nothing would change\n")
    (root / "etc/rancher/k3s/config.yaml").write_text("mine: true\n")
    code, out, _ = edge("node", "status")
    assert code == 0
    assert "state       k3s v1.36.4+k3s1 for profile cpu\n" in out
    assert "service     active, enabled\n" in out
    assert "/etc/rancher/k3s/config.yaml  edited\n" in out
    assert "/usr/local/bin/k3s  as installed\n" in out


def test_a_plan_is_shown_and_nothing_is_done(edge: Edge, root: Path) -> None:
    code, out, _ = edge("node", "install", "--profile", "cpu", "--plan")
    assert code == 0
    assert out.splitlines()[0] == "k3s v1.36.4+k3s1 (amd64) for profile cpu:"
    assert "  start    k3s.service" in out
    assert not (root / "etc").exists()


def test_a_cluster_that_is_not_ours_is_named_sign_by_sign(edge: Edge, root: Path) -> None:
    (root / "usr/local/bin/k3s").write_text("somebody's")
    (root / "var/lib/rancher/k3s/server").mkdir(parents=True)
    code, _, err = edge("node", "install", "--profile", "cpu", "--yes")
    assert code == 2
    assert "/usr/local/bin/k3s" in err
    assert "/var/lib/rancher/k3s" in err
    assert (root / "usr/local/bin/k3s").read_text() == "somebody's"
    code, out, _ = edge("node", "status")
    assert code == 0
    assert out.startswith("state       a cluster that `edge` did not install\n")


def test_a_host_that_does_not_hold_gets_nothing(edge: Edge, root: Path, files: str) -> None:
    (root / "proc/meminfo").write_text(MEMINFO.format(1_000))
    code, _, err = edge("node", "install", "--profile", "cpu", "--k3s-from", files, "--yes")
    assert code == 3
    assert "host.memory-available" in err
    assert "host-admin" in err
    assert not (root / "usr/local/bin/k3s").exists()


def test_a_missing_card_is_the_administrator_s_and_nothing_is_installed(
    edge: Edge, root: Path, files: str
) -> None:
    toolkit = root / "usr/bin/nvidia-container-runtime"
    toolkit.parent.mkdir(parents=True, exist_ok=True)
    toolkit.write_text("#!/bin/sh\n")
    toolkit.chmod(0o755)
    code, _, err = edge("node", "install", "--profile", "rtx-4090", "--k3s-from", files, "--yes")
    assert code == 3
    assert "layer 0 (host-admin) does not hold" in err
    assert not (root / "usr/local/bin/k3s").exists()


def test_a_value_that_no_chart_takes_is_said_before_k3s_is_installed(
    edge: Edge, root: Path, files: str, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: cpu\nvalues: {serving: {modles: []}}\n")
    code, _, err = edge("node", "install", "--profile", mine, "--k3s-from", files, "--yes")
    assert code == 2
    assert "did you mean `models`?" in err
    assert not (root / "var").exists()


def test_a_profile_that_is_simulated_goes_on_no_real_host(edge: Edge, root: Path) -> None:
    code, _, err = edge("node", "install", "--profile", "sandbox", "--yes")
    assert code == 2
    assert "edge up --sandbox" in err


@pytest.mark.parametrize("command", [("up", "--install-k3s"), ("node", "install", "--yes")])
def test_a_folder_that_is_not_there_is_named(edge: Edge, root: Path, command: tuple[str, ...]) -> None:
    code, _, err = edge(*command, "--profile", "cpu", "--k3s-from", "/nowhere")
    assert code == 2
    assert "--k3s-from /nowhere" in err


def test_no_helm_is_said_before_the_host_is_changed(
    edge: Edge, root: Path, files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    code, _, err = edge("up", "--profile", "cpu", "--install-k3s", "--k3s-from", files)
    assert code == 2
    assert "helm" in err
    assert not (root / "var/lib/edge").exists()


def test_offline_nothing_is_asked_of_a_release_page(root: Path, files: str) -> None:
    layers = load_layers()
    with pytest.raises(
        UsageError, match=r"--offline: nothing here has k3s v1\.36\.4\+k3s1.*edge bundle load"
    ):
        node.agreed_undertaking(None, "cpu", layers, None, install=True, offline=True)
    found = node.agreed_undertaking(None, "cpu", layers, Path(files), install=True, offline=True)
    assert found is not None
    assert found.folder == Path(files)


def test_uninstall_forgets_what_was_taken_away_by_hand(edge: Edge, root: Path, files: str) -> None:
    assert edge("node", "install", "--profile", "cpu", "--k3s-from", files, "--yes")[0] == 0
    for folder in ("etc", "usr/local/bin", "var/lib/rancher", "var/lib/kubelet"):
        shutil.rmtree(root / folder)
    code, out, _ = edge("node", "uninstall", "--yes")
    assert (code, out) == (0, "Nothing to remove: no k3s on this host was installed by `edge`.\n")
    assert not (root / "var/lib/edge").exists()
    assert edge("node", "status")[1].startswith("state       no cluster (")


def test_uninstall_asks_keeps_data_and_purges_when_told(edge: Edge, root: Path, files: str) -> None:
    install = ("node", "install", "--profile", "cpu", "--k3s-from", files, "--yes")
    assert edge(*install)[0] == 0
    code, _, err = edge("node", "uninstall")
    assert code == 2
    assert "give --yes" in err
    assert (root / "usr/local/bin/k3s").exists()
    code, out, _ = edge("node", "uninstall", "--yes")
    assert code == 0
    assert "removed  /usr/local/bin/k3s\n" in out
    assert "kept     /var/lib/rancher/k3s: data of the cluster (`--purge` deletes it)\n" in out
    assert edge("node", "status")[1].startswith("state       no cluster; what stayed")
    assert edge(*install)[0] == 0
    code, out, _ = edge("node", "uninstall", "--yes", "--purge")
    assert code == 0
    assert "removed  /var/lib/rancher/k3s\n" in out
    assert not (root / "var/lib/rancher").exists()
    assert edge("node", "uninstall", "--yes")[1].startswith("Nothing to remove")


def test_profile_check_reads_what_a_profile_says_of_k3s(edge: Edge, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: cpu\nvalues:\n  k3s: {versoin: v1.36.4+k3s1}\n")
    code, _, err = edge("profile", "check", str(mine))
    assert code == 2
    assert "did you mean `version`?" in err
