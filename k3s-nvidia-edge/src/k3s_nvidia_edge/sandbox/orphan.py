"""A node without a record: found by what says whose it is, and undone like any other.

A record is a file, and somebody may remove it. The node's first process shows the state directory at its
place inside; the cable carries the state directory's name; an abandoned control group is empty.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from k3s_nvidia_edge.sandbox import addresses, cgroups, network
from k3s_nvidia_edge.sandbox.errors import SandboxError
from k3s_nvidia_edge.sandbox.layout import INSIDE, Layout
from k3s_nvidia_edge.sandbox.record import Identity
from k3s_nvidia_edge.sandbox.teardown import end

__all__ = ["clear"]

_PROC: Final = Path("/proc")
_DEPTH: Final = 2  # of pid namespaces: the node's first process is in ours, and the first of its own


def clear(layout: Layout, say: Callable[[str, str], None]) -> None:
    """End a node of this state directory that is on no record, and remove what it, or one like it, left.

    The caller holds the machine lock.

    Raises:
        SandboxError: Something of it does not end.
    """
    init = _first_process(layout)
    named = _groups_of(init.pid) if init else ()
    if init is not None:
        say("down", f"its record is gone: ending the node that shows its state directory, pid {init.pid}")
        end(init)
        cgroups.end_processes(named)
    seen = network.look()
    if network.owned_by(seen, str(layout.state_dir)) or (seen.leftovers and not seen.link):
        say("down", f"its record is gone: removing {addresses.LINK} and the routes of the sandbox")
        network.remove(addresses.LINK, addresses.NETWORKS)
    left = cgroups.remove({*named, *cgroups.abandoned(_PROC.joinpath("self/mountinfo").read_text("utf-8"))})
    if left:
        raise SandboxError(
            f"cgroup {left[0]} cannot be removed, something still runs in it: `cat {left[0]}/cgroup.procs`"
        )


def _first_process(layout: Layout) -> Identity | None:
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and _is_first(entry) and _shows(entry, layout.state_dir):
            return Identity.of(int(entry.name))
    return None


def _is_first(process: Path) -> bool:
    """Whether the process is the first of a pid namespace right below this one."""
    for line in _lines(process / "status"):
        if line.startswith("NSpid:"):
            numbers = line.split()[1:]
            return len(numbers) == _DEPTH and numbers[-1] == "1"
    return False


def _shows(process: Path, state_dir: Path) -> bool:
    try:
        return (process / "root" / INSIDE.relative_to("/")).samefile(state_dir)
    except OSError:
        return False


def _groups_of(pid: int) -> tuple[Path, ...]:
    """The node's own directories, from where its first process is."""
    try:
        found = cgroups.hierarchies(
            _PROC.joinpath(str(pid), "cgroup").read_text("utf-8"),
            _PROC.joinpath("self/mountinfo").read_text("utf-8"),
        )
    except OSError:
        return ()
    return tuple(dict.fromkeys(path for one in found for path in _own(one.own)))


def _own(inside: Path) -> Iterator[Path]:
    yield from (path for path in (inside, *inside.parents) if cgroups.is_nodes(path.name))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
