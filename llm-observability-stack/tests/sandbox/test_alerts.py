"""Alerts fired for real in the sandbox, seen firing and resolved by a webhook receiver behind Alertmanager.

One node serves all tests of this file, in their order. The rules are the shipped ones, with every time span
divided, so that an hour is a minute and a half. What is SIMULATED says so: the card, and the machine behind a
second node. Everything else is real.
"""

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

NAMESPACE = "llm-observability"
MODEL, COPY, MORE = "smollm2:135m", "copy:1", "copy:2"
CARD = "GPU-8a4c1b70-52d1-4be3-8f0e-6b5a49382716"
Box = Card = Dcgm = Machine = Any  # what conftest.py makes; a folder of tests is no package to import from
# each of these is seen firing and resolved; docs/alerts.md has the same list
FIRED = (
    "AdvisoryFailing",
    "AlertsLost",
    "ConfigNotLoaded",
    "ContainerOutOfMemory",
    "ContainerRestarting",
    "ContractFailing",
    "ContractUndecided",
    "ExporterMissing",
    "ExporterSourceFailing",
    "GpuEccUncorrectable",
    "GpuNvlinkErrors",
    "GpuOfferShort",
    "GpuPcieReplays",
    "GpuPowerSlowdown",
    "GpuRowRemapFailed",
    "GpuRowRemapPending",
    "GpuThermalSlowdown",
    "GpuXid",
    "HostDiskFilling",
    "ModelMissing",
    "ModelNotResident",
    "ModelOnCpu",
    "ModelsWithoutSeries",
    "NodeDown",
    "OllamaDown",
    "PodNotReady",
    "RuleFailing",
    "ScrapeFailing",
    "ScrapeSlow",
    "VolumeFilling",
)

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox needs root"),
]


def test_a_healthy_box_fires_nothing_but_the_watchdog_and_the_broken_promise(box: Box) -> None:
    box.fires("ModelOnCpu")
    box.wait("Watchdog in Alertmanager", lambda: "Watchdog" in box.states())
    assert not box.receiver.has("Watchdog", "firing"), "nobody is woken by it"
    known = {"Watchdog", "ModelOnCpu", "ContractFailing", "HostClockUnsynchronised", "HostDiskFilling"}
    assert set(box.states()) <= known, box.states()


@pytest.fixture(scope="module")
def sick(box: Box) -> None:
    """What takes a while is begun first: crash loops, and a cap that leaves the volume no room."""
    box.sick("crashing", "exit 1")
    box.sick("greedy", "sleep 1; tail /dev/zero")
    config = box.get("configmap", "prometheus-config")["data"]["prometheus.yml"]
    capped = re.sub(r"size: \d+MB", "size: 1000MB", config)
    assert capped != config
    box.edit("prometheus-config", {"prometheus.yml": capped})


def test_an_edited_configuration_is_loaded_without_a_restart(box: Box, sick: None) -> None:
    began = box.get("pods", "-lapp.kubernetes.io/name=prometheus")["items"][0]["status"]
    limit = "prometheus_tsdb_retention_limit_bytes"
    box.wait("the new cap", lambda: box.query(limit)[0]["value"][1] == str(1000 * 1024 * 1024))
    [pod] = box.get("pods", "-lapp.kubernetes.io/name=prometheus")["items"]
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
    assert pod["status"]["startTime"] == began["startTime"]


# ---- the host and its card, and telemetry itself: nothing of it hides the other

BROKEN_RULE = "groups: [{name: broken, rules: [{record: 'a:b:c', expr: 'up * on () up'}]}]"


def test_the_card_the_disks_and_telemetry(
    box: Box, card: Card, dcgm: Dcgm, machine: Machine, sick: None
) -> None:
    ollama = box.url("ollama")
    box.edit("prometheus-rules", {"broken.yml": BROKEN_RULE})
    card.wear_out()
    dcgm.recoveries, dcgm.slow_s = 7, 5.4
    machine.fill()
    box.inside("sh", "-c", "head -c 7800000 /dev/zero >/var/lib/edge-scratch/much")
    (box.folder / "watched").rmdir()
    for name in (COPY, MORE):
        box.ask(f"{ollama}/api/copy", {"source": MODEL, "destination": name})
    box.fires("GpuXid", xid="79", pci="0000:17:00")
    box.fires(
        "GpuRowRemapFailed",
        "GpuEccUncorrectable",
        "GpuPcieReplays",
        gpu=CARD,
    )
    box.fires("HostDiskFilling", mountpoint=str(box.folder / "disk"))
    box.fires("VolumeFilling", volume="scratch")
    box.fires("ExporterSourceFailing", source="volumes")
    box.fires("ModelsWithoutSeries", "RuleFailing")
    box.fires("GpuThermalSlowdown", reason="hardware_thermal")
    box.fires("GpuPowerSlowdown", "GpuRowRemapPending")
    box.fires("GpuNvlinkErrors", gpu="GPU-SIMULATED")
    box.fires("ScrapeSlow", job="dcgm-exporter")
    # a broken card hides what stands on it, and nothing else
    states = box.states()
    assert {state for _, state in states["ModelOnCpu"]} == {"suppressed"}
    assert {state for _, state in states["VolumeFilling"]} == {"active"}

    card.heal()
    dcgm.slow_s = 0.0
    machine.empty()
    box.inside("rm", "/var/lib/edge-scratch/much")
    (box.folder / "watched").mkdir()
    for name in (COPY, MORE):
        box.ask(f"{ollama}/api/delete", {"model": name}, "DELETE")
    # rules that cannot be read at all: Prometheus goes on with those that it has
    box.edit("prometheus-rules", {"broken.yml": "groups: [{"})
    machine.stop()
    box.resolves("GpuXid")


# ---- pods, the offer of the card, a dead node


def test_pods_that_do_not_stay_up(box: Box, sick: None) -> None:
    box.fires("ContainerOutOfMemory", pod="greedy", node="sandbox")
    box.fires("PodNotReady", pod="crashing")
    box.fires("ContainerRestarting")


def test_a_card_that_is_not_offered_hides_what_stands_on_it(box: Box, sick: None) -> None:
    box.inside("sh", "-c", "mkdir -p /run/edge/faults && echo all >/run/edge/faults/unhealthy")
    box.fires("GpuOfferShort")
    box.fires("ContractFailing", contract="gpu.allocatable")
    box.wait(
        "ModelOnCpu suppressed",
        lambda: {state for _, state in box.states().get("ModelOnCpu", ())} == {"suppressed"},
    )
    box.inside("rm", "/run/edge/faults/unhealthy")
    box.resolves("GpuOfferShort")
    box.fires("ContractFailing", status="resolved", contract="gpu.allocatable")


GHOST = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "ghost"},
    # no DaemonSet comes to it
    "spec": {"taints": [{"key": "edge.internal/simulated", "effect": "NoSchedule"}]},
}


def test_a_dead_node_hides_its_replica_and_no_other(box: Box, sick: None) -> None:
    """The node object is real and NotReady; that no machine stands behind it is SIMULATED."""
    box.apply(GHOST)
    box.sick("replica", "sleep 3600", node="ghost")
    box.fires("NodeDown", node="ghost")

    def hidden() -> bool:
        of_pods = {labels["pod"]: state for labels, state in box.states().get("PodNotReady", ())}
        return of_pods.get("replica") == "suppressed" and of_pods.get("crashing") == "active"

    box.wait("the ghost's replica suppressed, another not", hidden)
    assert not box.receiver.has("PodNotReady", "firing", pod="replica"), "nobody was told of it"
    box.kubectl("-n", NAMESPACE, "delete", "pod", "replica", "crashing", "greedy", "--force", "--wait=false")
    box.kubectl("delete", "node", "ghost")
    box.resolves("NodeDown", "PodNotReady")


def test_rules_that_cannot_be_loaded_and_a_target_down(box: Box, machine: Machine, sick: None) -> None:
    box.fires("ConfigNotLoaded")
    box.fires("ScrapeFailing", job="node-exporter")
    machine.start()
    removal = '[{"op": "remove", "path": "/data/broken.yml"}]'
    box.kubectl("-n", NAMESPACE, "patch", "configmap", "prometheus-rules", "--type=json", "-p", removal)
    box.edit("prometheus-rules", {})
    box.resolves("ConfigNotLoaded", "ScrapeFailing")


# ---- models and Ollama


def signal_to(box: Box, program: str, number: signal.Signals) -> None:
    """A signal to the processes of a container, found by their command line."""
    each = f"tr '\\0' ' ' <$p/cmdline | grep -q '^{program}' && echo ${{p#/proc/}}"
    search = f"for p in /proc/[0-9]*; do {each}; done"
    pids = box.inside("sh", "-c", f"{search}; true").split()
    assert pids, program
    box.inside("kill", f"-{number.value}", *pids)


def residency(box: Box, number: signal.Signals) -> None:
    """Hold the container that keeps the model loaded, or let it go on."""
    signal_to(box, "[^ ]*sh [^ ]*residency.sh", number)


@pytest.fixture(scope="module")
def binding(box: Box, sick: None) -> dict[str, Any]:
    """The exporter's right to read the cluster, taken away: that nothing is known takes long to fire."""
    box.fires("AdvisoryFailing", contract="telemetry.retention")  # not while nothing is known
    found: dict[str, Any] = box.get("clusterrolebinding", "edge-exporter-contract-reader")
    box.kubectl("delete", "clusterrolebinding", "edge-exporter-contract-reader")
    for gone in ("resourceVersion", "uid", "creationTimestamp"):
        found["metadata"].pop(gone, None)
    return found


def test_models_that_are_not_what_the_profile_promises(box: Box, sick: None, binding: dict[str, Any]) -> None:
    ollama = box.url("ollama")
    box.fires("ModelOnCpu")
    box.ask(f"{ollama}/api/copy", {"source": MODEL, "destination": COPY})
    residency(box, signal.SIGSTOP)
    try:
        box.ask(f"{ollama}/api/generate", {"model": MODEL, "keep_alive": 0})
        box.fires("ModelNotResident", model=MODEL)
        box.resolves("ModelOnCpu")
        box.ask(f"{ollama}/api/delete", {"model": MODEL}, "DELETE")
        box.fires("ModelMissing", model=MODEL)
        box.ask(f"{ollama}/api/copy", {"source": COPY, "destination": MODEL})
    finally:
        residency(box, signal.SIGCONT)
    box.resolves("ModelMissing", "ModelNotResident")
    box.ask(f"{ollama}/api/delete", {"model": COPY}, "DELETE")


def test_ollama_hanging_killed_and_down(box: Box, sick: None) -> None:
    """The exporter says so within one scrape, which never outlasts its deadline."""

    def says(up: float) -> bool:
        found, took_s = box.scrape()
        assert took_s < 5, "half of Prometheus's usual timeout"
        return found["edge_ollama_up"] == up

    box.wait("Ollama up", lambda: says(1))
    signal_to(box, "/usr/bin/ollama serve", signal.SIGSTOP)
    try:
        assert says(0)
    finally:
        signal_to(box, "/usr/bin/ollama serve", signal.SIGCONT)
    box.wait("Ollama up again", lambda: says(1))
    signal_to(box, "/usr/bin/ollama serve", signal.SIGKILL)
    assert says(0)
    box.kubectl("-n", NAMESPACE, "scale", "deployment/ollama", "--replicas=0")
    box.fires("OllamaDown")
    box.kubectl("-n", NAMESPACE, "scale", "deployment/ollama", "--replicas=1")
    box.resolves("OllamaDown")


def test_contracts_that_nobody_can_look_at(box: Box, sick: None, binding: dict[str, Any]) -> None:
    box.fires("ContractUndecided", contract="gpu.api")
    box.apply(binding)
    box.resolves("ContractUndecided")


# ---- what is left of telemetry: the exporter's target lost, Alertmanager away


def test_the_exporters_target_is_lost_by_an_edit(box: Box, sick: None) -> None:
    config = box.get("configmap", "prometheus-config")["data"]["prometheus.yml"]
    # the job stays, so that its target is known to be gone; series of a renamed job stay for five minutes
    lost = config.replace('targets: ["edge-exporter:9835"]', "targets: []")
    assert lost != config
    box.edit("prometheus-config", {"prometheus.yml": lost})
    box.fires("ExporterMissing")
    # what the release says is put back, and loaded by itself
    with ThreadPoolExecutor(1) as pool:
        back = pool.submit(box.up, {})
        while not back.done():
            box.nudge()
            time.sleep(2)
        back.result()
    box.resolves("ExporterMissing", "AdvisoryFailing")


def test_alerts_that_cannot_be_delivered_are_told_of_when_they_can(box: Box, sick: None) -> None:
    box.kubectl("-n", NAMESPACE, "scale", "deployment/alertmanager", "--replicas=0")
    lost = "sum(increase(prometheus_notifications_errors_total[1m])) > 0"
    box.wait("an alert that was not delivered", lambda: box.query(lost))
    box.kubectl("-n", NAMESPACE, "scale", "deployment/alertmanager", "--replicas=1")
    box.fires("AlertsLost")
    box.resolves("AlertsLost")


def test_each_was_seen_firing_and_resolved_and_nothing_else_was_told_of(box: Box) -> None:
    box.fires(*FIRED)
    box.resolves(*FIRED)  # what looks back over a window takes that long
    told = {each[0] for each in box.receiver.told}
    assert told - set(FIRED) <= {"HostClockUnsynchronised"}, "the clock is the test machine's own"
    # who is told is decided by severity
    for name, _, labels, receiver in box.receiver.told:
        assert receiver == ("critical" if labels["severity"] == "critical" else "default"), name
