"""The node's supervisor, asked and told from the host over its socket."""

import http.client
import socket
import time
import xmlrpc.client
from typing import Any, Final

import msgspec

from k3s_nvidia_edge.sandbox.errors import SandboxError
from k3s_nvidia_edge.sandbox.layout import SUPERVISOR_SOCKET_INSIDE

__all__ = ["ProgramState", "knock", "program_states", "restart", "start", "stop"]

_TIMEOUT_S: Final = 30.0
_KNOCK_PAUSE_S: Final = 0.02
_NOT_RUNNING: Final = 70  # supervisor.xmlrpc.Faults
_ALREADY_STARTED: Final = 60


class ProgramState(msgspec.Struct, frozen=True):
    """One supervised program, in the supervisor's own words (`RUNNING`, `EXITED`, `FATAL`, ...)."""

    name: str
    state: str
    pid: int
    started_at: float
    exit_code: int


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(self.timeout)
            self.sock.connect(self._path)
        except OSError:
            self.sock.close()
            raise


class _Transport(xmlrpc.client.Transport):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        connection = _Connection(self._path)
        self._connection = (host, connection)  # where the base class finds what it has to close
        return connection


def _call(init_pid: int, method: str, *words: Any) -> Any:
    """One call; the socket is reached through the first process's root: a short path, whatever the host's."""
    path = f"/proc/{init_pid}/root{SUPERVISOR_SOCKET_INSIDE}"
    try:
        with xmlrpc.client.ServerProxy("http://localhost", transport=_Transport(path)) as server:
            return getattr(server.supervisor, method)(*words)
    except (OSError, http.client.HTTPException) as error:
        raise SandboxError(
            f"the node's supervisor does not answer ({error}): see `edge sandbox status`"
        ) from error


def knock(init_pid: int, patience_s: float) -> None:
    """Wait for the supervisor and wake it: left alone, it sleeps a second before its first program."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            _call(init_pid, "getState")
        except SandboxError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_KNOCK_PAUSE_S)
        else:
            return


def program_states(init_pid: int) -> tuple[ProgramState, ...]:
    """Every supervised program."""
    return tuple(
        ProgramState(one["name"], one["statename"], one["pid"], float(one["start"]), one["exitstatus"])
        for one in _call(init_pid, "getAllProcessInfo")
    )


def stop(init_pid: int, program: str) -> None:
    """Stop a program and wait for its end; one that does not run is fine."""
    try:
        _call(init_pid, "stopProcess", program)
    except xmlrpc.client.Fault as fault:
        if fault.faultCode != _NOT_RUNNING:
            raise SandboxError(f"cannot stop {program}: {fault.faultString}") from fault


def start(init_pid: int, program: str) -> None:
    """Start a program and wait until it stays; one that runs already is fine."""
    try:
        _call(init_pid, "startProcess", program)
    except xmlrpc.client.Fault as fault:
        if fault.faultCode != _ALREADY_STARTED:
            raise SandboxError(f"cannot start {program}: {fault.faultString}: see its log") from fault


def restart(init_pid: int, program: str) -> None:
    """Stop and start a program; what containerd runs goes on running meanwhile."""
    stop(init_pid, program)
    start(init_pid, program)
