"""The build on its own, in plain lines: `python -m k3s_nvidia_edge.sandbox.build [--plan] [NAME ...]`."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType
from typing import Final

from k3s_nvidia_edge.sandbox.build import Artifacts, BuildError, BuildProgress, build, plan
from k3s_nvidia_edge.sandbox.errors import SandboxError

FAILED: Final = 1
INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Plan or build, and say where the results are."""
    parser = argparse.ArgumentParser(prog="python -m k3s_nvidia_edge.sandbox.build", description=__doc__)
    parser.add_argument(
        "components", nargs="*", help="components to build with what they are made of (default: all)"
    )
    parser.add_argument("--plan", action="store_true", help="show what a build would do, and do nothing")
    asked = parser.parse_args(arguments)
    names = asked.components or None
    signal.signal(signal.SIGTERM, _interrupt)  # so that the programs under way are ended, as on Ctrl-C
    try:
        if asked.plan:
            _show_plan(names)
        else:
            _show(build(names, _Lines()))
    except BuildError as error:
        for line in error.tail[-10:]:
            sys.stderr.write(f"    {line}\n")
        sys.stderr.write(f"error: {error}\n")
        return FAILED
    except SandboxError as error:
        sys.stderr.write(f"error: {error}\n")
        return FAILED
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what was complete is kept, run it again to go on\n")
        return INTERRUPTED
    return 0


class _Lines:
    """A listener that prints: every event but the details, and of these one in a while to show life."""

    LIFE_SIGN_S: Final = 15.0

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, event: BuildProgress) -> None:
        now = time.monotonic()
        if event.step == "detail" and now - self._last < self.LIFE_SIGN_S:
            return
        self._last = now
        subject = f"{event.component}: " if event.step == "detail" else ""
        took = f" ({event.elapsed_s:.0f} s)" if event.step in {"detail", "done"} else ""
        sys.stderr.write(f"[{event.done}/{event.count}] {subject}{event.message}{took}\n")
        sys.stderr.flush()


def _show_plan(names: Sequence[str] | None) -> None:
    for step in plan(names):
        state = "cached" if step.cached else f"{step.estimated_seconds} s"
        sys.stdout.write(
            f"{step.component.name:32}{step.component.version:12}{state:>8}{step.disk_mib:>6} MiB\n"
        )


def _show(artifacts: Artifacts) -> None:
    sys.stdout.write(f"programs     {artifacts.bin_dir}\nCNI plugins  {artifacts.cni_dir}\n")
    for image in artifacts.images:
        sys.stdout.write(f"image        {image.ref}  {image.digest}  {image.path}\n")
    for model in artifacts.models:
        sys.stdout.write(f"model        {model}\n")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
