"""The hosts that a command reads: given by flag, or by the settings; none for this host."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from edge_llm_tests.errors import UsageError

from edge_cli.options import exclude
from edge_cli.settings import Settings
from edge_cli.timings import span

if TYPE_CHECKING:
    from edge_llm_tests.readers import Host

__all__ = ["HostChoice", "chosen_hosts"]


class HostChoice(msgspec.Struct, frozen=True):
    """What the flags say of hosts.

    Attributes:
        addresses: `ssh://user@box`, each.
        ssh_config: A configuration of ssh in place of the user's own.
        sudo: Whether what root alone may read is read with sudo.
    """

    addresses: tuple[str, ...] = ()
    ssh_config: str | None = None
    sudo: bool = False

    def connected(self, settings: Settings, *, most: int | None = None) -> "Mapping[str, Host]":
        """The hosts by name, connected; empty where this host is to be read. `most` is how many may be given.

        Raises:
            EdgeError: An address is wrong, or no host can be entered.
        """
        told = (each.strip() for each in (settings.host or "").split(","))
        given = self.addresses or tuple(each for each in told if each)
        if not given:
            if self.sudo or self.ssh_config:
                raise UsageError("--sudo and --ssh-config are for hosts by ssh", "give --host ssh://user@box")
            return {}
        if most is not None and len(given) > most:
            raise UsageError(f"--host is given {len(given)} times", "this command reads one host: name it")
        from edge_llm_tests.readers.hosts import connected_hosts  # noqa: PLC0415 - only hosts by ssh pay
        from edge_llm_tests.readers.ssh_backend import SshAccess  # noqa: PLC0415 - as above

        config = self.ssh_config or settings.ssh_config
        path = Path(config).expanduser() if config else None
        if path is not None and not path.is_file():
            raise UsageError(f"--ssh-config {config}: no such file", "name a configuration file of ssh")
        with span("connect to the hosts"):
            return connected_hosts(given, SshAccess(path, self.sudo))


def chosen_hosts(
    addresses: Sequence[str] | None, ssh_config: str | None, sudo: bool, others: Mapping[str, object]
) -> HostChoice:
    """What --host, --ssh-config and --sudo say; `others` are the flags that bring a host of their own.

    Raises:
        UsageError: Both are given.
    """
    ours = {"--host": addresses, "--ssh-config": ssh_config, "--sudo": sudo}
    for other, given in others.items():
        exclude(other, given, ours)
    return HostChoice(tuple(addresses or ()), ssh_config, sudo)
