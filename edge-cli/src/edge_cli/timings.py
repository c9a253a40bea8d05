"""Where the time of a run went, for `--timings`."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["report_timings", "span"]

_spans: list[tuple[str, float]] = []
_began_s = time.perf_counter()


@contextmanager
def span(name: str) -> Iterator[None]:
    """Time what happens inside, under `name`."""
    started_s = time.perf_counter()
    try:
        yield
    finally:
        _spans.append((name, time.perf_counter() - started_s))


def report_timings() -> None:
    """Print the spans, in order, and the total since this module was loaded, to standard error."""
    total_s = time.perf_counter() - _began_s
    rest_s = total_s - sum(took_s for _, took_s in _spans)
    for name, took_s in (*_spans, ("elsewhere", rest_s), ("total", total_s)):
        sys.stderr.write(f"{name:<28}{took_s * 1000:9.1f} ms\n")
