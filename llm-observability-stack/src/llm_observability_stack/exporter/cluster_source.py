"""What the API server says of nodes and of this project's pods, by the node that they are on."""

from collections.abc import Callable, Iterator

from edge_llm_tests.evidence import Recording
from edge_llm_tests.objects.node import nodes
from edge_llm_tests.objects.pod import Container, Pod, pods
from edge_llm_tests.readers import ClusterReader
from prometheus_client.core import Metric

from llm_observability_stack.exporter.catalogue import family
from llm_observability_stack.exporter.source import Source

__all__ = ["cluster_families", "cluster_source"]

_PATHS = ("/api/v1/nodes", "/api/v1/pods")
_READ_DEADLINE_S = 5.0
_DEADLINE_S = 12.0  # both reads
_NODES_LIMIT = 200
_PODS_LIMIT = 200
_PLACES = {"gpu": "1", "serving": "2", "telemetry": "3"}
_OUT_OF_MEMORY = "OOMKilled"


def cluster_source(cluster: Callable[[], ClusterReader], interval_s: float, resource: str) -> Source:
    """The source `cluster`; `cluster` makes the reader anew each time: a token is replaced every hour."""

    def collect() -> tuple[Metric, ...]:
        reader = cluster()
        try:
            reads = {f"api:{path}": reader.read(path, _READ_DEADLINE_S) for path in _PATHS}
        finally:
            reader.close()
        return cluster_families(Recording(reads=reads), resource)

    return Source("cluster", collect, _DEADLINE_S, interval_s)


def cluster_families(recording: Recording, resource: str) -> tuple[Metric, ...]:
    """Families of nodes and pods; of cards those of `resource`, which the profile asks for.

    Raises:
        UnseenError: Nodes or pods could not be read.
        MalformedError: What was read is not what the API server answers.
    """
    found = sorted(nodes(recording), key=lambda each: each.name)[:_NODES_LIMIT]
    ours = sorted(
        (each for each in pods(recording) if each.labels.get("app.kubernetes.io/part-of") == "edge"),
        key=lambda each: each.path,
    )[:_PODS_LIMIT]
    containers = [(_labels(pod, one.name), one) for pod in ours for one in pod.containers if one.status]
    return (
        family("edge_node_ready", [((node.name,), float(node.ready)) for node in found]),
        family("edge_node_gpus_offered", [((node.name,), float(node.offers(resource))) for node in found]),
        family("edge_pod_ready", [(_labels(pod), float(pod.ready)) for pod in ours if not pod.finished]),
        family(
            "edge_container_restarts_total", [(labels, float(one.restarts)) for labels, one in containers]
        ),
        family(
            "edge_container_out_of_memory", [(labels, float(_ended_so(one))) for labels, one in containers]
        ),
    )


def _labels(pod: Pod, *container: str) -> tuple[object, ...]:
    return (pod.namespace, pod.name, *container, pod.node, *_place(pod))


def _place(pod: Pod) -> Iterator[str]:
    """Rung, layer and owner, by which Alertmanager lets a lower layer hide this one."""
    rung = str(pod.labels.get("edge.internal/layer", ""))
    yield rung
    yield _PLACES.get(rung, "")
    yield str(pod.labels.get("edge.internal/owner", ""))


def _ended_so(container: Container) -> bool:
    return _OUT_OF_MEMORY in (container.state.terminated, container.last_state.terminated)
