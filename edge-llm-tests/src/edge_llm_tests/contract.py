"""A contract: one promise of one layer to the next, declared once by its owner as a pure function."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

__all__ = ["Contract", "Outcome", "Result", "contract", "failed", "passed", "unknown"]

_ID = re.compile(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*")
_REASON = re.compile(r"([A-Z][a-z0-9]*)+")


class Outcome(StrEnum):
    """What checking a contract once can come to; only `PASS` opens a gate."""

    PASS = "pass"  # noqa: S105 - an outcome, not a password
    FAIL = "fail"
    UNKNOWN = "unknown"
    BLOCKED = "blocked"


class Result(msgspec.Struct, frozen=True):
    """What a judge says: an outcome, one CamelCase reason for machines, a sentence for people.

    Attributes:
        outcome: pass, fail or unknown; `blocked` is for `evaluate` alone to say.
        message: One sentence with the values that decided.
        reason: A word from the contract's `reasons`; None on a pass.
        evidence: Keys of the reads that decided; empty means "those the judge looked at".
        about: Values for the placeholders of the remedy's commands, for example `{"pod": "ollama-0"}`.
        independent: The fault stands by itself even if a contract below failed: never `blocked`.
    """

    outcome: Outcome
    message: str
    reason: str | None = None
    evidence: tuple[str, ...] = ()
    about: Mapping[str, str] = msgspec.field(default_factory=dict)
    independent: bool = False


def passed(message: str, *, evidence: tuple[str, ...] = ()) -> Result:
    """The promise holds, and was seen to hold."""
    return Result(Outcome.PASS, message, evidence=evidence)


def failed(
    reason: str, message: str, *, evidence: tuple[str, ...] = (), independent: bool = False, **about: str
) -> Result:
    """The promise was seen not to hold."""
    return Result(Outcome.FAIL, message, reason, evidence, about, independent)


def unknown(reason: str, message: str, *, evidence: tuple[str, ...] = (), **about: str) -> Result:
    """It could not be looked at, or the look did not decide."""
    return Result(Outcome.UNKNOWN, message, reason, evidence, about)


def _always(_spec: Any) -> bool:
    return True


class Contract(msgspec.Struct, frozen=True):
    """One promise.

    Attributes:
        id: `<rung>.<noun-or-state>`, permanent: test id, JSON key, tree node, docs anchor, metric label.
        promise: What holds, as a sentence in the present tense.
        judge: Pure function of the layer's spec and observed state.
        reasons: Every reason that a fail or an own unknown of this contract can carry. The reasons of a
            read that could not be made (`edge_llm_tests.reads.READ_REASONS`) need no declaration.
        after: Contracts that this one stands on: where one of them fails, a fail here is `blocked`.
        required: Closes the gate; an advisory contract (False) only reports.
        applies: Decided by the profile's spec before judging; never a skip at run time.
        terminal: Reasons that waiting does not mend: an installer stops at once.
    """

    id: str
    promise: str
    judge: Callable[[Any, Any], Result]
    reasons: tuple[str, ...]
    after: tuple[str, ...] = ()
    required: bool = True
    applies: Callable[[Any], bool] = _always
    terminal: tuple[str, ...] = ()

    @property
    def rung(self) -> str:
        """The rung of the ladder, the part of the id before the dot."""
        return self.id.partition(".")[0]


def contract(
    id_: str,
    promise: str,
    *,
    reasons: tuple[str, ...],
    after: tuple[str, ...] = (),
    required: bool = True,
    applies: Callable[[Any], bool] = _always,
    terminal: tuple[str, ...] = (),
) -> Callable[[Callable[[Any, Any], Result]], Contract]:
    """Declare the decorated judge as a contract.

    Raises:
        ValueError: The id or a reason is not of its form, or `terminal` names an undeclared reason.
    """
    if not _ID.fullmatch(id_):
        raise ValueError(f"contract id {id_!r} is not <rung>.<noun-or-state>")
    for reason in reasons:
        if not _REASON.fullmatch(reason):
            raise ValueError(f"{id_}: reason {reason!r} is not one CamelCase word")
    if not set(terminal) <= set(reasons):
        raise ValueError(f"{id_}: terminal reasons {sorted(set(terminal) - set(reasons))} are not declared")

    def declare(judge: Callable[[Any, Any], Result]) -> Contract:
        return Contract(id_, promise, judge, reasons, after, required, applies, terminal)

    return declare
