"""The sandbox as the command line uses it: built, started, found; its errors as errors with an exit code."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from edge_llm_tests.errors import EdgeError, ExitCode

from edge_cli.duration import spoken
from edge_cli.progress import OnProgress, Progress, Stage

if TYPE_CHECKING:
    from k3s_nvidia_edge.node.images import Brought
    from k3s_nvidia_edge.sandbox.build import Artifacts, Planned

__all__ = [
    "SANDBOX",
    "SandboxCommandError",
    "announce_build",
    "build_sandbox",
    "built_helm",
    "built_images",
    "planned",
    "sandbox_faults",
    "start_sandbox",
]

SANDBOX = "sandbox"  # the name of the known cluster, of its profile, and of its line in the progress


class SandboxCommandError(EdgeError):
    """The sandbox could not be built, started or found; its own words say what and what to do."""


def start_sandbox(
    tell: OnProgress, state_dir: Path | None = None, brought: "Sequence[Brought]" = ()
) -> tuple[Path, Path]:
    """Kubeconfig and helm of the sandbox: what is missing is built, the node started or found running.

    Args:
        tell: Is told of each step.
        state_dir: Where the node keeps everything.
        brought: Images of a bundle, in the place of those that are built for what is installed.

    Raises:
        SandboxCommandError: It cannot be built or started here.
    """
    from k3s_nvidia_edge import sandbox  # noqa: PLC0415 - only who uses the sandbox pays

    artifacts = build_sandbox(tell)
    if brought:
        artifacts = _with_images(artifacts, brought)
    with sandbox_faults():
        node = sandbox.up(
            artifacts,
            state_dir,
            on_progress=lambda event: tell(Progress(Stage.PREPARE, SANDBOX, event.step, event.message)),
            wait_for_images=[image.ref for image in artifacts.images],
        )
    tell(Progress(Stage.HOLDS, SANDBOX, message="the node is Ready, all images are in it"))
    return node.kubeconfig, artifacts.program("helm")


def _with_images(artifacts: "Artifacts", brought: "Sequence[Brought]") -> "Artifacts":
    """The node's own images as they are built, all others from a bundle."""
    from k3s_nvidia_edge.sandbox.bringup import own_images  # noqa: PLC0415 - only who is offline pays
    from k3s_nvidia_edge.sandbox.build.image import ImageArchive  # noqa: PLC0415 - only who is offline pays
    from msgspec.structs import replace  # noqa: PLC0415 - only who is offline pays

    refs = {each.ref for each in brought}
    own = tuple(each for each in own_images(artifacts.images) if each.ref not in refs)
    return replace(
        artifacts, images=(*own, *(ImageArchive(each.ref, each.path, each.digest) for each in brought))
    )


def planned(names: tuple[str, ...] = ()) -> tuple["Planned", ...]:
    """What a build of these components, or of all, would do."""
    from k3s_nvidia_edge.sandbox.build import plan  # noqa: PLC0415 - only who uses the sandbox pays

    with sandbox_faults():
        return plan(names or None)


def build_cost(parts: tuple["Planned", ...]) -> str:
    """What building takes, in words."""
    seconds = sum(each.estimated_seconds for each in parts)
    disk_mib = sum(each.disk_mib for each in parts)
    return f"{len(parts)} parts to build: about {spoken(seconds)} on two cores, {disk_mib} MiB of results"


def announce_build(names: tuple[str, ...] = (), *, ask: bool = False) -> None:
    """Say what building the missing parts of the sandbox takes; ask, if told to and on a terminal.

    Raises:
        typer.Abort: The user does not want it.
    """
    parts = tuple(each for each in planned(names) if not each.cached)
    if not parts:
        return
    import sys  # noqa: PLC0415 - used here alone

    import typer  # noqa: PLC0415 - used here alone

    typer.echo(f"The sandbox: {build_cost(parts)}. What is complete is kept when interrupted.", err=True)
    if ask and sys.stdin.isatty():
        typer.confirm("Build it now?", default=True, abort=True, err=True)


def build_sandbox(tell: OnProgress, names: tuple[str, ...] = ()) -> "Artifacts":
    """The sandbox's programs, images and model; what is missing of them is built now.

    Raises:
        SandboxCommandError: Something could not be built.
    """
    from k3s_nvidia_edge.sandbox.build import BuildProgress, build  # noqa: PLC0415 - only who uses the sandbox pays

    def say(event: BuildProgress) -> None:
        subject = f"build [{event.done}/{event.count}]"
        if event.step == "detail":
            subject = f"{subject} {event.component}"
        tell(Progress(Stage.PREPARE, SANDBOX, subject, event.message))

    with sandbox_faults():
        return build(names or None, say)


def built_images(tell: OnProgress, refs: tuple[str, ...]) -> dict[str, Path]:
    """Archives of those of the images that this project builds itself, by reference; built now where missing.

    Raises:
        SandboxCommandError: One could not be built.
    """
    from k3s_nvidia_edge.sandbox.build.components import COMPONENTS  # noqa: PLC0415 - only who uses the sandbox pays
    from k3s_nvidia_edge.sandbox.build.image import reference  # noqa: PLC0415 - only who uses the sandbox pays
    from k3s_nvidia_edge.sandbox.build.recipes import ImageRecipe  # noqa: PLC0415 - only who uses the sandbox pays

    names = tuple(
        each.name
        for each in COMPONENTS
        if isinstance(each.recipe, ImageRecipe) and reference(each.recipe) in refs
    )
    if not names:
        return {}
    return {image.ref: image.path for image in build_sandbox(tell, names).images}


def built_helm() -> Path | None:
    """The sandbox's own helm, if it is built."""
    from k3s_nvidia_edge.sandbox.build import build  # noqa: PLC0415 - only who uses the sandbox pays

    if not all(each.cached for each in planned(("helm",))):
        return None
    with sandbox_faults():
        return build(["helm"]).program("helm")


@contextmanager
def sandbox_faults() -> Iterator[None]:
    """The sandbox's errors inside as the command line's; SIGTERM ends it like Ctrl-C, compilers and all."""
    from k3s_nvidia_edge.sandbox import NotReadyError, PrerequisiteError, SandboxError  # noqa: PLC0415 - see above

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except SandboxError as error:
        fault = SandboxCommandError(str(error), "")
        if isinstance(error, NotReadyError):
            fault.exit_code = ExitCode.TIMEOUT
        elif isinstance(error, PrerequisiteError):
            fault.exit_code = ExitCode.USAGE
        raise fault from None
    finally:
        signal.signal(signal.SIGTERM, before)
