"""k3s and the GPU as a layer: its reads, state, promises, release."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from edge_llm_tests import Layer, Recording
from edge_llm_tests.layer import Release
from k3s_nvidia_edge.gpu import api_server, service_unit
from k3s_nvidia_edge.gpu.contracts import CONTRACTS
from k3s_nvidia_edge.gpu.observe import observe
from k3s_nvidia_edge.gpu.spec import GpuSpec

__all__ = ["LAYER"]

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
    return (*_CORE_READS, *(_RUNTIME_READS if spec.has_gpu else ()))


def _releases(values: Mapping[str, Any]) -> tuple[Release, ...]:
    if _RELEASE not in values:
        return ()
    chart = files("k3s_nvidia_edge") / "charts" / _CHART
    return (Release(_RELEASE, _NAMESPACE, "gpu", chart, values[_RELEASE]),)


LAYER = Layer(
    name="gpu",
    number=1,
    owner="k3s-nvidia-edge",
    rungs=("gpu",),
    spec_type=GpuSpec,
    observe=observe,
    contracts=CONTRACTS,
    package="k3s_nvidia_edge",
    reads=_reads,
    releases=_releases,
)
