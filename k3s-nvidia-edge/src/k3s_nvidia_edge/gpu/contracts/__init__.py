"""The gpu layer's promises, in the order of the ladder."""

from edge_llm_tests import Contract, Result, contract, failed, passed, unknown
from k3s_nvidia_edge.gpu.observe import GpuState
from k3s_nvidia_edge.gpu.spec import GpuSpec

__all__ = ["CONTRACTS"]

@contract("gpu.api","the Kubernetes API answers", reasons=("ApiFailed",), after=("host.memory-available",))
def api(spec: GpuSpec, observed: GpuState) -> Result:
    """..."""
    server = observed.api.value
    if not server.answered:
        first = next(iter(server.refusals.values()))
        return unknown(first.reason, first.message)
    return passed("answers")

@contract("gpu.node-ready","nodes are ready", reasons=("NodeNotReady",), after=("gpu.api",))
def node_ready(spec: GpuSpec, observed: GpuState) -> Result:
    """..."""
    for node in observed.nodes.value:
        if not node.ready:
            return failed("NodeNotReady", f"{node.name} is not Ready")
    return passed("ready")

@contract("gpu.allocatable","GPUs are offered", reasons=("NoAllocatableGpu",), after=("gpu.node-ready", "host.driver-answers", "host.card-healthy"), applies=lambda spec: spec.has_gpu)
def allocatable(spec: GpuSpec, observed: GpuState) -> Result:
    """..."""
    offered = sum(node.offers(spec.resource) for node in observed.nodes.value)
    if offered < spec.gpus:
        return failed("NoAllocatableGpu", f"{offered} x {spec.resource}")
    return passed(f"{offered} x {spec.resource}")

CONTRACTS: tuple[Contract, ...] = (api, node_ready, allocatable)
