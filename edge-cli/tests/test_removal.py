"""A removal takes what `edge up` made, top layer first, and keeps the volumes unless told."""

import asyncio
from typing import Any

import msgspec
import pytest
from edge_cli import removal
from edge_cli.progress import Progress
from edge_cli.removal import Found, Removal, find, remove
from edge_cli.revision import Installed
from edge_llm_tests.layer import Layer


class _Spec(msgspec.Struct, frozen=True):
    pass


def layer(name: str, number: int) -> Layer:
    return Layer(name, number, "owner", (name,), _Spec, lambda _spec, recording: recording, (), "nowhere")


LAYERS = (layer("gpu", 1), layer("serving", 2), layer("telemetry", 3))


class FakeCluster:
    """Releases with volumes in two namespaces, one of which `edge up` did not make."""

    def __init__(self) -> None:
        self.releases = {
            "gpu": [Installed("plugin", "gpu-space", "deployed", "x")],
            "serving": [
                Installed("ollama", "llm-space", "deployed", "x"),
                Installed("web-ui", "llm-space", "deployed", "x"),
            ],
            "telemetry": [Installed("prometheus", "llm-space", "deployed", "x")],
        }
        self.volumes = {"llm-space": ["models", "metrics"]}
        self.lingering = 0
        self.did: list[str] = []

    async def installed(self, *, layer: str = "", namespace: str = "") -> tuple[Installed, ...]:
        assert not namespace
        return tuple(self.releases[layer])

    async def uninstall(self, name: str, namespace: str) -> None:
        self.did.append(f"uninstall {namespace}/{name}")

    async def remove_namespace(self, name: str) -> str:
        if name == "gpu-space":
            return "it was not made by `edge up`"
        if self.volumes.get(name):
            return "there are persistentvolumeclaims in it"
        self.did.append(f"delete namespace {name}")
        return ""

    def namespaces(self) -> tuple[str, ...]:
        return ("llm-space",)

    def claims(self, namespace: str, releases: frozenset[str]) -> tuple[str, ...]:
        assert releases == {each.name for found in self.releases.values() for each in found}
        if self.lingering and self.volumes.get(namespace) == []:
            self.lingering -= 1
            return ("models",)
        return tuple(self.volumes.get(namespace, ()))

    def delete_claim(self, namespace: str, name: str) -> None:
        self.did.append(f"delete volume {namespace}/{name}")
        self.volumes[namespace].remove(name)


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def removed(cluster: FakeCluster, told: list[Progress] | None = None, **options: Any) -> Removal:
    async def run() -> Removal:
        found = await find(cluster, LAYERS)
        return await remove(cluster, found, ([] if told is None else told).append, **options)

    return asyncio.run(run())


def test_finds_what_is_there_whatever_the_profile(cluster: FakeCluster) -> None:
    found = asyncio.run(find(cluster, LAYERS))
    assert [release.name for _, release in found.releases] == ["prometheus", "web-ui", "ollama", "plugin"]
    assert found.namespaces == ("llm-space", "gpu-space")
    assert found.claims == (("llm-space", "models"), ("llm-space", "metrics"))


def test_goes_from_the_top_down_and_keeps_volumes(cluster: FakeCluster) -> None:
    told: list[Progress] = []
    done = removed(cluster, told)
    assert cluster.did == [
        "uninstall llm-space/prometheus",
        "uninstall llm-space/web-ui",
        "uninstall llm-space/ollama",
        "uninstall gpu-space/plugin",
    ]
    assert done.kept_claims == ["llm-space/models", "llm-space/metrics"]
    assert set(done.kept_namespaces) == {"llm-space", "gpu-space"}
    assert list(dict.fromkeys(each.layer for each in told)) == ["telemetry", "serving", "gpu"]


def test_deletes_volumes_when_told(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "_PAUSE_S", 0)
    cluster.lingering = 3
    done = removed(cluster, purge_volumes=True)
    assert done.claims == ["llm-space/models", "llm-space/metrics"]
    assert cluster.did[-1] == "delete namespace llm-space"
    assert cluster.lingering == 0, "a volume that is being deleted is waited for"
    assert set(done.kept_namespaces) == {"gpu-space"}


def test_a_volume_that_does_not_go_is_not_waited_for_for_ever(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "_PAUSE_S", 0)
    cluster.lingering = 10**9
    removed(cluster, purge_volumes=True)


def test_a_namespace_that_an_earlier_removal_left_is_tried_again(cluster: FakeCluster) -> None:
    """Somebody had put something there, and has taken it away since."""
    cluster.releases = {"gpu": [], "serving": [], "telemetry": []}
    cluster.volumes = {}
    found = asyncio.run(find(cluster, LAYERS))
    assert found.namespaces_to_go(purge_volumes=False) == ("llm-space",)
    assert removed(cluster).namespaces == ["llm-space"]
    cluster.volumes = {"llm-space": ["models"]}
    found = asyncio.run(find(cluster, LAYERS))
    assert found.namespaces_to_go(purge_volumes=False) == ()
    assert found.namespaces_to_go(purge_volumes=True) == ("llm-space",)


def test_volumes_that_an_earlier_removal_kept_are_found(cluster: FakeCluster) -> None:
    cluster.releases = {"gpu": [], "serving": [], "telemetry": []}
    found = asyncio.run(find(cluster, LAYERS))
    assert found == Found((), ("llm-space",), (("llm-space", "models"), ("llm-space", "metrics")))


@pytest.mark.parametrize("namespace", ["default", "kube-system", "kube-flannel"])
def test_what_stands_in_a_protected_namespace_is_never_ours(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, namespace: str
) -> None:
    """Labels can be put on anything; its volumes are not deleted either."""
    cluster.releases = {"gpu": [Installed("x", namespace, "deployed", "x")], "serving": [], "telemetry": []}
    cluster.volumes = {namespace: ["precious"]}
    monkeypatch.setattr(cluster, "namespaces", lambda: (namespace,))
    assert asyncio.run(find(cluster, LAYERS)) == Found((), (), ())
    removed(cluster, purge_volumes=True)
    assert cluster.did == []


def test_nothing_goes_once_the_lease_is_lost(cluster: FakeCluster) -> None:
    def lost() -> None:
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        removed(cluster, may_act=lost)
    assert cluster.did == []
