"""The node's importer: puts image archives into containerd, the small ones first.

What is there already, by reference and digest, is left alone. What happened to each image is written down for
`up` and `status`.
"""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from k3s_nvidia_edge.sandbox import api, wire
from k3s_nvidia_edge.sandbox.command import CommandError, run
from k3s_nvidia_edge.sandbox.images import Archive, Outcome, canonical, outcomes, pending
from k3s_nvidia_edge.sandbox.layout import BIN_INSIDE, INSIDE, Layout

_CTR: Final = (str(BIN_INSIDE / "ctr"), "--namespace", "k8s.io")
_CONTAINERD_PATIENCE_S: Final = 60.0
# large archives wait so long at most for the node to be ready: they would only slow it down
_API_PATIENCE_S: Final = 20.0
_IMPORT_TIMEOUT_S: Final = 600.0
_LARGE_BYTES: Final = 100_000_000
_AT_ONCE: Final = 2


def _stored() -> frozenset[str]:
    """The image references that containerd has."""
    return frozenset(run([*_CTR, "images", "list", "--quiet"], timeout_s=10).stdout.split())


def _wait_for_containerd() -> frozenset[str]:
    deadline = time.monotonic() + _CONTAINERD_PATIENCE_S
    while True:
        try:
            return _stored()
        except CommandError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _wait_for_api(layout: Layout) -> None:
    deadline = time.monotonic() + _API_PATIENCE_S
    while time.monotonic() < deadline and not api.ready(layout.pki):
        time.sleep(0.5)


def main() -> int:
    """Import what is missing; 0 when everything listed was tried."""
    layout = Layout(INSIDE)
    archives = wire.decode(layout.image_list.read_bytes(), list[Archive])
    stored = _wait_for_containerd()
    known = outcomes(layout)
    todo = pending(archives, known, stored)
    waiting = {one.ref for one in todo}
    done = {one.ref: known[one.ref] for one in archives if one.ref not in waiting}
    lock = threading.Lock()

    def note(ref: str, outcome: Outcome) -> None:
        with lock:
            done[ref] = outcome
            _write(layout.imported, done)

    with lock:
        _write(layout.imported, done)
    large = [one for one in todo if one.path.exists() and one.path.stat().st_size >= _LARGE_BYTES]
    for one in todo:
        if one not in large:
            note(one.ref, _import(one))
    if large:
        _wait_for_api(layout)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for ref, outcome in pool.map(lambda one: (one.ref, _import(one)), large):
            note(ref, outcome)
    return 0  # also where an archive is bad: it is written down, and would be no better a second later


def _import(archive: Archive) -> Outcome:
    started = time.monotonic()
    try:
        run([*_CTR, "images", "import", str(archive.path)], timeout_s=_IMPORT_TIMEOUT_S)
        error = _named(archive, _stored())
    except CommandError as failure:
        error = str(failure)
    took = f"{time.monotonic() - started:.1f} s"
    print(f"{archive.ref}: {error or 'imported'} in {took}", flush=True)  # noqa: T201 - the program's log
    return Outcome(archive.digest, error)


def _named(archive: Archive, stored: frozenset[str]) -> str:
    """The image, findable by its full name as the kubelet asks for it; what is wrong, if anything."""
    full = canonical(archive.ref)
    if archive.ref in stored and archive.ref != full:
        # the archive was written with the short name; an older image may have the full one
        run([*_CTR, "images", "tag", "--force", archive.ref, full], timeout_s=10)
        return ""
    return "" if full in stored else f"{archive.path} holds no image of this name"


def _write(path: Path, content: dict[str, Outcome]) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(wire.pretty(content), encoding="utf-8")
    fresh.replace(path)


if __name__ == "__main__":
    sys.exit(main())
