"""A tenure: the time in which this process holds the installer's lease, renewed in the background."""

import asyncio
import http.client
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from edge_llm_tests.errors import EdgeError, TargetUnreachableError

from edge_cli.answer import Answer
from edge_cli.lease import (
    DURATION_S,
    NAME,
    NAMESPACE,
    Holder,
    LeaseHeldError,
    claim,
    lease_document,
    this_process,
)

__all__ = ["LeaseLostError", "Tenure", "tenure"]

_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
_RENEWAL_S = 15.0  # three renewals may fail before the lease runs out
_ATTEMPTS = 3  # a lease may appear or vanish between the look and the write


class Sender(Protocol):
    """Who writes: the installer."""

    def send(self, verb: str, path: str, document: Mapping[str, Any] | None = None) -> Answer:
        """One request to the API server."""
        ...


class LeaseLostError(EdgeError):
    """The lease ran out, or was taken, while this installer worked."""


class Tenure:
    """A held lease."""

    def __init__(self, sender: Sender, holder: Holder) -> None:
        self._sender = sender
        self._holder = holder
        self._renewed_s = time.monotonic()
        self._lost = ""

    def check(self) -> None:
        """Let an act go on only while the lease is held.

        Raises:
            LeaseLostError: It is not held any more.
        """
        if not self._lost and time.monotonic() - self._renewed_s > DURATION_S:
            self._lost = (
                f"the API server could not be told in {DURATION_S} s that this installer is still at work"
            )
        if self._lost:
            raise LeaseLostError(
                f"lease {NAMESPACE}/{NAME} was lost: {self._lost}", "run the command again: it goes on"
            )

    def take(self) -> None:
        """Create the lease, or take over one that is free.

        Raises:
            LeaseHeldError: Another installer holds it, or that cannot be seen.
            TargetUnreachableError: Something else than the API server answers.
        """
        refused = "it changes too fast"
        for _ in range(_ATTEMPTS):
            found = self._sender.send("GET", f"{_PATH}/{NAME}")
            if found.status == http.client.NOT_FOUND:
                taken = self._sender.send("POST", _PATH, lease_document(self._holder, found.at))
            elif not found.ok:  # what was not seen may be another installer's: nothing is written
                refused = f"it cannot be read: {found.message}"
                continue
            elif found.body.get("kind") != "Lease":
                raise TargetUnreachableError(
                    f"{_PATH}/{NAME}: what answers there is not the Kubernetes API",
                    "correct the address with --kubeconfig or --context: a proxy may answer in its place",
                )
            else:
                claimed = claim(found.body, self._holder, found.at)
                if not claimed.free:
                    raise claimed.refusal
                document = lease_document(self._holder, found.at, found.body)
                taken = self._sender.send("PUT", f"{_PATH}/{NAME}", document)
            if taken.ok:
                self._renewed_s = time.monotonic()
                return
            refused = taken.message
        raise LeaseHeldError(
            f"lease {NAMESPACE}/{NAME} cannot be taken: {refused}", "run the command again in a moment"
        )

    def renew(self) -> None:
        """Tell the API server that this installer is still at work; notice a lease that is lost."""
        asked_s = time.monotonic()
        found = self._sender.send("GET", f"{_PATH}/{NAME}")
        if found.status == http.client.NOT_FOUND:
            self._lost = "it was deleted"
        elif found.ok:
            if found.body.get("spec", {}).get("holderIdentity") != str(self._holder):
                self._lost = "another installer took it"
            elif self._sender.send(
                "PUT", f"{_PATH}/{NAME}", lease_document(self._holder, found.at, found.body)
            ).ok:
                self._renewed_s = asked_s

    def release(self) -> None:
        """Give the lease back, if it is still ours."""
        found = self._sender.send("GET", f"{_PATH}/{NAME}")
        if found.ok and found.body.get("spec", {}).get("holderIdentity") == str(self._holder):
            condition = {"resourceVersion": found.body["metadata"]["resourceVersion"]}
            self._sender.send(
                "DELETE",
                f"{_PATH}/{NAME}",
                {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": condition},
            )


@asynccontextmanager
async def tenure(sender: Sender, holder: Holder | None = None) -> AsyncIterator[Tenure]:
    """Hold the lease inside; released at the end and on interruption.

    Raises:
        LeaseHeldError: Another installer holds it.
    """
    held = Tenure(sender, holder or this_process())
    await asyncio.to_thread(held.take)
    renewal = asyncio.create_task(_keep(held))
    try:
        yield held
    finally:
        renewal.cancel()
        with suppress(asyncio.CancelledError):
            await renewal
        # an API server that cannot be reached any more lets the lease run out by itself
        with suppress(EdgeError):
            await asyncio.to_thread(held.release)


async def _keep(held: Tenure) -> None:
    while True:
        await asyncio.sleep(_RENEWAL_S)
        with suppress(
            EdgeError
        ):  # unreachable for now: the next renewal may succeed, `check` knows the limit
            await asyncio.to_thread(held.renew)
