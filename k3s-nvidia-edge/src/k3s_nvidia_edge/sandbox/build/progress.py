"""A progress event of a build: which component, what about it, and how far the whole is."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from k3s_nvidia_edge.sandbox.progress import Progress

__all__ = ["BuildProgress", "OnBuildProgress", "Reporter", "silent"]

DETAIL_INTERVAL_S: Final = (
    0.5  # a compiler names hundreds of packages a minute; eyes follow two lines a second
)


class BuildProgress(Progress, frozen=True):
    """One event.

    `step` is one of `plan`, `install`, `fetch`, `start`, `detail`, `done`; `elapsed_s` counts from the
    start of the component for `detail` and `done`, otherwise from the start of the build.

    Attributes:
        component: its name, empty for events about the whole.
        done: how many components are complete, cached ones included.
        count: how many components there are.
    """

    component: str
    done: int
    count: int


OnBuildProgress = Callable[[BuildProgress], None]


def _ignore(event: BuildProgress) -> None:
    """A listener that does not listen."""


silent: Final[OnBuildProgress] = _ignore


@dataclass(slots=True)
class Reporter:
    """Tells the listener, one event at a time although two components may be in the making."""

    listener: OnBuildProgress
    count: int = 0
    done: int = 0
    _began: float = field(default_factory=time.monotonic)
    _starts: dict[str, float] = field(default_factory=dict)
    _said: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, step: str, message: str) -> None:
        """Something about the whole build."""
        self._emit(step, message, "", time.monotonic() - self._began)

    def start(self, component: str, message: str) -> None:
        """A component's making begins."""
        self._starts[component] = time.monotonic()
        self._emit("start", message, component, time.monotonic() - self._began)

    def detail(self, component: str, message: str) -> None:
        """How far a component is; most of what compilers say is dropped."""
        now = time.monotonic()
        if message and now - self._said.get(component, 0.0) >= DETAIL_INTERVAL_S:
            self._said[component] = now
            self._emit("detail", message, component, now - self._starts.get(component, self._began))

    def finish(self, component: str, message: str) -> None:
        """A component is complete."""
        self.done += 1
        self._emit("done", message, component, time.monotonic() - self._starts.get(component, self._began))

    def _emit(self, step: str, message: str, component: str, elapsed_s: float) -> None:
        with self._lock:
            self.listener(BuildProgress(step, message, elapsed_s, component, self.done, self.count))
