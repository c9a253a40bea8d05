"""An installation: one ascent on a site, with the lease held, that Ctrl-C and SIGTERM end cleanly."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile

from edge_cli.ascent import Ascent, Ground, Return
from edge_cli.climb import ascend, go_back
from edge_cli.lookout import Lookout
from edge_cli.patience import Limits
from edge_cli.progress import OnProgress
from edge_cli.site import Site
from edge_cli.tenure import Tenure, tenure
from edge_cli.tree import load_tree

__all__ = ["install", "interruptible", "return_from"]

T = TypeVar("T")


def install(
    site: Site,
    layers: tuple[Layer, ...],
    profile: Profile,
    limits: Limits,
    tell: OnProgress,
    *,
    recover: bool = False,
) -> Ascent:
    """Climb as far as the contracts let it.

    Raises:
        EdgeError: Another installer is at work, Helm or the API server failed, or a release is pending.
        KeyboardInterrupt: It was interrupted; Helm was told to end, and the lease was given back.
    """

    async def climb() -> Ascent:
        async with tenure(site.installer) as held:
            return await ascend(
                _ground(site, layers, profile, held, limits=limits, tell=tell, recover=recover)
            )

    return interruptible(climb())


def return_from(
    ascent: Ascent,
    site: Site,
    layers: tuple[Layer, ...],
    profile: Profile,
    *,
    limits: Limits,
    tell: OnProgress,
) -> Return:
    """Roll back what the ascent upgraded in the layer that does not hold, and judge it again.

    Raises:
        EdgeError: Another installer is at work, or Helm or the API server failed.
        KeyboardInterrupt: It was interrupted; Helm was told to end, and the lease was given back.
    """

    async def back() -> Return:
        async with tenure(site.installer) as held:
            return await go_back(_ground(site, layers, profile, held, limits=limits, tell=tell), ascent)

    return interruptible(back())


def _ground(
    site: Site,
    layers: tuple[Layer, ...],
    profile: Profile,
    held: Tenure,
    *,
    limits: Limits,
    tell: OnProgress,
    recover: bool = False,
) -> Ground:
    return Ground(
        layers,
        profile,
        Lookout(site.target, profile),
        site.installer,
        tell,
        preconditions=load_tree().preconditions,
        may_act=held.check,
        limits=limits,
        recover=recover,
    )


def interruptible(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which SIGTERM ends like Ctrl-C: cancelled, so that it can clean up.

    Raises:
        KeyboardInterrupt: It was ended by either.
    """

    async def run() -> T:
        task = asyncio.current_task()
        if task is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
