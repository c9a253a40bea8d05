"""`edge profile`: the profiles that are installed, whether a file of one's own is right, and a first one."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edge_cli.options import FromOption, HostOption, SshConfigOption, SudoOption

if TYPE_CHECKING:
    from edge_llm_tests import Layer
    from k3s_nvidia_edge.host.machine import Machine

    from edge_cli.hosts import HostChoice
    from edge_cli.proposal import Proposal, Wish

__all__ = ["profile"]

profile = typer.Typer(
    help="List, show, check and propose profiles.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Name = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A profile, or a file that extends one.")]


@profile.command(name="list")
def list_() -> None:
    """List the profiles that the installed packages ship."""
    from edge_llm_tests import load_layers  # noqa: PLC0415 - with the command
    from edge_llm_tests.profile import load_profile, profile_names  # noqa: PLC0415 - with the command

    layers = load_layers()
    for name in profile_names(layers):
        found = load_profile(name, layers)
        simulated = "  SIMULATED" if found.simulated else ""
        sys.stdout.write(f"{name:<16}{found.description}{simulated}\n")


@profile.command()
def show(name: _Name) -> None:
    """Print a profile as YAML, with everything that it extends and every default."""
    import msgspec  # noqa: PLC0415 - with the command
    import yaml  # noqa: PLC0415 - with the command
    from edge_llm_tests import load_layers  # noqa: PLC0415 - with the command
    from edge_llm_tests.profile import load_profile  # noqa: PLC0415 - with the command

    found = load_profile(name, load_layers())
    document: dict[str, Any] = {
        "schema": "edge.profile/v1",
        "description": found.description,
        "simulated": found.simulated,
        "spec": {layer: msgspec.to_builtins(spec) for layer, spec in found.specs.items()},
        "values": msgspec.to_builtins(found.values),
    }
    yaml.safe_dump(document, sys.stdout, sort_keys=False, allow_unicode=True, width=100)


@profile.command()
def check(name: _Name) -> None:
    """Check that a profile has only keys and values that are known; the first wrong one is named."""
    from edge_llm_tests import load_layers  # noqa: PLC0415 - with the command
    from edge_llm_tests.profile import load_profile  # noqa: PLC0415 - with the command

    from edge_cli.own_profile import require_known_values  # noqa: PLC0415 - with the command

    layers = load_layers()
    found = load_profile(name, layers)
    require_known_values(found, layers)
    asked = sum(contract.applies(found.specs[layer.name]) for layer in layers for contract in layer.contracts)
    sys.stdout.write(f"profile {name} is right: {asked} contracts apply\n")


@profile.command()
def init(
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write it [edge-profile.yaml].")
    ] = Path("edge-profile.yaml"),
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="NAME[=FILE]", help="A model to serve, and its GGUF file; repeatable."
        ),
    ] = None,
    context: Annotated[
        int | None, typer.Option("--context", metavar="TOKENS", min=1, help="Context to serve [the base's].")
    ] = None,
    from_file: FromOption = None,
    host: HostOption = None,
    ssh_config: SshConfigOption = None,
    sudo: SudoOption = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Propose a profile from what the host shows, and from what `gguf-observe fit` says of the models.

    The file extends the shipped profile that is nearest and holds only what differs. `edge profile check`
    accepts it, and `--profile FILE` takes it everywhere. Exit code 3 where a card's driver does not answer.
    """
    from edge_llm_tests import load_layers  # noqa: PLC0415 - with the command
    from edge_llm_tests.errors import UsageError  # noqa: PLC0415 - with the command
    from edge_llm_tests.profile import load_profile  # noqa: PLC0415 - with the command

    from edge_cli.hosts import chosen_hosts  # noqa: PLC0415 - with the command
    from edge_cli.proposal import nearest_profile, propose  # noqa: PLC0415 - with the command

    if output.suffix not in (".yaml", ".yml"):
        raise UsageError(f"--output {output}: not named *.yaml", "a profile file is known by its name")
    if output.exists() and not force:
        raise UsageError(f"--output {output}: it is there", "give --force, or another name")
    hosts = chosen_hosts(host, ssh_config, sudo, {"--from": from_file})
    layers = load_layers()
    shown = _machine(layers, from_file, hosts)
    name, note = nearest_profile(shown)
    base = load_profile(name, layers)
    tokens = context or base.values["serving"]["ollama"]["settings"]["contextLength"]
    proposal = propose(shown, base, _wishes(model or [], layers, shown, tokens), tokens)
    _write(output, proposal, layers)
    sys.stdout.write(f"wrote {output}: {shown}, extends {name}\n")
    for each in (note, *proposal.notes):
        if each:
            sys.stderr.write(f"note: {each}\n")


def _machine(layers: "tuple[Layer, ...]", evidence: Path | None, hosts: "HostChoice") -> "Machine":
    """What the host shows: read now, or recorded."""
    from edge_llm_tests import Recording  # noqa: PLC0415 - see `init`
    from edge_llm_tests.errors import EdgeError, ExitCode  # noqa: PLC0415 - see `init`
    from edge_llm_tests.profile import Profile  # noqa: PLC0415 - see `init`
    from edge_llm_tests.readers import HostReader, Target, collect  # noqa: PLC0415 - see `init`
    from edge_llm_tests.reads import UnseenError  # noqa: PLC0415 - see `init`
    from k3s_nvidia_edge.host.machine import machine  # noqa: PLC0415 - see `init`
    from k3s_nvidia_edge.host.pci import KEY as LSPCI  # noqa: PLC0415 - see `init`

    from edge_cli.settings import load_settings  # noqa: PLC0415 - see `init`

    if evidence is not None:
        recording = Recording.load(evidence)
    else:
        ground = tuple(layer for layer in layers if layer.number == 0)
        all_of_it = Profile("any", specs={layer.name: layer.spec_type() for layer in ground})
        read = hosts.connected(load_settings(), most=1) or {"": HostReader()}
        ((name, host),) = read.items()
        recording = collect(ground, all_of_it, Target(host=host, host_name=name))
    try:
        return recording.view(machine).value
    except UnseenError as unseen:
        step = "put the driver right first: `edge diagnose --profile rtx-4090` says what to do"
        if unseen.key == f"command:{LSPCI}":
            step = "install pciutils; where there is no card, a file with `extends: cpu` is a profile as well"
        error = EdgeError(f"what the machine has is not seen: {unseen.message}", step)
        error.exit_code = ExitCode.CONTRACT
        raise error from None


def _wishes(
    given: list[str], layers: "tuple[Layer, ...]", shown: "Machine", context: int
) -> "tuple[Wish, ...]":
    """The models that --model names, with the digests that shipped profiles know, and what fits of each."""
    from edge_llm_tests.errors import UsageError  # noqa: PLC0415 - see `init`
    from edge_llm_tests.ollama import canonical  # noqa: PLC0415 - see `init`
    from edge_llm_tests.profile import load_profile, profile_names  # noqa: PLC0415 - see `init`

    from edge_cli.model_file import fit_of  # noqa: PLC0415 - see `init`
    from edge_cli.proposal import Wish  # noqa: PLC0415 - see `init`

    if not given:
        return ()
    known = {
        canonical(each.name): each.digest
        for profile_name in profile_names(layers)
        for each in load_profile(profile_name, layers).specs["serving"].models
    }
    memories = [card.memory_mib for card in shown.cards if card.memory_mib]
    room_mib = int(min(memories)) if memories else shown.memory_mib
    wishes: list[Wish] = []
    for each in given:
        name, equals, file = each.partition("=")
        if not name or (equals and not file):
            raise UsageError(f"--model {each}: not NAME or NAME=FILE", "write --model qwen2.5:7b=FILE.gguf")
        fit = fit_of(Path(file).expanduser(), room_mib, context) if file else None
        listed = canonical(name)
        if any(wish.name == listed for wish in wishes):
            raise UsageError(f"--model {listed} is given twice", "name each model once")
        wishes.append(Wish(listed, known.get(listed, ""), fit))
    return tuple(wishes)


def _write(output: Path, proposal: "Proposal", layers: "tuple[Layer, ...]") -> None:
    """Write the file, once it was seen to be a profile; complete or not at all."""
    import yaml  # noqa: PLC0415 - see `init`
    from edge_llm_tests.errors import ProfileError, UsageError  # noqa: PLC0415 - see `init`

    from edge_cli.own_profile import right_profile  # noqa: PLC0415 - see `init`

    head = "# Proposed by `edge profile init`; yours to edit. `edge profile check` names what is wrong.\n"
    text = yaml.safe_dump(dict(proposal.document), sort_keys=False, allow_unicode=True, width=100)
    partial = output.with_name(f".{output.stem}.partial.yaml")
    try:
        partial.write_text(head + text, encoding="utf-8")
        right_profile(str(partial.absolute()), layers)
        partial.replace(output)
    except ProfileError as error:
        said = error.message.replace(str(partial.absolute()), str(output))
        raise ProfileError(said, "nothing was written; correct what was asked for") from None
    except OSError as error:
        raise UsageError(
            f"--output {output}: {error.strerror}", "choose a path that can be written"
        ) from None
    finally:
        partial.unlink(missing_ok=True)
