"""k3s and the GPU as a layer: its reads, state, promises, release."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from edge_llm_tests import Layer, Recording
from edge_llm_tests.layer import Release
from edge_llm_tests.ollama import log_key
from edge_llm_tests.upstream import upstream_releases

from k3s_nvidia_edge.gpu import api_server, service_unit
from k3s_nvidia_edge.gpu.cast import PODS_PER_ROLE, Cast, Role, cast
from k3s_nvidia_edge.gpu.contracts import CONTRACTS
from k3s_nvidia_edge.gpu.observe import observe
from k3s_nvidia_edge.gpu.spec import GpuSpec

__all__ = ["LAYER"]

_PACKAGE = "k3s_nvidia_edge"
_RELEASE, _NAMESPACE, _CHART = "gpu", "gpu-operator", "k3s-nvidia-edge"
_CORE_READS = (
    f"command:{service_unit.KEY}",
    "file:/etc/rancher/k3s/config.yaml",
    "api:/version",
    "api:/readyz",
    *(f"api:{path}" for path in api_server.LISTS),
)
_RUNTIME_READS = (
    "file:/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
    "glob:/usr/bin/nvidia-container-runtime*",
    "glob:/usr/local/nvidia/toolkit/nvidia-container-runtime*",
    "glob:/run/nvidia/validations/*",
    "glob:/var/run/cdi/*",
)


def _reads(spec: GpuSpec, recording: Recording) -> tuple[str, ...]:
    """Core reads, then the logs of the pods that make the GPU usable."""
    return (*_CORE_READS, *(_RUNTIME_READS if spec.has_gpu else ()), *_logs(recording))


def _logs(recording: Recording) -> Iterator[str]:
    players = recording.view(cast).or_else(Cast())
    for role in (Role.PLUGIN, Role.TOOLKIT, Role.DRIVER, Role.OPERATOR, Role.PROVISIONER):
        for pod in players.of(role)[:PODS_PER_ROLE]:
            if role != Role.PLUGIN and pod.ready:
                continue
            for container in pod.containers:
                if container.init and container.ready:
                    continue
                yield log_key(pod, container.name)
                if container.restarts:
                    yield log_key(pod, container.name, previous=True)


def _releases(values: Mapping[str, Any]) -> tuple[Release, ...]:
    """Our chart, then NVIDIA's that a profile takes: the operator's exporter wants a ConfigMap of ours."""
    own: tuple[Release, ...] = ()
    if _RELEASE in values:
        chart = files(_PACKAGE) / "charts" / _CHART
        own = (Release(_RELEASE, _NAMESPACE, "gpu", chart, values[_RELEASE]),)
    return (*own, *upstream_releases(_PACKAGE, values, "gpu-operator", "nvidia-device-plugin"))


LAYER = Layer(
    name="gpu",
    number=1,
    owner="k3s-nvidia-edge",
    rungs=("gpu",),
    spec_type=GpuSpec,
    observe=observe,
    contracts=CONTRACTS,
    package=_PACKAGE,
    reads=_reads,
    releases=_releases,
)
