"""The k3s service: asked, enabled, started and stopped through systemctl."""

import subprocess
import time
from collections.abc import Callable

import msgspec
from edge_llm_tests.errors import EdgeError, ExitCode

from k3s_nvidia_edge.node.layout import SERVICE

__all__ = ["Service", "ServiceError", "ServiceState"]

_DEADLINE_S = 30.0
_STOP_DEADLINE_S = 120.0  # k3s takes its time to close etcd
_PAUSE_S = 0.5
_JOURNAL = f"see `journalctl -u {SERVICE} -n 50`"


class ServiceError(EdgeError):
    """systemctl refused, or the service does not come up."""


class ServiceState(msgspec.Struct, frozen=True):
    """What systemd says of the service: its words for `LoadState`, `ActiveState` and `UnitFileState`."""

    load: str = "not-found"
    active: str = "inactive"
    enabled: str = ""


class Service(msgspec.Struct, frozen=True):
    """The k3s service of the host.

    Attributes:
        systemctl: The program.
    """

    systemctl: str = "systemctl"

    def state(self) -> ServiceState:
        """What systemd says; nothing of the service where systemd cannot be asked."""
        try:
            answer = self._run(
                ("show", SERVICE, "--property=LoadState,ActiveState,UnitFileState"), _DEADLINE_S
            )
        except ServiceError:
            return ServiceState()
        said = dict(line.partition("=")[::2] for line in answer.splitlines())
        return ServiceState(
            said.get("LoadState", "not-found"),
            said.get("ActiveState", "inactive"),
            said.get("UnitFileState", ""),
        )

    def reload(self) -> None:
        """Let systemd read its units again."""
        self._run(("daemon-reload",), _DEADLINE_S)

    def enable(self) -> None:
        """Let the service start with the machine."""
        self._run(("enable", SERVICE), _DEADLINE_S)

    def start(self, *, again: bool = False) -> None:
        """Ask systemd to start it, or to start it again; `wait_active` waits."""
        self._run(("restart" if again else "start", "--no-block", SERVICE), _DEADLINE_S)

    def wait_active(self, deadline_s: float, on_state: Callable[[str], None]) -> None:
        """Wait until it is active.

        Raises:
            ServiceError: It failed, or it took longer.
        """
        until_s = time.monotonic() + deadline_s
        while (state := self.state().active) != "active":
            on_state(state)
            if state == "failed":
                raise ServiceError(f"{SERVICE} has failed", _JOURNAL)
            if time.monotonic() > until_s:
                error = ServiceError(f"{SERVICE} is {state} after {deadline_s:.0f} s", _JOURNAL)
                error.exit_code = ExitCode.TIMEOUT
                raise error
            time.sleep(_PAUSE_S)

    def stop(self, *, unit: bool = True) -> None:
        """Stop it and end what it left running: the shims of its containers, and the pods' slice.

        k3s leaves pods running on purpose (`KillMode=process`); with the service gone they must go too.
        Without its `unit` file it may run on, and there is nothing left to disable.
        """
        self._run(("disable", "--now", SERVICE) if unit else ("stop", SERVICE), _STOP_DEADLINE_S)
        for argv in (
            ("kill", "--kill-whom=all", "--signal=SIGKILL", SERVICE),
            ("stop", "kubepods.slice"),
        ):
            try:
                self._run(argv, _STOP_DEADLINE_S)
            except ServiceError:
                continue  # nothing was left running

    def _run(self, argv: tuple[str, ...], deadline_s: float) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - a fixed list, no shell
                [self.systemctl, *argv],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=deadline_s,
                check=False,
            )
        except FileNotFoundError:
            raise ServiceError(
                f"{self.systemctl}: no such program",
                "k3s is run by systemd here; install it on a host that has it",
            ) from None
        except subprocess.TimeoutExpired:
            raise ServiceError(
                f"systemctl {' '.join(argv)}: no answer in {deadline_s:.0f} s", _JOURNAL
            ) from None
        except OSError as error:
            raise ServiceError(f"{self.systemctl}: {error.strerror}", "make it executable") from None
        if done.returncode != 0:
            said = " ".join((done.stderr or done.stdout).split())[-300:]
            raise ServiceError(
                f"systemctl {' '.join(argv)}: {said or f'exit code {done.returncode}'}", _JOURNAL
            )
        return done.stdout
