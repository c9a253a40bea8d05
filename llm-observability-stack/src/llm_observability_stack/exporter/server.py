"""Two ports: one answers `/metrics` and 404 to all else, the other tells a kubelet how the exporter is."""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from edge_llm_tests.errors import UsageError
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from llm_observability_stack.exporter.board import SCRAPE_DEADLINE_S, Board

__all__ = ["Server", "health_server", "metrics_server"]

_CLIENT_TIMEOUT_S = 10.0  # a client that sends or takes nothing for this long is dropped
_POLL_S = 0.1  # how long stopping may take
_SHARE = 0.8  # of the scrape timeout; the rest is for the way
_Answer = tuple[int, str, bytes]
Headers = Message
_PLAIN = "text/plain; charset=utf-8"
_NOT_FOUND: _Answer = (404, _PLAIN, b"not found\n")
_NO_SUCH_VERB = 501  # what http.server answers to a verb that it is not told of


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - signature of socketserver
        """One line for what went wrong with a client; one that has gone away is no news."""
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            sys.stderr.write(f"error: a question was not answered: {type(error).__name__}: {error}\n")


class Server:
    """A listening port with a fixed set of paths."""

    def __init__(self, address: str, port: int, paths: Mapping[str, Callable[[Headers], _Answer]]) -> None:
        class Handler(BaseHTTPRequestHandler):
            server_version = "edge-exporter"
            sys_version = ""
            protocol_version = "HTTP/1.1"
            timeout = _CLIENT_TIMEOUT_S

            def do_GET(self) -> None:
                answer = paths.get(self.path.partition("?")[0])
                self._say(*(answer(self.headers) if answer else _NOT_FOUND))

            def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002 - signature of http.server
                """What was asked otherwise than by GET, or is no HTTP, is not found here either."""
                self.request_version = self.protocol_version  # a line that is none gets a whole answer too
                self.close_connection = True  # what else was sent with it is no question
                self._say(*_NOT_FOUND if code == _NO_SUCH_VERB else (code, _PLAIN, b"bad request\n"))

            def _say(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                if self.close_connection:
                    self.send_header("Connection", "close")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - signature of http.server
                """Scrapes are not worth a line each."""

        try:
            self._server = _Listener((address, port), Handler)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {address}:{port}: {error.strerror}",
                "choose another --port, --health-port or --address",
            ) from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), name=f"port-{port}", daemon=True
        )

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more, and give the port back."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()


def metrics_server(address: str, port: int, board: Board) -> Server:
    """The server of `/metrics`.

    Raises:
        UsageError: The port cannot be had.
    """

    def metrics(headers: Headers) -> _Answer:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Scrape(board, _deadline_s(headers.get("X-Prometheus-Scrape-Timeout-Seconds", ""))))
        encode, kind = choose_encoder(headers.get("Accept", ""))
        return 200, kind, encode(registry)

    return Server(address, port, {"/metrics": metrics})


@dataclass(frozen=True)
class _Scrape(Collector):
    """One scrape of the board, with the patience of the one who scrapes."""

    board: Board
    deadline_s: float

    def collect(self) -> Iterator[Metric]:
        return self.board.collect_within(self.deadline_s)


def _deadline_s(timeout: str) -> float:
    """Seconds that a scrape may take: well within the timeout that Prometheus says it has."""
    try:
        told_s = float(timeout)
    except ValueError:
        return SCRAPE_DEADLINE_S
    return min(SCRAPE_DEADLINE_S, told_s * _SHARE) if told_s > 0 else SCRAPE_DEADLINE_S


def health_server(address: str, port: int, board: Board) -> Server:
    """The server of `/healthz` (no source hangs for good) and `/readyz` (each source was asked once).

    Raises:
        UsageError: The port cannot be had.
    """

    def healthy(_headers: Headers) -> _Answer:
        wedged = [name for name, each in board.snapshots().items() if each.wedged]
        if wedged:
            return 503, _PLAIN, f"hanging for good: {', '.join(wedged)}\n".encode()
        return 200, _PLAIN, b"ok\n"

    def ready(_headers: Headers) -> _Answer:
        waiting = [name for name, each in board.snapshots().items() if not each.collected]
        if waiting:
            return 503, _PLAIN, f"not yet collected: {', '.join(waiting)}\n".encode()
        return 200, _PLAIN, b"ok\n"

    return Server(address, port, {"/healthz": healthy, "/readyz": ready})
