"""Where everything lies: in the state directory on the host, and inside the node.

The node has a root file system of its own (`root.py`), so the paths inside are fixed and short; only the
state directory's own place is the operator's choice.
"""

import os
from pathlib import Path
from typing import Final

import msgspec

__all__ = [
    "BIN_INSIDE",
    "CNI_INSIDE",
    "CONTAINERD_CONFIG_INSIDE",
    "HOME_INSIDE",
    "INSIDE",
    "K3S_INSIDE",
    "MODELS_INSIDE",
    "SUPERVISOR_SOCKET_INSIDE",
    "Layout",
]

INSIDE: Final = Path("/var/lib/edge/sandbox")  # the state directory, seen from inside the node
HOME_INSIDE: Final = "/var/lib/edge"  # not the host root's: what lies there is nobody's business in the node
MODELS_INSIDE: Final = Path("/var/lib/edge/models")
BIN_INSIDE: Final = Path("/opt/edge/bin")
CNI_INSIDE: Final = Path("/opt/edge/cni")
# k3s's own places, so that the host reads of a k3s node find what they look for
K3S_INSIDE: Final = Path("/var/lib/rancher/k3s")
CONTAINERD_CONFIG_INSIDE: Final = K3S_INSIDE / "agent/etc/containerd/config.toml"
SUPERVISOR_SOCKET_INSIDE: Final = Path("/run/supervisor.sock")


class Layout(msgspec.Struct, frozen=True):
    """The state directory and the names in it."""

    state_dir: Path

    @classmethod
    def of(cls, state_dir: Path | str | None = None) -> "Layout":
        """The layout of a state directory; `$XDG_STATE_HOME/edge/sandbox` unless told otherwise."""
        if state_dir is not None:
            return cls(Path(state_dir).expanduser().absolute())
        home = os.environ.get("XDG_STATE_HOME", "")
        base = Path(home) if home.startswith("/") else Path("~/.local/state").expanduser()
        return cls(base / "edge" / "sandbox")

    @property
    def record(self) -> Path:
        """What was made on this machine; exists only while there is something to undo."""
        return self.state_dir / "node.json"

    @property
    def scratch(self) -> Path:
        """Mount point of the node's root file system, inside the node's mount namespace only."""
        return self.state_dir / "root"

    @property
    def pki(self) -> Path:
        """Keys and certificates of the cluster."""
        return self.state_dir / "pki"

    @property
    def kubeconfigs(self) -> Path:
        """One kubeconfig for each identity."""
        return self.state_dir / "kubeconfig"

    @property
    def admin_kubeconfig(self) -> Path:
        """The operator's kubeconfig."""
        return self.kubeconfigs / "admin.conf"

    @property
    def config(self) -> Path:
        """Configuration files of the node's programs."""
        return self.state_dir / "etc"

    @property
    def manifests(self) -> Path:
        """What the node applies to itself at start."""
        return self.state_dir / "manifests"

    @property
    def simulate(self) -> Path:
        """What the SIMULATED host answers; faults rewrite it."""
        return self.state_dir / "simulate"

    @property
    def log(self) -> Path:
        """One log for each program, the API server's audit log, and the pods' logs."""
        return self.state_dir / "log"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log."""
        return self.log / "audit.log"

    @property
    def init_log(self) -> Path:
        """What the node's first process said before the supervisor took over."""
        return self.log / "init.log"

    @property
    def k3s(self) -> Path:
        """`/var/lib/rancher/k3s` of the node: containerd's store, the data store, volumes."""
        return self.state_dir / "k3s"

    @property
    def containerd_config(self) -> Path:
        """The configuration that containerd really runs with."""
        return self.k3s / CONTAINERD_CONFIG_INSIDE.relative_to(K3S_INSIDE)

    @property
    def image_list(self) -> Path:
        """The archives that the node is asked to import."""
        return self.config / "images.json"

    @property
    def imported(self) -> Path:
        """What the node's importer has imported so far."""
        return self.state_dir / "images" / "imported.json"

    @property
    def addons(self) -> Path:
        """What the node's own `kubectl apply` has done so far."""
        return self.state_dir / "addons" / "applied.json"

    def directories(self) -> tuple[Path, ...]:
        """Every directory that has to exist before the node starts."""
        return (
            self.scratch,
            self.pki,
            self.kubeconfigs,
            self.config,
            self.manifests,
            self.simulate,
            self.log / "pods",
            self.log / "containers",
            self.imported.parent,
            self.addons.parent,
            self.containerd_config.parent,
            self.k3s / "agent/etc/cni/net.d",
            self.k3s / "agent/containerd",
            self.k3s / "agent/containerd-opt",
            self.k3s / "server/db",
            self.k3s / "storage",
            self.state_dir / "kubelet",
            self.state_dir / "cni",
        )
