"""`edge up`: the platform, installed layer by layer; a layer starts only when the contracts below it hold."""

from typing import TYPE_CHECKING, Annotated

import typer

from edge_cli.options import (
    ContextOption,
    HostOption,
    K3sFromOption,
    KubeconfigOption,
    OfflineOption,
    OutputOption,
    ProfileOption,
    SshConfigOption,
    SudoOption,
)

if TYPE_CHECKING:
    from edge_llm_tests.layer import Layer
    from edge_llm_tests.profile import Profile

    from edge_cli.progress import OnProgress
    from edge_cli.supply import Supply

__all__ = ["up"]

_DEFAULT_TIMEOUT = "10m"


def up(  # noqa: PLR0915, PLR0917 - imports are statements here; typer passes options by name
    profile: ProfileOption = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="On a disposable cluster, built and started here.")
    ] = False,
    to: Annotated[
        str | None, typer.Option("--to", metavar="LAYER", help="Go no further than this layer.")
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="TIME", help="How long the contracts of a layer may take [10m]."),
    ] = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    host: HostOption = None,
    ssh_config: SshConfigOption = None,
    sudo: SudoOption = False,
    recover: Annotated[
        bool, typer.Option("--recover", help="Heal releases whose last operation never ended.")
    ] = False,
    install_k3s: Annotated[
        bool,
        typer.Option("--install-k3s", help="Install k3s on this host first; without a cluster, it is asked."),
    ] = False,
    k3s_from: K3sFromOption = None,
    rollback: Annotated[
        bool,
        typer.Option("--rollback", help="Go back to the revision before where an upgrade does not hold."),
    ] = False,
    offline: OfflineOption = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    output: OutputOption = None,
) -> None:
    """Install the platform layer by layer, each behind its gate.

    For each layer: the contracts of the layers below must hold, then Helm installs its releases, then its
    own contracts are waited for. What is unchanged is left alone; an interrupted run is gone on with. On a
    host without a cluster, k3s is installed first, once that is agreed to (`edge node install`). Exit
    code: 0 holds, 3 a contract failed or a gate is closed, 5 timed out, 6 unreachable, 7 not authorised.
    """
    from edge_llm_tests import load_layers  # noqa: PLC0415 - `edge up --help` needs none of it
    from edge_llm_tests.profile import load_profile  # noqa: PLC0415 - as above

    from edge_cli.choice import chosen, layers_up_to  # noqa: PLC0415 - as above
    from edge_cli.conclusion import Conclusion  # noqa: PLC0415 - as above
    from edge_cli.duration import parse_duration  # noqa: PLC0415 - as above
    from edge_cli.hosts import chosen_hosts  # noqa: PLC0415 - as above
    from edge_cli.installation import install, return_from  # noqa: PLC0415 - as above
    from edge_cli.node import K3S, agreed_undertaking, settle  # noqa: PLC0415 - as above
    from edge_cli.own_profile import carried, right_profile  # noqa: PLC0415 - as above
    from edge_cli.patience import Limits  # noqa: PLC0415 - as above
    from edge_cli.render import Output  # noqa: PLC0415 - as above
    from edge_cli.render.ascent import render  # noqa: PLC0415 - as above
    from edge_cli.render.progress import error_console, showing  # noqa: PLC0415 - as above
    from edge_cli.return_offer import offered_return  # noqa: PLC0415 - as above
    from edge_cli.sandbox import SANDBOX, announce_build  # noqa: PLC0415 - as above
    from edge_cli.settings import environment_settings, load_settings  # noqa: PLC0415 - as above
    from edge_cli.site import cluster_site, profile_name, sandbox_site  # noqa: PLC0415 - as above
    from edge_cli.supply import load_supply  # noqa: PLC0415 - as above
    from edge_cli.terminal import stdout_page, write_document  # noqa: PLC0415 - as above
    from edge_cli.timings import span  # noqa: PLC0415 - as above

    settings = load_settings()
    chosen_output = Output(chosen("--output", output or settings.output or "table", tuple(Output)))
    limits = Limits(timeout_s=parse_duration(timeout or settings.timeout or _DEFAULT_TIMEOUT))
    layers = load_layers()
    climbed = layers_up_to(to, layers)
    supply = load_supply(layers, offline=offline)
    _check_place(kubeconfig or context, sandbox=sandbox, install_k3s=install_k3s)
    hosts = chosen_hosts(host, ssh_config, sudo, {"--sandbox": sandbox, "--install-k3s": install_k3s})
    asked = profile or (SANDBOX if sandbox else environment_settings().profile)
    if asked:
        # a wrong name, or a bundle without it, is said before half an hour of building
        supply.profile(right_profile(asked, layers), climbed)
    if sandbox:
        announce_build(ask=not yes)
    given = kubeconfig or settings.kubeconfig
    k3s = (
        None
        if sandbox
        else agreed_undertaking(
            given, asked, layers, k3s_from or supply.k3s, install=install_k3s, offline=offline
        )
    )
    rows = (SANDBOX,) * sandbox + (K3S,) * (k3s is not None) + tuple(layer.name for layer in climbed)
    with showing(error_console(), rows) as tell:
        if sandbox:
            with span("sandbox"):
                site = sandbox_site(tell, supply)
        elif k3s is not None:
            site = cluster_site(str(settle(k3s, layers, tell)), None, supply)
        else:
            read = hosts.connected(settings, most=1)
            site = cluster_site(given, context or settings.context, supply, read)
        held_to = supply.profile(carried(load_profile(profile_name(asked, site), layers), layers), climbed)
        _bring(supply, climbed, held_to, tell, sandbox=site.profile == SANDBOX)
        ascent = install(site, climbed, held_to, limits, tell, recover=recover)
    back = offered_return(
        ascent,
        lambda tell: return_from(ascent, site, climbed, held_to, limits=limits, tell=tell),
        wanted=rollback,
        ask=not yes,
    )
    for said in supply.strangers((back or ascent).look.recording):
        typer.echo(f"not as pinned: {said}", err=True)
    conclusion = Conclusion(ascent, climbed, held_to, site.kubeconfig, site.profile == SANDBOX, back)
    write_document(render(conclusion, chosen_output, stdout_page()), for_eyes=chosen_output is Output.TABLE)
    raise typer.Exit(conclusion.exit_code)


def _bring(
    supply: "Supply", layers: "tuple[Layer, ...]", profile: "Profile", tell: "OnProgress", *, sandbox: bool
) -> None:
    """Say what should be known of where everything comes from, and bring a bundle's images to the node."""
    for note in supply.notes(layers, profile):
        typer.echo(note, err=True)
    images = supply.images(layers, profile)
    if images and not sandbox:  # the sandbox's node was given them when it started
        from edge_cli.node import bring_images  # noqa: PLC0415 - see `up`

        bring_images(images, tell, required=supply.offline)


def _check_place(cluster: str | None, *, sandbox: bool, install_k3s: bool) -> None:
    from edge_llm_tests.errors import UsageError  # noqa: PLC0415 - see `up`

    if sandbox and cluster:
        raise UsageError("--sandbox brings its own kubeconfig", "leave --kubeconfig and --context out")
    if install_k3s and (sandbox or cluster):
        raise UsageError(
            "--install-k3s makes the cluster on this host", "leave --sandbox, --kubeconfig and --context out"
        )
