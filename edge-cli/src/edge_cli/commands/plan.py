"""`edge plan`: what `edge up` would change, layer by layer; nothing is changed."""

import sys
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from edge_cli.options import ContextOption, KubeconfigOption, OfflineOption, ProfileOption, SandboxOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edge_llm_tests.layer import Layer, Release
    from edge_llm_tests.profile import Profile

    from edge_cli.difference import Change
    from edge_cli.installer import Installer
    from edge_cli.revision import Revision
    from edge_cli.terminal import Paint

__all__ = ["plan"]


def plan(  # noqa: PLR0917 - typer passes options by name
    profile: ProfileOption = None,
    sandbox: SandboxOption = False,
    to: Annotated[
        str | None, typer.Option("--to", metavar="LAYER", help="Look no further than this layer.")
    ] = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    offline: OfflineOption = False,
    brief: Annotated[bool, typer.Option("--brief", help="Name what changes, without its lines.")] = False,
) -> None:
    """Show what `edge up` would change, layer by layer; nothing is changed, secrets are hidden.

    Compares what is installed with what would be. Whether the gates are open is what `edge status` shows.
    """
    from edge_llm_tests import load_layers  # noqa: PLC0415 - `edge plan --help` needs none of it
    from edge_llm_tests.profile import load_profile  # noqa: PLC0415 - as above

    from edge_cli.choice import layers_up_to  # noqa: PLC0415 - as above
    from edge_cli.installation import interruptible  # noqa: PLC0415 - as above
    from edge_cli.own_profile import carried  # noqa: PLC0415 - as above
    from edge_cli.settings import load_settings  # noqa: PLC0415 - as above
    from edge_cli.site import cluster_site, profile_name, running_sandbox_site  # noqa: PLC0415 - as above
    from edge_cli.supply import load_supply  # noqa: PLC0415 - as above
    from edge_cli.terminal import paint  # noqa: PLC0415 - as above

    settings = load_settings()
    layers = load_layers()
    seen = layers_up_to(to, layers)
    supply = load_supply(layers, offline=offline)
    if sandbox:
        site = running_sandbox_site(supply)
    else:
        _require_cluster(kubeconfig or settings.kubeconfig)
        site = cluster_site(kubeconfig or settings.kubeconfig, context or settings.context, supply)
    held_to = supply.profile(carried(load_profile(profile_name(profile, site), layers), layers), seen)
    for note in supply.notes(seen, held_to):
        typer.echo(note, err=True)
    for layer, intentions in interruptible(_intentions(site.installer, seen, held_to)):
        for line in _lines(layer, intentions, paint(), brief=brief):
            sys.stdout.write(f"{line}\n")


def _require_cluster(kubeconfig: str | None) -> None:
    """See that there is a cluster to compare with; on a bare host, say what shows the first step there."""
    from edge_llm_tests.errors import UsageError  # noqa: PLC0415 - see `plan`

    from edge_cli.node import no_cluster  # noqa: PLC0415 - see `plan`

    if lacking := no_cluster(kubeconfig):
        raise UsageError(
            lacking,
            "give --kubeconfig FILE; on a bare host, `edge node install --plan` shows what comes first",
        )


class Intention(msgspec.Struct, frozen=True):
    """What `edge up` would do with a release."""

    release: "Release"
    revision: "Revision | None"
    changes: "tuple[Change, ...]" = ()

    @property
    def words(self) -> str:
        """The same for people."""
        if self.revision is None:
            return "install"
        if self.revision.pending:
            return f"is {self.revision.status}: `edge up --recover` heals it"
        if self.revision.is_of(self.release):
            return f"unchanged, revision {self.revision.number}"
        return f"upgrade from revision {self.revision.number} ({self.revision.status})"


async def _intentions(
    installer: "Installer", layers: "tuple[Layer, ...]", profile: "Profile"
) -> "tuple[tuple[Layer, tuple[Intention, ...]], ...]":
    import asyncio  # noqa: PLC0415 - see `plan`

    async def of(layer: "Layer") -> "tuple[Intention, ...]":
        releases = layer.releases(profile.values)
        return tuple(await asyncio.gather(*(_intention(installer, release) for release in releases)))

    found = await asyncio.gather(*(of(layer) for layer in layers))
    return tuple(zip(layers, found, strict=True))


async def _intention(installer: "Installer", release: "Release") -> Intention:
    import asyncio  # noqa: PLC0415 - see `plan`

    from edge_cli.difference import difference  # noqa: PLC0415 - see `plan`

    revision = await installer.revision(release)
    if revision is not None and (revision.pending or revision.is_of(release)):
        return Intention(release, revision)
    before, after = await asyncio.gather(installer.manifest(release), installer.rendered(release))
    return Intention(release, revision, difference(before, after, release.namespace))


def _lines(
    layer: "Layer", intentions: tuple[Intention, ...], paint: "Paint", *, brief: bool
) -> "Iterator[str]":
    if not intentions:
        return
    yield paint(f"layer {layer.name} ({layer.owner})", "bold")
    for intention in intentions:
        release = intention.release
        yield f"  release {release.name} in {release.namespace}: {paint(intention.words, 'bold')}"
        for change in intention.changes:
            mark, style = _MARKS[change.kind.value]
            yield f"    {paint(mark, style)} {change.name}{' (stays in the cluster)' if mark == '=' else ''}"
            if not brief:
                yield from (f"        {paint(line, *_style(line))}" for line in change.lines)


def _style(line: str) -> tuple[str, ...]:
    return {"+": ("green",), "-": ("red",), "@": ("dim",)}.get(line[:1], ())


_MARKS = {"add": ("+", "green"), "change": ("~", "yellow"), "remove": ("-", "red"), "keep": ("=", "dim")}
