"""The kernel log: its lines with their time, continuation lines joined to the line that they continue."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.reads import UnseenError

from k3s_nvidia_edge.host.platform import boot_time

__all__ = ["KEY", "KernelLine", "KernelLog", "kernel_log"]

KEY = "dmesg --time-format iso"
_STAMPED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[.,](\d{1,6})\d*([+-]\d\d:?\d\d|Z) ?(.*)")
_SINCE_BOOT = re.compile(r"\[ *(\d+\.\d+)\] ?(.*)")
_CONTINUED = re.compile(r"\s+(?:NVRM:)?\s*")
_DENIED = ("not permitted", "permission denied")
_DRIVER_LOADS = "NVRM: loading NVIDIA UNIX"


class KernelLine(msgspec.Struct, frozen=True):
    """One message; `at` is None where the line carries no time that can be told."""

    at: datetime | None
    text: str


class KernelLog(msgspec.Struct, frozen=True):
    """The messages since boot, as far as the ring buffer reaches back; oldest first."""

    lines: tuple[KernelLine, ...]

    def last(self, matches: Callable[[str], object]) -> KernelLine | None:
        """The newest message that matches."""
        return next((line for line in reversed(self.lines) if matches(line.text)), None)

    def said(self, *words: str) -> KernelLine | None:
        """The newest message that has one of `words`, whatever their case."""
        lowered = tuple(word.lower() for word in words)
        return self.last(lambda text: any(word in text.lower() for word in lowered))

    @property
    def since_driver_load(self) -> "KernelLog":
        """The messages since the module was loaded last; all of them where that is not in the log."""
        for index in range(len(self.lines) - 1, -1, -1):
            if _DRIVER_LOADS in self.lines[index].text:
                return KernelLog(self.lines[index:])
        return self

    def within(self, now: datetime, window: timedelta) -> "KernelLog":
        """The messages of the last `window`; those without a time count as recent."""
        return KernelLog(
            tuple(line for line in self.lines if line.at is None or abs(now - line.at) <= window)
        )


def kernel_log(recording: Recording) -> KernelLog:
    """The parsed log. Use as `recording.view(kernel_log)`.

    Raises:
        UnseenError: It could not be read; many distributions let root alone read it.
    """
    read = recording.command(KEY)
    said = (read.stderr + read.stdout)[-400:].lower()
    if read.error is None and read.rc != 0 and any(word in said for word in _DENIED):
        raise UnseenError(read.key, "PermissionDenied", f"{read.key}: only root may read the kernel log here")
    lines = _parsed(read.output, recording)
    if not lines:
        raise UnseenError(read.key, "Unavailable", f"{read.key}: the kernel log is empty, it was cleared")
    return KernelLog(lines)


def _parsed(output: str, recording: Recording) -> tuple[KernelLine, ...]:
    parsed: list[KernelLine] = []
    for raw in output.splitlines():
        if stamped := _STAMPED.match(raw):
            clock, fraction, zone, text = stamped.groups()
            parsed.append(KernelLine(_moment(f"{clock}.{fraction:0<6}{zone}"), text))
        elif since_boot := _SINCE_BOOT.match(raw):
            parsed.append(KernelLine(_after_boot(float(since_boot[1]), recording), since_boot[2]))
        elif raw[:1].isspace() and parsed:
            before = parsed[-1]
            parsed[-1] = KernelLine(before.at, f"{before.text.rstrip()} {_CONTINUED.sub('', raw, count=1)}")
        elif raw.strip():
            parsed.append(KernelLine(None, raw))
    return tuple(parsed)


def _moment(value: str) -> datetime | None:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _after_boot(seconds: float, recording: Recording) -> datetime | None:
    boot = recording.view(boot_time)
    return boot.value + timedelta(seconds=seconds) if boot.seen else None
