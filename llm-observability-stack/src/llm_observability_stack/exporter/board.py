"""The board: all sources together, served as one collection that never outlasts its deadline."""

import time
from collections.abc import Iterator, Sequence

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from llm_observability_stack.exporter.catalogue import family
from llm_observability_stack.exporter.source import Snapshot, Source, Worker

__all__ = ["SCRAPE_DEADLINE_S", "Board"]

SCRAPE_DEADLINE_S = 5.0
"""Half of Prometheus' default scrape timeout."""


class Board(Collector):
    """The sources, and their metrics as they are when asked."""

    def __init__(self, sources: Sequence[Source], version: str) -> None:
        self._workers = tuple(Worker(source) for source in sources)
        self._version = version

    def start(self) -> None:
        """Begin to collect."""
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        """End collecting."""
        for worker in self._workers:
            worker.stop()

    def snapshots(self) -> dict[str, Snapshot]:
        """What is known of each source now."""
        return {worker.source.name: worker.snapshot() for worker in self._workers}

    def collect(self) -> Iterator[Metric]:
        """The families to serve, within the deadline of a scrape."""
        return self.collect_within(SCRAPE_DEADLINE_S)

    def collect_within(self, deadline_s: float) -> Iterator[Metric]:
        """The families to serve; live sources are asked anew first, and waited for until the deadline."""
        until = time.monotonic() + deadline_s
        live = [worker for worker in self._workers if worker.source.live]
        for worker in live:
            worker.ask()
        unanswered = [worker for worker in live if not worker.settle(until)]
        known = {
            worker.source.name: worker.snapshot(answered=worker not in unanswered) for worker in self._workers
        }
        yield family("edge_exporter_info", [((self._version,), 1.0)])
        yield family("edge_exporter_source_up", [((name,), float(each.up)) for name, each in known.items()])
        yield family(
            "edge_exporter_source_duration_seconds",
            [((name,), each.duration_s) for name, each in known.items()],
        )
        yield family(
            "edge_exporter_source_last_success_timestamp_seconds",
            [((name,), each.last_success) for name, each in known.items()],
        )
        yield family(
            "edge_exporter_source_failures_total",
            [
                ((name, reason), float(count))
                for name, each in known.items()
                for reason, count in sorted(each.failures.items())
            ],
        )
        for each in known.values():
            yield from each.families
