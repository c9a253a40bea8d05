"""The configuration of k3s: the texts of the files that are installed, made from a profile's settings."""

from typing import Any

from k3s_nvidia_edge.node.layout import AUDIT_LOG, AUDIT_POLICY, BINARY
from k3s_nvidia_edge.node.settings import NodeSettings

__all__ = ["AUDIT_RULES", "UNIT_TEXT", "config_text"]

_HEAD = (
    "# Written by `edge up`; `edge node status` tells whether it was edited since.\n"
    "# Where it differs from the defaults of k3s, the reason stands in docs/install.md.\n"
)

AUDIT_RULES = """\
# Written by `edge up`. Who changed what, without the contents: Secrets and prompts stay out of the log.
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  # Every second of every controller; nobody did anything.
  - level: None
    resources:
      - {group: coordination.k8s.io, resources: [leases]}
      - {group: "", resources: [events]}
      - {group: events.k8s.io, resources: [events]}
  - level: None
    nonResourceURLs: ["/healthz*", "/livez*", "/readyz*", "/version", "/openapi*"]
  # Whoever read a Secret is worth a line, and so is every change.
  - level: Metadata
    resources: [{group: "", resources: [secrets, serviceaccounts/token]}]
  - level: Metadata
    verbs: [create, update, patch, delete, deletecollection]
  - level: None
"""

UNIT_TEXT = f"""\
# Written by `edge up`.
[Unit]
Description=k3s: Kubernetes on this machine
Documentation=https://docs.k3s.io
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
# k3s prepends the folder of the GPU operator's toolkit itself; the distribution's is found on this PATH.
Environment=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
EnvironmentFile=-/etc/default/k3s
ExecStartPre=-/sbin/modprobe br_netfilter
ExecStartPre=-/sbin/modprobe overlay
ExecStart={BINARY} server
# Pods outlive a restart of k3s.
KillMode=process
Delegate=yes
LimitNOFILE=1048576
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
# A first start unpacks all images; who waits decides how long.
TimeoutStartSec=0
Restart=always
RestartSec=5s

[Install]
WantedBy=multi-user.target
"""


def config_text(settings: NodeSettings) -> str:
    """`/etc/rancher/k3s/config.yaml` as text.

    The datastore is embedded etcd from the first day: k3s takes snapshots of etcd alone, and its default,
    SQLite, can only be moved to etcd by a restart with other flags.
    """
    import yaml  # noqa: PLC0415 - 40 ms that only an installation pays

    document: dict[str, Any] = {
        "write-kubeconfig-mode": "0600",
        "cluster-init": True,
        "secrets-encryption": True,
        "etcd-snapshot-schedule-cron": settings.snapshot_schedule,
        "etcd-snapshot-retention": settings.snapshot_retention,
        "etcd-snapshot-compress": True,
        "kube-apiserver-arg": [
            f"audit-policy-file={AUDIT_POLICY}",
            f"audit-log-path={AUDIT_LOG}",
            f"audit-log-maxage={settings.audit_days}",
            f"audit-log-maxsize={settings.audit_file_mib}",
            f"audit-log-maxbackup={settings.audit_files}",
        ],
    }
    if settings.default_runtime:
        document["default-runtime"] = settings.default_runtime
    if settings.disable:
        document["disable"] = list(settings.disable)
    return _HEAD + str(yaml.safe_dump(document, sort_keys=False, width=100))
