"""Roles in a monitoring stack, recognised by what things are: image, label, job, port."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError, mapping, objects, text
from edge_llm_tests.objects import Pod, Workload, daemonsets, pods

__all__ = [
    "ALERTMANAGER",
    "COMPANIONS",
    "EDGE_EXPORTER",
    "GPU_EXPORTER",
    "GRAFANA",
    "OPERATOR",
    "PROMETHEUS",
    "ROLES",
    "Cast",
    "cast",
    "gpu_daemonsets",
    "is_own_stack",
    "role_of_name",
    "role_of_workload",
]

EDGE_EXPORTER = "edge-exporter"
GPU_EXPORTER = "gpu-exporter"
PROMETHEUS = "prometheus"
ALERTMANAGER = "alertmanager"
GRAFANA = "grafana"
OPERATOR = "prometheus-operator"
COMPANIONS = ("node-exporter", "kube-state-metrics", ALERTMANAGER)
"""Scraped where they are installed; no profile promises them by themselves."""

# The first that matches wins: `kube-prometheus-stack-prometheus-node-exporter` is a node exporter.
_NAMES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (role, re.compile(pattern))
    for role, pattern in (
        (GPU_EXPORTER, r"dcgm-exporter|nvidia[-_]gpu[-_]exporter|^gpu-exporter$"),
        (EDGE_EXPORTER, r"edge-exporter|^llm-observability-exporter$"),
        ("node-exporter", r"node[-_]exporter|^node$"),
        ("kube-state-metrics", r"kube-state-metrics"),
        ("config-reloader", r"config-reloader"),
        (OPERATOR, r"(prometheus|stack)-operator$"),
        (ALERTMANAGER, r"(^|-)alertmanager(-main|-operated|-\d+)?$"),
        (GRAFANA, r"(^|-)grafana(-oss|-enterprise)?$"),
        (PROMETHEUS, r"(^|-)prometheus(-k8s|-server|-operated|-\d+)?$"),
    )
)
ROLES = tuple(role for role, _ in _NAMES)
_OWN = "edge"
_RESOURCE_PREFIX = "nvidia.com/"


@lru_cache(maxsize=4096)  # ten thousand pods have some dozens of images
def role_of_name(name: str) -> str | None:
    """The role that the name of an image, job, Service or monitor tells, or None."""
    return next((role for role, pattern in _NAMES if pattern.search(name)), None)


def _image_name(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


class Cast(msgspec.Struct, frozen=True):
    """The pods that matter to telemetry.

    Attributes:
        by_role: Role to its pods, finished ones included.
        holders: Running pods that were given a GPU, in whatever form (whole, MIG slice, time slice).
    """

    by_role: Mapping[str, tuple[Pod, ...]] = msgspec.field(default_factory=dict)
    holders: tuple[Pod, ...] = ()

    def of(self, role: str) -> tuple[Pod, ...]:
        """The pods of `role` that are neither finished nor being deleted."""
        return tuple(pod for pod in self.by_role.get(role, ()) if not pod.finished and not pod.terminating)


def _role_of_containers(containers: tuple[Mapping[str, Any], ...]) -> str | None:
    found = {role_of_name(_image_name(text(container, "image"))) for container in containers}
    return next((role for role in ROLES if role in found and role != "config-reloader"), None)


def _role_of_labels(labels: Mapping[str, Any]) -> str | None:
    name = labels.get("app.kubernetes.io/name")
    return role_of_name(name) if isinstance(name, str) else None


def cast(recording: Recording) -> Cast:
    """Who plays which role, from one walk over all pods. Use as `recording.view(cast)`."""
    found: dict[str, list[Pod]] = {}
    holders: list[Pod] = []
    for pod in recording.view(pods).value:
        containers = objects(pod.raw, "spec", "containers")
        role = _role_of_containers(containers) or _role_of_labels(pod.labels)
        if role is not None:
            found.setdefault(role, []).append(pod)
        if any(_asks_gpu(container) for container in containers) and pod.phase == "Running":
            holders.append(pod)
    return Cast({role: tuple(each) for role, each in found.items()}, tuple(holders))


def is_own_stack(who: Cast) -> bool:
    """Whether the Prometheus that runs is the one that this project's chart installs (standalone mode)."""
    found = who.of(PROMETHEUS)
    return bool(found) and all(pod.labels.get("app.kubernetes.io/part-of") == _OWN for pod in found)


def _asks_gpu(container: Mapping[str, Any]) -> bool:
    limits = mapping(container, "resources", "limits")
    for name, value in limits.items():
        if name.startswith(_RESOURCE_PREFIX):
            if isinstance(value, bool) or not str(value).isdecimal():
                raise MalformedError(f"{name}: {value!r} is not a count")
            if int(str(value)) > 0:
                return True
    return False


def role_of_workload(workload: Workload) -> str | None:
    """The role of the pods that a Deployment or DaemonSet makes."""
    return _role_of_containers(
        objects(workload.raw, "spec", "template", "spec", "containers")
    ) or _role_of_labels(workload.template_labels)


def gpu_daemonsets(recording: Recording) -> tuple[Workload, ...]:
    """The DaemonSets that deploy a GPU exporter. Use as `recording.view(gpu_daemonsets)`."""
    return tuple(each for each in recording.view(daemonsets).value if role_of_workload(each) == GPU_EXPORTER)
