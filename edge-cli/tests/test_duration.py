"""Lengths of time as Helm and kubectl write them."""

import pytest
from edge_cli.duration import parse_duration, spoken
from edge_llm_tests.errors import UsageError


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("90s", 90), ("5m", 300), ("1h30m", 5400), ("1h", 3600), ("0.5s", 0.5), (" 2m10s ", 130)],
)
def test_reads(given: str, seconds: float) -> None:
    assert parse_duration(given) == seconds


@pytest.mark.parametrize("given", ["", "5", "5x", "m5", "-5m", "5m 3s", "0s", "five minutes", "1e3s"])
def test_refuses_anything_else(given: str) -> None:
    with pytest.raises(UsageError, match="--timeout"):
        parse_duration(given)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (119.4, "119 s"), (120, "2 min"), (3599, "1 h 0 min"), (5400, "1 h 30 min")],
)
def test_says(seconds: float, words: str) -> None:
    assert spoken(seconds) == words
