"""The node's configuration files, rendered from the package's templates into the state directory."""

from functools import cache
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

import msgspec

from k3s_nvidia_edge.sandbox import addresses, wire
from k3s_nvidia_edge.sandbox.images import Archive
from k3s_nvidia_edge.sandbox.layout import INSIDE, K3S_INSIDE, SUPERVISOR_SOCKET_INSIDE, Layout
from k3s_nvidia_edge.sandbox.pki import TOOL_USER
from k3s_nvidia_edge.sandbox.programs import programs, sections

__all__ = ["Choices", "containerd", "image_list", "read_choices", "render", "save_choices", "write"]

_PACKAGE: Final = "k3s_nvidia_edge.sandbox"


class Choices(msgspec.Struct, frozen=True):
    """What was found on this machine and decides how the node is configured.

    Attributes:
        may_raise_limits: CAP_SYS_RESOURCE is there; without it runc may not lower oom_score_adj.
        network_policy: kube-router and ipset are there.
        images: image reference for each part of the node itself (`pause`, `coredns`,
            `local-path-provisioner`, `base`).
    """

    may_raise_limits: bool
    network_policy: bool
    images: dict[str, str]


@cache
def _template(folder: str, name: str) -> Template:
    return Template((resources.files(_PACKAGE) / folder / name).read_text(encoding="utf-8"))


def _fill(folder: str, name: str, **values: str) -> str:
    return _template(folder, name).substitute(
        node_ip=addresses.NODE_IP,
        node_name=addresses.NODE_NAME,
        cluster_dns=addresses.CLUSTER_DNS,
        pod_network=addresses.POD_NETWORK,
        node_pod_network=addresses.NODE_POD_NETWORK,
        pki=str(INSIDE / "pki"),
        kubeconfigs=str(INSIDE / "kubeconfig"),
        log=str(INSIDE / "log"),
        socket=str(SUPERVISOR_SOCKET_INSIDE),
        volumes=str(K3S_INSIDE / "storage"),
        tool_user=TOOL_USER,
        **values,
    )


def containerd(choices: Choices, *, nvidia: bool = True) -> str:
    """Containerd's configuration, with or without the SIMULATED runtime `nvidia`."""
    text = _fill(
        "config",
        "containerd.toml",
        pause_image=choices.images["pause"],
        restrict_oom_score_adj="false" if choices.may_raise_limits else "true",
    )
    return text + _fill("config", "containerd-nvidia.toml") if nvidia else text


def render(layout: Layout, choices: Choices) -> dict[Path, str]:
    """Every configuration file and manifest of the node, by its place on the host."""
    files = {
        layout.containerd_config: containerd(choices),
        layout.config / "kubelet.yaml": _fill("config", "kubelet.yaml"),
        layout.config / "kube-proxy.yaml": _fill("config", "kube-proxy.yaml"),
        layout.config / "audit-policy.yaml": _fill("config", "audit-policy.yaml"),
        layout.config / "supervisord.conf": _fill("config", "supervisord.conf")
        + sections(programs(network_policy=choices.network_policy)),
        layout.k3s / "agent/etc/cni/net.d/10-sandbox.conflist": _fill("config", "cni.conflist"),
        layout.manifests / "coredns.yaml": _fill(
            "manifests", "coredns.yaml", coredns_image=choices.images["coredns"]
        ),
    }
    if "local-path-provisioner" in choices.images and "base" in choices.images:
        files[layout.manifests / "local-path.yaml"] = _fill(
            "manifests",
            "local-path.yaml",
            provisioner_image=choices.images["local-path-provisioner"],
            helper_image=choices.images["base"],
        )
    if choices.network_policy:
        files[layout.manifests / "kube-router.yaml"] = _fill("manifests", "kube-router.yaml")
    return files


def save_choices(layout: Layout, choices: Choices) -> None:
    """Keep what the node was configured by, for whoever renders a file of it again."""
    write(layout.config / "choices.json", wire.pretty(choices))


def read_choices(layout: Layout) -> Choices:
    """What the node was configured by."""
    return wire.decode((layout.config / "choices.json").read_bytes(), Choices)


def image_list(archives: tuple[Archive, ...]) -> str:
    """The list that the node's importer works through, in this order."""
    return wire.pretty(archives)


def write(path: Path, text: str) -> None:
    """Put a file down whole: a program in the node may read it at any moment."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def own_manifests(layout: Layout) -> tuple[Path, ...]:
    """The sandbox's own manifests; other files beside them are the operator's, and are applied too."""
    names = sorted(
        one.name for one in (resources.files(_PACKAGE) / "manifests").iterdir() if one.name.endswith(".yaml")
    )
    return tuple(layout.manifests / name for name in names)
