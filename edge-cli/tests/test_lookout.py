"""A lookout looks again and again, and asks the host's slow commands only when their answers are old."""

import asyncio
import time
from typing import Any, ClassVar

import pytest
from edge_cli import lookout
from edge_cli.lookout import Lookout
from edge_llm_tests.contract import Outcome
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile
from edge_llm_tests.readers import ClusterReader, Host, HostReader, Target
from edge_llm_tests.readers.wire import Origin

SMI = "nvidia-smi -q -x"


class CountingHost(HostReader):
    """A host that counts what it is asked."""

    asked: ClassVar[list[str]]
    rc = 0

    def command(self, line: str, deadline_s: float) -> dict[str, Any]:
        self.asked.append(line)
        count = str(len(self.asked))
        return {"rc": self.rc, "stdout": count, "stderr": "", "error": None, "took_s": deadline_s}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(HostReader, "command", CountingHost.command)
    monkeypatch.setattr(HostReader, "asked", said, raising=False)
    monkeypatch.setattr(HostReader, "rc", 0, raising=False)
    return said


def remembering() -> Host:
    host = Lookout(Target(host=HostReader()), Profile("test")).target.host
    assert host is not None
    return host


def test_an_answer_is_remembered_for_a_while(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    host = remembering()
    first = host.command(SMI, 10)
    now_s = 109.0
    assert host.command(SMI, 10) == first
    now_s = 111.0
    assert host.command(SMI, 10) != first
    assert asked == [SMI, SMI]


def test_a_failure_is_looked_at_again_each_time(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostReader, "rc", 18)
    host = remembering()
    host.command(SMI, 10)
    host.command(SMI, 10)
    assert asked == [SMI, SMI]


def test_what_enters_the_host_stays_the_same() -> None:
    entered = HostReader(prefix=("nsenter",))
    remembering = Lookout(Target(host=entered), Profile("test")).target.host
    assert remembering.host is entered


def test_sees_and_judges(
    layers: tuple[Layer, ...], profile: Profile, monkeypatch: pytest.MonkeyPatch, seen: Any
) -> None:
    monkeypatch.setattr(lookout, "collect", lambda *_args: seen({"gpu.offered": "Broken"}))
    look = asyncio.run(Lookout(Target(), profile)(layers))
    assert look.evaluation.outcome is Outcome.FAIL


def test_what_goes_wrong_while_looking_is_raised(
    layers: tuple[Layer, ...], profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object) -> Recording:
        raise OSError("gone")

    monkeypatch.setattr(lookout, "collect", broken)
    with pytest.raises(OSError, match="gone"):
        asyncio.run(Lookout(Target(), profile)(layers))


def test_an_interrupted_look_is_left_behind(
    layers: tuple[Layer, ...], profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookout, "collect", lambda *_args: time.sleep(2))

    async def run() -> None:
        async with asyncio.timeout(0.05):
            await Lookout(Target(), profile)(layers)

    began_s = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(run())
    assert time.monotonic() - began_s < 1


def test_the_reader_that_layer_1_brings_is_used_as_soon_as_it_is_there(
    layers: tuple[Layer, ...], profile: Profile, monkeypatch: pytest.MonkeyPatch, seen: Any
) -> None:
    cluster = ClusterReader(Origin("http://127.0.0.1:1"))
    reader = ClusterReader(cluster.origin, "", impersonating=True)
    answers = [cluster, reader]
    monkeypatch.setattr(ClusterReader, "as_reader", lambda _self, _deadline_s=2.0: answers.pop(0))
    monkeypatch.setattr(lookout, "collect", lambda *_args: seen())
    looking = Lookout(Target(cluster=cluster), profile)
    for _ in range(3):
        asyncio.run(looking(layers))
    assert looking.target.cluster is reader
    assert answers == []
