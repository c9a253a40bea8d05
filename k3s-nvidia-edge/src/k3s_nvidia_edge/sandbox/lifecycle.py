"""`up`, `down` and `status` of the sandbox: the whole of what a caller needs."""

import contextlib
import enum
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from k3s_nvidia_edge.sandbox import (
    api,
    bringup,
    faults,
    images,
    network,
    orphan,
    readiness,
    record,
    supervision,
    teardown,
)
from k3s_nvidia_edge.sandbox.errors import SandboxError
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.node import Node
from k3s_nvidia_edge.sandbox.progress import OnProgress, Progress, silent
from k3s_nvidia_edge.sandbox.supervision import ProgramState

if TYPE_CHECKING:
    from k3s_nvidia_edge.sandbox.build import Artifacts

__all__ = ["State", "Status", "down", "status", "up"]


class State(enum.StrEnum):
    """What a state directory's node is doing."""

    DOWN = "down"
    STARTING = "starting"  # `up` is at work, or died at it
    UP = "up"
    STALE = "stale"  # its first process is gone, or its record: `down` clears it


class Status(msgspec.Struct, frozen=True):
    """A node, looked at.

    Attributes:
        ready: whether the kubelet reports the node Ready.
        message: why not, or what the kubelet says.
        images: what became of each image archive; an empty text where the image is in the node.
        faults: simulated faults that are provoked now.
    """

    state: State
    state_dir: Path
    node: Node | None = None
    started_at: float | None = None
    ready: bool = False
    message: str = ""
    programs: tuple[ProgramState, ...] = ()
    images: Mapping[str, str] = msgspec.field(default_factory=dict)
    addons_applied: bool = False
    faults: tuple[str, ...] = ()


def _teller(on_progress: OnProgress) -> Callable[[str, str], None]:
    began = time.monotonic()
    return lambda step, message: on_progress(Progress(step, message, time.monotonic() - began))


def up(
    artifacts: "Artifacts",
    state_dir: Path | None = None,
    on_progress: OnProgress = silent,
    *,
    wait: bool = True,
    wait_for_images: Sequence[str] = (),
    timeout_s: float = 120.0,
) -> Node:
    """Bring the sandbox up, or find it up; safe to call again, also after a crash.

    After a warm start a pod that held the card is rejected (`UnexpectedAdmissionError`, phase Failed) when
    the kubelet comes to it before the device plugin has registered; its controller makes a new one. Such
    leftovers are Kubernetes's, and stay until somebody deletes them.

    Args:
        artifacts: the built programs, images and models.
        state_dir: where it keeps everything; `$XDG_STATE_HOME/edge/sandbox` by default.
        on_progress: told of each step.
        wait: return when the node is Ready; else as soon as its first process runs.
        wait_for_images: references of images that have to be in the node as well.
        timeout_s: how long to wait, for all of it.

    Raises:
        PrerequisiteError: this machine lacks something; all that it lacks is listed.
        AlreadyRunningError: another state directory's sandbox is up.
        AddressTakenError: something else uses the sandbox's addresses.
        BusyError: another `up` or `down` is at work.
        NotReadyError: it runs and is not Ready in time; it is left running, to be looked at.
    """
    say = _teller(on_progress)
    layout = Layout.of(state_dir)
    deadline = time.monotonic() + timeout_s
    with network.machine_lock():
        node = bringup.start(artifacts, layout, say)
    if wait:
        readiness.wait_ready(node, max(0.0, deadline - time.monotonic()), say)
    if wait_for_images:
        readiness.wait_for_images(node, wait_for_images, max(0.0, deadline - time.monotonic()))
        say("images", f"in the node: {', '.join(wait_for_images)}")
    return node


def down(state_dir: Path | None = None, *, purge: bool = False, on_progress: OnProgress = silent) -> None:
    """Take the sandbox down: no process, mount, namespace, cgroup, route or interface of it stays.

    The state directory keeps the cluster's objects, its volumes and its images, so that the next `up` is
    fast.

    Args:
        state_dir: the state directory to take down.
        purge: remove the state directory as well: the next `up` starts from nothing.
        on_progress: told of each step.
    """
    say = _teller(on_progress)
    layout = Layout.of(state_dir)
    with network.machine_lock():
        kept = record.read(layout.record)
        if kept is not None:
            say("down", "ending the node")
            teardown.clear(layout, kept)
        else:
            orphan.clear(layout, say)
        if purge:
            say("purge", f"removing {layout.state_dir}")
            teardown.purge(layout)
    say("down", "nothing of the sandbox is left" if purge else f"data is kept in {layout.state_dir}")


def status(state_dir: Path | None = None) -> Status:
    """What the sandbox is doing; looks, and changes nothing."""
    layout = Layout.of(state_dir)
    kept = record.read(layout.record)
    if kept is None:
        return Status(State.STALE if _has_cable(layout) else State.DOWN, layout.state_dir)
    if kept.init is None:
        return Status(State.STARTING, layout.state_dir, started_at=kept.started_at)
    if not kept.init.alive():
        return Status(State.STALE, layout.state_dir, started_at=kept.started_at)
    node = Node(layout.state_dir, kept.init.pid, layout.admin_kubeconfig)
    condition, message = api.node_condition(layout.pki, kept.started_at)
    try:
        programs = supervision.program_states(node.init_pid)
    except SandboxError as error:
        programs, message = (), str(error)
    return Status(
        State.UP if kept.phase == "running" else State.STARTING,
        layout.state_dir,
        node,
        kept.started_at,
        condition == "True",
        message,
        programs,
        {ref: outcome.error for ref, outcome in images.outcomes(layout).items()},
        layout.addons.exists(),
        faults.active(layout),
    )


def _has_cable(layout: Layout) -> bool:
    """Whether a cable says that it is this state directory's."""
    with contextlib.suppress(SandboxError):
        return network.owned_by(network.look(), str(layout.state_dir))
    return False  # a machine without `ip` has no sandbox
