"""The real thing: a node that runs, and what it offers; the other `test_node_*` go on with it."""

import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from k3s_nvidia_edge.sandbox import AlreadyRunningError, Node, State, down, readiness, status, up
from k3s_nvidia_edge.sandbox.build import Artifacts
from k3s_nvidia_edge.sandbox.simulation import GPU_UUID

pytestmark = pytest.mark.sandbox


def test_status_of_a_running_node(node: Node, state: Path) -> None:
    readiness.wait_for_addons(node, 60.0)
    seen = status(state)
    assert seen.state is State.UP
    assert seen.ready
    assert seen.addons_applied
    assert seen.faults == ()
    names = {one.name for one in seen.programs if one.state == "RUNNING"}
    assert {"containerd", "kubelet", "kube-apiserver", "kube-proxy", "kine"} <= names


def test_up_again_changes_nothing(node: Node, artifacts: Artifacts, state: Path) -> None:
    began = time.monotonic()
    assert up(artifacts, state) == node
    assert time.monotonic() - began < 2


def test_a_second_sandbox_is_refused_by_name(artifacts: Artifacts, state: Path, tmp_path: Path) -> None:
    with pytest.raises(AlreadyRunningError, match=str(state)):
        up(artifacts, tmp_path / "second")
    down(tmp_path / "second", purge=True)  # must not touch the first
    assert status(state).ready


def test_the_node_has_namespaces_of_its_own(node: Node) -> None:
    for name in ("mnt", "net", "pid", "uts", "ipc", "cgroup"):
        assert Path(f"/proc/{node.init_pid}/ns/{name}").readlink() != Path(f"/proc/self/ns/{name}").readlink()


def test_there_is_no_way_out(inside: Any) -> None:
    routes = inside("ip", "route").stdout
    assert "default" not in routes
    probe = inside("bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80")
    assert probe.returncode != 0
    assert "Network is unreachable" in probe.stderr


def test_the_host_reads_answer(node: Node, inside: Any) -> None:
    smi = inside("nvidia-smi", "-q", "-x")
    assert (smi.returncode, smi.stderr) == (0, "")
    assert GPU_UUID in smi.stdout
    assert "SIMULATED" in smi.stdout
    assert "[10de:ffff]" in inside("lspci", "-Dnnk", "-d", "10de:").stdout
    assert inside("modinfo", "-F", "version", "nvidia").stdout == "570.195.03\n"
    assert "NVRM: loading" in inside("dmesg", "--time-format", "iso").stdout
    assert "570.195.03" in inside("cat", "/proc/driver/nvidia/version").stdout
    if Path("/proc/modules").exists():
        assert "nvidia_uvm" in inside("cat", "/proc/modules").stdout
    for path in ("sys/kernel/osrelease", "uptime", "meminfo", "sys/fs/inotify/max_user_instances"):
        assert inside("cat", f"/proc/{path}").returncode == 0
    globs = inside(
        "bash", "-c", "ls -d /dev/nvidia* /usr/bin/nvidia-container-runtime* /var/run/cdi/*"
    ).stdout
    assert {
        "/dev/nvidia0",
        "/dev/nvidia-uvm",
        "/usr/bin/nvidia-container-runtime",
        "/var/run/cdi/nvidia.com-gpu.yaml",
    } <= set(globs.split())
    assert "SIMULATED" in inside("cat", "/etc/rancher/k3s/config.yaml").stdout
    config = inside("cat", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml").stdout
    assert "runtimes.'nvidia'" in config
    shown = inside(
        "systemctl", "show", "k3s", "--property=Id,LoadState,ActiveState,SubState,ActiveEnterTimestamp"
    )
    unit = dict(line.split("=", 1) for line in shown.stdout.splitlines())
    assert (unit["ActiveState"], unit["SubState"]) == ("active", "running")
    started = (
        time.mktime(time.strptime(unit["ActiveEnterTimestamp"], "%a %Y-%m-%d %H:%M:%S UTC")) - time.timezone
    )
    assert abs(started - (status(node.state_dir).started_at or 0)) < 5
    assert inside("df", "-Pk").returncode == 0
    assert inside("no-such-program").returncode == 127


def test_the_host_reads_the_nodes_files_through_its_first_process(node: Node) -> None:
    root = Path(f"/proc/{node.init_pid}/root")
    assert "570.195.03" in (root / "proc/driver/nvidia/version").read_text()
    assert "SIMULATED" in (root / "etc/rancher/k3s/config.yaml").read_text()
    # /var/run is a link, an absolute one on many hosts: it has to lead into the node
    assert [path.name for path in root.glob("var/run/cdi/*")] == ["nvidia.com-gpu.yaml"]
    assert {path.name for path in root.glob("dev/nvidia*")} >= {"nvidia0", "nvidiactl", "nvidia-uvm"}
    assert (root / "usr/bin/nvidia-container-runtime").exists()


def test_the_machines_settings_cannot_be_changed_from_inside(inside: Any) -> None:
    assert inside("bash", "-c", "echo 1 > /proc/sys/kernel/sysrq").returncode != 0
    before = Path("/proc/sys/vm/overcommit_memory").read_text()
    assert inside("bash", "-c", "echo 0 > /proc/sys/vm/overcommit_memory").returncode == 0  # a stand-in
    assert Path("/proc/sys/vm/overcommit_memory").read_text() == before
    assert inside("bash", "-c", "echo x > /usr/bin/edge-test && echo y > /etc/edge-test").returncode == 0
    assert not Path("/usr/bin/edge-test").exists()
    assert not Path("/etc/edge-test").exists()


def test_a_pod_of_the_nvidia_class_runs(kubectl: Any, gpu_pod: str) -> None:
    assert kubectl.get("pod", gpu_pod)["spec"]["runtimeClassName"] == "nvidia"
    assert kubectl.get("node", "sandbox")["metadata"]["labels"]["edge.sandbox/simulated"] == "true"


def test_cluster_dns_and_cluster_addresses_work_in_a_pod(kubectl: Any, client_pod: str, wait: Any) -> None:
    wait(
        "CoreDNS is ready",
        lambda: kubectl.get("deployment", "coredns", "-n", "kube-system")["status"].get("readyReplicas"),
    )
    address = wait(
        "DNS answers",
        lambda: kubectl(
            "exec", client_pod, "--", "getent", "hosts", "kubernetes.default", check=False
        ).split(),
    )
    assert address[0] == "10.96.0.1"
    kubectl("exec", client_pod, "--", "bash", "-c", "exec 3<>/dev/tcp/kubernetes.default/443")
    outside = kubectl("exec", client_pod, "--", "getent", "hosts", "example.com", check=False)
    assert "terminated with exit code 2" in outside


def test_the_host_reaches_cluster_addresses_and_pods(kubectl: Any) -> None:
    with socket.create_connection(("10.96.0.1", 443), timeout=5):
        pass
    pod = kubectl.get("pods", "-n", "kube-system", "-l", "k8s-app=kube-dns")["items"][0]
    with socket.create_connection((pod["status"]["podIP"], 53), timeout=5):
        pass


def test_a_volume_is_made_in_the_state_directory(claim: str, state: Path) -> None:
    (file,) = (state / "k3s" / "storage").glob(f"*_default_{claim}/file")
    assert file.read_text() == "kept\n"


def test_network_policy_is_enforced(kubectl: Any, server_image: str, client_pod: str, wait: Any) -> None:
    kubectl.pod("server", containers=[{"name": "c", "image": server_image, "args": ["-dns.port=1053"]}])
    address = kubectl.running("server")["status"]["podIP"]

    def reach() -> Any:
        connect = f"exec 3<>/dev/tcp/{address}/1053"
        return kubectl("exec", client_pod, "--", "timeout", "5", "bash", "-c", connect, check=False) == ""

    wait("the server answers", reach)
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny"}}
    deny = {"podSelector": {"matchLabels": {"app": "server"}}, "policyTypes": ["Ingress"]}
    kubectl.apply(**policy, spec=deny)
    wait("the policy refuses", lambda: not reach())
    from_client = [{"from": [{"podSelector": {"matchLabels": {"app": client_pod}}}]}]
    kubectl.apply(**policy, spec={**deny, "ingress": from_client})
    wait("the policy lets the client in", reach)
    kubectl("delete", "networkpolicy/deny", "pod/server")


def test_the_audit_log_names_the_impersonated_reader(node: Node, kubectl: Any, wait: Any) -> None:
    reader = "system:serviceaccount:gpu-operator:edge-contract-reader"
    refused = kubectl("get", "pods", "--as", reader, check=False)
    assert "Forbidden" in refused
    kubectl("create", "configmap", "nope", "--as", reader, check=False)

    def entries() -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in node.audit_log.read_text().splitlines() if reader in line]
        return [one for one in lines if one.get("impersonatedUser", {}).get("username") == reader]

    wait("both requests are logged", lambda: {one["verb"] for one in entries()} >= {"list", "create"})
    assert {one["responseStatus"]["code"] for one in entries()} == {403}
