"""The two layers as the rest sees them: reads, releases, remedies, names that others refer to."""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from edge_llm_tests import Recording
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import load_profile
from k3s_nvidia_edge import gpu, host
from k3s_nvidia_edge.gpu import GpuSpec
from k3s_nvidia_edge.host import HostSpec

World = Any
LAYERS = (host.LAYER, gpu.LAYER)
PROMISED = {
    "host.driver-answers",
    "host.driver-loaded",
    "host.card-on-bus",
    "host.card-healthy",
    "gpu.api",
    "gpu.node-ready",
    "gpu.runtime-handler",
    "gpu.runtime-class",
    "gpu.device-plugin",
    "gpu.allocatable",
    "gpu.sandboxes",
    "gpu.storage",
}


def test_the_names_that_other_layers_stand_on_exist() -> None:
    known = {contract.id for layer in LAYERS for contract in layer.contracts}
    assert known >= PROMISED
    for layer in LAYERS:
        for contract in layer.contracts:
            assert set(contract.after) <= known
            assert contract.rung == layer.name


def test_a_contract_stands_on_earlier_ones_alone() -> None:
    earlier: set[str] = set()
    for layer in LAYERS:
        for contract in layer.contracts:
            assert set(contract.after) <= earlier, contract.id
            earlier.add(contract.id)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_remedies_are_whole(layer: Layer) -> None:
    known = {contract.id for contract in layer.contracts}
    for name, remedy in layer.remedies.items():
        assert remedy.do.endswith("."), name
        assert remedy.grave in ("outage", "degraded", "note"), name
        assert remedy.docs.removeprefix("contracts/").removesuffix(".md") in known, name


def test_an_empty_recording_asks_for_the_core_reads() -> None:
    blank = Recording()
    wanted = {
        key
        for layer, spec in ((host.LAYER, HostSpec()), (gpu.LAYER, GpuSpec()))
        for key in layer.reads(spec, blank)
    }
    assert "command:nvidia-smi -q -x" in wanted
    assert "api:/apis/discovery.k8s.io/v1/endpointslices" in wanted
    assert "glob:/var/run/cdi/*" in wanted
    assert not [key for key in wanted if "/log?" in key]


def test_logs_are_asked_for_where_they_can_tell(world: Callable[..., World]) -> None:
    w = world()
    w.unready("nvidia-container-toolkit", "CrashLoopBackOff")
    w.unready("nvidia-device-plugin-daemonset", "CrashLoopBackOff")
    logs = [key for key in gpu.LAYER.reads(w.gpu_spec, w.recording) if "/log?" in key]
    assert [key for key in logs if "device-plugin" in key and "previous=true" in key]
    assert [key for key in logs if "container-toolkit" in key]
    assert not [key for key in logs if "local-path" in key]
    assert not [key for key in logs if "container=toolkit-validation" in key]


def test_the_release_is_there_if_the_profile_has_values() -> None:
    assert gpu.LAYER.releases({}) == ()
    (release,) = gpu.LAYER.releases({"gpu": {"a": 1}, "ollama": {}})
    assert (release.name, release.namespace, release.layer, release.values) == (
        "gpu",
        "gpu-operator",
        "gpu",
        {"a": 1},
    )
    assert release.chart == files("k3s_nvidia_edge") / "charts" / "k3s-nvidia-edge"


@pytest.mark.parametrize(
    ("name", "gpus"),
    [
        ("rtx-4090", 1),
        ("a100", 1),
        ("dual-4090", 2),
        ("gb10", 1),
        ("geforce-940m", 1),
        ("cpu", 0),
        ("sandbox", 1),
    ],
)
def test_the_shipped_profiles_promise_the_cards_of_their_machine(name: str, gpus: int) -> None:
    profile = load_profile(name, LAYERS)
    assert (profile.specs["host"].gpus, profile.specs["gpu"].gpus) == (gpus, gpus)
    assert profile.simulated == (name == "sandbox")
