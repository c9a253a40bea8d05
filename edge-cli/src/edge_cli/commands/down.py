"""`edge down`: what `edge up` installed, removed again, top layer first."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from edge_cli.options import ContextOption, KubeconfigOption

if TYPE_CHECKING:
    from edge_cli.removal import Found, Removal

__all__ = ["down"]


def down(
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="Stop the sandbox's node; its data stays.")
    ] = False,
    purge_volumes: Annotated[
        bool, typer.Option("--purge-volumes", help="Delete the volumes as well: models and metrics are lost.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove what `edge up` installed, top layer first; volumes stay.

    Only releases that `edge up` made are touched, and namespaces that it made, once nothing is in them; never
    `default` or a `kube-` namespace. Webhooks without a service and definitions that Helm leaves are named.
    """
    from edge_llm_tests.errors import UsageError  # noqa: PLC0415 - `edge down --help` needs none of it

    if sandbox:
        if kubeconfig or context or purge_volumes:
            raise UsageError(
                "--sandbox stops the node itself",
                "leave the other options out; `edge sandbox down --purge` removes its data",
            )
        from edge_cli.commands.sandbox import down as sandbox_down  # noqa: PLC0415 - one of two ways

        sandbox_down()
        return
    _remove(kubeconfig, context, purge_volumes=purge_volumes, yes=yes)


def _remove(kubeconfig: str | None, context: str | None, *, purge_volumes: bool, yes: bool) -> None:
    from edge_llm_tests import load_layers  # noqa: PLC0415 - see `down`

    from edge_cli.installation import interruptible  # noqa: PLC0415 - see `down`
    from edge_cli.node import has_k3s  # noqa: PLC0415 - see `down`
    from edge_cli.remains import remains  # noqa: PLC0415 - see `down`
    from edge_cli.removal import find, remove  # noqa: PLC0415 - see `down`
    from edge_cli.render.progress import error_console, showing  # noqa: PLC0415 - see `down`
    from edge_cli.settings import load_settings  # noqa: PLC0415 - see `down`
    from edge_cli.site import cluster_site  # noqa: PLC0415 - see `down`
    from edge_cli.tenure import tenure  # noqa: PLC0415 - see `down`

    settings = load_settings()
    site = cluster_site(kubeconfig or settings.kubeconfig, context or settings.context)
    found = interruptible(find(site.installer, load_layers()))
    if not found.releases and not found.namespaces_to_go(purge_volumes=purge_volumes):
        kept = f"; {len(found.claims)} volumes are kept (`--purge-volumes`)" if found.claims else ""
        sys.stdout.write(f"Nothing to remove: no release in this cluster was made by `edge up`{kept}.\n")
        return
    _agree(found, site.target.context, purge_volumes=purge_volumes, yes=yes)
    rows = tuple(dict.fromkeys(layer for layer, _ in found.releases))

    async def work(found: "Found") -> "Removal":
        async with tenure(site.installer) as held:
            return await remove(site.installer, found, tell, purge_volumes=purge_volumes, may_act=held.check)

    with showing(error_console(), rows) as tell:
        done = interruptible(work(found))
    for release in done.releases:
        sys.stdout.write(f"removed  release {release.name} in {release.namespace}\n")
    for claim in done.claims:
        sys.stdout.write(f"deleted  volume {claim}\n")
    for namespace in done.namespaces:
        sys.stdout.write(f"removed  namespace {namespace}\n")
    for claim in done.kept_claims:
        sys.stdout.write(
            f"kept     volume {claim} (`--purge-volumes` deletes it; the next `edge up` finds it)\n"
        )
    for namespace, why in done.kept_namespaces.items():
        sys.stdout.write(f"kept     namespace {namespace}: {why}\n")
    for remain in remains(site.installer.send, done.releases, found.namespaces):
        delete = f"kubectl delete {remain.kind} {remain.name}"
        sys.stdout.write(f"left     {remain.kind} {remain.name}: {remain.why} (`{delete}`)\n")
    if has_k3s():
        sys.stdout.write("left     k3s on this host (`edge node uninstall` removes it)\n")


def _agree(found: "Found", context: str, *, purge_volumes: bool, yes: bool) -> None:
    """Say what goes and ask; without a terminal --yes has to be given."""
    from edge_llm_tests.errors import UsageError  # noqa: PLC0415 - see `down`

    if yes:
        return
    for layer, release in found.releases:
        typer.echo(f"remove  release {release.name} in {release.namespace} (layer {layer})", err=True)
    for namespace, claim in found.claims:
        typer.echo(f"{'DELETE' if purge_volumes else 'keep':<7} volume {namespace}/{claim}", err=True)
    for namespace in found.namespaces_to_go(purge_volumes=purge_volumes):
        typer.echo(f"remove  namespace {namespace}, once nothing is in it", err=True)
    if not sys.stdin.isatty():
        raise UsageError("this removes what is listed, and nobody is there to be asked", "give --yes")
    typer.confirm(f"Remove it from the cluster of context {context}?", abort=True, err=True)
