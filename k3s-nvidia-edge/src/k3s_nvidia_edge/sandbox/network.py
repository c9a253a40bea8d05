"""The host's side of the node's network: one veth, two routes through it, three fallback routes.

The fallbacks come first: without the veth the node's addresses must fail at once, never leave by the host's
default route.
"""

import contextlib
import fcntl
import ipaddress
import json
import os
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from k3s_nvidia_edge.sandbox.addresses import (
    HOST_IP,
    LINK,
    NETWORKS,
    NODE_IP,
    NODE_NETWORK,
    POD_NETWORK,
    SERVICE_NETWORK,
)
from k3s_nvidia_edge.sandbox.command import CommandError, run
from k3s_nvidia_edge.sandbox.errors import AddressTakenError, BusyError, StartError

__all__ = ["PROTOCOL", "Seen", "conflicts", "connect", "fall_back", "look", "machine_lock", "remove"]

PROTOCOL: Final = "199"  # marks our routes; unassigned in rtnetlink's list of route protocols
_FALLBACK_METRIC: Final = "9999"  # loses against any route that works
_ALIAS: Final = "edge sandbox "  # the veth says whose it is; `ip link show` displays it
_ALIAS_BYTES: Final = 255  # IFALIASZ, with its final zero
_IP_TIMEOUT_S: Final = 5.0
_LOCK_PAUSE_S: Final = 0.1


class Seen(msgspec.Struct, frozen=True):
    """What the host's network looks like.

    Attributes:
        link: whether an interface with our name exists.
        owner: the state directory that it says it belongs to; None when it says nothing of the kind.
        leftovers: ranges with routes that carry our mark.
        foreign: other routes into our ranges, in `ip`'s words.
    """

    link: bool
    owner: str | None
    leftovers: tuple[str, ...]
    foreign: tuple[str, ...]


def _ip(*words: str) -> str:
    try:
        return run(["ip", *words], timeout_s=_IP_TIMEOUT_S).stdout
    except CommandError as error:
        raise StartError(f"network: {error}") from error


def look() -> Seen:
    """The host's network as far as it concerns the sandbox."""
    return conflicts(
        json.loads(_ip("-json", "link", "show")), json.loads(_ip("-json", "-4", "route", "show"))
    )


def conflicts(links: list[dict[str, Any]], routes: list[dict[str, Any]]) -> Seen:
    """What `ip -json link show` and `ip -json route show` say about the sandbox's name and ranges.

    A wider route (a company's 10.0.0.0/8, the default route) is no conflict: ours are narrower and win only
    for our ranges.
    """
    ours = [ipaddress.IPv4Network(one) for one in NETWORKS]
    link = next((one for one in links if one.get("ifname") == LINK), None)
    alias = str(link.get("ifalias", "")) if link else ""
    owner = alias.removeprefix(_ALIAS) if alias.startswith(_ALIAS) else None
    leftovers: list[str] = []
    foreign: list[str] = []
    for route in routes:
        destination = str(route.get("dst", ""))
        if destination in ("", "default"):
            continue
        network = ipaddress.ip_network(destination, strict=False)
        if not any(isinstance(network, ipaddress.IPv4Network) and network.subnet_of(one) for one in ours):
            continue
        if route.get("protocol") == PROTOCOL or route.get("dev") == LINK:
            leftovers.append(destination)
        else:
            foreign.append(f"{destination} dev {route.get('dev', '?')}")
    return Seen(link is not None, owner, tuple(dict.fromkeys(leftovers)), tuple(foreign))


def _cut(owner: str) -> str:
    """An owner as far as an interface's alias can hold it."""
    return owner[: _ALIAS_BYTES - len(_ALIAS)]


def owned_by(seen: Seen, owner: str) -> bool:
    """Whether the interface says that it belongs to this state directory."""
    return seen.link and seen.owner == _cut(owner)


def refuse_foreign(seen: Seen) -> None:
    """Raise when the name or a range is in use by something that is not a sandbox."""
    if seen.link and seen.owner is None:
        raise AddressTakenError(
            f"an interface {LINK} exists and is not the sandbox's: rename or remove it (`ip link del {LINK}`)"
        )
    if seen.foreign:
        raise AddressTakenError(
            f"the sandbox needs {', '.join(NETWORKS)} and this machine already routes "
            f"{', '.join(seen.foreign)}: stop what uses it (`ip route show`)"
        )


def fall_back() -> None:
    """The fallback routes: make our ranges unreachable until the veth is there."""
    for network in NETWORKS:
        _ip("route", "replace", "unreachable", network, "metric", _FALLBACK_METRIC, "proto", PROTOCOL)


def connect(init_pid: int, owner: str) -> None:
    """Give one end of a new veth to the node as `eth0`, and lead our ranges through the other."""
    _ip("link", "add", LINK, "type", "veth", "peer", "name", "eth0", "netns", str(init_pid))
    _ip("link", "set", LINK, "alias", _ALIAS + _cut(owner))
    _ip("addr", "add", f"{HOST_IP}/{NODE_NETWORK.split('/')[1]}", "dev", LINK)
    _ip("link", "set", LINK, "up")
    for network in (POD_NETWORK, SERVICE_NETWORK):
        _ip("route", "add", network, "via", NODE_IP, "dev", LINK, "proto", PROTOCOL)


def remove(link: str, networks: tuple[str, ...]) -> None:
    """Remove the veth and every route of ours; what is already gone is fine."""
    with contextlib.suppress(CommandError):
        run(["ip", "link", "del", link], timeout_s=_IP_TIMEOUT_S, check=False)
        for network in networks:
            words = [
                "ip",
                "route",
                "del",
                "unreachable",
                network,
                "metric",
                _FALLBACK_METRIC,
                "proto",
                PROTOCOL,
            ]
            run(words, timeout_s=_IP_TIMEOUT_S, check=False)


@contextlib.contextmanager
def machine_lock(patience_s: float = 10.0) -> Iterator[None]:
    """The right to start or stop a sandbox in this network namespace, for one caller at a time.

    The lock lies on the namespace itself (flock on /proc/self/ns/net): link and routes live there, and no
    file is left behind.
    """
    handle = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    deadline = time.monotonic() + patience_s
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise BusyError(
                        "another `edge sandbox` command is starting or stopping a node on this machine: "
                        "wait for it, then try again"
                    ) from None
                time.sleep(_LOCK_PAUSE_S)
        yield
    finally:
        os.close(handle)
