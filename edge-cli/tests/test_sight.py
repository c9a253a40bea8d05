"""No contract passes on what was not seen: each read that it looks at is taken away, refused or cut off.

A contract that still passes then must be proven by something else, which `PROVEN` names. A new contract, or a
new look of an old one, that passes without its read fails here until it is unknown or its proof written down.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from edge_cli.report import report
from edge_cli.tree import load_tree
from edge_llm_tests import Recording, load_layers
from edge_llm_tests.contract import Outcome
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.profile import load_profile

FOLDER = Path(__file__).parent / "cases" / "base"
BASES = sorted(path.stem for path in FOLDER.glob("*.json"))
LAYERS = load_layers()
TREE = load_tree()


class Proof(NamedTuple):
    """Why contracts pass without a read."""

    read: str
    contracts: str
    by: str


RANKED = "its pods were seen; workloads and Services only tell which of several Ollamas is meant"
PODS = "the pods themselves are ready; events and logs would only say why they are not"
OF_OLLAMA = (
    "gpu.allocatable host.driver-fit model.loadable model.present model.resident profile.processor"
    " profile.requests profile.stable serving.answers serving.gpu-request serving.image"
    " serving.memory-limit serving.running serving.scheduled"
)
PROVEN = (
    Proof("command:nvidia-smi -q -x", "host.card-on-bus", "lspci shows the cards"),
    Proof("command:nvidia-smi -q -x", "host.driver-loaded", "the module is loaded"),
    Proof("command:nvidia-smi -q -x", "host.driver-fit", "the module tells its version"),
    Proof(
        "command:nvidia-smi -q -x",
        "gpu.allocatable gpu.cdi",
        "the node offers the card, and pods start with it",
    ),
    Proof("command:nvidia-smi -q -x", "profile.stable", "Ollama's list and log tell of its engines"),
    Proof("command:nvidia-smi -q -x", "telemetry.series", "the series are there, and name their pod"),
    Proof("command:lspci", "host.fabric", "nvidia-smi tells the state of each card's fabric"),
    Proof("command:dmesg", "host.device-nodes", "the device nodes are there"),
    Proof("command:dmesg", "host.memory-available", "/proc/meminfo tells"),
    Proof("command:dmesg", "serving.running", PODS),
    Proof("command:dmesg", "host.disks-writable", "the cluster has just kept the node's report on that disk"),
    Proof("command:dmesg", "host.connections", "the API server answered a new connection"),
    Proof(
        "command:df -Pk", "host.disks-writable", "the kernel log tells; df only tells which disks are in use"
    ),
    Proof("file:/proc/sys/kernel/osrelease", "host.card-on-bus host.cards-complete", "lspci shows the cards"),
    Proof("file:/proc/sys/kernel/osrelease", "host.device-nodes", "the device nodes are there"),
    Proof("file:/proc/sys/kernel/osrelease", "host.driver-fit", "nvidia-smi tells the driver's version"),
    Proof("file:/proc/uptime", "gpu.cdi gpu.cni gpu.runtime-handler gpu.sandboxes", PODS),
    Proof("command:systemctl", "gpu.cdi gpu.cni gpu.runtime-handler gpu.sandboxes", PODS),
    Proof("file:/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "gpu.cdi", "GPU pods start"),
    Proof("api:/", "gpu.api gpu.service", "the other reads of the API were answered"),
    Proof(
        "api:/readyz",
        "host.disks-writable",
        "the kernel log tells; a store that refuses would only say it too",
    ),
    Proof("api:/api/v1/nodes", "gpu.runtime-handler", "the configuration has the handler"),
    Proof("api:/api/v1/nodes", "serving.gpu-request", "the request is the pod's, which runs with it"),
    Proof("api:/api/v1/pods", "host.disks-writable host.file-watches", "the kernel's own files and log tell"),
    Proof(
        "api:/api/v1/pods", "host.driver-fit", "nvidia-smi tells the driver's version, its image the engine's"
    ),
    Proof("api:/api/v1/pods", "gpu.runtime-handler", "the configuration has the handler"),
    Proof("api:/api/v1/pods", "gpu.node-ready", "all nodes are looked at instead of the serving one"),
    Proof("api:/api/v1/pods", "model.loadable model.present model.resident", "Ollama's API tells"),
    Proof("api:/api/v1/pods", "profile.processor serving.answers", "Ollama's API tells"),
    Proof("api:/api/v1/pods", "telemetry.alertmanager telemetry.prometheus", "their APIs answer"),
    Proof("api:/api/v1/pods", "telemetry.targets telemetry.gpu-target", "Prometheus calls them up"),
    Proof(
        "api:/api/v1/events", "host.disks-writable host.driver-fit host.file-watches", "the host itself tells"
    ),
    Proof("api:/api/v1/events", "gpu.runtime-handler", "the configuration has the handler"),
    Proof("api:/api/v1/events", "serving.image serving.running telemetry.dashboards", PODS),
    Proof("api:/api/v1/events", "telemetry.gpu-exporter telemetry.prometheus", PODS),
    Proof("api:/api/v1/events", "telemetry.alertmanager telemetry.targets", "they answer, and are up"),
    Proof("api:/api/v1/services", f"{OF_OLLAMA} gpu.node-ready serving.workload", RANKED),
    Proof(
        "api:/apis/apps/v1/deployments", f"{OF_OLLAMA} gpu.node-ready serving.endpoints serving.webui", RANKED
    ),
    Proof(
        "api:/apis/apps/v1/daemonsets",
        f"{OF_OLLAMA} gpu.node-ready serving.endpoints serving.webui serving.workload",
        RANKED,
    ),
    Proof(
        "api:/apis/node.k8s.io/v1/runtimeclasses",
        "gpu.cgroup-driver",
        "by custom a handler is named as its class",
    ),
    Proof("api:/apis/discovery.k8s.io/v1/endpointslices", "serving.webui", "its health check is answered"),
    Proof("log:device-plugin", "gpu.cdi gpu.sandboxes", PODS),
    Proof("log:device-plugin", "host.card-healthy", "nvidia-smi's counters and the kernel log tell"),
    Proof("log:dcgm-exporter", "gpu.sandboxes", PODS),
    Proof("log:dcgm-exporter", "telemetry.gpu-exporter", "its series are there"),
    Proof("log:ollama", "gpu.sandboxes", PODS),
    Proof(
        "log:ollama",
        "serving.gpu-request",
        "what is asked for stands in the pod; its log would only quote it",
    ),
    Proof("log:ollama", "host.driver-fit", "the versions tell"),
    Proof("log:ollama", "model.loadable", "it is loaded, or /api/show was answered"),
    Proof(
        "http:ollama:/api/tags",
        "model.resident profile.context profile.processor profile.vram",
        "/api/ps tells",
    ),
    Proof("http:ollama:/api/show", "model.loadable", "no failed load stands in the log"),
    Proof(
        "http:prometheus:/api/v1/targets",
        "telemetry.monitors",
        "the monitors are selected and find a Service",
    ),
    Proof("http:prometheus:/api/v1/", "telemetry.prometheus", "it answers other questions"),
    Proof("http:prometheus:/api/v1/rules", "telemetry.alerts", "what fires is asked for by itself"),
    Proof(
        "http:prometheus:/api/v1/query?query=DCGM_FI_DEV_FB_USED", "profile.processor", "nvidia-smi shows it"
    ),
)
GONE: Mapping[str, Mapping[str, Any]] = {
    "command": {"rc": None, "stdout": "", "stderr": "", "error": "permission-denied"},
    "file": {"text": None, "mtime": None, "error": "permission-denied"},
    "glob": {"paths": None, "error": "permission-denied"},
    "api": {"status": 403, "body": {"kind": "Status", "code": 403}, "error": None},
    "http": {"status": None, "body": None, "error": "timeout"},
}


@cache
def whole(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def findings(name: str, reads: Mapping[str, Any]) -> dict[str, Finding]:
    recording = Recording.parse({**whole(name), "reads": reads})
    verdict = report(LAYERS, load_profile(recording.profile, LAYERS), recording, TREE).verdict
    return {step.finding.contract.id: step.finding for step in verdict.steps}


def called(key: str) -> str:
    """The key, a log's by what it is of: its pod's name is another on every machine."""
    if "/log?" not in key:
        return key
    return next(f"log:{name}" for name in ("device-plugin", "dcgm-exporter", "ollama") if name in key)


def passing(name: str, *, dropped: bool) -> Iterator[tuple[str, str]]:
    """Each read and each contract that looks at it and passes without it all the same."""
    reads = whole(name)["reads"]
    looks: dict[str, set[str]] = {}
    for id_, finding in findings(name, reads).items():
        for key in finding.evidence:
            looks.setdefault(key, set()).add(id_)
    for key in reads:
        if key not in looks:
            continue
        others = {each: read for each, read in reads.items() if each != key}
        found = findings(name, others if dropped else {**others, key: GONE[key.partition(":")[0]]})
        yield from ((key, id_) for id_ in looks[key] if found[id_].outcome is Outcome.PASS)


@pytest.mark.parametrize("dropped", [True, False], ids=["not made", "refused"])
@pytest.mark.parametrize("name", BASES)
def test_a_pass_without_its_read_is_proven_by_another(name: str, dropped: bool) -> None:
    unproven = [
        (key, id_)
        for key, id_ in passing(name, dropped=dropped)
        if not any(called(key).startswith(proof.read) and id_ in proof.contracts.split() for proof in PROVEN)
    ]
    assert unproven == []


def test_each_proof_is_needed() -> None:
    """One that is not would hide a contract that has begun to pass on nothing."""
    seen = {(called(key), id_) for name in BASES for key, id_ in passing(name, dropped=True)}
    needless = [
        (proof.read, id_)
        for proof in PROVEN
        for id_ in proof.contracts.split()
        if not any(key.startswith(proof.read) and id_ == found for key, found in seen)
    ]
    assert needless == []


@pytest.mark.parametrize("name", BASES)
def test_a_read_that_breaks_off_makes_no_fault(name: str) -> None:
    """Half a list or half a report is no evidence against anybody; half a number reads like a whole one."""
    reads = whole(name)["reads"]
    for key, read in reads.items():
        cut = dict(read)
        for field in ("stdout", "text", "body"):
            if isinstance(cut.get(field), dict):
                cut[field] = json.dumps(cut[field])[:-2]
            elif isinstance(cut.get(field), str) and len(cut[field]) > 40:
                cut[field] = cut[field][: len(cut[field]) // 3]
        found = findings(name, {**reads, key: cut})
        failed = [
            id_ for id_, each in found.items() if each.outcome is Outcome.FAIL and each.contract.required
        ]
        assert failed == [], key
