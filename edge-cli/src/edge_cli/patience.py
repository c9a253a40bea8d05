"""How long to wait for a layer's contracts: until they hold, cannot come to hold, or the time is up. Pure.

A contract that does not hold yet is what a roll-out looks like. Waiting ends early on what waiting does not
mend: a reason that its contract calls terminal, seen twice in a row, or a state in which nothing moves.
"""

from enum import Enum, auto

import msgspec
from edge_llm_tests.contract import Outcome
from edge_llm_tests.evaluate import Finding
from msgspec.structs import replace

__all__ = ["Limits", "Patience", "Verdict", "broken_terminally"]


class Verdict(Enum):
    """What to do after a look."""

    HOLDS = auto()
    WAIT = auto()
    REAPPLY = auto()
    CLOSED = auto()
    TERMINAL = auto()
    STALLED = auto()
    TIMED_OUT = auto()


class Limits(msgspec.Struct, frozen=True):
    """Seconds that waiting takes at most.

    Attributes:
        timeout_s: For the contracts of one layer.
        stalled_s: With nothing that rolls out and the same contracts not holding. Prometheus scrapes and
            evaluates every 15 to 60 s, and that is not seen in pods.
        drift_s: The same, where the release was found unchanged: then something else changed what it made.
        settling_s: After an upgrade, until a reason counts as terminal: it may be the old pods'.
        fresh_s: After an install or upgrade, until a pass counts: sooner, it may be the picture from before
            (a node offers a GPU for a while after its device plugin is gone).
        closed_s: With a layer below that does not hold any more; an operator may restart k3s meanwhile.
    """

    timeout_s: float = 600.0
    stalled_s: float = 120.0
    drift_s: float = 3.0
    settling_s: float = 10.0
    fresh_s: float = 3.0
    closed_s: float = 60.0


class Patience(msgspec.Struct, frozen=True):
    """The state of one wait.

    Attributes:
        limits: How long.
        started_s: When the wait began.
        may_reapply: Whether an unchanged release may still be applied once more.
        settled_s: From when on a terminal reason counts.
        fresh_s: From when on a pass counts.
        stuck: Contracts and reasons that did not hold at the last look.
        stuck_s: Since when they are the same with nothing rolling out.
        terminal_looks: Consecutive looks with a terminal reason.
        closed_s: Since when a layer below does not hold; None while all do.
    """

    limits: Limits
    started_s: float
    may_reapply: bool = False
    settled_s: float = 0.0
    fresh_s: float = 0.0
    stuck: tuple[tuple[str, str], ...] = ()
    stuck_s: float = 0.0
    terminal_looks: int = 0
    closed_s: float | None = None

    def reapplied(self, now_s: float) -> "Patience":
        """The wait after an unchanged release was applied again."""
        limits = self.limits
        return Patience(limits, now_s, settled_s=now_s + limits.settling_s, fresh_s=now_s + limits.fresh_s)

    def after(
        self,
        below: tuple[Finding, ...],
        own: tuple[Finding, ...],
        *,
        rolling: bool,
        now_s: float,
        unfinished: str = "",
    ) -> tuple["Patience", Verdict]:
        """The wait after one more look, and what to do.

        Args:
            below: Findings of required contracts of the layers below that do not pass.
            own: Those of the layer that is waited for.
            rolling: Whether something still rolls out.
            now_s: When the look was made.
            unfinished: A workload whose roll-out has not ended; contracts may hold on its old pods.
        """
        broken = below + own
        if not broken and not unfinished:
            held = replace(self, closed_s=None, terminal_looks=0)
            return held, Verdict.HOLDS if now_s >= self.fresh_s else Verdict.WAIT
        stuck = tuple((finding.contract.id, finding.result.reason or "") for finding in broken)
        stuck = stuck or ((unfinished, ""),)
        moved = rolling or stuck != self.stuck
        terminal = broken_terminally(broken) is not None and now_s >= self.settled_s
        seen = replace(
            self,
            stuck=stuck,
            stuck_s=now_s if moved else self.stuck_s,
            terminal_looks=self.terminal_looks + 1 if terminal else 0,
            closed_s=(now_s if self.closed_s is None else self.closed_s) if below else None,
        )
        return seen, _verdict(seen, now_s, own_alone=bool(own) and not below)


def _verdict(wait: Patience, now_s: float, *, own_alone: bool) -> Verdict:
    still_s = now_s - wait.stuck_s
    if wait.may_reapply and own_alone and (wait.terminal_looks > 1 or still_s >= wait.limits.drift_s):
        return Verdict.REAPPLY
    if wait.terminal_looks > 1:
        return Verdict.TERMINAL
    if wait.closed_s is not None and now_s - wait.closed_s >= wait.limits.closed_s:
        return Verdict.CLOSED
    if now_s - wait.started_s >= wait.limits.timeout_s:
        return Verdict.TIMED_OUT
    if still_s >= wait.limits.stalled_s:
        return Verdict.STALLED
    return Verdict.WAIT


def broken_terminally(broken: tuple[Finding, ...]) -> Finding | None:
    """The first finding whose reason waiting does not mend."""
    return next(
        (
            finding
            for finding in broken
            if finding.outcome is Outcome.FAIL and finding.result.reason in finding.contract.terminal
        ),
        None,
    )
