"""Xids from the kernel log, counted over a window: a gauge of the last code would hold it for ever."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta

from edge_llm_tests.evidence import Recording
from edge_llm_tests.readers import HostReader
from prometheus_client.core import Metric

from llm_observability_stack.exporter.catalogue import family
from llm_observability_stack.exporter.source import Source

__all__ = ["kernel_log_source", "xid_families"]

_COMMAND = "dmesg --time-format iso"
_DEADLINE_S = 5.0
_WINDOW = timedelta(hours=1)
_SERIES_LIMIT = 200
_XID = re.compile(r"^(\S+) .*NVRM: Xid \(PCI:([0-9A-Fa-f:.]+)\): (\d+)\b", re.MULTILINE)


def kernel_log_source(interval_s: float, host: HostReader | None = None) -> Source:
    """The source `kernel-log`; reading it needs rights that a pod seldom has."""
    reader = host or HostReader()

    def collect() -> tuple[Metric, ...]:
        entry = reader.command(_COMMAND, _DEADLINE_S)
        return xid_families(Recording(reads={f"command:{_COMMAND}": entry}), datetime.now(UTC))

    return Source("kernel-log", collect, _DEADLINE_S, interval_s)


def xid_families(recording: Recording, now: datetime) -> tuple[Metric, ...]:
    """How often each Xid was reported within the last hour.

    Raises:
        UnseenError: The kernel log could not be read.
    """
    counted: Counter[tuple[str, str]] = Counter()
    for moment, pci, xid in _XID.findall(recording.command(_COMMAND).output):
        if (at := _time(moment)) is not None and now - at <= _WINDOW:
            counted[pci.lower(), xid] += 1
    samples = [(labels, float(count)) for labels, count in counted.most_common(_SERIES_LIMIT)]
    return (family("edge_gpu_xid_errors", samples),)


def _time(moment: str) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(moment.replace(",", "."))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
