"""The Lease that keeps two installers of one cluster apart: whose it is, and whether it still counts. Pure.

Times are the API server's (its `Date` header), so that clocks of two machines need not agree.
"""

import os
import socket
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from edge_llm_tests.errors import EdgeError
from edge_llm_tests.fields import MalformedError, integer, text

__all__ = [
    "DURATION_S",
    "NAME",
    "NAMESPACE",
    "Claim",
    "Holder",
    "LeaseHeldError",
    "claim",
    "lease_document",
    "this_process",
]

NAMESPACE = "kube-system"  # always there, before anything of ours is
NAME = "edge-installer"
DURATION_S = 60
_START_FIELD = 19  # of /proc/<pid>/stat, counted after the program's name: start time in clock ticks
_PARTS = 4


class LeaseHeldError(EdgeError):
    """Another installer is at work on this cluster."""


class Holder(msgspec.Struct, frozen=True):
    """A process that installs: host, pid, when it started, and in which pid namespace the pid counts."""

    host: str
    pid: int
    started: str
    namespace: str

    def __str__(self) -> str:
        return f"{self.host}/{self.pid}/{self.started}/{self.namespace}"

    @classmethod
    def parse(cls, identity: str) -> "Holder | None":
        """The holder of an identity; None where something else wrote it."""
        parts = identity.rsplit("/", _PARTS - 1)
        if len(parts) != _PARTS or not parts[1].isdigit():
            return None
        return cls(parts[0], int(parts[1]), parts[2], parts[3])

    def is_gone_from(self, here: "Holder") -> bool:
        """Whether it is known to have ended: it ran where we run, and no such process is left."""
        if (self.host, self.namespace) != (here.host, here.namespace):
            return False
        return _started(self.pid) != self.started


def _started(pid: int) -> str:
    """Start of a process in clock ticks since boot; empty if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return fields[_START_FIELD] if len(fields) > _START_FIELD else ""


def this_process() -> Holder:
    """The holder that this process is."""
    try:
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        namespace = "unknown"
    pid = os.getpid()
    return Holder(
        socket.gethostname(), pid, _started(pid) or "0", "".join(filter(str.isdigit, namespace)) or "unknown"
    )


class Claim(msgspec.Struct, frozen=True):
    """Whether the lease may be taken over, and by whom it is held if not.

    Attributes:
        free: Whether it may be taken.
        holder: Identity of the one that has it.
        expires_s: Seconds until it runs out unless renewed.
    """

    free: bool
    holder: str = ""
    expires_s: float = 0.0

    @property
    def refusal(self) -> LeaseHeldError:
        """The error of an installer that comes second."""
        return LeaseHeldError(
            f"another installer is at work on this cluster: {_readable(self.holder)} "
            f"(lease {NAMESPACE}/{NAME}, runs out in {max(0.0, self.expires_s):.0f} s unless renewed)",
            "wait until it ends, then run the command again",
        )


def _readable(identity: str) -> str:
    holder = Holder.parse(identity)
    return f"process {holder.pid} on {holder.host}" if holder else identity


def claim(document: Mapping[str, Any], here: Holder, now: datetime) -> Claim:
    """What the lease in the cluster means for `here`."""
    try:
        identity = text(document, "spec", "holderIdentity")
        duration_s = integer(document, "spec", "leaseDurationSeconds", default=DURATION_S)
        renewed = _moment(text(document, "spec", "renewTime") or text(document, "spec", "acquireTime"))
    except MalformedError:
        return Claim(free=True)  # the API server would not have stored it; whatever wrote it holds nothing
    if not identity or identity == str(here) or renewed is None:
        return Claim(free=True)
    holder = Holder.parse(identity)
    left_s = (renewed + timedelta(seconds=duration_s) - now).total_seconds()
    gone = holder is not None and holder.is_gone_from(here)
    return Claim(left_s <= 0 or gone, identity, left_s)


def _moment(value: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def lease_document(here: Holder, now: datetime, replaced: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The lease as `here` holds it; `replaced` is the one in the cluster that it takes over or renews."""
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    metadata: dict[str, Any] = {
        "name": NAME,
        "namespace": NAMESPACE,
        "labels": {"app.kubernetes.io/managed-by": "edge", "app.kubernetes.io/part-of": "edge"},
    }
    acquired, transitions = stamp, 0
    if replaced is not None:
        metadata["resourceVersion"] = text(replaced, "metadata", "resourceVersion")
        transitions = integer(replaced, "spec", "leaseTransitions")
        if text(replaced, "spec", "holderIdentity") == str(here):
            acquired = text(replaced, "spec", "acquireTime", default=stamp)
        else:
            transitions += 1
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {
            "holderIdentity": str(here),
            "leaseDurationSeconds": DURATION_S,
            "acquireTime": acquired,
            "renewTime": stamp,
            "leaseTransitions": transitions,
        },
    }
