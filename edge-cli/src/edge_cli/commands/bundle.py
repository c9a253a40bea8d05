"""`edge bundle`: all that an installation needs in one archive, for boxes without a network."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edge_cli.options import K3sFromOption, ProfileOption

if TYPE_CHECKING:
    from edge_cli.bundle.manifest import Manifest
    from edge_cli.progress import OnProgress

__all__ = ["bundle"]

_ROW = "bundle"
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The bundle.")]
ToOption = Annotated[
    Path | None,
    typer.Option("--to", metavar="DIR", help="Where loaded bundles lie [$XDG_DATA_HOME/edge/bundles]."),
]

bundle = typer.Typer(
    help="Everything that an installation needs in one archive, for boxes without a network.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@bundle.command()
def create(  # noqa: PLR0917 - typer passes options by name
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Where to, e.g. box.tar.zst.")],
    profile: ProfileOption = None,
    models: Annotated[
        Path | None,
        typer.Option(
            "--models", metavar="DIR", help="Ollama's folder with the models, e.g. ~/.ollama/models."
        ),
    ] = None,
    k3s_from: K3sFromOption = None,
    without_k3s: Annotated[bool, typer.Option("--without-k3s", help="The box has k3s already.")] = False,
    only_local: Annotated[
        bool, typer.Option("--only-local", help="Only images that no registry has, for a box with a network.")
    ] = False,
    image: Annotated[
        list[Path] | None,
        typer.Option("--image", metavar="FILE", help="OCI archive of an image that no registry has."),
    ] = None,
    arch: Annotated[
        str, typer.Option("--arch", metavar="NAME", help="amd64 or arm64 [this machine's].")
    ] = "",
) -> None:
    """Gather charts, images, models and k3s for a profile, on a machine with a network.

    What is in a lock file is held to it. Images of this project (the exporter, which no registry has) are
    built here, as for the sandbox.
    """
    from edge_llm_tests import load_layers  # noqa: PLC0415 - with the command
    from edge_llm_tests.errors import UsageError  # noqa: PLC0415 - with the command

    from edge_cli.bundle.packing import Order, pack  # noqa: PLC0415 - with the command
    from edge_cli.helm_program import find_helm  # noqa: PLC0415 - with the command
    from edge_cli.k3s_files import k3s_files  # noqa: PLC0415 - with the command
    from edge_cli.own_profile import right_profile  # noqa: PLC0415 - with the command
    from edge_cli.render.progress import error_console, showing  # noqa: PLC0415 - with the command
    from edge_cli.sandbox import built_helm, built_images  # noqa: PLC0415 - with the command
    from edge_cli.supply import load_supply  # noqa: PLC0415 - with the command

    if not out.parent.is_dir() or (out.exists() and not out.is_file()):
        raise UsageError(f"{out}: no file can be put there", "name a file in a folder that is there")
    layers = load_layers()
    chosen = right_profile(_named(profile), layers)
    architecture = _architecture(arch)
    charts = load_supply(layers).charts(find_helm(built_helm()))
    with showing(error_console(), (_ROW,)) as tell:

        def k3s() -> tuple[Path, ...]:
            if without_k3s or chosen.simulated:
                return ()
            return k3s_files(chosen, architecture, k3s_from, _saying(tell))

        def local(refs: tuple[str, ...]) -> Mapping[str, Path]:
            return built_images(tell, refs)

        order = Order(
            profile=chosen,
            layers=layers,
            charts=charts,
            architecture=architecture,
            images=tuple(image or ()),
            local_images=local,
            models=models and models.expanduser(),
            k3s=k3s,
            only_local=only_local,
        )
        made = pack(order, out, _saying(tell))
    _summary(made, out)


@bundle.command()
def verify(file: FileArgument) -> None:
    """Read a bundle to its end and hold every byte to its manifest; nothing is written."""
    from edge_cli.bundle.store import verify_bundle  # noqa: PLC0415 - with the command
    from edge_cli.render.progress import error_console, showing  # noqa: PLC0415 - with the command

    with showing(error_console(), (_ROW,)) as tell:
        say = _saying(tell)
        found = verify_bundle(file, tell=lambda entry: say(f"reading {entry.path}"))
    _summary(found, file)


@bundle.command()
def load(file: FileArgument, to: ToOption = None) -> None:
    """Unpack a bundle on the box, whole or not at all; `edge up --offline` then needs no network.

    A bundle is not trusted: one that is not exactly what its manifest says is refused and leaves nothing.
    """
    from edge_cli.bundle.store import load_bundle, store_folder  # noqa: PLC0415 - with the command
    from edge_cli.render.progress import error_console, showing  # noqa: PLC0415 - with the command

    with showing(error_console(), (_ROW,)) as tell:
        say = _saying(tell)
        loaded = load_bundle(file, store_folder(to), tell=lambda entry: say(f"unpacking {entry.path}"))
    _summary(loaded.manifest, loaded.folder)
    if loaded.folder.parent != store_folder():
        typer.echo(f"for `edge up --offline`: export EDGE_BUNDLES={loaded.folder.parent}", err=True)


@bundle.command()
def show(to: ToOption = None) -> None:
    """What is in the bundle that was loaded last."""
    from edge_cli.bundle.store import current_bundle, store_folder  # noqa: PLC0415 - with the command

    loaded = current_bundle(store_folder(to))
    _summary(loaded.manifest, loaded.folder)
    for entry in loaded.manifest.entries:
        about = " ".join(each for each in (entry.name, entry.version, entry.digest) if each)
        sys.stdout.write(f"{entry.kind:<6} {entry.path}  {entry.size} bytes  {about}\n")


def _named(profile: str | None) -> str:
    from edge_llm_tests.errors import UsageError  # noqa: PLC0415 - with the command

    from edge_cli.settings import load_settings  # noqa: PLC0415 - with the command

    name = profile or load_settings().profile
    if name is None:
        raise UsageError("no profile is given", "give --profile NAME (`edge profile list` names them)")
    return name


def _architecture(given: str) -> str:
    from k3s_nvidia_edge.sandbox.build.archive import ARCHITECTURES, machine_architecture  # noqa: PLC0415 - with the command

    from edge_cli.choice import chosen  # noqa: PLC0415 - with the command

    return chosen("--arch", given or machine_architecture(), tuple(ARCHITECTURES.values()))


def _saying(tell: "OnProgress") -> Callable[[str], None]:
    from edge_cli.progress import Progress, Stage  # noqa: PLC0415 - with the command

    return lambda said: tell(Progress(Stage.PREPARE, _ROW, message=said))


def _summary(manifest: "Manifest", place: Path) -> None:
    counts = {kind: len(manifest.of(kind)) for kind in ("chart", "image", "model", "k3s")}
    told = ", ".join(
        f"{count} {kind} files" if kind in ("model", "k3s") else f"{count} {kind}s"
        for kind, count in counts.items()
    )
    sys.stdout.write(
        f"{place}: profile {manifest.profile}, {manifest.architecture}, edge {manifest.edge_version}, made "
        f"{manifest.created_at}: {told}, {manifest.total_bytes >> 20} MiB unpacked\n"
    )
