"""The catalogue of this project's metrics, read from `telemetry/metrics.yaml`, and families made by it."""

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec
import yaml
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

__all__ = ["Entry", "bounded", "catalogue", "family"]

_LABEL_LIMIT = 120
_HASH_CHARS = 8


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One metric.

    Attributes:
        type: `gauge` or `counter`.
        unit: Unit of its value: bytes, seconds, ...; `1` for a number or a truth.
        labels: Label names, in order.
        help: One sentence.
        source: The source of the exporter that collects it.
        values: Label name to all values that it can have, for labels that have a fixed few.
        used_by: The alerts, recording rules and dashboards that ask for it.
    """

    type: Literal["gauge", "counter"]
    unit: str
    labels: tuple[str, ...]
    help: str
    source: str
    values: dict[str, tuple[str, ...]] = {}
    used_by: tuple[str, ...] = ()


@cache
def catalogue() -> Mapping[str, Entry]:
    """Every metric of this project by name."""
    content = (files("llm_observability_stack.telemetry") / "metrics.yaml").read_bytes()
    return msgspec.convert(yaml.safe_load(content), dict[str, Entry])


def bounded(value: object) -> str:
    """A label value of at most 120 characters, printable; what was cut off is told apart by a hash."""
    text = "".join(char if char.isprintable() else "?" for char in str(value))
    if len(text) <= _LABEL_LIMIT:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_CHARS]
    return f"{text[: _LABEL_LIMIT - _HASH_CHARS - 1]}~{digest}"


def family(name: str, samples: Iterable[tuple[tuple[object, ...], float]]) -> Metric:
    """The family `name`, a sample for each (label values, value); of the same labels the first wins."""
    entry = catalogue()[name]
    made: GaugeMetricFamily | CounterMetricFamily
    if entry.type == "counter":
        made = CounterMetricFamily(name, entry.help, labels=entry.labels)
    else:
        made = GaugeMetricFamily(name, entry.help, labels=entry.labels)
    seen: set[tuple[str, ...]] = set()
    for values, value in samples:
        labels = tuple(bounded(each) for each in values)
        if labels not in seen:
            seen.add(labels)
            made.add_metric(labels, value)
    return made
