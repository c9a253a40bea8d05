"""`edge lock`: every chart and image by digest, asked anew of where it is published."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from edge_llm_tests.layer import Layer
    from edge_llm_tests.profile import Profile

    from edge_cli.lock import Lock
    from edge_cli.lock_renewal import Renewal

__all__ = ["lock"]

_HEADING = "Charts and images by digest: `edge lock` renews it.\nAn empty digest means not pinned."
_SHIPPED_HEADING = (
    "The charts and images of the profiles of this package: `edge lock` renews it.\n"
    "An empty digest means not pinned: the registry decides what the tag is, and `edge up` says so."
)


def lock(
    profile: Annotated[
        list[str] | None,
        typer.Option(
            "--profile", "-p", metavar="NAME", help="What this profile installs [all that are shipped]."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Show what is pinned; nothing is asked and nothing written.")
    ] = False,
    in_packages: Annotated[
        bool,
        typer.Option("--in-packages", help="Write the lock files that the packages ship (in a checkout)."),
    ] = False,
) -> None:
    """Renew the lock file: charts and images by digest.

    Each is asked for its digest where it is published. `edge up` holds what it installs to it, without a
    network too. What cannot be asked keeps what it had, and the exit code says so: 1 there is no such thing,
    6 no answer, 7 refused.
    """
    from edge_llm_tests import load_layers  # noqa: PLC0415 - `edge lock --help` needs none of it
    from edge_llm_tests.profile import profile_names  # noqa: PLC0415 - as above

    from edge_cli.lock import load_lock  # noqa: PLC0415 - as above
    from edge_cli.own_profile import right_profile  # noqa: PLC0415 - as above

    layers = load_layers()
    loaded = [right_profile(name, layers) for name in profile or profile_names(layers)]
    wanted = tuple(each for each in loaded if profile or not each.simulated)
    old = load_lock(layers)
    if check:
        _show(wanted, layers, old)
        return
    packages = tuple(dict.fromkeys(layer.package for layer in layers)) if in_packages else ("",)
    code = 0
    for package in packages:
        part = tuple(layer for layer in layers if package in ("", layer.package))
        renewal = _renewed(wanted, part, old)
        if not renewal.lock.images and not renewal.lock.charts:
            continue
        sys.stdout.write(f"written {_written(renewal, package)}\n")
        for line in renewal.changed:
            sys.stdout.write(f"changed  {line}\n")
        for what, error in renewal.failed:
            typer.echo(f"not renewed: {what}: {error}", err=True)
            code = code or int(error.exit_code)
    raise typer.Exit(code)


def _renewed(profiles: "tuple[Profile, ...]", layers: "tuple[Layer, ...]", old: "Lock") -> "Renewal":
    from edge_cli.helm_program import find_helm  # noqa: PLC0415 - see `lock`
    from edge_cli.lock_renewal import renew  # noqa: PLC0415 - see `lock`
    from edge_cli.progress import Progress, Stage  # noqa: PLC0415 - see `lock`
    from edge_cli.render.progress import error_console, showing  # noqa: PLC0415 - see `lock`
    from edge_cli.sandbox import built_helm  # noqa: PLC0415 - see `lock`

    helm = find_helm(built_helm())
    with showing(error_console(), ("lock",)) as tell:
        return renew(
            profiles,
            layers,
            old,
            helm,
            lambda what: tell(Progress(Stage.PREPARE, "lock", message=f"asking for {what}")),
        )


def _written(renewal: "Renewal", package: str) -> str:
    from edge_cli.lock import (  # noqa: PLC0415 - see `lock`
        lock_text,
        parse_lock,
        shipped_lock_path,
        user_lock_path,
    )

    path = shipped_lock_path(package) if package else user_lock_path()
    content = renewal.lock
    if not package and path.is_file():
        content = content.over(parse_lock(path.read_bytes(), str(path)))  # other profiles' entries stay
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(lock_text(content, _SHIPPED_HEADING if package else _HEADING), encoding="utf-8")
    fresh.replace(path)
    return str(path)


def _show(profiles: "tuple[Profile, ...]", layers: "tuple[Layer, ...]", known: "Lock") -> None:
    """Every chart and image of the profiles with its digest."""
    from edge_llm_tests.errors import UsageError  # noqa: PLC0415 - see `lock`
    from edge_llm_tests.layer import UpstreamChart  # noqa: PLC0415 - see `lock`

    from edge_cli.pinning import LOCAL, image_refs  # noqa: PLC0415 - see `lock`

    charts: dict[str, str] = {}
    images: dict[str, str | None] = {}
    releases = [each for profile in profiles for layer in layers for each in layer.releases(profile.values)]
    for release in releases:
        chart = release.chart
        if isinstance(chart, UpstreamChart):
            entry = known.charts.get(chart.name)
            if entry is None or not entry.is_of(chart):
                raise UsageError(f"chart {chart} is in no lock file", "renew it: `edge lock`")
            charts[f"{chart.name} {chart.version}"] = entry.digest
            images |= {ref: known.images.get(ref) for ref in entry.images}
        else:
            images |= {ref: digest or known.images.get(ref) for ref, digest in image_refs(release.values)}
    for kind, found in (("chart", charts), ("image", images)):
        for name, digest in sorted(found.items()):
            said = digest or ("built here, in no registry" if name.startswith(LOCAL) else "not pinned")
            sys.stdout.write(f"{kind:<7}{name}  {said}\n")
