"""What is wrong with the scrape of a role: missing, down, late, or not tried yet."""

import re
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

import msgspec

from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.prometheus_api import Sample, Target, Targets

__all__ = ["ScrapeFault", "clocks_differ", "overdue", "pod_of", "scrape_fault"]

_TOO_SLOW = 0.95
"""Share of the timeout: a scrape that takes this long fails on the next busy day."""

_STALLED_INTERVALS = 5
_STALLED_AT_LEAST = timedelta(minutes=5)
_OLD = timedelta(minutes=10)  # twice the time after which Prometheus itself calls a series stale
_SAID_LIMIT = 200

_ERRORS = (
    ("TargetTimedOut", re.compile(r"context deadline exceeded|timeout|timed out", re.IGNORECASE)),
    ("TargetRefuses", re.compile(r"HTTP status|x509|tls:|certificate", re.IGNORECASE)),
    (
        "TargetUnreadable",
        re.compile(
            r"expected|invalid|unsupported|content.?type|limit exceeded|out of order|duplicate|parse",
            re.IGNORECASE,
        ),
    ),
)


class ScrapeFault(msgspec.Struct, frozen=True):
    """A fault of one target, or of a role that has none.

    Attributes:
        reason: A reason of `telemetry.targets`.
        message: What was seen.
        undecided: True where it is too early to tell.
    """

    reason: str
    message: str
    undecided: bool = False


def scrape_fault(
    role: str, targets: Targets, now: datetime, *, just_started: bool, homes: Collection[str] = ()
) -> ScrapeFault | None:
    """The fault of `role`, or None where each of its targets is up, in time and fresh.

    Of a role that has targets in `homes` only those count.
    """
    own = _at_home(targets.of(role), homes)
    if not own:
        return _absent(role, targets, just_started=just_started)
    faults = [fault for target in own if (fault := _fault(target, now)) is not None]
    return min(faults, key=lambda fault: fault.undecided, default=None)


def _at_home(own: tuple[Target, ...], homes: Collection[str]) -> tuple[Target, ...]:
    """Those in the namespaces where the stack lives, if any is there: another team's are its own affair."""
    return tuple(each for each in own if each.labels.get("namespace") in homes) or own


def _absent(role: str, targets: Targets, *, just_started: bool) -> ScrapeFault:
    if just_started:
        return ScrapeFault(
            "NotYetScraped", f"no {role} target yet: Prometheus has just started", undecided=True
        )
    pools = [pool for pool in targets.dropped if role in pool or pool in role]
    others = ", ".join(sorted({target.job for target in targets.active})) or "nothing"
    message = f"Prometheus has no {role} target; it scrapes {others}"
    if pools:
        message += (
            f"; relabelling dropped {sum(targets.dropped[pool] for pool in pools)} of {', '.join(pools)}"
        )
    return ScrapeFault("TargetMissing", message)


def _fault(target: Target, now: datetime) -> ScrapeFault | None:
    if target.health == "unknown":
        message = f"{target.name} is known and not yet scraped: health unknown"
        return ScrapeFault("NotYetScraped", message, undecided=True)
    if target.health == "down":
        said = target.last_error[:_SAID_LIMIT] or "no error given"
        reason = next((word for word, pattern in _ERRORS if pattern.search(target.last_error)), "TargetDown")
        return ScrapeFault(reason, f"{target.name} is down: {said}")
    if target.last_scrape is not None and now - target.last_scrape > _patience(target):
        message = f"{target.name} is called up, but was last scraped {_ago(now, target.last_scrape)} ago"
        return ScrapeFault("ScrapeStalled", message)
    if target.timeout_s and target.took_s >= target.timeout_s * _TOO_SLOW:
        return ScrapeFault(
            "TargetSlow",
            f"{target.name} takes {target.took_s:.1f} s of the {target.timeout_s:g} s that a scrape may take",
        )
    return None


def _patience(target: Target) -> timedelta:
    return max(_STALLED_AT_LEAST, timedelta(seconds=target.interval_s * _STALLED_INTERVALS))


def _ago(now: datetime, then: datetime) -> str:
    return f"{(now - then).total_seconds() / 60:.0f} min"


def clocks_differ(targets: Targets, now: datetime) -> bool:
    """Whether every scrape looks too old: then a clock is wrong, or Prometheus stands still; who knows."""
    scraped = [target for target in targets.active if target.last_scrape is not None]
    return bool(scraped) and all(
        now - each.last_scrape > _patience(each) for each in scraped if each.last_scrape
    )


def overdue(samples: Sequence[Sample], now: datetime) -> timedelta | None:
    """The age of the newest sample, where it is too old to be called moving."""
    newest = max((sample.at for sample in samples), default=None)
    return now - newest if newest is not None and now - newest > _OLD else None


def pod_of(observed: TelemetryState, role: str) -> str:
    """What the pod behind a failing target says of itself, to end a message with."""
    if not observed.cast.seen:
        return ""
    if not observed.cast.value.of(role):
        return f"; no pod of the {role} was found"
    trouble = observed.trouble(role)
    return f"; {trouble.message}" if trouble is not None else ""
