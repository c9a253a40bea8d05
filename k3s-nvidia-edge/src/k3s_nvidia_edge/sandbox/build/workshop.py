"""What a component is made with: tools, other components' outputs, a log, a way to say how far it is."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from k3s_nvidia_edge.sandbox.build.cache import Cache
from k3s_nvidia_edge.sandbox.build.process import Processes
from k3s_nvidia_edge.sandbox.build.toolchain import Toolchain

__all__ = ["Workshop"]


class Workshop(msgspec.Struct, frozen=True):
    """The surroundings of one component's making.

    Attributes:
        cache: where finished outputs are.
        toolchain: which tools are used.
        tools: the virtual environment with pip and with the tools that PATH lacks.
        processes: starts programs, and ends them when the build is interrupted.
        outputs: the output directory of every component, finished or not.
        log: where programs' output goes.
        say: takes a line about the progress within the component.
    """

    cache: Cache
    toolchain: Toolchain
    tools: Path
    processes: Processes
    outputs: Mapping[str, Path]
    log: Path
    say: Callable[[str], None]

    def program(self, name: str) -> str:
        """The path of a tool."""
        return self.toolchain.program(name, self.tools)
