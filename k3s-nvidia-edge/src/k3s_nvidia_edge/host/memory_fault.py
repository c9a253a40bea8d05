"""Whether the kernel killed one of the platform's programs because the whole machine was out of memory."""

import re
from datetime import timedelta

from edge_llm_tests.objects import events

from k3s_nvidia_edge.host.kernel_log import KernelLog
from k3s_nvidia_edge.host.observe import HostState

__all__ = ["kernel_kill"]

_RECENT = timedelta(hours=1)
_GLOBAL_KILL = re.compile(r"^Out of memory: Killed process \d+ \(([^)]+)\)")
_TOLD = "SystemOOM"
_VICTIM = re.compile(r"victim process: ([^,]+)")
_OURS = ("ollama", "llama", "k3s", "containerd", "kubelet", "prometheus", "nvidia", "dcgm")


def kernel_kill(observed: HostState) -> str:
    """The newest such message; empty where there is none.

    A kill at a container's own limit (`Memory cgroup out of memory`) is not the machine's. Where the log may
    not be read, the kubelet tells: of kills of the whole machine alone.
    """
    if not observed.log.seen:
        return _told(observed)
    log = observed.log.or_else(KernelLog(())).within(observed.now, _RECENT)
    line = log.last(_kills_ours)
    return line.text.strip()[:160] if line else ""


def _told(observed: HostState) -> str:
    for event in reversed(observed.recording.view(events).or_else(())):
        recent = event.last is not None and observed.now - event.last <= _RECENT
        victim = _VICTIM.search(event.message)
        if recent and event.reason == _TOLD and victim is not None and victim[1].startswith(_OURS):
            return f"event {event.reason} of node {event.about[2]}: {event.message[:160]}"
    return ""


def _kills_ours(text: str) -> bool:
    found = _GLOBAL_KILL.match(text.strip())
    return found is not None and found[1].startswith(_OURS)
