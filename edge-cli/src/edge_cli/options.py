"""Options that several commands share, declared once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from edge_llm_tests.errors import UsageError

__all__ = [
    "ContextOption",
    "FailOnOption",
    "FromOption",
    "HostOption",
    "K3sFromOption",
    "KubeconfigOption",
    "OfflineOption",
    "OutputOption",
    "ProfileOption",
    "SandboxOption",
    "ServiceOption",
    "SshConfigOption",
    "SudoOption",
    "VerboseOption",
    "exclude",
    "exclude_each_other",
    "services",
]


def _profiles(incomplete: str) -> list[str]:
    from edge_llm_tests import load_layers  # noqa: PLC0415 - only completion pays
    from edge_llm_tests.profile import profile_names  # noqa: PLC0415 - only completion pays

    return [name for name in profile_names(load_layers()) if name.startswith(incomplete)]


ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile", "-p", metavar="NAME", help="Profile: a name, or a file.", autocompletion=_profiles
    ),
]
KubeconfigOption = Annotated[
    str | None, typer.Option("--kubeconfig", metavar="FILE", help="Kubeconfig of the cluster.")
]
HostOption = Annotated[
    list[str] | None,
    typer.Option(
        "--host", metavar="ADDRESS", help="Read the host there: ssh://user@box, repeatable [this host]."
    ),
]
SshConfigOption = Annotated[
    str | None,
    typer.Option("--ssh-config", metavar="FILE", help="Configuration of ssh for --host [the user's]."),
]
SudoOption = Annotated[
    bool, typer.Option("--sudo", help="With --host: what root alone may read is read with `sudo -n`.")
]
K3sFromOption = Annotated[
    Path | None,
    typer.Option(
        "--k3s-from", metavar="DIR", help="Folder with the files of the k3s release [its release page]."
    ),
]
ContextOption = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig.")
]
SandboxOption = Annotated[bool, typer.Option("--sandbox", help="The sandbox of this machine.")]
FromOption = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="Judge a recording instead of a live target.")
]
OfflineOption = Annotated[
    bool, typer.Option("--offline", help="Use the bundle that was loaded last, and no network.")
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FORMAT",
        help="table, json, yaml, junit, ctrf, markdown, html or prometheus.",
        autocompletion=lambda: ["table", "json", "yaml", "junit", "ctrf", "markdown", "html", "prometheus"],
    ),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show what holds as well.")]
FailOnOption = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="WHAT",
        help="contract (default), or advisory: then exit 4 where only that fails.",
    ),
]
ServiceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--service", metavar="NAME=URL", help="Ask a service there, not through the API server; repeatable."
    ),
]


def exclude_each_other(flags: Mapping[str, object]) -> None:
    """Stop where more than one of the flags is given.

    Raises:
        UsageError: They are.
    """
    given = [flag for flag, value in flags.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other", "give one of them")


def exclude(flag: str, value: object, others: Mapping[str, object]) -> None:
    """Stop where `flag` is given beside one of `others`, which would do nothing then.

    Raises:
        UsageError: It is.
    """
    for other, given in others.items():
        if value and given:
            raise UsageError(f"{flag} and {other} exclude each other", "give one of them")


def services(given: list[str] | None) -> dict[str, str]:
    """The services that --service names, by name.

    Raises:
        UsageError: One is not NAME=URL.
    """
    found = {}
    for each in given or ():
        name, equals, url = each.partition("=")
        if not equals or not url.startswith(("http://", "https://")):
            raise UsageError(
                f"--service {each}: not NAME=URL", "write --service ollama=http://127.0.0.1:11434"
            )
        found[name] = url
    return found
