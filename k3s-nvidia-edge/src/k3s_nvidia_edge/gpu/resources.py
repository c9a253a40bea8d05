"""The GPU resource: what the nodes offer, and what the serving pod asks for by name."""

import re

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.objects import Container, Node
from edge_llm_tests.ollama import container_of, installations

__all__ = ["Asked", "asked", "nvidia_resources", "plugin_xid", "withdrawn"]

PREFIX = "nvidia.com/"
MIG_PREFIX = "nvidia.com/mig-"
_XID = re.compile(r"Xid=(\d+) on Device=(\S+?)[;,]")
_UNHEALTHY = re.compile(r"marked unhealthy|marking device as unhealthy")


class Asked(msgspec.Struct, frozen=True):
    """A GPU resource that the serving pod asks for."""

    resource: str
    count: int


def asked(recording: Recording) -> Asked | None:
    """What the Ollama that is served asks for; None where it asks for no GPU or is not there.

    Use as `recording.view(asked)`.
    """
    for one in recording.view(installations).value[:1]:
        containers = [each for pod in one.live_pods if (each := container_of(pod)) is not None]
        containers += one.workload.containers if one.workload else ()
        for container in containers:
            if found := _gpu_limit(container):
                return found
    return None


def nvidia_resources(node: Node) -> dict[str, int]:
    """The NVIDIA resources that a node offers, with their counts; those with none are left out."""
    return {
        name: node.offers(name)
        for name in node.allocatable
        if name.startswith(PREFIX) and node.offers(name) > 0
    }


def withdrawn(node: Node) -> dict[str, int]:
    """NVIDIA resources that the node has and does not offer: their devices are unhealthy."""
    return {
        name: node.has(name) - node.offers(name)
        for name in node.capacity
        if name.startswith(PREFIX) and node.has(name) > node.offers(name)
    }


def plugin_xid(log: str) -> str:
    """The Xid for which the plugin withdrew a device; empty where its log does not tell."""
    found = _XID.findall(log)
    return found[-1][0] if found and _UNHEALTHY.search(log) else ""


def _gpu_limit(container: Container) -> Asked | None:
    for quantities in (container.limits, container.requests):
        for name, value in quantities.items():
            if name.startswith(PREFIX) and str(value).isdecimal() and int(str(value)) > 0:
                return Asked(name, int(str(value)))
    return None
