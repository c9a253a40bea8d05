"""The lease keeps two installers apart, and gives way when its holder is gone or silent."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from edge_cli.lease import DURATION_S, Claim, Holder, claim, lease_document, this_process
from msgspec.structs import replace

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
HERE = Holder("box", 10, "500", "4026531836")
ELSEWHERE = Holder("laptop", 7, "900", "4026531836")


def stored(holder: Holder, age_s: float = 1.0, **spec: Any) -> dict[str, Any]:
    document = lease_document(holder, NOW - timedelta(seconds=age_s))
    document["metadata"]["resourceVersion"] = "41"
    document["spec"] |= spec
    return document


def test_a_lease_that_is_renewed_is_held() -> None:
    held = claim(stored(ELSEWHERE), HERE, NOW)
    assert held == Claim(free=False, holder=str(ELSEWHERE), expires_s=DURATION_S - 1.0)
    assert "process 7 on laptop" in held.refusal.message
    assert "59 s" in held.refusal.message


def test_the_refusal_names_a_holder_of_another_kind_as_it_is() -> None:
    assert "somebody" in claim(stored(HERE, holderIdentity="somebody"), HERE, NOW).refusal.message


@pytest.mark.parametrize(
    "document",
    [
        stored(ELSEWHERE, age_s=61),
        stored(ELSEWHERE, holderIdentity=""),
        stored(ELSEWHERE, renewTime="", acquireTime=""),
        stored(ELSEWHERE, renewTime="yesterday"),
        stored(ELSEWHERE, holderIdentity=7),
        stored(HERE),
        {},
    ],
)
def test_is_free_where_nobody_holds_it_any_more(document: dict[str, Any]) -> None:
    assert claim(document, HERE, NOW).free


def test_times_without_a_zone_are_the_servers() -> None:
    assert not claim(stored(ELSEWHERE, renewTime="2026-11-30T11:59:50"), HERE, NOW).free


def test_a_holder_that_died_here_is_gone_at_once() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here = this_process()
    assert claim(stored(replace(here, pid=ended.pid)), here, NOW).free


def test_a_holder_whose_pid_is_another_process_now_is_gone() -> None:
    here = this_process()
    assert claim(stored(replace(here, started="1")), here, NOW).free


def test_a_holder_that_lives_here_is_not_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        started = Path(f"/proc/{other.pid}/stat").read_text().rpartition(")")[2].split()[19]
        here = this_process()
        assert not claim(stored(replace(here, pid=other.pid, started=started)), here, NOW).free


@pytest.mark.parametrize("elsewhere", [{"host": "other"}, {"namespace": "1"}])
def test_a_pid_says_nothing_about_another_machine_or_container(elsewhere: dict[str, Any]) -> None:
    here = this_process()
    assert not claim(stored(replace(here, started="1", **elsewhere)), here, NOW).free


def test_this_process_is_told_from_its_pid_reused() -> None:
    here = this_process()
    assert here.pid == os.getpid()
    assert here.started != "0"
    assert Holder.parse(str(here)) == here
    assert not here.is_gone_from(here)


@pytest.mark.parametrize("identity", ["", "somebody", "a/b/c/d", "controller-manager_1234"])
def test_other_identities_are_no_holder(identity: str) -> None:
    assert Holder.parse(identity) is None


def test_a_renewal_keeps_the_time_of_taking_and_the_version_it_replaces() -> None:
    before = stored(HERE, age_s=20)
    after = lease_document(HERE, NOW, before)
    assert after["spec"]["acquireTime"] == before["spec"]["acquireTime"]
    assert after["spec"]["renewTime"] == "2026-11-30T12:00:00.000000Z"
    assert after["spec"]["leaseTransitions"] == 0
    assert after["metadata"]["resourceVersion"] == "41"


def test_taking_over_counts_as_a_transition() -> None:
    after = lease_document(HERE, NOW, stored(ELSEWHERE, age_s=99))
    assert after["spec"]["leaseTransitions"] == 1
    assert after["spec"]["acquireTime"] == after["spec"]["renewTime"]
