"""`edge profile`: the profiles that are installed, and whether a file of one's own is right."""

import sys
from typing import Annotated, Any

import typer

__all__ = ["profile"]

profile = typer.Typer(
    help="List, show and check profiles.",
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
    from k3s_nvidia_edge.node import node_settings  # noqa: PLC0415 - with the command

    layers = load_layers()
    found = load_profile(name, layers)
    node_settings(name, found.values)
    asked = sum(contract.applies(found.specs[layer.name]) for layer in layers for contract in layer.contracts)
    sys.stdout.write(f"profile {name} is right: {asked} contracts apply\n")
