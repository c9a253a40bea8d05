"""The layout of k3s on a host: absolute paths, each looked up below the host's root."""

from collections.abc import Iterable
from pathlib import Path

from edge_llm_tests.errors import UsageError

__all__ = [
    "AUDIT_LOG",
    "AUDIT_POLICY",
    "BINARY",
    "CONFIG",
    "DATA_DIRECTORIES",
    "DROP_INS",
    "IMAGES_DIRECTORY",
    "KUBECONFIG",
    "LINKS",
    "LOCK",
    "RECORD",
    "SERVICE",
    "UNIT",
    "below",
    "require_inside",
]

BINARY = "/usr/local/bin/k3s"
LINKS = ("/usr/local/bin/kubectl", "/usr/local/bin/crictl", "/usr/local/bin/ctr")
"""Names under which the one program is other programs as well."""
CONFIG = "/etc/rancher/k3s/config.yaml"
DROP_INS = "/etc/rancher/k3s/config.yaml.d"
"""Where an administrator puts settings of their own; k3s reads them over those of `config.yaml`."""
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


def require_inside(root: Path, paths: Iterable[str]) -> None:
    """See that no link on the way to any of these leads out of the host's root.

    Raises:
        UsageError: One does: what is written or deleted there would be another host's.
    """
    whole = root.resolve()
    for folder in dict.fromkeys(below(root, path).parent for path in paths):
        try:
            place = folder.resolve()
        except (OSError, RuntimeError):  # RuntimeError is how a loop is told
            raise UsageError(f"{folder}: its links go in a circle", "correct the links") from None
        if not place.is_relative_to(whole):
            raise UsageError(
                f"{folder} leads to {place}, out of {root}",
                "replace the link on the way, or run it on that host",
            )
