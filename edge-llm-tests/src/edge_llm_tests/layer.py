"""A layer: who owns it, what it promises, how it is observed, and what Helm installs for it."""

from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec

from edge_llm_tests.contract import Contract
from edge_llm_tests.errors import UsageError
from edge_llm_tests.evidence import Recording
from edge_llm_tests.extensions import extensions
from edge_llm_tests.yamldoc import load_yaml

__all__ = ["Layer", "ModelNeed", "Release", "Remedy", "ServiceAddress", "UpstreamChart", "load_layers"]

ENTRY_POINT_GROUP = "edge.layers"


class Remedy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do about a reason, kept by the owner in `remedies.yaml`.

    Attributes:
        do: One or two sentences for the owner.
        commands: Commands to paste; `{placeholders}` come from the result's `about`.
        docs: Page under `docs/` with the whole story.
        grave: How grave it is: `outage`, `degraded` or `note`.
        careful: What would harm here.
    """

    do: str
    commands: tuple[str, ...] = ()
    docs: str = ""
    grave: str = "outage"
    careful: str = ""


class ServiceAddress(msgspec.Struct, frozen=True):
    """A Service of the cluster that a reader asks through the API server's proxy, or directly."""

    namespace: str
    name: str
    port: str
    cluster_ip: str = ""
    scheme: str = "http"

    @property
    def proxy_path(self) -> str:
        """Path of the API server's proxy to the service, without a trailing slash."""
        prefix = "https:" if self.scheme == "https" else ""
        return f"/api/v1/namespaces/{self.namespace}/services/{prefix}{self.name}:{self.port}/proxy"


class UpstreamChart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A chart of somebody else, by where it is published; its digest stands in a lock file.

    Attributes:
        name: Name of the chart.
        repository: `https://...` of a chart repository, or `oci://...` of the folder in a registry.
        version: The one version that its values were written for.
    """

    name: str
    repository: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version} of {self.repository}"


class ModelNeed(msgspec.Struct, frozen=True):
    """A model that a layer gets from a model registry, unless somebody brings it.

    Attributes:
        name: As the registry names it.
        digest: Hexadecimal SHA-256 of its manifest; empty where the profile promises none.
    """

    name: str
    digest: str = ""


class Release(msgspec.Struct, frozen=True):
    """A Helm release of a layer.

    Attributes:
        name: Release name.
        namespace: Namespace that it installs into.
        layer: Name of the layer that owns it.
        chart: Folder of our own chart, as package data; or a chart of somebody else.
        values: What the profile gives Helm.
    """

    name: str
    namespace: str
    layer: str
    chart: Traversable | UpstreamChart
    values: Mapping[str, Any]


def _no_reads(_spec: Any, _recording: Recording) -> tuple[str, ...]:
    return ()


def _no_services(_spec: Any, _recording: Recording) -> Mapping[str, ServiceAddress]:
    return {}


def _no_models(_values: Mapping[str, Any]) -> tuple[ModelNeed, ...]:
    return ()


def _as_they_are(values: Mapping[str, Any], _models: str) -> Mapping[str, Any]:
    return values


def _no_releases(_values: Mapping[str, Any]) -> tuple[Release, ...]:
    return ()


class Layer(msgspec.Struct, frozen=True, dict=True):
    """One layer of the platform, or the validation of the served model.

    Attributes:
        name: Name, also the key of its part in a profile's `spec`.
        number: 0 to 3; None for validation.
        owner: The package or person that fixes it.
        rungs: The rungs of the ladder that it answers for, in order.
        spec_type: A frozen `msgspec.Struct` that forbids unknown fields: what a profile may promise.
        observe: Spec and recording to observed state. Pure; never raises (see `edge_llm_tests.reads.see`).
        contracts: Its promises in the order of the ladder.
        package: Import package with its `profiles/`, and `remedies.yaml` beside its contracts.
        reads: The reads wanted, given what was seen so far: core reads first, refinements on the next call.
        services: Where the services that it reads are, given what was seen so far.
        releases: Helm releases for a profile's values (release name to values), in the order of installing.
        models: Models that a profile's values make it get from a registry.
        with_models: A profile's values with those models taken from a folder of the node, in Ollama's layout.
    """

    name: str
    number: int | None
    owner: str
    rungs: tuple[str, ...]
    spec_type: type[msgspec.Struct]
    observe: Callable[[Any, Recording], Any]
    contracts: tuple[Contract, ...]
    package: str
    reads: Callable[[Any, Recording], tuple[str, ...]] = _no_reads
    services: Callable[[Any, Recording], Mapping[str, ServiceAddress]] = _no_services
    releases: Callable[[Mapping[str, Any]], tuple[Release, ...]] = _no_releases
    models: Callable[[Mapping[str, Any]], tuple[ModelNeed, ...]] = _no_models
    with_models: Callable[[Mapping[str, Any], str], Mapping[str, Any]] = _as_they_are

    @cached_property
    def remedies(self) -> Mapping[str, Remedy]:
        """The owner's remedies by id, from `<package>.<name>/remedies.yaml`."""
        source = files(f"{self.package}.{self.name}") / "remedies.yaml"
        return msgspec.convert(load_yaml(source.read_bytes()), dict[str, Remedy])


def load_layers() -> tuple[Layer, ...]:
    """The installed layers in the order of the ladder: by number, validation last.

    Raises:
        UsageError: No layer is installed.
    """
    layers: list[Layer] = [point.load() for point in extensions(ENTRY_POINT_GROUP)]
    if not layers:
        raise UsageError("no layer is installed", "install edge-cli, or one of the layer packages, with pip")
    return tuple(
        sorted(
            layers, key=lambda layer: (layer.number is None, layer.number if layer.number is not None else 0)
        )
    )
