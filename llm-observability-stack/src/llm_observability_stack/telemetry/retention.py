"""The cap on the size of Prometheus' database against the size of its volume."""

import re
from collections.abc import Mapping
from typing import Any

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError, text
from edge_llm_tests.objects import Pod
from edge_llm_tests.objects.meta import Meta
from edge_llm_tests.reads import see

from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.prometheus_api import query
from llm_observability_stack.telemetry.roles import PROMETHEUS

__all__ = ["LIMIT_SERIES", "cap_bytes", "size_bytes", "volume_bytes"]

LIMIT_SERIES = "prometheus_tsdb_retention_limit_bytes"
"""What Prometheus itself says of its cap; 0 where it has none."""

_KIBI = 1024
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTPE]?)(i?)(B?)")
_FLAG = re.compile(r"--storage\.tsdb\.retention\.size=(\S+)")
_POWERS = {prefix: power for power, prefix in enumerate(("", "K", "M", "G", "T", "P", "E"))}


def size_bytes(quantity: str) -> float:
    """Bytes of a size: Kubernetes' `25Gi` and `25G`, Prometheus' `20GB` (which it counts in powers of 1024).

    Raises:
        MalformedError: It is no size.
    """
    found = _QUANTITY.fullmatch(quantity.strip())
    if found is None:
        raise MalformedError(f"{quantity!r} is not a size")
    amount, prefix, binary, byte = found.groups()
    base = _KIBI if binary or byte else 1000
    return float(amount) * float(base ** _POWERS[prefix])


def cap_bytes(observed: TelemetryState) -> float | None:
    """The size cap of Prometheus, by its own word, its object or its flags; 0 for none, None for unseen."""
    told = see(query, observed.recording, LIMIT_SERIES).or_else(())
    if told:
        return min(sample.value for sample in told)
    caps = [each.retention_size for each in observed.prometheuses.value]
    for pod in observed.cast.value.of(PROMETHEUS):
        for container in pod.containers:
            caps += _FLAG.findall(" ".join(str(each) for each in container.raw.get("args") or ()))
    if not caps:
        return None  # its configuration file may have one
    return size_bytes(caps[0]) if caps[0] else 0.0


def claims(recording: Recording) -> tuple[Meta, ...]:
    """All PersistentVolumeClaims. Use as `recording.view(claims)`."""
    return tuple(Meta(raw) for raw in recording.api("/api/v1/persistentvolumeclaims").items)


def volume_bytes(observed: TelemetryState) -> float | None:
    """The size of Prometheus' volume; None where it has none of its own."""
    for pod in observed.cast.value.of(PROMETHEUS):
        named = {text(volume, "persistentVolumeClaim", "claimName") for volume in pod.spec.volumes} - {""}
        for claim in observed.recording.view(claims).value:
            if claim.namespace == pod.namespace and (claim.name in named or _looks_like(claim, pod)):
                return size_bytes(_asked(claim.raw))
    return None


def _looks_like(claim: Meta, pod: Pod) -> bool:
    """A claim that the operator named after the pod: `prometheus-<name>-db-<pod>`."""
    return claim.name.startswith("prometheus-") and not pod.spec.volumes


def _asked(raw: Mapping[str, Any]) -> str:
    return text(raw, "status", "capacity", "storage") or text(raw, "spec", "resources", "requests", "storage")
