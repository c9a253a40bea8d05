"""The step between `up` and the node: enters new namespaces and leaves the node's first process behind.

It talks with `up` over its standard streams: plan in, pid out, then the first process waits for `go` (the
network cable is there, the pid is on record) and answers `ready` or `failed: ...`. When `up` dies before
`go`, the first process ends by itself.
"""

import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

from k3s_nvidia_edge.sandbox import addresses, kernel, wire
from k3s_nvidia_edge.sandbox.command import CommandError, run
from k3s_nvidia_edge.sandbox.inside import root, stage
from k3s_nvidia_edge.sandbox.layout import HOME_INSIDE, INSIDE
from k3s_nvidia_edge.sandbox.plan import GO, READY, LaunchPlan
from k3s_nvidia_edge.sandbox.programs import NODE_PATH

__all__ = ["main"]

_NAMESPACES = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWCGROUP
)
_NETWORK_TIMEOUT_S = 10.0


def main() -> NoReturn:
    """Read the plan, leave the first process behind, say its pid, end."""
    plan = wire.decode(sys.stdin.buffer.readline(), LaunchPlan)
    for directory in plan.cgroups:
        (directory / "cgroup.procs").write_text("0", encoding="ascii")
    kernel.unshare(_NAMESPACES)
    pid = os.fork()
    if pid == 0:
        _first_process(plan)
    os.write(1, json.dumps({"pid": pid}).encode() + b"\n")
    os._exit(0)


def _first_process(plan: LaunchPlan) -> NoReturn:
    """The node's pid 1, from its birth to the moment it becomes the supervisor."""
    os.setsid()
    if os.read(0, len(GO)) != GO:  # `up` is gone, and so will everything be that it made
        os._exit(1)
    try:
        root.enter(plan.root)
        socket.sethostname(addresses.NODE_NAME)
        _network()
        stage.furnish()
        _limits(raise_limits=plan.raise_limits)
        environment = {
            "PATH": NODE_PATH,
            "HOME": HOME_INSIDE,
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        log = os.open(INSIDE / "log" / "init.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.write(1, READY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        configuration = str(INSIDE / "etc" / "supervisord.conf")
        argv = [sys.executable, "-m", "supervisor.supervisord", "--configuration", configuration]
        os.execve(sys.executable, argv, environment)  # noqa: S606 - becoming the supervisor is the point
    except (OSError, CommandError) as error:
        os.write(1, f"failed: {error}\n".encode())
        os._exit(1)


def _network() -> None:
    """The node's end of the cable; without a default route the world beyond is unreachable."""
    commands = (
        "link set lo up",
        f"addr add {addresses.NODE_IP}/{addresses.NODE_NETWORK.split('/')[1]} dev eth0",
        "link set eth0 up",
        # any route will do: connect() to a cluster address has to reach the OUTPUT chain, which rewrites it
        f"route add {addresses.SERVICE_NETWORK} dev eth0",
    )
    run(["ip", "-batch", "-"], text="\n".join(commands) + "\n", timeout_s=_NETWORK_TIMEOUT_S)
    settings = {
        "net/ipv4/ip_forward": "1",
        "net/bridge/bridge-nf-call-iptables": "1",
        # a cluster address without endpoints is refused at once, for the host too: redirects would use up the
        # ICMP allowance
        "net/ipv4/conf/all/send_redirects": "0",
        "net/ipv4/conf/default/send_redirects": "0",
        "net/ipv4/conf/eth0/send_redirects": "0",
        "net/ipv4/icmp_ratelimit": "0",
    }
    for name, value in settings.items():
        setting = Path("/proc/sys") / name
        if setting.exists():
            setting.write_text(value, encoding="ascii")


def _limits(*, raise_limits: bool) -> None:
    import resource  # noqa: PLC0415 - the launcher's other half never needs it

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(hard, 1_048_576) if raise_limits and hard != resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))


if __name__ == "__main__":
    main()
