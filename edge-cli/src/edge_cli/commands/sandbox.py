"""`edge sandbox`: a disposable real cluster on this machine, with a SIMULATED card."""

import sys
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["sandbox"]

StateDirOption = Annotated[
    Path | None,
    typer.Option(
        "--state-dir", metavar="DIR", help="Where it keeps everything [$XDG_STATE_HOME/edge/sandbox]."
    ),
]

sandbox = typer.Typer(
    help="A disposable real cluster of one node on this machine, with a SIMULATED card.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@sandbox.command()
def build(
    components: Annotated[
        list[str] | None, typer.Argument(help="Build these and what they are made of [everything].")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show what a build would do, and do nothing.")] = False,
) -> None:
    """Build what the sandbox is made of, from pinned sources, into a cache."""
    from edge_cli.render.progress import error_console, showing  # noqa: PLC0415 - only this command pays
    from edge_cli.sandbox import SANDBOX, announce_build, build_sandbox, planned  # noqa: PLC0415 - as above

    names = tuple(components or ())
    if plan:
        for part in planned(names):
            state = "cached" if part.cached else f"{part.estimated_seconds} s"
            sys.stdout.write(
                f"{part.component.name:32}{part.component.version:14}{state:>8}{part.disk_mib:>7} MiB\n"
            )
        return
    announce_build(names)
    with showing(error_console(), (SANDBOX,)) as tell:
        artifacts = build_sandbox(tell, names)
    sys.stdout.write(f"programs    {artifacts.bin_dir}\n")
    for image in artifacts.images:
        sys.stdout.write(f"image       {image.ref}\n")
    for model in artifacts.models:
        sys.stdout.write(f"model       {model}\n")


@sandbox.command()
def up(state_dir: StateDirOption = None) -> None:
    """Start the node, or find it running; what is missing is built first. Installs nothing on it."""
    from edge_cli.render.progress import error_console, showing  # noqa: PLC0415 - only this command pays
    from edge_cli.sandbox import SANDBOX, announce_build, start_sandbox  # noqa: PLC0415 - as above

    announce_build()
    with showing(error_console(), (SANDBOX,)) as tell:
        kubeconfig, _ = start_sandbox(tell, state_dir)
    sys.stdout.write(f"export KUBECONFIG={kubeconfig}\n")


@sandbox.command()
def down(
    state_dir: StateDirOption = None,
    purge: Annotated[bool, typer.Option("--purge", help="Remove its data as well.")] = False,
) -> None:
    """Stop the node: no process, mount, namespace or route of it stays; its data does."""
    from k3s_nvidia_edge import sandbox as node  # noqa: PLC0415 - only this command pays

    from edge_cli.progress import Progress, Stage  # noqa: PLC0415 - as above
    from edge_cli.render.progress import error_console, showing  # noqa: PLC0415 - as above
    from edge_cli.sandbox import SANDBOX, sandbox_faults  # noqa: PLC0415 - as above

    with showing(error_console(), (SANDBOX,)) as tell, sandbox_faults():
        node.down(
            state_dir,
            purge=purge,
            on_progress=lambda event: tell(Progress(Stage.REMOVE, SANDBOX, event.step, event.message)),
        )


@sandbox.command()
def status(state_dir: StateDirOption = None) -> None:
    """What the node does, program by program."""
    from k3s_nvidia_edge.sandbox import status as look  # noqa: PLC0415 - only this command pays

    from edge_cli.sandbox import sandbox_faults  # noqa: PLC0415 - as above

    with sandbox_faults():
        seen = look(state_dir)
    lines = [("state", f"{seen.state} ({seen.state_dir})")]
    if seen.node is not None:
        ready = "Ready" if seen.ready else f"not Ready: {seen.message}"
        lines += [("node", f"pid {seen.node.init_pid}, {ready}"), ("kubeconfig", str(seen.node.kubeconfig))]
        lines += [("add-ons", "applied" if seen.addons_applied else "not applied yet")]
        lines += [("program", f"{program.name} {program.state}") for program in seen.programs]
        lines += [("image", f"{ref}{f': {error}' if error else ''}") for ref, error in seen.images.items()]
        lines += [("fault", f"{name} (SIMULATED, provoked)") for name in seen.faults]
    sys.stdout.write("".join(f"{name:<12}{text}\n" for name, text in lines))


@sandbox.command()
def shell(
    command: Annotated[
        list[str] | None, typer.Argument(help="Run this inside instead of a shell; write -- before it.")
    ] = None,
    state_dir: StateDirOption = None,
) -> None:
    """Enter the node: kubectl, helm, crictl and the SIMULATED nvidia-smi are there."""
    import os  # noqa: PLC0415 - only this command pays

    from k3s_nvidia_edge.sandbox.layout import Layout  # noqa: PLC0415 - as above
    from k3s_nvidia_edge.sandbox.node import find  # noqa: PLC0415 - as above

    from edge_cli.sandbox import sandbox_faults  # noqa: PLC0415 - as above

    with sandbox_faults():
        entered = find(Layout.of(state_dir)).enter_argv(command or ["bash", "--norc"])
    sys.stdout.flush()
    os.execvp(entered[0], entered)  # noqa: S606 - becoming the program is the point
