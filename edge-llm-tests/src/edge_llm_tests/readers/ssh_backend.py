"""A command by ssh: one run of the `ssh` program through testinfra's backend, with a deadline."""

import re
import shlex
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from edge_llm_tests.errors import UsageError
from edge_llm_tests.readers.host import end

if TYPE_CHECKING:
    from testinfra.backend.base import CommandResult

__all__ = ["CONNECT_DEADLINE_S", "SshAccess", "parse_address", "run_by_ssh"]

CONNECT_DEADLINE_S = 5
_IDLE_S = 15  # a connection that nobody closed ends itself
_ADDRESS = re.compile(
    r"ssh://(?:(?P<user>\w[\w.@+\\-]*)@)?"  # a domain may stand before the user, or behind
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?\])"
    r"(?::(?P<port>[0-9]{1,5}))?/?"
)
_PORTS = range(1, 65536)
_OPTIONS = " ".join(
    f"-o {option}"
    for option in (
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        "UpdateHostKeys=no",
        "PasswordAuthentication=no",
        "KbdInteractiveAuthentication=no",
        "ConnectionAttempts=1",
        "ServerAliveInterval=2",
        "ServerAliveCountMax=2",
        "ClearAllForwardings=yes",
        "ForwardAgent=no",
        "ForwardX11=no",
        "PermitLocalCommand=no",
        "RequestTTY=no",
        "RemoteCommand=none",
        "LogLevel=ERROR",
    )
)


class SshAccess(msgspec.Struct, frozen=True):
    """How hosts are entered.

    Attributes:
        config: A configuration file of ssh in place of the user's own; None for that.
        sudo: Whether a read that root alone may make is tried again with `sudo -n`.
    """

    config: Path | None = None
    sudo: bool = False


def parse_address(address: str) -> tuple[str, str, str]:
    """User, name and port of `ssh://user@box:22`; user and port are empty where ssh decides.

    Raises:
        UsageError: It is no such address.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None or (found["port"] and int(found["port"]) not in _PORTS):
        raise UsageError(
            f"--host {address}: no ssh address", "write it like ssh://user@box or ssh://user@box:2222"
        )
    return found["user"] or "", found["name"].strip("[]"), found["port"] or ""


def run_by_ssh(
    address: str, access: SshAccess, socket: Path, command: str, deadline_s: float
) -> tuple[int, bytes, bytes]:
    """Exit code, output and error of a command there; `socket` is where runs share one connection.

    Raises:
        subprocess.TimeoutExpired: It took longer; the client was ended.
    """
    user, name, port = parse_address(address)
    backend = _backend()(
        "host",
        ssh_config=str(access.config) if access.config else None,
        timeout=CONNECT_DEADLINE_S,
        controlpath=str(socket),
        controlpersist=_IDLE_S,
        ssh_extra_args=_OPTIONS,
    )
    # not as one text: testinfra takes what stands behind a colon for the port, and an IPv6 address is colons
    backend.host.name, backend.host.user, backend.host.port = name, user or None, port or None
    backend.deadline_s = deadline_s
    try:
        result = backend.run(command)
    except RuntimeError as error:  # how it says that ssh ended with 255
        result = error.args[0]
    return result.rc, result.stdout_bytes, result.stderr_bytes


@cache
def _backend() -> type[Any]:
    """The ssh backend of testinfra, without its local shell and with a deadline."""
    from testinfra.backend.ssh import SshBackend  # noqa: PLC0415 - 90 ms that only hosts by ssh pay

    class Backend(SshBackend):  # type: ignore[misc]  # testinfra ships no types
        deadline_s = 0.0

        def run_local(self, command: str, *args: str) -> "CommandResult":
            argv = shlex.split(self.quote(command, *args))
            process = subprocess.Popen(  # noqa: S603 - the ssh program, no shell
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            try:
                stdout, stderr = process.communicate(timeout=self.deadline_s)
            except subprocess.TimeoutExpired:
                end(process)
                raise
            return self.result(process.returncode, command.encode(), stdout, stderr)

    return Backend
