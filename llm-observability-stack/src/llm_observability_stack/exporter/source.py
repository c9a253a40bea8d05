"""A source of metrics, collected in a thread of its own, and what is known of it at any moment."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec
from edge_llm_tests.fields import MalformedError
from edge_llm_tests.reads import UnseenError
from prometheus_client.core import Metric

__all__ = ["Snapshot", "Source", "Worker"]

_COALESCE_S = 0.1  # two scrapes this close to one another share one question to the source
_WEDGED_DEADLINES = 20  # a collection that hangs for this many deadlines will not come back
_TIMEOUT = "timeout"


def _nothing() -> tuple[Metric, ...]:
    return ()


class Source(msgspec.Struct, frozen=True):
    """Something that metrics come from.

    Attributes:
        name: Value of the label `source`.
        collect: Asks, and returns whole families; raises where it cannot.
        deadline_s: Seconds after which a collection counts as failed.
        interval_s: Seconds between two collections.
        live: Asked anew at each scrape too, so that a scrape tells what is, not what was.
        when_down: Families to serve while it fails.
    """

    name: str
    collect: Callable[[], tuple[Metric, ...]]
    deadline_s: float
    interval_s: float
    live: bool = False
    when_down: Callable[[], tuple[Metric, ...]] = _nothing


class Snapshot(msgspec.Struct, frozen=True):
    """What is known of a source at one moment; `families` is what may be served: nothing stale is in it.

    Attributes:
        up: The last collection succeeded in time, and none hangs.
        duration_s: How long the last collection took, or how long the present one has been hanging.
        last_success: Unix time of the last success; 0 before the first.
        failures: Reason to the number of failed collections.
        collected: A collection has ended, or failed, at least once.
        wedged: It has been hanging for so long that only a restart helps.
    """

    up: bool
    families: tuple[Metric, ...]
    duration_s: float
    last_success: float
    failures: Mapping[str, int]
    collected: bool
    wedged: bool = False


@dataclass
class _Progress:
    families: tuple[Metric, ...] = ()
    succeeded: bool = False
    collected: bool = False
    duration_s: float = 0.0
    finished_at: float = float("-inf")
    begun_at: float | None = None
    counted_late: bool = False
    last_success: float = 0.0
    failures: "Counter[str]" = field(default_factory=Counter)


class Worker:
    """The thread of one source: a hanging collection holds up no scrape, and never runs twice at once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._state = _Progress()
        self._changed = threading.Condition()
        self._wanted = True
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=f"source-{source.name}", daemon=True)

    def start(self) -> None:
        """Begin to collect."""
        self._thread.start()

    def stop(self) -> None:
        """Begin no further collection."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def ask(self) -> None:
        """Want a new collection, unless one has just ended or is under way."""
        with self._changed:
            if self._state.begun_at is None and time.monotonic() - self._state.finished_at > _COALESCE_S:
                self._wanted = True
                self._changed.notify_all()

    def settle(self, until: float) -> bool:
        """Wait until no collection is wanted or under way, until its deadline or that monotonic time.

        Returns whether none is: what was collected before a question that is still open does not answer it.
        """
        with self._changed:
            while self._wanted or self._state.begun_at is not None:
                now = time.monotonic()
                begun = self._state.begun_at
                limit = until if begun is None else min(until, begun + self.source.deadline_s)
                if limit <= now or not self._changed.wait(limit - now):
                    return False
            return True

    def snapshot(self, *, answered: bool = True) -> Snapshot:
        """What is known now; where a question has not been `answered`, nothing of the time before it."""
        with self._changed:
            state, now = self._state, time.monotonic()
            hanging_s = now - state.begun_at if state.begun_at is not None else 0.0
            late = hanging_s > self.source.deadline_s
            if late and not state.counted_late:
                state.counted_late = True
                state.failures[_TIMEOUT] += 1
            fresh = now - state.finished_at <= self.source.interval_s + self.source.deadline_s + _COALESCE_S
            up = state.succeeded and fresh and not late and answered
            return Snapshot(
                up=up,
                families=state.families if up else self.source.when_down(),
                duration_s=hanging_s if late else state.duration_s,
                last_success=state.last_success,
                failures=dict(state.failures),
                collected=state.collected or late,
                wedged=hanging_s > self.source.deadline_s * _WEDGED_DEADLINES,
            )

    def _run(self) -> None:
        while self._await_turn():
            families, reason = self._collect()
            with self._changed:
                state, now = self._state, time.monotonic()
                begun = state.begun_at if state.begun_at is not None else now
                late = now - begun > self.source.deadline_s
                if late and not state.counted_late:
                    reason = _TIMEOUT
                elif late:
                    reason = ""  # counted already, while it hung
                if reason:
                    state.failures[reason] += 1
                state.succeeded = families is not None and not late
                state.families = families if families is not None and not late else ()
                state.duration_s, state.finished_at = now - begun, now
                state.begun_at, state.counted_late, state.collected = None, False, True
                if state.succeeded:
                    state.last_success = time.time()
                self._changed.notify_all()

    def _await_turn(self) -> bool:
        with self._changed:
            while not self._wanted and not self._stopped:
                left_s = self._state.finished_at + self.source.interval_s - time.monotonic()
                if left_s <= 0 or not self._changed.wait(left_s):
                    break
            self._wanted = False
            self._state.begun_at = time.monotonic()
            if self._stopped:
                self._state.begun_at = None
            return not self._stopped

    def _collect(self) -> tuple[tuple[Metric, ...] | None, str]:
        try:
            return self.source.collect(), ""
        except UnseenError as error:
            return None, _TIMEOUT if error.reason == "TimedOut" else error.reason.lower()
        except MalformedError:
            return None, "malformed"
        except Exception:  # noqa: BLE001 - whatever a source raises is a failure of the source, not of the exporter
            return None, "error"
