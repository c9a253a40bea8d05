"""Sources: deadlines, hanging collections, failures, freshness."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from edge_llm_tests.fields import MalformedError
from edge_llm_tests.reads import UnseenError
from llm_observability_stack.exporter import source as source_module
from llm_observability_stack.exporter.board import Board
from llm_observability_stack.exporter.catalogue import family
from llm_observability_stack.exporter.source import Source, Worker
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

FRESH = (family("edge_ollama_models", [((), 1.0)]),)
DOWN = (family("edge_ollama_up", [((), 0.0)]),)


@contextmanager
def working(
    collect: Callable[[], tuple[Metric, ...]], *, deadline_s: float = 5.0, interval_s: float = 60.0
) -> Iterator[Worker]:
    worker = Worker(Source("s", collect, deadline_s, interval_s, live=True, when_down=lambda: DOWN))
    worker.start()
    try:
        worker.settle(time.monotonic() + 5)
        yield worker
    finally:
        worker.stop()


def again(worker: Worker) -> None:
    time.sleep(source_module._COALESCE_S)
    worker.ask()
    worker.settle(time.monotonic() + 5)


def test_a_success_is_served() -> None:
    with working(lambda: FRESH) as worker:
        found = worker.snapshot()
    assert (found.up, found.families, found.failures) == (True, FRESH, {})
    assert abs(found.last_success - time.time()) < 5


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UnseenError("k", "TimedOut", "m"), "timeout"),
        (UnseenError("k", "Unreachable", "m"), "unreachable"),
        (MalformedError("m"), "malformed"),
        (RuntimeError("m"), "error"),
        (RecursionError(), "error"),
    ],
)
def test_a_failure_is_counted_by_its_reason_and_what_was_known_is_not_served(
    error: Exception, reason: str
) -> None:
    answers: list[Exception | None] = [None, error]

    def collect() -> tuple[Metric, ...]:
        said = answers.pop(0)
        if said is not None:
            raise said
        return FRESH

    with working(collect) as worker:
        assert worker.snapshot().up
        again(worker)
        found = worker.snapshot()
    assert (found.up, found.families, found.failures) == (False, DOWN, {reason: 1})
    assert found.last_success > 0


def test_a_hang_is_a_failure_after_the_deadline_and_is_counted_once() -> None:
    free = threading.Event()
    with working(lambda: (free.wait(), FRESH)[1], deadline_s=0.1) as worker:
        found = worker.snapshot()
        assert (found.up, found.families, found.failures) == (False, DOWN, {"timeout": 1})
        assert found.duration_s >= 0.1
        assert found.collected
        assert worker.snapshot().failures == {"timeout": 1}
        free.set()
        worker._thread.join(0.5)
        late = worker.snapshot()
        assert (late.up, late.families, late.failures) == (False, DOWN, {"timeout": 1})  # too late to be true
        again(worker)
        assert worker.snapshot().up


def test_a_collection_that_ends_late_counts_as_failed_even_if_nobody_looked() -> None:
    with working(lambda: (threading.Event().wait(0.15), FRESH)[1], deadline_s=0.05) as worker:
        time.sleep(0.3)
        found = worker.snapshot()
    assert (found.up, found.failures) == (False, {"timeout": 1})


def test_settling_lasts_no_longer_than_the_deadline() -> None:
    free = threading.Event()
    began = time.monotonic()
    with working(lambda: (free.wait(), FRESH)[1], deadline_s=0.2):
        took = time.monotonic() - began
    free.set()
    assert 0.15 < took < 3


def test_a_hang_is_never_run_twice_at_once() -> None:
    running: list[int] = []
    free = threading.Event()

    def collect() -> tuple[Metric, ...]:
        running.append(1)
        free.wait()
        return FRESH

    with working(collect, deadline_s=0.05) as worker:
        for _ in range(5):
            worker.ask()
            worker.settle(time.monotonic() + 1)
        assert len(running) == 1
        free.set()


def test_a_hang_without_end_is_wedged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "_WEDGED_DEADLINES", 2)
    free = threading.Event()
    with working(lambda: (free.wait(), FRESH)[1], deadline_s=0.05) as worker:
        time.sleep(0.2)
        assert worker.snapshot().wedged
        free.set()


def test_two_scrapes_at_once_share_one_question() -> None:
    asked: list[int] = []

    def collect() -> tuple[Metric, ...]:
        asked.append(1)
        return FRESH

    with working(collect) as worker:
        worker.ask()
        worker.settle(time.monotonic() + 1)
        assert len(asked) == 1
        again(worker)
        assert len(asked) == 2


def test_it_collects_by_itself_at_its_interval() -> None:
    asked: list[int] = []

    def collect() -> tuple[Metric, ...]:
        asked.append(1)
        return FRESH

    with working(collect, interval_s=0.02):
        time.sleep(1)
    assert len(asked) >= 4


def test_old_values_are_not_served_where_the_thread_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    with working(lambda: FRESH, deadline_s=0.05, interval_s=0.05) as worker:
        worker.stop()
        time.sleep(0.1 + source_module._COALESCE_S + 0.1)
        assert worker.snapshot().families == DOWN


def test_before_the_first_collection_nothing_is_claimed() -> None:
    worker = Worker(Source("s", lambda: FRESH, 1, 1, when_down=lambda: DOWN))
    found = worker.snapshot()
    assert (found.up, found.collected, found.last_success, found.families) == (False, False, 0.0, DOWN)


def test_the_board_waits_for_live_sources_and_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    board = Board(
        [
            Source("quick", lambda: FRESH, 1.0, 60.0, live=True),
            Source("hangs", lambda: (free.wait(), ())[1], 0.2, 60.0, live=True, when_down=lambda: DOWN),
            Source("background", lambda: (free.wait(), ())[1], 30.0, 60.0),
        ],
        "1",
    )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(board)
    board.start()
    began = time.monotonic()
    up = {
        name: registry.get_sample_value("edge_exporter_source_up", {"source": name})
        for name in board.snapshots()
    }
    took = time.monotonic() - began
    free.set()
    board.stop()
    assert up == {"quick": 1.0, "hangs": 0.0, "background": 0.0}
    assert took < 4


@pytest.mark.parametrize("deadline_s", [0.3, 5.0])
def test_a_scrape_that_got_no_answer_does_not_tell_the_last_one(deadline_s: float) -> None:
    free = threading.Event()
    asked: list[int] = []

    def collect() -> tuple[Metric, ...]:
        asked.append(1)
        if len(asked) > 1:
            free.wait()
        return FRESH

    # whether its own deadline is longer than the scrape's or as long: it has said nothing to this scrape
    board = Board([Source("s", collect, deadline_s, 60.0, live=True, when_down=lambda: DOWN)], "1")
    board.start()
    assert FRESH[0] in list(board.collect_within(5.0))
    time.sleep(source_module._COALESCE_S)
    found = list(board.collect_within(0.3))
    free.set()
    board.stop()
    assert len(asked) == 2
    assert FRESH[0] not in found
    assert DOWN[0] in found
    [up] = [
        sample.value for each in found for sample in each.samples if each.name == "edge_exporter_source_up"
    ]
    assert up == 0.0


def test_the_board_never_outlasts_the_deadline_of_a_scrape() -> None:
    free = threading.Event()
    board = Board([Source("slow", lambda: (free.wait(), ())[1], 30.0, 60.0, live=True)], "1")
    board.start()
    began = time.monotonic()
    list(board.collect_within(0.3))
    took = time.monotonic() - began
    free.set()
    board.stop()
    assert took < 3
