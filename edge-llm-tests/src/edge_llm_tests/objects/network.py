"""Services and the endpoints behind them."""

from collections.abc import Mapping
from typing import Any

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import flag, integer, mapping, objects, text, texts
from edge_llm_tests.layer import ServiceAddress
from edge_llm_tests.objects.meta import Meta

__all__ = ["EndpointSlice", "Service", "endpoint_slices", "services"]


class Service(Meta, frozen=True):
    """A Service."""

    @property
    def selector(self) -> Mapping[str, Any]:
        """spec.selector."""
        return mapping(self.raw, "spec", "selector")

    @property
    def leads_outside(self) -> bool:
        """Whether it stands for something outside the cluster: an external name, or endpoints set by hand."""
        return text(self.raw, "spec", "type") == "ExternalName" or not self.selector

    @property
    def cluster_ip(self) -> str:
        """spec.clusterIP; `None` (the text) for a headless one."""
        return text(self.raw, "spec", "clusterIP")

    @property
    def ports(self) -> tuple[tuple[int, str], ...]:
        """Number and name of each port."""
        return tuple((integer(raw, "port"), text(raw, "name")) for raw in objects(self.raw, "spec", "ports"))

    def address(self, port: int) -> ServiceAddress:
        """Where a reader asks it, by port number."""
        cluster_ip = "" if self.cluster_ip == "None" else self.cluster_ip
        return ServiceAddress(self.namespace, self.name, str(port), cluster_ip)


class EndpointSlice(Meta, frozen=True):
    """An EndpointSlice."""

    @property
    def service(self) -> str:
        """Name of its Service."""
        return text(self.raw, "metadata", "labels", "kubernetes.io/service-name")

    @property
    def ready(self) -> tuple[str, ...]:
        """Addresses that are ready (an absent condition counts as ready, as the API defines)."""
        return tuple(
            address
            for endpoint in objects(self.raw, "endpoints")
            if flag(endpoint, "conditions", "ready", default=True)
            for address in texts(endpoint, "addresses")
        )


def services(recording: Recording) -> tuple[Service, ...]:
    """All Services. Use as `recording.view(services)`."""
    return tuple(Service(raw) for raw in recording.api("/api/v1/services").items)


def endpoint_slices(recording: Recording) -> tuple[EndpointSlice, ...]:
    """All EndpointSlices. Use as `recording.view(endpoint_slices)`."""
    return tuple(
        EndpointSlice(raw) for raw in recording.api("/apis/discovery.k8s.io/v1/endpointslices").items
    )
