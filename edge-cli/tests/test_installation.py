"""An installation holds the lease, and is ended by Ctrl-C and SIGTERM alike."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest
from edge_cli.installation import interruptible


async def _ends_itself(number: signal.Signals, log: list[str]) -> None:
    try:
        os.kill(os.getpid(), number)
        await asyncio.sleep(10)
    finally:
        log.append("cleaned up")


@pytest.fixture
def as_on_a_terminal() -> Iterator[None]:
    """Ctrl-C interrupts, also where the tests were started so that it does not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("as_on_a_terminal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_work_clean_up(number: signal.Signals) -> None:
    log: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interruptible(_ends_itself(number, log))
    assert log == ["cleaned up"]


def test_the_result_of_the_work_is_handed_on() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    assert interruptible(work()) == 7


def test_an_error_of_the_work_is_raised_as_it_is() -> None:
    async def work() -> None:
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        interruptible(work())
