"""The running sandbox as a cluster that readers know: its kubeconfig, and its node in place of this host."""

from pathlib import Path

from edge_llm_tests.readers.host import HostReader
from edge_llm_tests.readers.target import KnownCluster

from k3s_nvidia_edge.sandbox import node
from k3s_nvidia_edge.sandbox.errors import SandboxError
from k3s_nvidia_edge.sandbox.layout import Layout

__all__ = ["known_cluster"]

NAME = "sandbox"  # of the cluster, and of the profile that it is made for


def known_cluster() -> KnownCluster | None:
    """The running sandbox, or None; a state that cannot be read is none that runs."""
    try:
        running = node.find(Layout.of())
    except SandboxError:
        return None
    prefix = tuple(running.enter_argv(()))
    root = Path(f"/proc/{running.init_pid}/root")
    return KnownCluster(NAME, running.kubeconfig, HostReader(prefix, root), NAME, simulated=True)
