"""Undoing: everything on a record, in the order in which the kernel lets go, by ids alone."""

import contextlib
import os
import select
import shutil
import signal
from pathlib import Path
from typing import Final

from k3s_nvidia_edge.sandbox import cgroups, network, preflight, record
from k3s_nvidia_edge.sandbox.errors import SandboxError
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.record import Identity, Record

__all__ = ["clear", "end", "purge"]

# containers in a system call that cannot be interrupted; a fraction of a second otherwise
_DEATH_PATIENCE_S: Final = 10.0


def clear(layout: Layout, kept: Record) -> None:
    """End the node and remove all that was made for it outside the state directory; forgets the record last.

    SIGKILL for the first process ends every process of its pid namespace, and with them go its mount and
    network namespaces. The data store takes no harm: what it acknowledged is on the disk.
    """
    same_boot = kept.boot == record.boot_id()
    if kept.init is not None and same_boot:
        end(kept.init)
    made = tuple(Path(one) for one in kept.cgroups) if same_boot else ()
    cgroups.end_processes(made)
    if _network_is_ours(layout, kept):
        network.remove(kept.link, kept.networks)
    left = cgroups.remove(made)
    preflight.unload_modules(kept.modules)
    if left:
        raise SandboxError(
            f"cgroup {left[0]} cannot be removed, something still runs in it: `cat {left[0]}/cgroup.procs`"
        )
    record.remove(layout.record)


def _network_is_ours(layout: Layout, kept: Record) -> bool:
    """Whether link and routes are this sandbox's: after a crash another's may have taken their place.

    Without a link nobody's node is up (the caller holds the machine lock), and marked routes are leftovers. A
    link without an owner is one that was made a moment before its maker died.
    """
    seen = network.look()
    return (
        not seen.link
        or network.owned_by(seen, str(layout.state_dir))
        or (seen.owner is None and kept.phase == "starting")
    )


def end(init: Identity) -> None:
    """End the node's first process, and that one only; returns when all of its namespace is dead."""
    try:
        handle = os.pidfd_open(init.pid)
    except OSError:
        return
    try:
        if (
            not init.alive()
        ):  # asked after the handle was taken: from here on it cannot become another process
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        watch = select.poll()
        watch.register(handle, select.POLLIN)
        if not watch.poll(_DEATH_PATIENCE_S * 1000):
            patience = f"{_DEATH_PATIENCE_S:.0f} s"
            raise SandboxError(f"the node's first process {init.pid} does not die in {patience}: try again")
    finally:
        os.close(handle)


def purge(layout: Layout) -> None:
    """Remove what the sandbox keeps; a file that is not the sandbox's stays, and the directory with it."""
    for path in sorted({_top(layout, one) for one in layout.directories()}):
        shutil.rmtree(path, ignore_errors=True)
        if path.exists():
            shutil.rmtree(
                path
            )  # once more for the error: a mount of the host's lies below, or the disk fails
    for path in (layout.record, layout.record.with_suffix(".new")):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        layout.state_dir.rmdir()


def _top(layout: Layout, path: Path) -> Path:
    return layout.state_dir / path.relative_to(layout.state_dir).parts[0]
