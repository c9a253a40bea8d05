"""The nodes that matter to a profile: those that have a GPU, or those that serve."""

from edge_llm_tests import Recording
from edge_llm_tests.objects import Node, nodes
from edge_llm_tests.ollama import installations

__all__ = ["gpu_nodes", "serving_nodes"]

_GPU_LABELS = (("nvidia.com/gpu.present", "true"), ("feature.node.kubernetes.io/pci-10de.present", "true"))


def gpu_nodes(recording: Recording) -> tuple[Node, ...]:
    """Those that have a GPU, by their resources or labels. Use as `recording.view(gpu_nodes)`."""
    return tuple(node for node in recording.view(nodes).value if _has_gpu(node))


def serving_nodes(recording: Recording) -> tuple[Node, ...]:
    """Those that a pod of Ollama is on. Use as `recording.view(serving_nodes)`."""
    serving = {pod.node for one in recording.view(installations).value for pod in one.live_pods}
    return tuple(node for node in recording.view(nodes).value if node.name in serving)


def _has_gpu(node: Node) -> bool:
    if any(name.startswith("nvidia.com/") for name in node.capacity):
        return True
    return any(node.labels.get(key) == value for key, value in _GPU_LABELS)
