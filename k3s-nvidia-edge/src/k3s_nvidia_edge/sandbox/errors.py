"""The ways in which the sandbox can refuse or fail; each message names what was wrong and the next step."""

from pathlib import Path

__all__ = [
    "AddressTakenError",
    "AlreadyRunningError",
    "BusyError",
    "NotReadyError",
    "NotRunningError",
    "PrerequisiteError",
    "RecordError",
    "SandboxError",
    "StartError",
    "UnknownFaultError",
]


class SandboxError(Exception):
    """Anything that keeps the sandbox from doing what it was asked; one line for the operator."""


class PrerequisiteError(SandboxError):
    """This machine lacks something that the node needs.

    Attributes:
        missing: one line for each thing, with its next step.
    """

    def __init__(self, missing: tuple[str, ...]) -> None:
        self.missing = missing
        super().__init__("this machine cannot run the sandbox: " + "; ".join(missing))


class AlreadyRunningError(SandboxError):
    """Another sandbox is up on this machine; there is room for one.

    Attributes:
        state_dir: the state directory of the one that is up.
    """

    def __init__(self, state_dir: str, init_pid: int | None) -> None:
        self.state_dir = state_dir
        node = f", node pid {init_pid}" if init_pid else ""
        super().__init__(
            f"a sandbox is already up (state directory {state_dir}{node}) and a machine has room for one: "
            f"stop it with `edge sandbox down --state-dir {state_dir}`"
        )


class BusyError(SandboxError):
    """Another `up` or `down` is at work on this machine."""


class AddressTakenError(SandboxError):
    """Something else on this machine uses an address range or an interface name of the sandbox."""


class NotRunningError(SandboxError):
    """There is no running node in this state directory."""

    def __init__(self, state_dir: Path) -> None:
        super().__init__(f"no sandbox is up in {state_dir}: start one with `edge sandbox up`")


class RecordError(SandboxError):
    """The record of what was made cannot be read."""


class StartError(SandboxError):
    """The node's first process failed before it could become the supervisor."""


class NotReadyError(SandboxError):
    """The node runs and did not become ready in time."""


class UnknownFaultError(SandboxError):
    """There is no simulated fault of this name."""
