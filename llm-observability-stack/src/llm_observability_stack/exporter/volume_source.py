"""The volumes that are mounted into the exporter for it to look at: their size and what is free of it."""

import os
from collections.abc import Mapping

from prometheus_client.core import Metric

from llm_observability_stack.exporter.catalogue import family
from llm_observability_stack.exporter.source import Source

__all__ = ["volume_families", "volume_source"]

_DEADLINE_S = 5.0


def volume_source(volumes: Mapping[str, str], interval_s: float) -> Source:
    """The source `volumes`; one that hangs, as a network volume may, fails it rather than a scrape."""
    return Source("volumes", lambda: volume_families(volumes), _DEADLINE_S, interval_s)


def volume_families(volumes: Mapping[str, str]) -> tuple[Metric, ...]:
    """Size and free room of the file system of each volume, by its name.

    Raises:
        OSError: A path is not there; no volume is left out in silence.
    """
    seen = {name: os.statvfs(path) for name, path in volumes.items()}
    return (
        family(
            "edge_volume_size_bytes",
            [((name,), float(each.f_blocks * each.f_frsize)) for name, each in seen.items()],
        ),
        # what others than root may still write: the reserved blocks are no room for Prometheus
        family(
            "edge_volume_available_bytes",
            [((name,), float(each.f_bavail * each.f_frsize)) for name, each in seen.items()],
        ),
    )
