"""A tenure takes the lease, keeps it, notices its loss and gives it back."""

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from edge_cli import tenure as module
from edge_cli.answer import Answer
from edge_cli.lease import Holder, LeaseHeldError
from edge_cli.tenure import LeaseLostError, Tenure, tenure
from edge_llm_tests.errors import TargetUnreachableError

ONE = Holder("one", 1, "10", "4")
TWO = Holder("two", 2, "20", "4")


class FakeApi:
    """An API server that knows one lease and refuses a write that is based on an old version."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.down = False
        self.sent: list[str] = []

    def send(self, verb: str, path: str, document: Mapping[str, Any] | None = None) -> Answer:
        self.sent.append(f"{verb} {path}")
        if self.down:
            raise TargetUnreachableError("no answer", "look")
        status, body = getattr(self, verb.lower())(document)
        return Answer(status, body, datetime.now(UTC))

    def get(self, _document: Any) -> tuple[int, dict[str, Any]]:
        return (200, self.lease) if self.lease else (404, {})

    def post(self, document: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return (409, {"message": "exists"}) if self.lease else (201, self._store(document))

    def put(self, document: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if document["metadata"]["resourceVersion"] != str(self.version):
            return 409, {"message": "the object has been modified"}
        return 200, self._store(document)

    def delete(self, document: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if document["preconditions"]["resourceVersion"] != str(self.version):
            return 409, {}
        self.lease = None
        return 200, {}

    def _store(self, document: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        self.lease = {
            **document,
            "metadata": {**document["metadata"], "resourceVersion": str(self.version)},
        }
        return self.lease


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


def test_is_taken_and_given_back(api: FakeApi) -> None:
    async def run() -> None:
        async with tenure(api, ONE) as held:
            assert api.lease is not None
            assert api.lease["spec"]["holderIdentity"] == str(ONE)
            held.check()
        assert api.lease is None

    asyncio.run(run())


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        ((500, {"message": "etcdserver: leader changed"}), LeaseHeldError, "cannot be read: etcdserver"),
        ((429, {}), LeaseHeldError, "cannot be read: HTTP 429"),
        ((302, {}), LeaseHeldError, "cannot be read: HTTP 302"),
        ((200, {"message": "<html>Sign in</html>"}), TargetUnreachableError, "is not the Kubernetes API"),
    ],
)
def test_nothing_is_written_over_a_lease_that_was_not_seen(
    api: FakeApi,
    monkeypatch: pytest.MonkeyPatch,
    answer: tuple[int, dict[str, Any]],
    error: type[Exception],
    said: str,
) -> None:
    monkeypatch.setattr(api, "get", lambda _document: answer)
    with pytest.raises(error, match=said):
        Tenure(api, ONE).take()
    assert {each.partition(" ")[0] for each in api.sent} == {"GET"}


def test_is_given_back_when_interrupted(api: FakeApi) -> None:
    async def run() -> None:
        async with tenure(api, ONE):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run())
    assert api.lease is None


def test_the_second_is_refused_and_changes_nothing(api: FakeApi) -> None:
    async def run() -> None:
        async with tenure(api, ONE):
            with pytest.raises(LeaseHeldError, match="process 1 on one"):
                await _enter(api, TWO)
            assert api.lease is not None
            assert api.lease["spec"]["holderIdentity"] == str(ONE)

    asyncio.run(run())


async def _enter(api: FakeApi, holder: Holder) -> None:
    async with tenure(api, holder):
        pass


def test_one_that_ran_out_is_taken_over(api: FakeApi) -> None:
    Tenure(api, ONE).take()
    assert api.lease is not None
    api.lease["spec"]["renewTime"] = "2020-01-01T00:00:00.000000Z"
    Tenure(api, TWO).take()
    assert api.lease["spec"]["holderIdentity"] == str(TWO)
    assert api.lease["spec"]["leaseTransitions"] == 1


def test_the_loser_of_a_race_looks_again(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    post = api.post

    def raced(document: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        monkeypatch.setattr(api, "post", post)
        Tenure(api, TWO).take()
        return post(document)

    monkeypatch.setattr(api, "post", raced)
    with pytest.raises(LeaseHeldError, match="process 2 on two"):
        Tenure(api, ONE).take()


def test_a_lease_that_keeps_changing_is_not_fought_for(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "post", lambda _document: (409, {"message": "exists"}))
    with pytest.raises(LeaseHeldError, match="exists"):
        Tenure(api, ONE).take()


def test_renewal_in_the_background_moves_the_time(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RENEWAL_S", 0.01)

    async def run() -> None:
        async with tenure(api, ONE):
            before = api.version
            async with asyncio.timeout(5):
                while api.version < before + 3:  # noqa: ASYNC110 - a fake server has no event to wait for
                    await asyncio.sleep(0.01)

    asyncio.run(run())


def test_a_lease_that_was_taken_is_lost(api: FakeApi) -> None:
    held = Tenure(api, ONE)
    held.take()
    assert api.lease is not None
    api.lease["spec"]["holderIdentity"] = str(TWO)
    held.renew()
    with pytest.raises(LeaseLostError, match="another installer took it"):
        held.check()
    held.release()
    assert api.lease is not None, "what is someone else's is not given back"


def test_a_lease_that_was_deleted_is_lost(api: FakeApi) -> None:
    held = Tenure(api, ONE)
    held.take()
    api.lease = None
    held.renew()
    with pytest.raises(LeaseLostError, match="deleted"):
        held.check()


def test_a_lease_that_could_not_be_renewed_in_time_is_lost(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Tenure(api, ONE)
    held.take()
    held.check()
    later_s = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later_s)
    with pytest.raises(LeaseLostError, match="60 s"):
        held.check()


def test_an_unreachable_server_is_tolerated_while_renewing_and_at_the_end(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RENEWAL_S", 0.01)

    async def run() -> None:
        async with tenure(api, ONE) as held:
            api.down = True
            asked = len(api.sent)
            async with asyncio.timeout(5):
                while len(api.sent) < asked + 3:  # noqa: ASYNC110 - a fake server has no event to wait for
                    await asyncio.sleep(0.01)
            held.check()

    asyncio.run(run())
