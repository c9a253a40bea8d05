"""The offer to go back: taken by flag or at a terminal, never made where nothing was upgraded."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from edge_cli.ascent import Act, Ascent, End, Look, Return
from edge_cli.patience import Limits
from edge_cli.progress import OnProgress
from edge_cli.return_offer import offered_return
from edge_llm_tests.evaluate import evaluate
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer, Release
from edge_llm_tests.profile import Profile

RELEASE = Release("ollama", "llm-space", "serving", Path(), {})
Offer = Callable[..., tuple[Return | None, int]]


@pytest.fixture
def offer(layers: tuple[Layer, ...], profile: Profile, seen: Callable[..., Recording]) -> Offer:
    """An ascent that ended at layer 2, offered back: what came of it, and how often somebody went."""
    recording = seen({"model.loaded": "Missing"}, reads={})
    look = Look(recording, evaluate(layers, profile, recording))

    def offered(
        verb: str = "upgraded", *, wanted: bool = False, ask: bool = True
    ) -> tuple[Return | None, int]:
        ascent = Ascent(End.STALLED, layers[2], look, (Act(RELEASE, verb, 2),), (), 1.0, Limits())
        went: list[OnProgress] = []

        def go(tell: OnProgress) -> Return:
            went.append(tell)
            return Return((), End.HOLDS, look)

        return offered_return(ascent, go, wanted=wanted, ask=ask), len(went)

    return offered


def terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    fake = SimpleNamespace(isatty=lambda: True, readline=lambda *_: f"{answer}\n")
    monkeypatch.setattr("sys.stdin", fake)


def test_by_flag_nobody_is_asked(offer: Offer) -> None:
    back, went = offer(wanted=True, ask=False)
    assert back is not None
    assert went == 1


@pytest.mark.parametrize(("verb", "wanted"), [("upgraded", False), ("installed", True), ("reapplied", True)])
def test_without_a_flag_a_terminal_or_an_upgrade_nothing_goes_back(
    offer: Offer, verb: str, wanted: bool
) -> None:
    assert offer(verb, wanted=wanted) == (None, 0)


@pytest.mark.parametrize(("answer", "times"), [("y", 1), ("n", 0), ("", 1)])
def test_at_a_terminal_the_user_decides(
    offer: Offer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    times: int,
) -> None:
    terminal(monkeypatch, answer)
    _, went = offer()
    assert went == times
    assert "model.loaded" in capsys.readouterr().err


def test_who_wants_no_questions_is_asked_none(offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch, "y")
    assert offer(ask=False) == (None, 0)
