"""Two ports: one answers `/metrics` and 404 to all else, the other tells a kubelet how the exporter is."""

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from edge_llm_tests.errors import UsageError
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from llm_observability_stack.exporter.board import Board

__all__ = ["Server", "health_server", "metrics_server"]

_CLIENT_TIMEOUT_S = 10.0  # a client that sends or takes nothing for this long is dropped
_Answer = tuple[int, str, bytes]
_PLAIN = "text/plain; charset=utf-8"


class Server:
    """A listening port with a fixed set of paths."""

    def __init__(self, address: str, port: int, paths: Mapping[str, Callable[[str], _Answer]]) -> None:
        class Handler(BaseHTTPRequestHandler):
            server_version = "edge-exporter"
            sys_version = ""
            protocol_version = "HTTP/1.1"
            timeout = _CLIENT_TIMEOUT_S

            def do_GET(self) -> None:
                answer = paths.get(urlsplit(self.path).path)
                status, kind, body = (
                    answer(self.headers.get("Accept", "")) if answer else (404, _PLAIN, b"not found\n")
                )
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - signature of http.server
                """Scrapes are not worth a line each."""

        try:
            self._server = ThreadingHTTPServer((address, port), Handler)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {address}:{port}: {error.strerror}",
                "choose another --port, --health-port or --address",
            ) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name=f"port-{port}", daemon=True)

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
    registry = CollectorRegistry(auto_describe=False)
    registry.register(board)

    def metrics(accept: str) -> _Answer:
        encode, kind = choose_encoder(accept)
        return 200, kind, encode(registry)

    return Server(address, port, {"/metrics": metrics})


def health_server(address: str, port: int, board: Board) -> Server:
    """The server of `/healthz` (no source hangs for good) and `/readyz` (each source was asked once).

    Raises:
        UsageError: The port cannot be had.
    """

    def healthy(_accept: str) -> _Answer:
        wedged = [name for name, each in board.snapshots().items() if each.wedged]
        if wedged:
            return 503, _PLAIN, f"hanging for good: {', '.join(wedged)}\n".encode()
        return 200, _PLAIN, b"ok\n"

    def ready(_accept: str) -> _Answer:
        waiting = [name for name, each in board.snapshots().items() if not each.collected]
        if waiting:
            return 503, _PLAIN, f"not yet collected: {', '.join(waiting)}\n".encode()
        return 200, _PLAIN, b"ok\n"

    return Server(address, port, {"/healthz": healthy, "/readyz": ready})
