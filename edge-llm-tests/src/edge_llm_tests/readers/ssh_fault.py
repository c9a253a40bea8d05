"""A fault of ssh: what the program said, as an error that names the host and the next step."""

import re
import shlex

from edge_llm_tests.errors import EdgeError, TargetUnreachableError, UnauthorisedError
from edge_llm_tests.readers.ssh_backend import parse_address

__all__ = ["said_by_ssh", "ssh_fault", "sudo_fault"]

_OWN_WORDS = re.compile(
    rb"^(ssh: |ssh_|kex_|mux_client|client_loop|Connection (closed|reset|timed out|to )|Timeout, server"
    rb"|Host key verification failed|[^\n]*Permission denied \(|Received disconnect|Bad configuration"
    rb"|command-line)",
    re.MULTILINE,
)
_FAULTS: tuple[tuple[str, type[EdgeError], str, str], ...] = (
    (
        r"IDENTIFICATION HAS CHANGED",
        TargetUnreachableError,
        "its host key is not the one that is known: another machine answers, or it was installed anew",
        "ask its administrator for the fingerprint; if that is right, replace the key in known_hosts",
    ),
    (
        r"host key is known for|Host key verification failed",
        TargetUnreachableError,
        "its host key is not known, and unknown hosts are not trusted",
        "compare the fingerprint with the host's, then add the key to known_hosts (`ssh {name}` once asks)",
    ),
    (
        r"Permission denied \(|Too many authentication failures|no mutual signature",
        UnauthorisedError,
        "it refuses the key",
        "name it in ssh's configuration, or ssh-add it: `ssh {name} true` must work without a question",
    ),
    (
        r"Could not resolve hostname|Name or service not known",
        TargetUnreachableError,
        "no such host name",
        "correct the name in --host",
    ),
    (
        r"Connection refused",
        TargetUnreachableError,
        "connection refused",
        "start sshd there, or give the right port (ssh://user@box:2222)",
    ),
    (
        r"timed out|Timeout, server",
        TargetUnreachableError,
        "no answer in time",
        "see that it runs and that no firewall is between",
    ),
    (
        r"No route to host|Network is unreachable",
        TargetUnreachableError,
        "no route to it",
        "see that it runs and that this machine reaches its network",
    ),
    (
        r"account is currently not available|Bad configuration option|Can't open user config",
        TargetUnreachableError,
        "{said}",
        "correct ssh's configuration, or the user in --host",
    ),
)


def ssh_fault(address: str, stderr: bytes, late_s: float = 0.0) -> EdgeError:
    """The error for what ssh said when a host could not be entered; `late_s` where it was ended as late."""
    said = stderr.decode("utf-8", "replace").strip()
    name = _target(address)
    last = " ".join((said.splitlines() or [""])[-1].split())
    for pattern, kind, message, step in _FAULTS:
        if re.search(pattern, said):
            return kind(f"{address}: {message.format(said=last)}", step.format(name=name))
    if late_s:
        return TargetUnreachableError(
            f"{address}: no answer in {late_s:.0f} s", f"see whether `ssh {name} true` comes back"
        )
    return TargetUnreachableError(
        f"{address}: ssh failed: {last or 'without a word'}", f"see what `ssh -v {name} true` says"
    )


def sudo_fault(address: str, stderr: bytes) -> EdgeError:
    """The error where sudo was asked for and is not to be had without a password."""
    said = " ".join(stderr.decode("utf-8", "replace").split()) or "it refuses"
    return UnauthorisedError(
        f"{address}: no sudo without a password: {said}",
        "allow the reads in sudoers with NOPASSWD (docs/evidence.md lists them), or leave --sudo out",
    )


def said_by_ssh(stderr: bytes) -> bool:
    """Whether it is ssh itself that speaks: a program there may end with 255 as well."""
    return _OWN_WORDS.search(stderr) is not None


def _target(address: str) -> str:
    """The host as the ssh program takes it, on a command line that is pasted."""
    user, name, port = parse_address(address)
    place = shlex.quote(f"{user}@{name}" if user else name)
    return f"-p {port} {place}" if port else place
