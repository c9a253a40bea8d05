"""The kernel's tables of connections and neighbours: where one is full, packets are dropped in silence."""

from datetime import timedelta

from edge_llm_tests import Recording
from edge_llm_tests.objects import nodes

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.host.kernel_log import KernelLog, kernel_log

__all__ = ["COUNT_PATH", "LIMIT_PATH", "connection_fault", "tracked"]

COUNT_PATH = "/proc/sys/net/netfilter/nf_conntrack_count"
LIMIT_PATH = "/proc/sys/net/netfilter/nf_conntrack_max"
_RECENT = timedelta(hours=1)
_FULL_SHARE = 0.98
_TRACKING_FULL = ("nf_conntrack: table full", "ip_conntrack: table full")
_NEIGHBOURS_FULL = ("neighbor table overflow", "neighbour table overflow")


def tracked(recording: Recording) -> tuple[int, int]:
    """Connections that are tracked, and how many can be; (0, 0) where the kernel tracks none.

    Use as `recording.view(tracked)`.
    """
    count, limit = recording.file(COUNT_PATH), recording.file(LIMIT_PATH)
    if count.error == "not-found":
        return 0, 0
    return int(count.content), int(limit.content)


def _connected(recording: Recording) -> bool:
    """Whether the API server of this one machine answered: new connections to it are tracked."""
    return len(recording.view(nodes).value) == 1


def connection_fault(recording: Recording) -> Fault | None:
    """Which table is full; None where none is.

    Raises:
        UnseenError: Neither the kernel log nor the counters were seen, and no connection was made.
    """
    table, log = recording.view(tracked), recording.view(kernel_log)
    if table.seen:
        count, limit = table.value
        if limit and count >= _FULL_SHARE * limit:
            return Fault(
                "ConntrackFull",
                f"{count} of {limit} connections are tracked (conntrack): new ones are dropped",
            )
    shown = table.seen or (not log.seen and recording.view(_connected).or_else(default=False))
    recent = (log.or_else(KernelLog(())) if shown else log.value).within(recording.now, _RECENT)
    if line := recent.said(*_TRACKING_FULL):
        return Fault(
            "ConntrackFull", f"the connection tracking table (conntrack) is full: {line.text.strip()}"
        )
    if line := recent.said(*_NEIGHBOURS_FULL):
        return Fault(
            "NeighbourTableFull", f"the kernel's table of network neighbours is full: {line.text.strip()}"
        )
    return None
