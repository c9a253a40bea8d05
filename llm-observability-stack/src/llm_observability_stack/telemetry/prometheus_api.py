"""Answers of the Prometheus and Alertmanager APIs, typed."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError, mapping, number, objects, text
from edge_llm_tests.objects.meta import moment
from edge_llm_tests.reads import UnseenError

from llm_observability_stack.telemetry.roles import GPU_EXPORTER, PROMETHEUS, role_of_name

__all__ = [
    "ALERTS",
    "Alertmanagers",
    "Rule",
    "RuleGroup",
    "Sample",
    "Target",
    "Targets",
    "active_alerts",
    "alertmanager_version",
    "alertmanagers",
    "query",
    "query_path",
    "rule_groups",
    "targets",
]

ALERTS = "ALERTS%7Balertstate%3D%22firing%22%7D"
"""`ALERTS{alertstate="firing"}`, URL-encoded."""

_NEVER = datetime(1, 1, 2, tzinfo=UTC)  # Prometheus writes the zero time for "not yet"
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdwy])")
_ADDRESS_ROLES = (
    (re.compile(r":9400(/|$)"), GPU_EXPORTER),
    (re.compile(r"//localhost:9090(/|$)"), PROMETHEUS),
)


def query_path(expression: str) -> str:
    """Path and query of an instant query; `expression` is URL-encoded already."""
    return f"/api/v1/query?query={expression}"


def _data(recording: Recording, path: str) -> Mapping[str, Any]:
    read = recording.http("prometheus", path)
    document = read.document
    if text(document, "status") != "success":
        said = text(document, "error") or "its status is not `success`"
        raise UnseenError(read.key, "Malformed", f"{read.key}: {said}")
    return _present(document, "data")


def _present(document: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """The object at `path`, which every answer of this API has: absence is damage, not emptiness."""
    found = mapping(document, *path)
    if not found:
        raise MalformedError(f"{'.'.join(path)} is absent or empty")
    return found


def _listed(document: Mapping[str, Any], key: str) -> tuple[Mapping[str, Any], ...]:
    if key not in document:
        raise MalformedError(f"{key} is absent")
    return objects(document, key)


def seconds(duration: str) -> float:
    """A Prometheus duration such as `1m30s`; 0 where it is absent.

    Raises:
        MalformedError: It is none.
    """
    parts = _DURATION_PART.findall(duration)
    if "".join(amount + unit for amount, unit in parts) != duration:
        raise MalformedError(f"{duration!r} is not a duration")
    return sum(float(amount) * _UNITS_S[unit] for amount, unit in parts)


class Target(msgspec.Struct, frozen=True):
    """One scrape target.

    Attributes:
        role: What it is, or None for somebody else's.
        health: `up`, `down` or `unknown`.
        last_scrape: None before the first one.
    """

    role: str | None
    job: str
    pool: str
    url: str
    labels: Mapping[str, Any]
    health: str
    last_error: str
    last_scrape: datetime | None
    took_s: float
    interval_s: float
    timeout_s: float

    @property
    def name(self) -> str:
        """The job, and where it is scraped."""
        return f"{self.job} ({self.url})"


class Targets(msgspec.Struct, frozen=True):
    """Active targets, and how many were dropped by relabelling, by scrape pool."""

    active: tuple[Target, ...]
    dropped: Mapping[str, int]

    def of(self, role: str) -> tuple[Target, ...]:
        """The active targets of `role`."""
        return tuple(target for target in self.active if target.role == role)


def _role(labels: Mapping[str, Any], pool: str, url: str) -> str | None:
    names = [labels.get(key) for key in ("job", "service", "container", "app")]
    names.append(pool.split("/")[2] if pool.count("/") >= 2 else pool)  # noqa: PLR2004 - kind/namespace/name/index
    for name in names:
        if isinstance(name, str) and (role := role_of_name(name)) is not None:
            return role
    return next((role for pattern, role in _ADDRESS_ROLES if pattern.search(url)), None)


def _target(raw: Mapping[str, Any]) -> Target:
    labels, pool, url = mapping(raw, "labels"), text(raw, "scrapePool"), text(raw, "scrapeUrl")
    scraped = moment(text(raw, "lastScrape") or None)
    health = text(raw, "health")
    if health not in ("up", "down", "unknown"):
        raise MalformedError(f"target health {health!r}")
    return Target(
        role=_role(labels, pool, url),
        job=text(labels, "job", default=pool),
        pool=pool,
        url=url,
        labels=labels,
        health=health,
        last_error=text(raw, "lastError"),
        last_scrape=scraped if scraped is not None and scraped > _NEVER else None,
        took_s=number(raw, "lastScrapeDuration"),
        interval_s=seconds(text(raw, "scrapeInterval")),
        timeout_s=seconds(text(raw, "scrapeTimeout")),
    )


def targets(recording: Recording) -> Targets:
    """What Prometheus scrapes. Use as `recording.view(targets)`."""
    data = _data(recording, "/api/v1/targets?state=any")
    dropped: dict[str, int] = {}
    for raw in objects(data, "droppedTargets"):
        pool = text(raw, "scrapePool") or text(raw, "discoveredLabels", "job")
        dropped[pool] = dropped.get(pool, 0) + 1
    return Targets(tuple(_target(raw) for raw in _listed(data, "activeTargets")), dropped)


class Rule(msgspec.Struct, frozen=True):
    """One rule, and since when each of its alerts is active."""

    name: str
    alerting: bool
    health: str
    last_error: str
    firing_since: tuple[datetime, ...]


class RuleGroup(msgspec.Struct, frozen=True):
    """A loaded group of rules."""

    name: str
    rules: tuple[Rule, ...]


def _rule(raw: Mapping[str, Any]) -> Rule:
    since = [
        moment(text(alert, "activeAt") or None)
        for alert in objects(raw, "alerts")
        if text(alert, "state") == "firing"
    ]
    return Rule(
        text(raw, "name"),
        text(raw, "type") == "alerting",
        text(raw, "health"),
        text(raw, "lastError"),
        tuple(each for each in since if each is not None),
    )


def rule_groups(recording: Recording) -> tuple[RuleGroup, ...]:
    """The loaded groups of rules. Use as `recording.view(rule_groups)`."""
    groups = _listed(_data(recording, "/api/v1/rules"), "groups")
    return tuple(
        RuleGroup(text(raw, "name"), tuple(_rule(rule) for rule in objects(raw, "rules"))) for raw in groups
    )


class Alertmanagers(msgspec.Struct, frozen=True):
    """URLs of the Alertmanagers that Prometheus sends to, and of those it found and dropped."""

    active: tuple[str, ...]
    dropped: tuple[str, ...]


def alertmanagers(recording: Recording) -> Alertmanagers:
    """What Prometheus found to send alerts to. Use as `recording.view(alertmanagers)`."""
    data = _data(recording, "/api/v1/alertmanagers")
    return Alertmanagers(
        tuple(text(raw, "url") for raw in _listed(data, "activeAlertmanagers")),
        tuple(text(raw, "url") for raw in objects(data, "droppedAlertmanagers")),
    )


class Sample(msgspec.Struct, frozen=True):
    """One series of an instant query: its labels, its value, the time it holds for."""

    labels: Mapping[str, Any]
    value: float
    at: datetime


def query(recording: Recording, expression: str) -> tuple[Sample, ...]:
    """The series of an instant query; `expression` is URL-encoded already."""
    data = _data(recording, query_path(expression))
    if text(data, "resultType") != "vector":
        raise MalformedError(f"resultType is {text(data, 'resultType')!r}, not a vector")
    return tuple(_sample(raw) for raw in _listed(data, "result"))


def _sample(raw: Mapping[str, Any]) -> Sample:
    value = raw.get("value")
    if not isinstance(value, list) or len(value) != 2:  # noqa: PLR2004 - time and value, as the API defines
        raise MalformedError("a sample has no pair of time and value")
    try:
        return Sample(
            mapping(raw, "metric"), float(value[1]), datetime.fromtimestamp(float(value[0]), tz=UTC)
        )
    except (TypeError, ValueError, OverflowError, OSError):
        raise MalformedError(f"{value!r} is no sample") from None


def alertmanager_version(recording: Recording) -> str:
    """The version that Alertmanager says it is. Use as `recording.view(alertmanager_version)`."""
    document = recording.http("alertmanager", "/api/v2/status").document
    return text(_present(document, "versionInfo"), "version", default="?")


def active_alerts(recording: Recording) -> frozenset[str]:
    """Names of the alerts that Alertmanager has. Use as `recording.view(active_alerts)`."""
    read = recording.http("alertmanager", "/api/v2/alerts")
    body = read.answer
    if isinstance(body, str) and body.lstrip().startswith("["):
        body = json.loads(body)  # a list that was kept as text
    if not isinstance(body, list):
        raise UnseenError(read.key, "Malformed", f"{read.key}: the body is not a list of alerts")
    return frozenset(text(raw, "labels", "alertname") for raw in objects({"alerts": body}, "alerts"))
