"""Every simulated fault, provoked and healed on the running node."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from k3s_nvidia_edge.sandbox import Node, faults, readiness, status, supervision

pytestmark = pytest.mark.sandbox


DRIVER_FAULTS = {
    "driver-mismatch": (18, "Driver/library version mismatch"),
    "driver-not-loaded": (9, "couldn't communicate with the NVIDIA driver"),
    "no-devices": (6, "No devices were found"),
    "no-card": (9, "couldn't communicate with the NVIDIA driver"),
    "driver-not-installed": (127, ""),
}


@pytest.mark.parametrize("name", DRIVER_FAULTS)
def test_a_driver_fault_shows_and_heals(state: Path, name: str, inside: Any) -> None:
    rc, text = DRIVER_FAULTS[name]
    faults.break_(name, state)
    assert status(state).faults == (name,)
    smi = inside("nvidia-smi", "-q", "-x")
    assert smi.returncode == rc
    assert text in smi.stdout
    loaded = inside("cat", "/proc/driver/nvidia/version").returncode == 0
    assert loaded is (name in ("driver-mismatch", "no-devices"))
    assert (inside("test", "-e", "/dev/nvidia0").returncode == 0) is loaded
    if name == "driver-mismatch":
        assert "API mismatch" in inside("dmesg", "--time-format", "iso").stdout
        assert inside("modinfo", "-F", "version", "nvidia").stdout == "570.211.01\n"
    if name == "no-card":
        assert inside("lspci", "-Dnnk", "-d", "10de:").stdout == ""
    faults.heal(name, state)
    assert status(state).faults == ()
    assert inside("nvidia-smi", "-q", "-x").returncode == 0
    assert inside("test", "-e", "/dev/nvidia0").returncode == 0


def test_a_hanging_driver_hangs_and_heals(node: Node, state: Path, wait: Any, inside: Any) -> None:
    faults.break_("driver-hang", state)
    hanging = subprocess.Popen(
        node.enter_argv(["nvidia-smi", "-q", "-x"]), stdout=subprocess.PIPE, start_new_session=True
    )
    with pytest.raises(subprocess.TimeoutExpired):
        hanging.wait(timeout=1)
    os.killpg(hanging.pid, 9)
    hanging.communicate(timeout=5)  # the pipe closes: the program inside is dead as well
    assert "Xid (PCI:0000:01:00): 119" in inside("dmesg", "--time-format", "iso").stdout
    faults.heal("driver-hang", state)
    assert inside("nvidia-smi", "-q", "-x").returncode == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("runtime-handler-missing", 'no runtime for "nvidia" is configured'),
        ("runtime-binary-missing", "nvidia-container-runtime"),
    ],
)
def test_a_runtime_fault_stops_new_pods_only_and_heals(  # noqa: PLR0917 - fixtures, by name
    kubectl: Any, gpu_pod: str, state: Path, pause: str, name: str, text: str, wait: Any
) -> None:
    restarts = kubectl.get("pod", gpu_pod)["status"]["containerStatuses"][0]["restartCount"]
    faults.break_(name, state)
    kubectl.pod(name, runtimeClassName="nvidia", containers=[{"name": "c", "image": pause}])
    wait(f"an event says {text!r}", lambda: text in kubectl.events(name))
    faults.heal(name, state)
    kubectl.running(name)
    running = kubectl.get("pod", gpu_pod)["status"]
    assert running["phase"] == "Running"
    assert running["containerStatuses"][0]["restartCount"] == restarts
    kubectl("delete", "pod", name)


def test_a_stopped_api_server_shows_and_heals(node: Node, kubectl: Any, state: Path, inside: Any) -> None:
    faults.break_("api-server-stopped", state)
    assert "refused" in kubectl("get", "nodes", check=False)
    assert not status(state).ready
    shown = inside("systemctl", "show", "k3s", "--property=ActiveState").stdout
    assert "ActiveState=activating" in shown
    faults.heal("api-server-stopped", state)
    readiness.wait_ready(node, 60.0, lambda step, message: None)


def test_a_stopped_kubelet_shows_and_heals(node: Node, state: Path) -> None:
    faults.break_("kubelet-stopped", state)
    states = {one.name: one.state for one in supervision.program_states(node.init_pid)}
    assert states["kubelet"] == "STOPPED"
    faults.heal("kubelet-stopped", state)
    states = {one.name: one.state for one in supervision.program_states(node.init_pid)}
    assert states["kubelet"] == "RUNNING"


def test_the_components_are_restarted_when_they_die(node: Node, wait: Any, inside: Any) -> None:
    before = {one.name: one.pid for one in supervision.program_states(node.init_pid)}["kube-scheduler"]
    inside("kill", "-KILL", str(before))

    def again() -> bool:
        now = {one.name: one for one in supervision.program_states(node.init_pid)}["kube-scheduler"]
        return now.state == "RUNNING" and now.pid != before

    wait("the scheduler runs again", again)
