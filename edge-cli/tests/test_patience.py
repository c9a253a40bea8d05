"""Waiting ends when contracts hold, cannot come to hold, or the time is up."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from edge_cli.patience import Limits, Patience, Verdict, broken_terminally
from edge_llm_tests.contract import Contract, Outcome, Result, contract, passed
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.layer import Layer


class _Spec(msgspec.Struct, frozen=True):
    pass


@contract("gpu.plugin", "the plugin runs", reasons=("Starting", "Crashing"), terminal=("Crashing",))
def plugin(_spec: Any, _observed: Any) -> Result:
    return passed("never asked")


LAYER = Layer("gpu", 1, "somebody", ("gpu",), _Spec, lambda _spec, recording: recording, (plugin,), "nowhere")
LIMITS = Limits(timeout_s=60, stalled_s=30, drift_s=3, settling_s=10, fresh_s=3, closed_s=20)


def finding(reason: str, outcome: Outcome = Outcome.FAIL, of: Contract = plugin) -> Finding:
    return Finding(of, LAYER, Result(outcome, "as it is", reason))


Looks = list[tuple[float, tuple[Finding, ...], bool]]


@pytest.fixture
def waited() -> Callable[..., tuple[float, Verdict]]:
    def run(patience: Patience, looks: Looks, below: tuple[Finding, ...] = ()) -> tuple[float, Verdict]:
        for now_s, own, rolling in looks:
            patience, verdict = patience.after(below, own, rolling=rolling, now_s=now_s)
            if verdict is not Verdict.WAIT:
                return now_s, verdict
        return looks[-1][0], Verdict.WAIT

    return run


def _every_second(reason: str, *, until: int, rolling: bool = False) -> Looks:
    return [(float(second), (finding(reason),), rolling) for second in range(until)]


def test_holds_as_soon_as_nothing_is_broken(waited: Callable[..., Any]) -> None:
    looks: Looks = [(0, (finding("Starting"),), True), (1, (), True)]
    assert waited(Patience(LIMITS, 0), looks) == (1, Verdict.HOLDS)


def test_a_terminal_reason_ends_the_wait_when_seen_twice_in_a_row(waited: Callable[..., Any]) -> None:
    assert waited(Patience(LIMITS, 0), _every_second("Crashing", until=9)) == (1, Verdict.TERMINAL)


def test_a_terminal_reason_that_goes_away_does_not_count(waited: Callable[..., Any]) -> None:
    looks: Looks = [
        (float(second), (finding("Crashing" if second % 2 else "Starting"),), True) for second in range(20)
    ]
    assert waited(Patience(LIMITS, 0), looks) == (19, Verdict.WAIT)


def test_a_terminal_reason_counts_only_once_the_old_pods_are_out_of_the_picture(
    waited: Callable[..., Any],
) -> None:
    patience = Patience(LIMITS, 0, settled_s=10)
    assert waited(patience, _every_second("Crashing", until=30)) == (11, Verdict.TERMINAL)


def test_an_unknown_with_a_terminal_reason_is_waited_for(waited: Callable[..., Any]) -> None:
    looks: Looks = [(float(each), (finding("Crashing", Outcome.UNKNOWN),), True) for each in range(9)]
    assert waited(Patience(LIMITS, 0), looks) == (8, Verdict.WAIT)


def test_times_out_while_something_rolls_out(waited: Callable[..., Any]) -> None:
    looks = _every_second("Starting", until=99, rolling=True)
    assert waited(Patience(LIMITS, 0), looks) == (60, Verdict.TIMED_OUT)


def test_stalls_when_nothing_moves(waited: Callable[..., Any]) -> None:
    assert waited(Patience(LIMITS, 0), _every_second("Starting", until=99)) == (30, Verdict.STALLED)


def test_a_new_reason_is_a_move(waited: Callable[..., Any]) -> None:
    looks = [*_every_second("Starting", until=29), (29.0, (finding("Waiting"),), False)]
    looks += [(float(second), (finding("Waiting"),), False) for second in range(30, 99)]
    assert waited(Patience(LIMITS, 0), looks) == (59, Verdict.STALLED)


def test_drift_of_an_unchanged_release_is_mended_by_applying_it_again(waited: Callable[..., Any]) -> None:
    patience = Patience(LIMITS, 0, may_reapply=True)
    assert waited(patience, _every_second("Starting", until=9)) == (3, Verdict.REAPPLY)


def test_a_roll_out_of_an_unchanged_release_is_left_alone(waited: Callable[..., Any]) -> None:
    patience = Patience(LIMITS, 0, may_reapply=True)
    assert waited(patience, _every_second("Starting", until=50, rolling=True)) == (49, Verdict.WAIT)


def test_a_terminal_reason_of_an_unchanged_release_is_first_mended_once(waited: Callable[..., Any]) -> None:
    patience = Patience(LIMITS, 0, may_reapply=True)
    assert waited(patience, _every_second("Crashing", until=9)) == (1, Verdict.REAPPLY)
    again = patience.reapplied(1)
    assert waited(again, _every_second("Crashing", until=40)) == (12, Verdict.TERMINAL)


def test_nothing_is_reapplied_for_a_fault_below(waited: Callable[..., Any]) -> None:
    patience = Patience(LIMITS, 0, may_reapply=True)
    own = [(float(second), (finding("Starting", Outcome.BLOCKED),), False) for second in range(40)]
    assert waited(patience, own, below=(finding("Starting"),)) == (20, Verdict.CLOSED)


def test_a_layer_below_that_does_not_hold_any_more_closes_the_gate_whatever_rolls_out(
    waited: Callable[..., Any],
) -> None:
    own = _every_second("Starting", until=40, rolling=True)
    assert waited(Patience(LIMITS, 0), own, below=(finding("Starting"),)) == (20, Verdict.CLOSED)


def test_a_blink_of_a_layer_below_does_not_close_the_gate() -> None:
    patience = Patience(LIMITS, 0)
    for second in range(50):
        below = (finding("Starting"),) if second % 10 else ()
        patience, verdict = patience.after(below, (finding("Starting"),), rolling=True, now_s=float(second))
        assert verdict is Verdict.WAIT


def test_a_pass_counts_once_it_cannot_be_the_picture_from_before(waited: Callable[..., Any]) -> None:
    looks: Looks = [(float(second), (), False) for second in range(9)]
    assert waited(Patience(LIMITS, 0, fresh_s=3), looks) == (3, Verdict.HOLDS)


def test_a_picture_from_before_that_then_shows_the_fault_is_no_pass(waited: Callable[..., Any]) -> None:
    looks = [(0.0, (), False), *_every_second("Crashing", until=9)[1:]]
    assert waited(Patience(LIMITS, 0, fresh_s=3), looks) == (2, Verdict.TERMINAL)


def test_names_the_finding_that_waiting_does_not_mend() -> None:
    crashing = finding("Crashing")
    assert broken_terminally((finding("Starting"), crashing)) is crashing
    assert broken_terminally((finding("Starting"),)) is None
