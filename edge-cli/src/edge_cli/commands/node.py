"""`edge node`: k3s on this host: installed, looked at, removed again."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from edge_cli.options import K3sFromOption, ProfileOption

if TYPE_CHECKING:
    from k3s_nvidia_edge.node import Removal
    from k3s_nvidia_edge.node.survey import Survey

__all__ = ["node"]

node = typer.Typer(
    help="Install, show and remove k3s on this host.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@node.command()
def install(
    profile: ProfileOption = None,
    k3s_from: K3sFromOption = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show what would be done, and do nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Install k3s, pinned and checked; what is right stays.

    The contracts of layer 0 must hold first. An installation that is not ours is never touched: each sign of
    one is named. The driver is checked, never installed. Exit code: 0 done, 2 refused, 3 a contract of layer
    0 does not hold, 5 k3s does not come up.
    """
    from edge_llm_tests import load_layers  # noqa: PLC0415 - with the command

    from edge_cli.node import K3S, agree, plan_lines, settle, undertaking  # noqa: PLC0415 - with the command
    from edge_cli.render.progress import error_console, showing  # noqa: PLC0415 - with the command
    from edge_cli.settings import environment_settings  # noqa: PLC0415 - with the command

    layers = load_layers()
    work = undertaking(profile or environment_settings().profile, layers, k3s_from)
    if plan or not work.plan.steps:
        sys.stdout.write("".join(f"{line}\n" for line in plan_lines(work.plan)))
        return
    agree(work, agreed=yes, flag="--yes")
    with showing(error_console(), (K3S,)) as tell:
        kubeconfig = settle(work, layers, tell)
    sys.stdout.write(f"export KUBECONFIG={kubeconfig}\n")


@node.command()
def status() -> None:
    """Show what of k3s is on this host, and whose."""
    from k3s_nvidia_edge.node.survey import survey  # noqa: PLC0415 - with the command

    from edge_cli.node import this_host  # noqa: PLC0415 - with the command

    host = this_host()
    seen = survey(host.root, host.service, ())
    sys.stdout.write("".join(f"{name:<12}{text}\n" for name, text in _status(seen)))


def _status(seen: "Survey") -> list[tuple[str, str]]:
    record = seen.record
    if seen.traces:
        return [
            ("state", "a cluster that `edge` did not install"),
            *((each.what, each.where) for each in seen.traces),
        ]
    if record is None:
        return [("state", "no cluster (`edge up` installs k3s)")]
    if not record.complete:
        return [("state", "an installation was interrupted (`edge up --install-k3s` goes on)")]
    lines = [("state", f"k3s {record.version} for profile {record.profile}")]
    if "/usr/local/bin/k3s" not in record.files:
        lines = [("state", "no cluster; what stayed of an earlier one is taken up by the next")]
    else:
        lines.append(("service", f"{seen.service.active}, {seen.service.enabled or 'not enabled'}"))
    for path, sums in record.files.items():
        entry = seen.entries.get(path)
        words = "missing" if entry is None else "as installed" if entry.sha256 in sums else "edited"
        lines.append(("file", f"{path}  {words}"))
    return lines + [("data", path) for path in record.data if path in seen.data]


@node.command()
def uninstall(
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete the cluster's data as well: volumes and models are lost.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove k3s; the cluster's data stays.

    Files that were installed and that nobody edited since are deleted; the others are named.
    """
    from k3s_nvidia_edge.node import forget, removable, remove  # noqa: PLC0415 - with the command

    from edge_cli.node import K3S, this_host  # noqa: PLC0415 - with the command
    from edge_cli.progress import Progress, Stage  # noqa: PLC0415 - with the command
    from edge_cli.render.progress import error_console, showing  # noqa: PLC0415 - with the command

    host = this_host()
    record, found = removable(host, purge=purge)
    if record is None or not (found.files or found.data):
        sys.stdout.write("Nothing to remove: no k3s on this host was installed by `edge`.\n")
        if record is not None:
            forget(host, record, found)
            _tell_kept(found)
        return
    _agree(found, yes=yes)
    with showing(error_console(), (K3S,)) as tell:
        remove(host, record, found, lambda what: tell(Progress(Stage.REMOVE, K3S, "", what)))
    for path in (*found.files, *found.data):
        sys.stdout.write(f"removed  {path}\n")
    _tell_kept(found)


def _tell_kept(found: "Removal") -> None:
    for path, why in found.kept.items():
        sys.stdout.write(f"kept     {path}: {why}\n")


def _agree(found: "Removal", *, yes: bool) -> None:
    """Say what goes and ask; without a terminal --yes has to be given."""
    from edge_llm_tests.errors import UsageError  # noqa: PLC0415 - with the command

    if yes:
        return
    for path in found.files:
        typer.echo(f"remove  {path}", err=True)
    for path in found.data:
        typer.echo(f"DELETE  {path}", err=True)
    for path, why in found.kept.items():
        typer.echo(f"keep    {path}: {why}", err=True)
    if not sys.stdin.isatty():
        raise UsageError("this stops k3s and removes it, and nobody is there to be asked", "give --yes")
    typer.confirm("Remove k3s from this host?", abort=True, err=True)
