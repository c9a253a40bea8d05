"""A target: the cluster, the host and the services that one run reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from edge_llm_tests.readers.cluster import ClusterReader
from edge_llm_tests.readers.host import HostReader

__all__ = ["Target", "live_target"]


@dataclass(frozen=True)
class Target:
    """What to read.

    Attributes:
        cluster: The Kubernetes API; None where it is not to be read.
        host: The GPU host; None where it is not to be read.
        services: Service name (`ollama`, ...) to a URL that is asked directly; others go through the API
            server's proxy.
        simulated: Whether parts of the target are simulated.
    """

    cluster: ClusterReader | None = None
    host: HostReader | None = None
    services: Mapping[str, str] = field(default_factory=dict)
    simulated: bool = False

    @property
    def context(self) -> str:
        """Name of the kubeconfig context."""
        return self.cluster.context if self.cluster else ""


def live_target(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    host: HostReader | None = None,
    services: Mapping[str, str] | None = None,
    simulated: bool = False,
    impersonate: bool = True,
) -> Target:
    """This host (or `host`) and the kubeconfig's cluster, read as `edge-contract-reader` where that exists.

    Raises:
        UsageError: The kubeconfig cannot be used.
    """
    cluster = ClusterReader.from_kubeconfig(kubeconfig, context)
    if impersonate:
        cluster = cluster.as_reader()
    return Target(cluster, host or HostReader(), services or {}, simulated)
