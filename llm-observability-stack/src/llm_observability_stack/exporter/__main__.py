"""The command `python -m llm_observability_stack.exporter`."""

import signal
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import version

from edge_llm_tests.errors import EdgeError, ExitCode, UsageError

from llm_observability_stack.exporter.settings import Settings, parse_settings

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal ends it; the exit code says how it went."""
    try:
        settings = parse_settings(sys.argv[1:] if argv is None else argv)
        return _serve(settings)
    except EdgeError as error:
        sys.stderr.write(f"error: {error.message}: {error.next_step}\n")
        return int(error.exit_code)


def _serve(settings: Settings) -> int:
    try:
        from llm_observability_stack.exporter.board import Board  # noqa: PLC0415 - needs the extra `exporter`
        from llm_observability_stack.exporter.server import (  # noqa: PLC0415 - needs the extra `exporter`
            health_server,
            metrics_server,
        )
        from llm_observability_stack.exporter.sources import sources  # noqa: PLC0415 - needs the extra `exporter`
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed", "install llm-observability-stack[exporter]"
        ) from None
    board = Board(sources(settings), version("llm-observability-stack"))
    servers = (
        health_server(settings.address, settings.health_port, board),
        metrics_server(settings.address, settings.port, board),
    )
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    board.start()
    for server in servers:
        server.start()
    sys.stderr.write(
        f"metrics on {settings.address}:{servers[1].port}/metrics, "
        f"health on {settings.address}:{servers[0].port}/healthz and /readyz\n"
    )
    sys.stderr.flush()
    ended.wait()
    for server in servers:
        server.stop()
    board.stop()
    return int(ExitCode.OK)


if __name__ == "__main__":
    sys.exit(main())
