"""A lookout: sees the target again and again during an ascent, and judges what it sees."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from edge_llm_tests.evaluate import evaluate
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile
from edge_llm_tests.readers import Host, Target, collect
from msgspec.structs import replace

from edge_cli.ascent import Look

__all__ = ["Lookout"]

T = TypeVar("T")

# `nvidia-smi` can take seconds and wakes the card, and nothing that Helm installs changes what it says
_HOST_MEMORY_S = 10.0


@dataclass(frozen=True)
class _RememberingHost:
    """A host whose commands are run again only when what they said has grown old."""

    host: Host
    said: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict, compare=False)

    def command(self, line: str, deadline_s: float) -> dict[str, Any]:
        at_s, entry = self.said.get(line, (0.0, {}))
        if not entry or time.monotonic() - at_s > _HOST_MEMORY_S:
            entry = self.host.command(line, deadline_s)
            if entry["rc"] == 0:  # a failure may pass: it is looked at again each time
                self.said[line] = (time.monotonic(), entry)
        return entry

    def file(self, path: str) -> dict[str, Any]:
        return self.host.file(path)

    def glob(self, pattern: str) -> dict[str, Any]:
        return self.host.glob(pattern)


class Lookout:
    """Looks at one target for one profile."""

    def __init__(self, target: Target, profile: Profile) -> None:
        host = target.host
        self.target = target if host is None else replace(target, host=_RememberingHost(host))
        self._profile = profile

    async def __call__(self, layers: tuple[Layer, ...]) -> Look:
        """What is seen now, and what the contracts of `layers` say of it."""
        return await _in_thread(lambda: self._look(layers))

    def _look(self, layers: tuple[Layer, ...]) -> Look:
        cluster = self.target.cluster
        if cluster is not None and not cluster.impersonating:
            # Layer 1 brings the read-only identity: from then on its rights are proven by using them
            self.target = replace(self.target, cluster=cluster.as_reader())
        recording = collect(layers, self._profile, self.target)
        return Look(recording, evaluate(layers, self._profile, recording))


async def _in_thread(work: Callable[[], T]) -> T:
    """The result of `work`, in a thread that an interrupted program does not wait for."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # None only where T allows it

    def run() -> None:
        result, problem = None, None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - handed to whoever awaits
            problem = error
        with suppress(RuntimeError):  # the program was interrupted and its loop is closed
            loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=run, daemon=True).start()
    return await done
