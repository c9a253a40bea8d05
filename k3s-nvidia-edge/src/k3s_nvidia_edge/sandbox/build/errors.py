"""The ways in which a build can be refused or fail; each says what failed and the next step."""

from collections.abc import Sequence
from pathlib import Path

from k3s_nvidia_edge.sandbox.errors import SandboxError

__all__ = ["BuildBusyError", "BuildError", "UnknownComponentError"]


class BuildError(SandboxError):
    """A component that could not be built.

    Attributes:
        component: its name, empty when the failure belongs to no component.
        command: the program that failed, with its arguments; empty when no program was involved.
        tail: the last lines that it wrote.
        log: the file with everything it wrote, if there is one.
        next_step: what to do now.
    """

    def __init__(
        self,
        problem: str,
        *,
        next_step: str,
        component: str = "",
        command: Sequence[str] = (),
        tail: Sequence[str] = (),
        log: Path | None = None,
    ) -> None:
        self.problem = problem
        self.component = component
        self.command = tuple(command)
        self.tail = tuple(tail)
        self.log = log
        self.next_step = next_step
        named = f"{component}: {problem}" if component else problem
        where = f" (whole output: {log})" if log else ""
        super().__init__(f"{named}{where}; {next_step}")

    def of(self, component: str) -> "BuildError":
        """The same failure, named after the component that it stopped."""
        return BuildError(
            self.problem,
            next_step=self.next_step,
            component=component,
            command=self.command,
            tail=self.tail,
            log=self.log,
        )


class BuildBusyError(SandboxError):
    """Another build is at work in the same cache."""


class UnknownComponentError(SandboxError):
    """There is no component of this name."""
