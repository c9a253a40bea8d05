"""The sandbox: a disposable single-node Kubernetes in namespaces of its own, with a SIMULATED card."""

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
