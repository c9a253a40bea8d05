"""HTTP that can only read: GET, and Ollama's `POST /api/show`, which describes a model."""

import http.client
import json
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

__all__ = ["Origin", "WireError", "get", "show_model"]

_SHOW_PATH = "/api/show"
_BODY_LIMIT_BYTES = 256 * 1024 * 1024
_CONNECTIONS = 8  # more would cost a TLS handshake each and gain nothing on one node


class WireError(Exception):
    """No answer; `kind` is `unreachable`, `timeout`, `tls` or `dns`, as recordings say it."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Origin:
    """A server to ask.

    Attributes:
        url: `https://host:port` or `http://host:port`, with an optional path prefix.
        tls: Trust and client certificate; None for http.
        headers: Sent with each request (credentials, impersonation); never printed.
    """

    url: str
    tls: ssl.SSLContext | None = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    _slots: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(_CONNECTIONS), repr=False, compare=False
    )
    _idle: "queue.LifoQueue[http.client.HTTPConnection]" = field(
        default_factory=queue.LifoQueue, repr=False, compare=False
    )

    @contextmanager
    def connection(self, deadline_s: float) -> Iterator[tuple[http.client.HTTPConnection, bool]]:
        """A connection, and whether it was used before; waiting for a free one counts against the deadline.

        Raises:
            TimeoutError: None became free in time.
        """
        started = time.monotonic()
        if not self._slots.acquire(timeout=deadline_s):
            raise TimeoutError
        try:
            left_s = max(0.001, deadline_s - (time.monotonic() - started))
            connection, reused = self._open(left_s)
            try:
                yield connection, reused
            except BaseException:
                connection.close()
                raise
            self._idle.put(connection)
        finally:
            self._slots.release()

    def on_behalf_of(self, identity: str) -> "Origin":
        """The same server over the same connections, asked as another identity (Kubernetes impersonation)."""
        return replace(self, headers={**self.headers, "Impersonate-User": identity})

    def close(self) -> None:
        """Close the connections that are kept for the next request."""
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return

    def _open(self, deadline_s: float) -> tuple[http.client.HTTPConnection, bool]:
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            parts = urlsplit(self.url)
            host = parts.hostname or ""
            if parts.scheme == "https":
                tls = self.tls
                return http.client.HTTPSConnection(host, parts.port, timeout=deadline_s, context=tls), False
            return http.client.HTTPConnection(host, parts.port, timeout=deadline_s), False
        if connection.sock is not None:
            connection.sock.settimeout(deadline_s)
        return connection, True


def get(origin: Origin, path: str, deadline_s: float) -> tuple[int, bytes]:
    """Status and body of a GET.

    Raises:
        WireError: There was no whole answer in time.
    """
    return _ask(origin, "GET", path, None, deadline_s)


def show_model(origin: Origin, model: str, deadline_s: float) -> tuple[int, bytes]:
    """Status and body of Ollama's `POST /api/show`, which describes a model without loading it.

    Raises:
        WireError: There was no whole answer in time.
    """
    return _ask(origin, "POST", _SHOW_PATH, json.dumps({"model": model}).encode(), deadline_s)


def _ask(origin: Origin, verb: str, path: str, body: bytes | None, deadline_s: float) -> tuple[int, bytes]:
    if verb != "GET" and (verb, path) != ("POST", _SHOW_PATH):
        raise ValueError(f"{verb} {path}: readers only read")
    target = urlsplit(origin.url).path.rstrip("/") + path
    try:
        with origin.connection(deadline_s) as (connection, reused):
            try:
                return _exchange(origin, connection, verb, target, body)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                if not reused:
                    raise
                connection.close()  # the server closed an idle connection: once more on a fresh one
                return _exchange(origin, connection, verb, target, body)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _named(error, origin.url) from None


def _exchange(
    origin: Origin, connection: http.client.HTTPConnection, verb: str, target: str, body: bytes | None
) -> tuple[int, bytes]:
    headers = {"Accept": "application/json", "User-Agent": "edge-contract-reader", **origin.headers}
    if body is not None:
        headers["Content-Type"] = "application/json"
    connection.request(verb, target, body=body, headers=headers)
    response = connection.getresponse()
    return response.status, response.read(_BODY_LIMIT_BYTES)


def _named(error: Exception, url: str) -> WireError:
    if isinstance(error, socket.gaierror):
        return WireError("dns", f"{url}: the name does not resolve")
    if isinstance(error, ssl.SSLError):
        return WireError("tls", f"{url}: {error.reason or error}")
    if isinstance(error, TimeoutError):
        return WireError("timeout", f"{url}: no answer in time")
    return WireError("unreachable", f"{url}: {error}")
