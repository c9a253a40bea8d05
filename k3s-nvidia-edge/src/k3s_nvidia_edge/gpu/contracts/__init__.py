"""The gpu layer's promises, in the order of the ladder."""

from edge_llm_tests import Contract

from k3s_nvidia_edge.gpu.contracts import cluster, device, runtime

__all__ = ["CONTRACTS"]

CONTRACTS: tuple[Contract, ...] = (
    cluster.service,
    cluster.api,
    cluster.node_ready,
    cluster.cni,
    cluster.cluster_dns,
    device.operator,
    runtime.driver_owner,
    runtime.toolkit,
    runtime.runtime_handler,
    runtime.cgroup_driver,
    runtime.runtime_class,
    runtime.cdi,
    runtime.sandboxes,
    device.device_plugin,
    device.allocatable,
    device.operator_parts,
    cluster.storage,
)
