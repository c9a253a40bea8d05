"""The sandbox: a disposable single-node Kubernetes in namespaces of its own, with a SIMULATED card.

Run on Debian 12, kernel 6.18, cgroup v1 with a hybrid mount, root without CAP_SYS_RESOURCE. Chosen by what is
found, and never run: unified cgroup v2, root with CAP_SYS_RESOURCE, kernels that have to load modules,
SELinux, other distributions.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from k3s_nvidia_edge.sandbox.errors import (
        AddressTakenError,
        AlreadyRunningError,
        BusyError,
        NotReadyError,
        NotRunningError,
        PrerequisiteError,
        SandboxError,
    )
    from k3s_nvidia_edge.sandbox.lifecycle import State, Status, down, status, up
    from k3s_nvidia_edge.sandbox.node import Node
    from k3s_nvidia_edge.sandbox.progress import OnProgress, Progress

__all__ = [
    "AddressTakenError",
    "AlreadyRunningError",
    "BusyError",
    "Node",
    "NotReadyError",
    "NotRunningError",
    "OnProgress",
    "PrerequisiteError",
    "Progress",
    "SandboxError",
    "State",
    "Status",
    "down",
    "status",
    "up",
]

_HOMES = {
    "errors": (
        "AddressTakenError",
        "AlreadyRunningError",
        "BusyError",
        "NotReadyError",
        "NotRunningError",
        "PrerequisiteError",
        "SandboxError",
    ),
    "lifecycle": ("State", "Status", "down", "status", "up"),
    "node": ("Node",),
    "progress": ("OnProgress", "Progress"),
}


def __getattr__(name: str) -> Any:
    """A name on its first use: who asks whether a sandbox runs does not pay for starting one."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
