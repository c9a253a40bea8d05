"""Waiting for a node: until it is Ready, until images are in it, until its add-ons are applied."""

import time
from collections.abc import Callable, Iterable
from typing import Final

from k3s_nvidia_edge.sandbox import api, images, record, supervision
from k3s_nvidia_edge.sandbox.errors import NotReadyError, NotRunningError, SandboxError
from k3s_nvidia_edge.sandbox.node import Node, find

__all__ = ["wait_for_addons", "wait_for_images", "wait_ready"]

_PAUSE_S: Final = 0.1


def _wait(node: Node, timeout_s: float, done: Callable[[], bool], complaint: Callable[[], str]) -> None:
    deadline = time.monotonic() + timeout_s
    while not done():
        find(node.layout)  # a node that died is its own error
        if time.monotonic() > deadline:
            raise NotReadyError(complaint())
        time.sleep(_PAUSE_S)


def wait_ready(node: Node, timeout_s: float, say: Callable[[str, str], None]) -> None:
    """Until the API server is ready and the kubelet of this run has reported the node Ready."""
    kept = record.read(node.layout.record)
    if kept is None:
        raise NotRunningError(node.state_dir)
    pki = node.layout.pki
    started = time.monotonic()

    def complaint() -> str:
        _, message = api.node_condition(pki, kept.started_at)
        age = f"{time.time() - kept.started_at:.0f} s"
        problem = f"the node is not Ready {age} after its start ({message}){_culprits(node)}"
        return f"{problem}: logs are in {node.layout.log}"

    _wait(node, timeout_s, lambda: api.ready(pki), complaint)
    say("api", "the API server is ready")
    left = max(0.0, timeout_s - (time.monotonic() - started))
    _wait(node, left, lambda: api.node_condition(pki, kept.started_at)[0] == "True", complaint)
    say("ready", "the node is Ready")


def _culprits(node: Node) -> str:
    """The programs that do not run, for the end of a complaint."""
    try:
        states = supervision.program_states(node.init_pid)
    except SandboxError:
        return ""
    down = [f"{one.name} {one.state}" for one in states if one.state not in ("RUNNING", "EXITED")]
    return f", {', '.join(down)}" if down else ""


def wait_for_images(node: Node, refs: Iterable[str], timeout_s: float) -> None:
    """Until the node has these images; NotReadyError names what is missing, at once if an import failed."""
    wanted = tuple(refs)

    def absent() -> list[str]:
        known = images.outcomes(node.layout)
        failed = [f"{ref} ({known[ref].error})" for ref in wanted if ref in known and known[ref].error]
        if failed:
            raise NotReadyError(
                f"images could not be imported: {', '.join(failed)}: see {node.layout.log}/images.log"
            )
        return [ref for ref in wanted if ref not in known]

    _wait(
        node,
        timeout_s,
        lambda: not absent(),
        lambda: f"no {', '.join(absent())} in the node in time: see {node.layout.log}/images.log",
    )


def wait_for_addons(node: Node, timeout_s: float) -> None:
    """Until the node has applied its own manifests (cluster DNS, volumes)."""
    _wait(
        node,
        timeout_s,
        node.layout.addons.exists,
        lambda: f"the add-ons are not applied in time: see {node.layout.log}/addons.log",
    )
