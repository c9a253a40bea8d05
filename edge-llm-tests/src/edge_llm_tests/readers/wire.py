"""HTTP that can only read: GET, and Ollama's `POST /api/show`, which describes a model."""

import http.client
import io
import json
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import msgspec

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


class _Timely(io.RawIOBase):
    """What a socket receives until one moment: a server that trickles gains no time by it."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        super().__init__()
        self._sock = sock
        self._received = sock.makefile("rb", buffering=0)  # keeps the socket open until it is read
        self._until = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._sock.settimeout(left_s)
        return self._received.readinto(buffer)

    def close(self) -> None:
        self._received.close()
        super().close()

    def makefile(self, _mode: str) -> io.BufferedReader:
        """All that http.client asks of a socket to read from."""
        return io.BufferedReader(self)


def _timely_response(until: float, sock: socket.socket, **more: Any) -> http.client.HTTPResponse:
    return http.client.HTTPResponse(_Timely(sock, until), **more)  # type: ignore[arg-type]  # see makefile


def get(
    origin: Origin, path: str, deadline_s: float, limit_bytes: int = _BODY_LIMIT_BYTES
) -> tuple[int, bytes]:
    """Status and body of a GET; of a longer body than `limit_bytes` one byte more than that.

    Raises:
        WireError: There was no whole answer in time.
    """
    return _ask(origin, path, _Question("GET", None, limit_bytes), deadline_s)


def show_model(
    origin: Origin, model: str, deadline_s: float, limit_bytes: int = _BODY_LIMIT_BYTES
) -> tuple[int, bytes]:
    """Status and body of Ollama's `POST /api/show`, which describes a model without loading it.

    Raises:
        WireError: There was no whole answer in time.
    """
    body = json.dumps({"model": model}).encode()
    return _ask(origin, _SHOW_PATH, _Question("POST", body, limit_bytes), deadline_s)


class _Question(msgspec.Struct, frozen=True):
    verb: str
    body: bytes | None
    limit_bytes: int


def _ask(origin: Origin, path: str, question: _Question, deadline_s: float) -> tuple[int, bytes]:
    until = time.monotonic() + deadline_s
    if question.verb != "GET" and (question.verb, path) != ("POST", _SHOW_PATH):
        raise ValueError(f"{question.verb} {path}: readers only read")
    target = urlsplit(origin.url).path.rstrip("/") + path
    try:
        with origin.connection(deadline_s) as (connection, reused):
            connection.response_class = partial(_timely_response, until)  # type: ignore[assignment]  # is called only
            try:
                return _exchange(origin, connection, target, question)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                if not reused:
                    raise
                connection.close()  # the server closed an idle connection: once more on a fresh one
                return _exchange(origin, connection, target, question)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _named(error, origin.url) from None


def _exchange(
    origin: Origin, connection: http.client.HTTPConnection, target: str, question: _Question
) -> tuple[int, bytes]:
    headers = {"Accept": "application/json", "User-Agent": "edge-contract-reader", **origin.headers}
    if question.body is not None:
        headers["Content-Type"] = "application/json"
    connection.request(question.verb, target, body=question.body, headers=headers)
    with connection.getresponse() as response:
        content = response.read(question.limit_bytes + 1)
        left = response.length
    if len(content) > question.limit_bytes:
        connection.close()  # the rest is not wanted, and would be taken for the next answer
    elif left:  # `read` with a limit says nothing of an early end
        raise http.client.HTTPException(f"the answer ended {left} bytes early")
    return response.status, content


def _named(error: Exception, url: str) -> WireError:
    if isinstance(error, socket.gaierror):
        return WireError("dns", f"{url}: the name does not resolve")
    if isinstance(error, ssl.SSLError):
        return WireError("tls", f"{url}: {error.reason or error}")
    if isinstance(error, TimeoutError):
        return WireError("timeout", f"{url}: no answer in time")
    return WireError("unreachable", f"{url}: {error}")
