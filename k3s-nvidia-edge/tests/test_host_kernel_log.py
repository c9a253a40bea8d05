"""The kernel log: stamps, continuation lines, and what came after the driver was loaded."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from edge_llm_tests import Recording
from edge_llm_tests.reads import UnseenError
from edge_llm_tests.testing import command, content, recording_of
from k3s_nvidia_edge.host.kernel_log import KernelLog, kernel_log
from k3s_nvidia_edge.host.xid import xids

KEY = "command:dmesg --time-format iso"


def parsed(text: str, **more: Any) -> KernelLog:
    return kernel_log(recording_of({KEY: command(text), **more}))


def test_stamps_and_continuation_lines() -> None:
    log = parsed(
        "2026-06-15T12:00:00,310021+00:00 NVRM: API mismatch: the client has 1,\n"
        "                                 NVRM: this module has 2.\n"
        "no stamp at all\n"
        "2026-06-15T12:00:01.000000Z next\n"
        "2026-13-45T12:00:01.000000Z bad date\n"
    )
    assert [line.text for line in log.lines] == [
        "NVRM: API mismatch: the client has 1, this module has 2.",
        "no stamp at all",
        "next",
        "bad date",
    ]
    assert log.lines[0].at == datetime(2026, 6, 15, 12, 0, 0, 310021, tzinfo=UTC)
    assert log.lines[1].at is None
    assert log.lines[3].at is None


def test_seconds_since_boot_need_the_uptime() -> None:
    line = "[   60.500000] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n"
    assert parsed(line).lines[0].at is None
    assert parsed(line, **{"file:/proc/uptime": content("soon")}).lines[0].at is None
    log = parsed(line, **{"file:/proc/uptime": content("3660.50 1.0\n")})
    assert log.lines[0].at == datetime(2026, 6, 15, 11, 0, tzinfo=UTC)


def test_since_the_driver_was_loaded_last() -> None:
    text = "a\nNVRM: loading NVIDIA UNIX one\nb\nNVRM: loading NVIDIA UNIX two\nc\n"
    assert [line.text for line in parsed(text).since_driver_load.lines][1:] == ["c"]
    assert len(parsed("a\nb\n").since_driver_load.lines) == 2


def test_lines_without_a_time_count_as_recent() -> None:
    log = parsed("undated\n2026-06-15T09:00:00,000000+00:00 old\n")
    recent = log.within(datetime(2026, 6, 15, 12, tzinfo=UTC), timedelta(hours=1))
    assert [line.text for line in recent.lines] == ["undated"]


def test_an_xid_is_told_apart_from_its_detail() -> None:
    (xid,) = xids(parsed("NVRM: Xid (PCI:0000:0b:00): 48, pid=7, name=x, DBE\n"))
    assert (xid.number, xid.bus_id, xid.detail, xid.needs) == (48, "0000:0b:00", "pid=7, name=x, DBE", "")
    assert str(xid) == "Xid 48 (double-bit ECC error) on 0000:0b:00"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (command(error="not-found"), "Unavailable"),
        (command(""), "Unavailable"),
        (command("dmesg: read kernel buffer failed: Operation not permitted", rc=1), "PermissionDenied"),
        (command("dmesg: unrecognized option", rc=1), "Unavailable"),
    ],
)
def test_what_cannot_be_read_says_why(entry: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnseenError) as unseen:
        kernel_log(Recording(reads={KEY: entry}))
    assert unseen.value.reason == reason
