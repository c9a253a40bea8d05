"""A target: the cluster, the host and the services that one run reads."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from edge_llm_tests.errors import UsageError
from edge_llm_tests.extensions import extensions
from edge_llm_tests.readers.cluster import ClusterReader
from edge_llm_tests.readers.credentials import kubeconfig_path
from edge_llm_tests.readers.host import Host, HostReader

__all__ = ["KnownCluster", "Target", "known_clusters", "live_target"]

ENTRY_POINT_GROUP = "edge.targets"


class Target(msgspec.Struct, frozen=True):
    """What to read.

    Attributes:
        cluster: The Kubernetes API; None where it is not to be read.
        host: The GPU host; None where it is not to be read.
        services: Service name (`ollama`, ...) to a URL that is asked directly; others go through the API
            server's proxy.
        profile: The profile that the target implies, for example `sandbox`; empty where the user must say.
        simulated: Whether parts of the target are simulated.
        host_name: What the host is called in recordings; empty for the one that this runs on.
        nodes: Further hosts by name.
    """

    cluster: ClusterReader | None = None
    host: Host | None = None
    services: Mapping[str, str] = msgspec.field(default_factory=dict)
    profile: str = ""
    simulated: bool = False
    host_name: str = ""
    nodes: Mapping[str, Host] = msgspec.field(default_factory=dict)

    @property
    def context(self) -> str:
        """Name of the kubeconfig context."""
        return self.cluster.context if self.cluster else ""


class KnownCluster(msgspec.Struct, frozen=True):
    """A running cluster that an installed package knows how to reach, such as the sandbox.

    Attributes:
        name: What the user calls it.
        kubeconfig: Its administrator's kubeconfig.
        host: How its node is read.
        profile: The profile that it is made for.
        simulated: Whether parts of it are simulated.
    """

    name: str
    kubeconfig: Path
    host: HostReader
    profile: str
    simulated: bool


def known_clusters() -> tuple[KnownCluster, ...]:
    """The clusters that run on this machine and that an entry point `edge.targets` reports."""
    finders: list[Callable[[], KnownCluster | None]] = [
        point.load() for point in extensions(ENTRY_POINT_GROUP)
    ]
    return tuple(found for finder in finders if (found := finder()) is not None)


def live_target(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    name: str | None = None,
    services: Mapping[str, str] | None = None,
    hosts: Mapping[str, Host] | None = None,
    impersonate: bool = True,
) -> Target:
    """The target to read: a known cluster by `name`, else the kubeconfig's cluster with this host.

    A kubeconfig that is a known cluster's brings that cluster's host with it; where there is no kubeconfig at
    all, the one known cluster that runs is taken. `hosts`, by name, are read in place of the host that would
    be. Reads are made as `edge-contract-reader` where that exists.

    Raises:
        UsageError: There is no target, or the kubeconfig cannot be used.
    """
    known = known_clusters()
    chosen = _choose(known, kubeconfig, name)
    if chosen is not None:
        target = Target(
            ClusterReader.from_kubeconfig(str(chosen.kubeconfig), context),
            chosen.host,
            services or {},
            chosen.profile,
            chosen.simulated,
        )
    else:
        target = Target(ClusterReader.from_kubeconfig(kubeconfig, context), HostReader(), services or {})
    if hosts:
        (name_of_first, first), *further = hosts.items()
        target = replace(target, host=first, host_name=name_of_first, nodes=dict(further))
    if impersonate and target.cluster is not None:
        target = replace(target, cluster=target.cluster.as_reader())
    return target


def _choose(known: tuple[KnownCluster, ...], kubeconfig: str | None, name: str | None) -> KnownCluster | None:
    if name is not None:
        chosen = next((each for each in known if each.name == name), None)
        if chosen is None:
            raise UsageError(f"the {name} is not running", f"start it with `edge up --{name}`")
        return chosen
    try:
        path = kubeconfig_path(kubeconfig)
    except UsageError:
        if len(known) == 1:
            return known[0]
        raise
    return next((each for each in known if _same_file(each.kubeconfig, path)), None)


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
