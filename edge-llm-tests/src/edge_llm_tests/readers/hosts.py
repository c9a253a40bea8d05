"""The hosts of a run: addresses entered by ssh, all at once, each under the name that recordings use."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from edge_llm_tests.errors import EdgeError, UsageError
from edge_llm_tests.readers.host import Host, require_command, require_file, require_glob
from edge_llm_tests.readers.ssh import SshHost
from edge_llm_tests.readers.ssh_backend import SshAccess, parse_address

__all__ = ["UnreachableHost", "connected_hosts"]

_AT_ONCE = 16


class UnreachableHost(msgspec.Struct, frozen=True):
    """A host that could not be entered: each of its reads says why.

    Attributes:
        why: One line.
    """

    why: str

    def command(self, line: str, deadline_s: float) -> dict[str, Any]:  # noqa: ARG002 - as every host's
        """That it could not be run."""
        require_command(line)
        return {"rc": None, "stdout": "", "stderr": self.why, "error": "unreachable", "took_s": 0.0}

    def file(self, path: str) -> dict[str, Any]:
        """That it could not be read."""
        require_file(path)
        return {"text": None, "mtime": None, "error": "unreachable"}

    def glob(self, pattern: str) -> dict[str, Any]:
        """That it could not be expanded."""
        require_glob(pattern)
        return {"paths": None, "error": "unreachable"}


def connected_hosts(addresses: Sequence[str], access: SshAccess) -> dict[str, Host]:
    """The hosts, connected, by name; of several, one that cannot be entered is recorded as unreachable.

    Raises:
        UsageError: An address is none, or is given twice.
        EdgeError: No host can be entered; the first one's error.
    """
    names = _names(addresses)
    hosts = [SshHost(address, access) for address in addresses]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        faults = list(pool.map(_connect, hosts))
    if hosts and all(faults):
        raise next(fault for fault in faults if fault is not None)
    return {
        name: host if fault is None else UnreachableHost(str(fault))
        for name, host, fault in zip(names, hosts, faults, strict=True)
    }


def _connect(host: SshHost) -> EdgeError | None:
    try:
        host.connect()
    except EdgeError as error:
        return error
    return None


def _names(addresses: Sequence[str]) -> list[str]:
    """Host names; with the port where two have one name."""
    parts = [parse_address(address) for address in addresses]
    count = Counter(name for _, name, _ in parts)
    names = [f"{name}:{port}" if count[name] > 1 and port else name for _, name, port in parts]
    for name, times in Counter(names).items():
        if times > 1:
            raise UsageError(f"--host {name} is given {times} times", "give each host once")
    return names
