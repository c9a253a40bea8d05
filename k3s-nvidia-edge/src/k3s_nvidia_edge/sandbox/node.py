"""A running node, as others use it: its kubeconfig, and the way to run a program inside."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from k3s_nvidia_edge.sandbox import record
from k3s_nvidia_edge.sandbox.errors import NotRunningError
from k3s_nvidia_edge.sandbox.layout import HOME_INSIDE, INSIDE, Layout
from k3s_nvidia_edge.sandbox.programs import NODE_PATH

__all__ = ["Node", "enter_argv", "find"]


class Node(msgspec.Struct, frozen=True):
    """The node of one state directory.

    Attributes:
        init_pid: the node's first process, in the host's count.
        kubeconfig: cluster-admin's.
    """

    state_dir: Path
    init_pid: int
    kubeconfig: Path

    @property
    def layout(self) -> Layout:
        """Everything else that lies in the state directory."""
        return Layout(self.state_dir)

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, one JSON object a line."""
        return self.layout.audit_log

    def enter_argv(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` inside the node."""
        return enter_argv(self.init_pid, argv)


def enter_argv(init_pid: int, argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` in all of a node's namespaces, with the node's own environment.

    It exits with the program's code; 127 with `env: ...: No such file or directory` where there is no such
    program. nsenter forks, so whoever ends it early must end its process group, or the program inside goes
    on.
    """
    prefix = ["nsenter", "--target", str(init_pid), "--all", "--", "/usr/bin/env", "--ignore-environment"]
    environment = (
        f"PATH={NODE_PATH}",
        f"HOME={HOME_INSIDE}",
        "LANG=C.UTF-8",
        "TERM=xterm",
        f"KUBECONFIG={INSIDE}/kubeconfig/admin.conf",
    )
    return [*prefix, *environment, *argv]


def find(layout: Layout) -> Node:
    """The running node of a state directory; NotRunningError where there is none."""
    kept = record.read(layout.record)
    if kept is None or kept.init is None or not kept.init.alive():
        raise NotRunningError(layout.state_dir)
    return Node(layout.state_dir, kept.init.pid, layout.admin_kubeconfig)
