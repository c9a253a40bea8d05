"""The offer to go back: after an upgrade that its layer's contracts do not survive, to what was before it."""

import sys
from collections.abc import Callable

import typer

from edge_cli.ascent import Ascent, Return, broken
from edge_cli.progress import OnProgress
from edge_cli.render.progress import error_console, showing

__all__ = ["offered_return"]


def offered_return(
    ascent: Ascent, go_back: Callable[[OnProgress], Return], *, wanted: bool, ask: bool
) -> Return | None:
    """The return to the revision before, if the user wants it; None where nothing was upgraded in vain.

    Args:
        ascent: How the upgrade ended.
        go_back: Does it.
        wanted: The user has said so already.
        ask: Whether a user at a terminal may be asked.
    """
    upgrades = ascent.to_roll_back
    if not upgrades or ascent.layer is None or not (wanted or (ask and _agreed(ascent))):
        return None
    with showing(error_console(), (ascent.layer.name,)) as tell:
        return go_back(tell)


def _agreed(ascent: Ascent) -> bool:
    if not sys.stdin.isatty() or ascent.layer is None:
        return False
    for finding in broken(ascent.look.evaluation, ascent.layer):
        typer.echo(f"does not hold: {finding.contract.id}: {finding.result.message}", err=True)
    names = ", ".join(act.release.name for act in ascent.to_roll_back)
    return typer.confirm(f"The upgrade of {names} does not hold. Roll it back?", default=True, err=True)
