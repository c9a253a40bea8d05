"""One run of reads: everything that the layers want to see, all at once, each with its own deadline."""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from edge_llm_tests.evidence import HOST_READS, Recording
from edge_llm_tests.layer import Layer, ServiceAddress
from edge_llm_tests.profile import Profile
from edge_llm_tests.readers.host import Host
from edge_llm_tests.readers.service import ask_service
from edge_llm_tests.readers.target import Target
from edge_llm_tests.readers.wire import Origin

__all__ = ["collect"]

COMMAND_DEADLINE_S = 10.0
API_DEADLINE_S = 5.0
HTTP_DEADLINE_S = 5.0
_GRACE_S = 0.5  # a reader's own deadline comes first, and says more
_ROUNDS = 4  # core reads, then services and logs found by them, then what those name

_Entry = dict[str, Any]


class _Read(msgspec.Struct, frozen=True):
    deadline_s: float
    make: Callable[[], _Entry]


class _Batch:
    """Reads under way, one thread each; a read that outlives its deadline is a timeout and is left behind."""

    def __init__(self, reads: Mapping[str, _Read]) -> None:
        self._made: dict[str, _Entry] = {}
        self._until = (
            time.monotonic() + _GRACE_S + max((read.deadline_s for read in reads.values()), default=0)
        )
        self._threads = {
            key: threading.Thread(target=self._make, args=(key, read), daemon=True)
            for key, read in reads.items()
        }
        for thread in self._threads.values():
            thread.start()

    def _make(self, key: str, read: _Read) -> None:
        self._made[key] = read.make()

    def entries(self) -> dict[str, _Entry]:
        """What came back, in the order asked, once all are done or late."""
        for thread in self._threads.values():
            thread.join(max(0.0, self._until - time.monotonic()))
        made = dict(self._made)
        return {key: made.get(key) or _timed_out(key) for key in self._threads}


def collect(layers: tuple[Layer, ...], profile: Profile, target: Target) -> Recording:
    """A recording of everything that `layers` want of `target`.

    A read that fails or hangs is an entry of its own; only reads that the target cannot make at all (no host,
    no cluster, a service that is not there) are absent.
    """
    recording = Recording(
        recorded_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        profile=profile.name,
        context=target.context,
        simulated=target.simulated or profile.simulated,
        host=target.host_name,
    )
    origins = {name: Origin(url) for name, url in target.services.items()}
    asked: set[str] = set()
    host_batches: list[_Batch] = []  # no other read waits for a host command
    node_batches: dict[str, list[_Batch]] = {name: [] for name in target.nodes}
    for _ in range(_ROUNDS):
        wanted: dict[str, None] = {}
        addresses: dict[str, ServiceAddress] = {}
        for layer in layers:
            spec = profile.specs[layer.name]
            wanted.update(dict.fromkeys(layer.reads(spec, recording)))
            addresses.update(layer.services(spec, recording))
        planned = {
            key: read
            for key in wanted
            if key not in asked and (read := _plan(key, target, origins, addresses)) is not None
        }
        if not planned:
            break
        asked.update(planned)
        remote = {key: read for key, read in planned.items() if key.startswith(("api:", "http:"))}
        answers = _Batch(remote)  # first: the next round waits for these alone
        host_batches.append(_Batch({key: read for key, read in planned.items() if key not in remote}))
        for name, host in target.nodes.items():
            there = {key: _host_read(host, key) for key in planned if key not in remote}
            node_batches[name].append(_Batch(there))
        recording = recording.with_reads(answers.entries())
    for origin in origins.values():
        origin.close()
    for batch in host_batches:
        recording = recording.with_reads(batch.entries())
    nodes = {
        name: {key: entry for batch in batches for key, entry in batch.entries().items()}
        for name, batches in node_batches.items()
    }
    return replace(recording, nodes=nodes)


def _plan(
    key: str, target: Target, origins: Mapping[str, Origin], addresses: Mapping[str, ServiceAddress]
) -> _Read | None:
    """The read to make, or None where the target cannot make it (yet)."""
    kind, _, address = key.partition(":")
    cluster = target.cluster
    if key.startswith(HOST_READS):
        return None if target.host is None else _host_read(target.host, key)
    if cluster is not None and kind == "api":
        return _Read(API_DEADLINE_S, lambda: cluster.read(address, API_DEADLINE_S))
    if kind == "http":
        service, _, path = address.partition(":")
        if (origin := origins.get(service)) is not None:
            return _Read(HTTP_DEADLINE_S, lambda: ask_service(origin, path, HTTP_DEADLINE_S))
        found = addresses.get(service)
        # the proxy would need the right to create for a POST, which the reader does not have
        if cluster is not None and found is not None and not path.startswith("/api/show "):
            return _Read(HTTP_DEADLINE_S, lambda: cluster.read_service(found, path, HTTP_DEADLINE_S))
    return None


def _host_read(host: Host, key: str) -> _Read:
    kind, _, address = key.partition(":")
    if kind == "command":
        return _Read(COMMAND_DEADLINE_S, lambda: host.command(address, COMMAND_DEADLINE_S))
    if kind == "file":
        return _Read(COMMAND_DEADLINE_S, lambda: host.file(address))
    return _Read(COMMAND_DEADLINE_S, lambda: host.glob(address))


def _timed_out(key: str) -> _Entry:
    if key.startswith("command:"):
        return {"rc": None, "stdout": "", "stderr": "", "error": "timeout", "took_s": COMMAND_DEADLINE_S}
    if key.startswith("file:"):
        return {"text": None, "mtime": None, "error": "timeout"}
    if key.startswith("glob:"):
        return {"paths": None, "error": "timeout"}
    return {"status": None, "body": None, "error": "timeout"}
