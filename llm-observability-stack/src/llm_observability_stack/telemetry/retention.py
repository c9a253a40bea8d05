"""The cap on the size of Prometheus' database against the size of its volume."""

import re
from collections.abc import Mapping
from typing import Any

from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError, text
from edge_llm_tests.objects import Pod
from edge_llm_tests.objects.meta import Meta

from llm_observability_stack.telemetry.observe import TelemetryState
from llm_observability_stack.telemetry.roles import PROMETHEUS

__all__ = ["cap_bytes", "size_bytes", "volume_bytes"]

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
    """The size cap that Prometheus was given, by its object or its flags; None where neither says one."""
    caps = [each.retention_size for each in observed.prometheuses.value if each.retention_size]
    for pod in observed.cast.value.of(PROMETHEUS):
        for container in pod.containers:
            told = " ".join(str(each) for each in container.raw.get("args") or ())
            caps += _FLAG.findall(told)
    return size_bytes(caps[0]) if caps else None


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
