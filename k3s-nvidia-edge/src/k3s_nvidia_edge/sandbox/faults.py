"""Simulated faults, provoked and healed on the running node: each breaks one thing as it breaks in the field.

Faults of the cluster's objects (a scaled Deployment, a deleted model) are not here: whoever tests them
changes the objects.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from k3s_nvidia_edge.sandbox import configuration, supervision, wire
from k3s_nvidia_edge.sandbox.command import CommandError, run
from k3s_nvidia_edge.sandbox.errors import SandboxError, UnknownFaultError
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.node import Node, find
from k3s_nvidia_edge.sandbox.programs import module_argv
from k3s_nvidia_edge.sandbox.simulation import Driver

__all__ = ["FAULTS", "Fault", "active", "break_", "heal"]

_ENTER_TIMEOUT_S: Final = 20.0


class Fault(msgspec.Struct, frozen=True):
    """One way to break the node.

    Attributes:
        shows: what an operator sees.
        group: faults of one group replace each other; empty for a fault that stands alone.
    """

    name: str
    shows: str
    group: str
    break_: Callable[[Node], None]
    heal: Callable[[Node], None]


def _stage(node: Node, *words: str) -> None:
    """A change of the simulated host, made inside the node."""
    try:
        run(node.enter_argv([*module_argv("stage"), *words]), timeout_s=_ENTER_TIMEOUT_S)
    except CommandError as error:
        raise SandboxError(f"the simulated host could not be changed: {error}") from error


def _driver(name: str, state: Driver, shows: str) -> Fault:
    return Fault(
        name,
        shows,
        "driver",
        lambda node: _stage(node, "show", state.value),
        lambda node: _stage(node, "show", Driver.OK.value),
    )


def _program(name: str, program: str, shows: str) -> Fault:
    return Fault(
        name,
        shows,
        "",
        lambda node: supervision.stop(node.init_pid, program),
        lambda node: supervision.start(node.init_pid, program),
    )


def _handler(node: Node, *, nvidia: bool) -> None:
    """Containerd with or without the runtime `nvidia`; running pods go on running."""
    choices = configuration.read_choices(node.layout)
    configuration.write(node.layout.containerd_config, configuration.containerd(choices, nvidia=nvidia))
    supervision.restart(node.init_pid, "containerd")


FAULTS: Final[Mapping[str, Fault]] = {
    fault.name: fault
    for fault in (
        _driver(
            "driver-mismatch",
            Driver.VERSION_MISMATCH,
            "nvidia-smi exits 18: the driver's library was upgraded, the loaded module was not",
        ),
        _driver("driver-hang", Driver.HANG, "nvidia-smi never answers; the kernel log has Xid 119"),
        _driver(
            "driver-not-loaded",
            Driver.NOT_LOADED,
            "nvidia-smi exits 9: the module is installed and not loaded",
        ),
        _driver("driver-not-installed", Driver.NOT_INSTALLED, "there is no nvidia-smi and no module"),
        _driver("no-devices", Driver.NO_DEVICES, "nvidia-smi exits 6: the module could not start the card"),
        _driver("no-card", Driver.NO_CARD, "nothing of NVIDIA's on the bus"),
        Fault(
            "runtime-handler-missing",
            'no pod of RuntimeClass nvidia starts: no runtime for "nvidia" is configured in containerd',
            "",
            lambda node: _handler(node, nvidia=False),
            lambda node: _handler(node, nvidia=True),
        ),
        Fault(
            "runtime-binary-missing",
            "no pod of RuntimeClass nvidia starts: containerd names a program that is not there",
            "",
            lambda node: _stage(node, "remove-runtime"),
            lambda node: _stage(node, "install-runtime"),
        ),
        _program("kubelet-stopped", "kubelet", "the node becomes NotReady after 50 s"),
        _program("api-server-stopped", "kube-apiserver", "the API refuses connections"),
    )
}


def _known(name: str) -> Fault:
    if name not in FAULTS:
        raise UnknownFaultError(f"no simulated fault is called {name!r}: there are {', '.join(FAULTS)}")
    return FAULTS[name]


def active(layout: Layout) -> tuple[str, ...]:
    """The faults that are provoked now, oldest first."""
    try:
        return wire.decode((layout.simulate / "faults.json").read_bytes(), tuple[str, ...])
    except (OSError, wire.BadWireError):
        return ()


def _note(layout: Layout, names: tuple[str, ...]) -> None:
    configuration.write(layout.simulate / "faults.json", wire.pretty(names))


def break_(name: str, state_dir: Path | None = None) -> None:
    """Provoke a fault on the running node; provoking it again changes nothing."""
    fault = _known(name)
    node = find(Layout.of(state_dir))
    replaced = {one for one in FAULTS if fault.group and FAULTS[one].group == fault.group} | {name}
    # noted first: a fault that was provoked and not noted could not be healed
    _note(node.layout, (*(one for one in active(node.layout) if one not in replaced), name))
    fault.break_(node)


def heal(name: str, state_dir: Path | None = None) -> None:
    """Undo a fault on the running node; healing what is not broken changes nothing."""
    fault = _known(name)
    node = find(Layout.of(state_dir))
    present = active(node.layout)
    if name not in present:
        return
    fault.heal(node)
    _note(node.layout, tuple(one for one in present if one != name))
