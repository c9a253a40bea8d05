"""Reads of the host: a fixed list of commands, files and globs, without a shell."""

import glob
import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import msgspec

__all__ = ["COMMANDS", "Host", "HostReader"]

COMMANDS: tuple[str, ...] = (
    "nvidia-smi -q -x",
    "lspci -Dnnk -d 10de:",
    "dmesg --time-format iso",
    "modinfo -F version nvidia",
    (
        "systemctl show k3s k3s-agent containerd docker "
        "--property=Id,LoadState,ActiveState,SubState,ActiveEnterTimestamp"
    ),
    "df -Pk",
)
"""Every command that validation may run; each argument stands between single spaces."""

FILES: tuple[str, ...] = (
    "/proc/driver/nvidia/version",
    "/proc/modules",
    "/proc/sys/kernel/osrelease",
    "/proc/uptime",
    "/proc/meminfo",
    "/proc/sys/fs/inotify/max_user_instances",
    "/proc/mounts",
    "/proc/sys/net/netfilter/nf_conntrack_count",
    "/proc/sys/net/netfilter/nf_conntrack_max",
    "/etc/rancher/k3s/config.yaml",
    "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
)
"""Every file that validation may read."""

GLOBS: tuple[str, ...] = (
    "/dev/nvidia*",
    "/usr/bin/nvidia-container-runtime*",
    "/usr/local/nvidia/toolkit/nvidia-container-runtime*",
    "/run/nvidia/validations/*",
    "/var/run/cdi/*",
)
"""Every pattern that validation may expand."""

STREAM_LIMIT_BYTES = 4 * 1024 * 1024
_CHUNK_BYTES = 65536
_NOT_FOUND_RC, _NOT_EXECUTABLE_RC = 127, 126
_left_behind: "dict[tuple[str, ...], subprocess.Popen[bytes]]" = {}
"""Commands that no signal ends, stuck in the kernel: who asks again and again must not pile them up."""


class Host(Protocol):
    """A host that is read: this one, one that a prefix enters, or one by ssh."""

    def command(self, line: str, deadline_s: float) -> dict[str, Any]:
        """What one of `COMMANDS` came to."""
        ...

    def file(self, path: str) -> dict[str, Any]:
        """What reading one of `FILES` came to."""
        ...

    def glob(self, pattern: str) -> dict[str, Any]:
        """The paths that match one of `GLOBS`."""
        ...


def require_command(line: str) -> None:
    """Let nothing run that is not on the list.

    Raises:
        ValueError: It is not.
    """
    if line not in COMMANDS:
        raise ValueError(f"{line!r} is not on the list of host commands")


def require_file(path: str) -> None:
    """Let no file be read that is not on the list.

    Raises:
        ValueError: It is not.
    """
    if path not in FILES:
        raise ValueError(f"{path!r} is not on the list of host files")


def require_glob(pattern: str) -> None:
    """Let no pattern be expanded that is not on the list.

    Raises:
        ValueError: It is not.
    """
    if pattern not in GLOBS:
        raise ValueError(f"{pattern!r} is not on the list of host patterns")


class HostReader(msgspec.Struct, frozen=True):
    """One host: this one, or one that `prefix` enters.

    Attributes:
        prefix: What enters the host before a command, for example `("nsenter", "-t", "42", "-a")`.
        root: Where the host's files are seen from here: `/`, or `/proc/<pid>/root`.
    """

    prefix: tuple[str, ...] = ()
    root: Path = Path("/")

    def command(self, line: str, deadline_s: float) -> dict[str, Any]:
        """What one of `COMMANDS` came to, as recordings keep it.

        Raises:
            ValueError: The command is not on the list.
        """
        require_command(line)
        started = time.monotonic()

        def entry(rc: int | None, stdout: bytes, stderr: bytes, error: str | None) -> dict[str, Any]:
            return {
                "rc": rc,
                "stdout": stdout.decode("utf-8", "replace"),
                "stderr": stderr.decode("utf-8", "replace"),
                "error": error,
                "took_s": round(time.monotonic() - started, 3),
            }

        argv = (*self.prefix, *line.split(" "))
        if (stuck := _left_behind.get(argv)) is not None and stuck.poll() is None:
            return entry(None, b"", b"the last one is still stuck in the kernel: not asked again", "timeout")
        try:
            process = subprocess.Popen(  # noqa: S603 - a fixed list, no shell
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # what enters a namespace forks: a late command ends with its group
                env={**os.environ, "LC_ALL": "C"},  # what is read is English, whoever asks
            )
        except FileNotFoundError:
            return entry(None, b"", b"", "not-found")
        except PermissionError:
            return entry(None, b"", b"", "permission-denied")
        except OSError as unusable:  # an empty or foreign file by that name, or no memory to start it
            return entry(_NOT_EXECUTABLE_RC, b"", str(unusable).encode(), None)
        stdout, stderr, in_time = _said(process, started + deadline_s)
        if not in_time:
            if not end(process):
                _left_behind[argv] = process
            return entry(None, stdout, stderr, "timeout")
        rc = process.returncode
        if self.prefix and rc in (_NOT_FOUND_RC, _NOT_EXECUTABLE_RC) and not stdout:
            error = "not-found" if rc == _NOT_FOUND_RC else "permission-denied"
            return entry(None, b"", stderr, error)
        return entry(rc, stdout, stderr, None)

    def file(self, path: str) -> dict[str, Any]:
        """What reading one of `FILES` came to.

        Raises:
            ValueError: The file is not on the list.
        """
        require_file(path)
        here = self.root / path.lstrip("/")
        try:
            content = here.read_bytes()
            changed = (
                datetime.fromtimestamp(here.stat().st_mtime, UTC) if not path.startswith("/proc/") else None
            )
        except PermissionError:
            return {"text": None, "mtime": None, "error": "permission-denied"}
        except OSError:
            return {"text": None, "mtime": None, "error": "not-found"}
        mtime = changed.strftime("%Y-%m-%dT%H:%M:%SZ") if changed else None
        return {
            "text": content[:STREAM_LIMIT_BYTES].decode("utf-8", "replace"),
            "mtime": mtime,
            "error": None,
        }

    def glob(self, pattern: str) -> dict[str, Any]:
        """The paths that match one of `GLOBS`.

        Raises:
            ValueError: The pattern is not on the list.
        """
        require_glob(pattern)
        found = glob.glob(pattern.lstrip("/"), root_dir=self.root)  # noqa: PTH207 - Path.glob cannot take a root
        return {"paths": sorted(f"/{each}" for each in found)}


def _said(process: "subprocess.Popen[bytes]", until: float) -> tuple[bytes, bytes, bool]:
    """The ends of both streams of a command, and whether it ended by that monotonic time.

    What it says beyond the limit is let go as it comes: one that prints without end fills no memory.
    """
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as open_streams:
        for stream in kept:
            open_streams.register(stream, selectors.EVENT_READ)  # type: ignore[arg-type]  # both are pipes
        while open_streams.get_map() and (left_s := until - time.monotonic()) > 0:
            for key, _ in open_streams.select(left_s):
                chunk = os.read(key.fd, _CHUNK_BYTES)
                said = kept[key.fileobj]  # type: ignore[index]  # it was registered by it
                said += chunk
                if len(said) > 2 * STREAM_LIMIT_BYTES:
                    del said[:-STREAM_LIMIT_BYTES]
                if not chunk:
                    open_streams.unregister(key.fileobj)
        in_time = not open_streams.get_map()
    try:
        process.wait(max(0.0, until - time.monotonic()) if in_time else 0.0)
    except subprocess.TimeoutExpired:
        in_time = False
    stdout, stderr = (bytes(said[-STREAM_LIMIT_BYTES:]) for said in kept.values())
    if in_time:
        _close(process)
    return stdout, stderr, in_time


def _close(process: "subprocess.Popen[bytes]") -> None:
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def end(process: "subprocess.Popen[bytes]") -> bool:
    """End a late command with all that it started; False where it is stuck in the kernel and left to it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.2)
    _close(process)
    return process.poll() is not None
