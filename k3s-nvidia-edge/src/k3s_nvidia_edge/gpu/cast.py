"""The pods and DaemonSets that make a GPU usable, found by their images in one look at each pod."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.fields import objects, text
from edge_llm_tests.objects import Pod, Workload, daemonsets, pods

__all__ = ["PODS_PER_ROLE", "Cast", "Role", "cast", "plugin_daemonsets", "role_of", "toolkit_daemonsets"]

PODS_PER_ROLE = 8
"""Pods of a role whose logs are read; those of more would say the same."""

_OTHER_VENDORS = frozenset({"rocm", "amd", "intel", "habana", "xilinx", "generic", "squat", "smarter"})
_NOT_THE_PLUGIN = ("gpu-feature-discovery", "mps-control-daemon", "config-manager")


class Role:
    """What a pod is for."""

    PLUGIN = "device plugin"
    TOOLKIT = "container toolkit"
    DRIVER = "driver"
    OPERATOR = "GPU operator"
    PROVISIONER = "storage provisioner"


_REPOSITORIES = (
    (Role.TOOLKIT, ("container-toolkit", "nvidia-container-toolkit")),
    (Role.PROVISIONER, ("local-path-provisioner",)),
)


class Cast(msgspec.Struct, frozen=True):
    """The pods by role, and those of each runtime class.

    Attributes:
        by_role: Pods by role.
        by_class: Pods by their runtimeClassName; pods of the default runtime are left out.
        unsettled: Pods that have not ended and are not ready.
    """

    by_role: Mapping[str, tuple[Pod, ...]] = msgspec.field(default_factory=dict)
    by_class: Mapping[str, tuple[Pod, ...]] = msgspec.field(default_factory=dict)
    unsettled: tuple[Pod, ...] = ()

    def of(self, role: str) -> tuple[Pod, ...]:
        """Pods of a role that have not ended and are not being deleted."""
        return tuple(pod for pod in self.by_role.get(role, ()) if not pod.finished and not pod.terminating)

    def of_class(self, runtime_class: str) -> tuple[Pod, ...]:
        """Pods of a runtime class that have not ended."""
        return tuple(pod for pod in self.by_class.get(runtime_class, ()) if not pod.finished)


def cast(recording: Recording) -> Cast:
    """The pods in their roles. Use as `recording.view(cast)`."""
    by_role: dict[str, list[Pod]] = {}
    by_class: dict[str, list[Pod]] = {}
    unsettled: list[Pod] = []
    for pod in recording.view(pods).value:
        spec = pod.spec
        if role := role_of(pod.name, objects(spec.raw, "containers")):
            by_role.setdefault(role, []).append(pod)
        if runtime_class := spec.runtime_class:
            by_class.setdefault(runtime_class, []).append(pod)
        if not pod.finished and not pod.ready:
            unsettled.append(pod)
    return Cast(_frozen(by_role), _frozen(by_class), tuple(unsettled))


def plugin_daemonsets(recording: Recording) -> tuple[Workload, ...]:
    """DaemonSets of NVIDIA device plugins. Use as `recording.view(plugin_daemonsets)`."""
    return _daemonsets(recording, Role.PLUGIN)


def toolkit_daemonsets(recording: Recording) -> tuple[Workload, ...]:
    """DaemonSets of the container toolkit. Use as `recording.view(toolkit_daemonsets)`."""
    return _daemonsets(recording, Role.TOOLKIT)


def role_of(name: str, containers: Iterable[Mapping[str, Any]]) -> str:
    """The role of a pod of that name and with those containers; empty for most."""
    for container in containers:
        image = text(container, "image").partition("@")[0]
        repository = image.rsplit("/", 1)[-1].partition(":")[0]
        for role, repositories in _REPOSITORIES:
            if repository in repositories:
                return role
        if repository == "gpu-operator" and text(container, "name") == "gpu-operator":
            return Role.OPERATOR
        if repository == "driver" and "nvidia" in image:
            return Role.DRIVER
        if "device-plugin" in repository and _is_plugin(name, container, image):
            return Role.PLUGIN
    return ""


def _is_plugin(name: str, container: Mapping[str, Any], image: str) -> bool:
    if set(re.split(r"[/.:_-]", image.lower())) & _OTHER_VENDORS:
        return False
    called = f"{name} {text(container, 'name')} {container.get('command')}"
    return not any(word in called for word in _NOT_THE_PLUGIN)


def _daemonsets(recording: Recording, role: str) -> tuple[Workload, ...]:
    return tuple(
        workload
        for workload in recording.view(daemonsets).value
        if role_of(workload.name, objects(workload.template.raw, "containers")) == role
    )


def _frozen(found: Mapping[str, list[Pod]]) -> dict[str, tuple[Pod, ...]]:
    return {key: tuple(value) for key, value in found.items()}
