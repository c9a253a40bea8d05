"""Whether the kernel killed one of the platform's programs because the whole machine was out of memory."""

import re
from datetime import timedelta

from k3s_nvidia_edge.host.kernel_log import KernelLog
from k3s_nvidia_edge.host.observe import HostState

__all__ = ["kernel_kill"]

_RECENT = timedelta(hours=1)
_GLOBAL_KILL = re.compile(r"^Out of memory: Killed process \d+ \(([^)]+)\)")
_OURS = ("ollama", "llama", "k3s", "containerd", "kubelet", "prometheus", "nvidia", "dcgm")


def kernel_kill(observed: HostState) -> str:
    """The newest such message; empty where there is none.

    A kill at a container's own limit (`Memory cgroup out of memory`) is not the machine's.
    """
    log = observed.log.or_else(KernelLog(())).within(observed.now, _RECENT)
    line = log.last(_kills_ours)
    return line.text.strip()[:160] if line else ""


def _kills_ours(text: str) -> bool:
    found = _GLOBAL_KILL.match(text.strip())
    return found is not None and found[1].startswith(_OURS)
