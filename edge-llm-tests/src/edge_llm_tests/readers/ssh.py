"""A host by ssh: the same reads as of this host, made by the `ssh` program through testinfra's backend.

Host keys are checked strictly, nothing is ever asked, nothing is forwarded, and no file of the user's is
written. One connection carries all reads of a run.
"""

import atexit
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from edge_llm_tests.errors import UsageError
from edge_llm_tests.readers.host import STREAM_LIMIT_BYTES, require_command, require_file, require_glob
from edge_llm_tests.readers.ssh_backend import CONNECT_DEADLINE_S, SshAccess, parse_address, run_by_ssh
from edge_llm_tests.readers.ssh_fault import said_by_ssh, ssh_fault, sudo_fault

__all__ = ["SshHost"]

LOGIN_DEADLINE_S = 8.0  # connecting, and a login shell that takes its time
_FILE_DEADLINE_S = 10.0
_SESSIONS = 8  # sshd takes ten on one connection
_SOCKET = "connection"
_BEGINS = "edge-reads-from-here"
_PATH = (
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin:/usr/lib/wsl/lib"
)
"""A login by ssh has no sbin on its PATH, and `modinfo` lives there."""
_TIMED_OUT_RC, _KILLED_RC, _NOT_EXECUTABLE_RC, _NOT_FOUND_RC, _SSH_RC = 124, 137, 126, 127, 255
_FORBIDDEN = re.compile(rb"Permission denied|Operation not permitted")


@dataclass(frozen=True)
class SshHost:
    """One host that is entered by ssh.

    Attributes:
        address: `ssh://user@box:22`.
        access: How it is entered.
    """

    address: str
    access: SshAccess = field(default_factory=SshAccess)
    _talks: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)
    _slots: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(_SESSIONS), repr=False, compare=False
    )

    @property
    def name(self) -> str:
        """What the host is called in recordings: the address without user and port."""
        return parse_address(self.address)[1]

    @cached_property
    def _folder(self) -> Path:
        """A folder of ours alone, for the socket of the shared connection."""
        return Path(tempfile.mkdtemp(prefix="edge-ssh-"))

    def connect(self) -> None:
        """Log in once; all reads use this connection.

        Raises:
            UsageError: There is no ssh program.
            TargetUnreachableError: The host is not there, does not answer, or is not the one that is known.
            UnauthorisedError: It refuses the key, or sudo.
        """
        if shutil.which("ssh") is None:
            raise UsageError("ssh is not on PATH, and --host needs it", "install openssh-client")
        atexit.register(self.close)
        self._require("true")
        if self.access.sudo:
            rc, _, stderr = self._run(f"{_environment()} sudo -n -l", LOGIN_DEADLINE_S)
            if rc != 0:
                self.close()
                raise sudo_fault(self.address, stderr)

    def _require(self, command: str) -> None:
        try:
            rc, stdout, stderr = self._run(command, LOGIN_DEADLINE_S)
        except subprocess.TimeoutExpired as late:
            self.close()
            raise ssh_fault(self.address, late.stderr or b"", LOGIN_DEADLINE_S) from None
        if rc != 0:
            self.close()
            raise ssh_fault(self.address, stderr)
        if stdout:  # a greeting of its shell's, which would stand before whatever is read
            self._talks.set()

    def close(self) -> None:
        """Close the connection; without it, it ends itself after some seconds."""
        if "_folder" not in self.__dict__:
            return
        socket = self._folder / _SOCKET
        if socket.exists():
            config = ["-F", str(self.access.config)] if self.access.config else []
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(  # noqa: S603 - a fixed program, no shell
                    ["ssh", *config, "-o", f"ControlPath={socket}", "-O", "exit", self.name],  # noqa: S607 - the user's own
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=CONNECT_DEADLINE_S,
                    check=False,
                )
        shutil.rmtree(self._folder, ignore_errors=True)
        del self.__dict__["_folder"]

    def command(self, line: str, deadline_s: float) -> dict[str, Any]:
        """What one of `COMMANDS` came to, as recordings keep it.

        Raises:
            ValueError: The command is not on the list.
        """
        require_command(line)
        started_s = time.monotonic()

        def entry(rc: int | None, stdout: bytes, stderr: bytes, error: str | None) -> dict[str, Any]:
            return {
                "rc": rc,
                "stdout": stdout[-STREAM_LIMIT_BYTES:].decode("utf-8", "replace"),
                "stderr": stderr[-STREAM_LIMIT_BYTES:].decode("utf-8", "replace"),
                "error": error,
                "took_s": round(time.monotonic() - started_s, 3),
            }

        try:
            rc, stdout, stderr = self._asked(line.split(" "), deadline_s)
        except subprocess.TimeoutExpired as late:
            return entry(None, late.stdout or b"", late.stderr or b"", "timeout")
        if rc in (_TIMED_OUT_RC, _KILLED_RC):
            return entry(None, stdout, stderr, "timeout")
        if rc == _NOT_FOUND_RC and not stdout:
            return entry(None, b"", b"", "not-found")
        if rc == _NOT_EXECUTABLE_RC and not stdout:
            return entry(None, b"", b"", "permission-denied")
        if rc == _SSH_RC and not stdout and said_by_ssh(stderr):
            return entry(None, b"", stderr, "unreachable")
        return entry(rc, stdout, stderr, None)

    def file(self, path: str) -> dict[str, Any]:
        """What reading one of `FILES` came to.

        Raises:
            ValueError: The file is not on the list.
        """
        require_file(path)
        mtime = None
        try:
            rc, text, stderr = self._asked(["cat", "--", path], _FILE_DEADLINE_S)
            if rc == 0 and not path.startswith("/proc/"):
                _, changed, _ = self._asked(["stat", "-c", "%Y", "--", path], _FILE_DEADLINE_S)
                if changed.strip().isdigit():
                    mtime = datetime.fromtimestamp(int(changed), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        except subprocess.TimeoutExpired:
            return {"text": None, "mtime": None, "error": "timeout"}
        if rc != 0:
            return {"text": None, "mtime": None, "error": _file_error(rc, stderr)}
        return {"text": text[:STREAM_LIMIT_BYTES].decode("utf-8", "replace"), "mtime": mtime, "error": None}

    def glob(self, pattern: str) -> dict[str, Any]:
        """The paths that match one of `GLOBS`.

        Raises:
            ValueError: The pattern is not on the list.
        """
        require_glob(pattern)
        folder, _, name = pattern.rpartition("/")
        argv = [
            "find",
            "-H",
            folder,
            "-mindepth",
            "1",
            "-maxdepth",
            "1",
            "-name",
            name,
            "!",
            "-name",
            ".*",
            "-print0",
        ]
        try:
            rc, found, stderr = self._asked(argv, _FILE_DEADLINE_S)
        except subprocess.TimeoutExpired:
            return {"paths": None, "error": "timeout"}
        if rc == _SSH_RC and said_by_ssh(stderr):
            return {"paths": None, "error": "unreachable"}
        return {"paths": sorted(each for each in found.decode("utf-8", "replace").split("\0") if each)}

    def _asked(self, argv: list[str], deadline_s: float) -> tuple[int, bytes, bytes]:
        """Run it there as the user; where root alone may, and it is allowed, as root."""
        with self._slots:
            limit_s = max(1, int(deadline_s) - 1)  # what hangs there is ended there, before it is late here
            began = f"{_environment()} timeout -k 1 {limit_s}"
            done = self._run(f"{began} {shlex.join(argv)}", deadline_s)
            if done[0] not in (0, _SSH_RC) and self.access.sudo and _FORBIDDEN.search(done[2]):
                as_root = self._run(f"{began} sudo -n {shlex.join(argv)}", deadline_s)
                return done if as_root[2].startswith(b"sudo: ") else as_root
            return done

    def _run(self, command: str, deadline_s: float) -> tuple[int, bytes, bytes]:
        """Exit code, output and error of a command there.

        Raises:
            subprocess.TimeoutExpired: It took longer; the client was ended.
        """
        socket = self._folder / _SOCKET
        if not self._talks.is_set():
            return run_by_ssh(self.address, self.access, socket, command, deadline_s)
        told = f"echo {_BEGINS}; {command}"
        rc, stdout, stderr = run_by_ssh(self.address, self.access, socket, told, deadline_s)
        return rc, stdout.partition(f"{_BEGINS}\n".encode())[2], stderr


def _environment() -> str:
    return f"env PATH={_PATH} LC_ALL=C"


def _file_error(rc: int, stderr: bytes) -> str:
    if rc in (_TIMED_OUT_RC, _KILLED_RC):
        return "timeout"
    if rc == _SSH_RC and said_by_ssh(stderr):
        return "unreachable"
    return "permission-denied" if _FORBIDDEN.search(stderr) else "not-found"
