"""Neighbours: another machine was read than the one with the card, and Docker beneath k3s."""

import copy

from below import CONFIG, KERNEL, LIGHT, bus_lost, missing, offered
from box import DEPLOYMENTS, NODES, PODS, REPLICASETS, Box, situation

DAEMONSETS = "api:/apis/apps/v1/daemonsets"
NEVER = "switch the machine off | modprobe | install the driver | docker` out of"


def _other_machine(box: Box) -> None:
    """The host reads of a machine that never had a card."""
    host = Box.of("cpu-k3s").reads
    for key in list(box.reads):
        if key.startswith(("command:", "file:", "glob:")):
            box.reads[key] = host[key]


@situation(
    LIGHT,
    "The tool runs on a server of k3s whose agent has the card",
    "host",
    outcome="unknown",
    says="another machine",
    never=NEVER,
)
def card_on_agent(box: Box) -> None:
    server = copy.deepcopy(box.items(NODES)[0])
    server["metadata"] |= {"name": "server-1", "uid": "00000000-0000-4000-8000-000000000009"}
    server["metadata"]["labels"] = {"kubernetes.io/hostname": "server-1", "kubernetes.io/os": "linux"}
    for part in ("capacity", "allocatable"):
        server["status"][part].pop("nvidia.com/gpu")
    box.items(NODES).insert(0, server)
    _other_machine(box)
    box.reads[KERNEL]["text"] = "6.1.0-30-amd64\n"


@situation(
    LIGHT,
    "The tool runs on somebody's laptop, which has neither lspci nor systemd",
    "host",
    outcome="unknown",
    says="another machine",
    never=NEVER,
)
def from_a_laptop(box: Box) -> None:
    _other_machine(box)
    for key in list(box.reads):
        if key.startswith("command:") and "df -Pk" not in key:
            missing(box, key)


@situation(
    LIGHT,
    "The tool runs on a laptop, and the model is missing in the cluster: that is seen from there too",
    "model",
    says="nomic-embed-text",
    never=NEVER,
)
def from_a_laptop_model_missing(box: Box) -> None:
    from_a_laptop(box)
    tags = box.reads["http:ollama:/api/tags"]["body"]
    tags["models"] = [each for each in tags["models"] if "nomic" not in each["name"]]


@situation(
    LIGHT,
    "The card is gone from the bus of this very machine: its driver is still loaded",
    "host",
    says="card",
    never="--host ssh",
)
def card_gone_here(box: Box) -> None:
    bus_lost(box)


@situation(
    LIGHT, "k3s on Docker whose default runtime is NVIDIA's: no pod asks for the class, the GPU is there"
)
def docker_by_default(box: Box) -> None:
    box.items(NODES)[0]["status"]["nodeInfo"]["containerRuntimeVersion"] = "docker://27.3.1"
    missing(box, CONFIG)
    specs = [each["spec"] for each in box.items(PODS)]
    for key in (DEPLOYMENTS, REPLICASETS, DAEMONSETS):
        specs += [each["spec"]["template"]["spec"] for each in box.items(key)]
    for spec in specs:
        spec.pop("runtimeClassName", None)


@situation(LIGHT, "The list of pods is cut short", "gpu", outcome="unknown", says="cut short", never=NEVER)
def pods_cut_short(box: Box) -> None:
    box.reads[PODS]["body"]["metadata"] |= {"continue": "eyJ2IjoibWV0YS5r", "remainingItemCount": 40}
    box.take(PODS, "ollama")


@situation(
    LIGHT,
    "The credentials are refused, and systemd is not to be asked",
    "gpu",
    outcome="unknown",
    says="401",
    never=f"{NEVER} | systemctl",
)
def refused_without_systemd(box: Box) -> None:
    missing(box, next(key for key in box.reads if key.startswith("command:systemctl")))
    for key in list(box.reads):
        if key.startswith(("api:", "http:")):
            box.refuse(key, 401)


@situation(
    LIGHT,
    "Nobody listens at the API's address, and systemd is not to be asked",
    "gpu",
    outcome="unknown",
    says="unreachable",
    never=NEVER,
)
def unreachable_without_systemd(box: Box) -> None:
    missing(box, next(key for key in box.reads if key.startswith("command:systemctl")))
    box.unanswered("api:")
    box.unanswered("http:")


@situation(
    LIGHT,
    "The device plugin is killed at its memory limit, again and again",
    "gpu",
    says="OOMKilled",
    never=NEVER,
)
def plugin_out_of_memory(box: Box) -> None:
    box.state(
        "nvdp",
        {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}},
        last={"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-06-15T11:58:00Z"}},
        restarts=22,
    )
    offered(box, 0, capacity=1)
