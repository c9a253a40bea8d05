"""The layout of k3s on a host: absolute paths, each looked up below the host's root."""

from pathlib import Path

__all__ = [
    "AUDIT_LOG",
    "AUDIT_POLICY",
    "BINARY",
    "CONFIG",
    "DATA_DIRECTORIES",
    "IMAGES_DIRECTORY",
    "KUBECONFIG",
    "LINKS",
    "LOCK",
    "RECORD",
    "SERVICE",
    "UNIT",
    "below",
]

BINARY = "/usr/local/bin/k3s"
LINKS = ("/usr/local/bin/kubectl", "/usr/local/bin/crictl", "/usr/local/bin/ctr")
"""Names under which the one program is other programs as well."""
CONFIG = "/etc/rancher/k3s/config.yaml"
AUDIT_POLICY = "/etc/rancher/k3s/audit-policy.yaml"
KUBECONFIG = "/etc/rancher/k3s/k3s.yaml"
DATA = "/var/lib/rancher/k3s"
IMAGES_DIRECTORY = f"{DATA}/agent/images"
AUDIT_LOG = f"{DATA}/server/logs/audit.log"
SERVICE = "k3s.service"
UNIT = f"/etc/systemd/system/{SERVICE}"
RECORD = "/var/lib/edge/node.json"
"""What was installed here, and the checksums it had."""
LOCK = "/var/lib/edge/node.lock"
DATA_DIRECTORIES = (DATA, "/var/lib/kubelet", "/var/lib/cni", "/etc/rancher/node")
"""What k3s fills while it runs."""


def below(root: Path, path: str) -> Path:
    """Where an absolute path of the host is, seen from here."""
    return root / path.lstrip("/")
