"""An ascent, from the host up: what it works with, and how it ended."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Protocol

import msgspec
from edge_llm_tests.contract import Outcome
from edge_llm_tests.evaluate import Evaluation, Finding
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer, Release
from edge_llm_tests.profile import Profile

from edge_cli.patience import Limits
from edge_cli.progress import OnProgress
from edge_cli.revision import Revision

__all__ = ["Act", "Ascent", "End", "Ground", "Hands", "Look", "Return", "broken"]


class Look(msgspec.Struct, frozen=True):
    """What was seen of the target, and what the contracts say of it."""

    recording: Recording
    evaluation: Evaluation


class Hands(Protocol):
    """Who acts: the installer."""

    async def revision(self, release: Release) -> Revision | None:
        """The latest revision of the release."""
        ...

    async def apply(self, release: Release) -> Revision:
        """Install or upgrade the release."""
        ...

    async def recover(self, release: Release, revision: Revision) -> str:
        """Bring a pending release to where it can be upgraded."""
        ...

    async def roll_back(self, release: Release, below: int) -> Revision:
        """Bring a release back to its last deployed revision before `below`."""
        ...


class End(StrEnum):
    """How an ascent ended."""

    HOLDS = "holds"
    CLOSED = "closed"
    TERMINAL = "terminal"
    STALLED = "stalled"
    TIMED_OUT = "timed-out"


class Act(msgspec.Struct, frozen=True):
    """What was done to one release.

    Attributes:
        verb: `installed`, `upgraded`, `reapplied`, `recovered`, `rolled back` or `unchanged`.
        revision: The revision that it led to.
    """

    release: Release
    verb: str
    revision: int
    took_s: float = 0.0


class Ascent(msgspec.Struct, frozen=True):
    """An ascent that has ended.

    Attributes:
        end: How.
        layer: The layer at which it ended, None if it went all the way.
        look: The last look.
        acts: What was done, in order.
        not_installed: Releases that a closed gate kept out.
        waited_s: Seconds of waiting for contracts.
        limits: What it was given.
        unfinished: A workload whose roll-out had not ended, where it stopped.
    """

    end: End
    layer: Layer | None
    look: Look
    acts: tuple[Act, ...]
    not_installed: tuple[Release, ...]
    waited_s: float
    limits: Limits
    unfinished: str = ""

    @property
    def to_roll_back(self) -> tuple[Act, ...]:
        """The upgrades of the layer that does not hold after them, last one first."""
        if self.layer is None or self.end in (End.HOLDS, End.CLOSED):
            return ()
        return tuple(
            act
            for act in reversed(self.acts)
            if act.verb == "upgraded" and act.release.layer == self.layer.name
        )

    @property
    def changed(self) -> bool:
        """Whether anything was done to the cluster."""
        return any(act.verb != "unchanged" for act in self.acts)


class Return(msgspec.Struct, frozen=True):
    """A layer that went back to what it was before an upgrade that its contracts did not survive.

    Attributes:
        acts: What was done, in order.
        end: How the wait for the contracts ended afterwards.
        look: The last look: the layers as they are now.
    """

    acts: tuple[Act, ...]
    end: End
    look: Look

    @property
    def holds(self) -> bool:
        """Whether the layer's contracts hold again."""
        return self.end is End.HOLDS


class Ground(msgspec.Struct, frozen=True):
    """What an ascent works with.

    Attributes:
        layers: In the order of the ladder, up to where it is to go.
        profile: What they promise and install.
        look: Sees and judges layers.
        hands: Acts.
        preconditions: Contracts that hold before their own layer is installed (see `tree`).
        may_act: Raises where acting is not allowed any more (the lease was lost).
        tell: Is told of each step.
        recover: Whether pending releases are healed.
    """

    layers: tuple[Layer, ...]
    profile: Profile
    look: Callable[[tuple[Layer, ...]], Awaitable[Look]]
    hands: Hands
    tell: OnProgress
    preconditions: frozenset[str] = frozenset()
    may_act: Callable[[], None] = lambda: None
    limits: Limits = msgspec.field(default_factory=Limits)
    recover: bool = False
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


def broken(evaluation: Evaluation, layer: Layer) -> tuple[Finding, ...]:
    """The findings of the layer's required contracts that do not pass."""
    return tuple(
        finding
        for finding in evaluation.findings
        if finding.layer.name == layer.name
        and finding.contract.required
        and finding.outcome is not Outcome.PASS
    )
