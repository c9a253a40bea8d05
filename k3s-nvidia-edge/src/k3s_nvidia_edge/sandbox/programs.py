"""The programs that the node's supervisor keeps running, and its configuration.

All start at once and try again by themselves until what they need is there; no order is needed.
"""

import sys
from collections.abc import Iterable
from typing import Final

import msgspec

from k3s_nvidia_edge.sandbox import addresses
from k3s_nvidia_edge.sandbox.layout import BIN_INSIDE, CONTAINERD_CONFIG_INSIDE, INSIDE, K3S_INSIDE

__all__ = ["BINARIES", "COMPONENTS", "NODE_PATH", "Program", "module_argv", "programs", "sections"]

NODE_PATH: Final = f"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{BIN_INSIDE}"

# What a k3s service is made of; the SIMULATED systemctl answers for `k3s` from these.
COMPONENTS: Final = (
    "containerd",
    "kine",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
)

# Everything that has to be built before a node can start; kube-router is used where it is there.
BINARIES: Final = (
    "containerd",
    "containerd-shim-runc-v2",
    "ctr",
    "runc",
    "kine",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kubectl",
)

_PKI: Final = INSIDE / "pki"
_KUBECONFIG: Final = INSIDE / "kubeconfig"
_CONFIG: Final = INSIDE / "etc"
_LOG: Final = INSIDE / "log"
# one writer, so WAL and a shared cache are safe; a SIGKILL loses nothing that was acknowledged
_DATABASE: Final = f"sqlite://{K3S_INSIDE}/server/db/state.db?_journal=WAL&cache=shared&_busy_timeout=30000&_txlock=immediate"


class Program(msgspec.Struct, frozen=True):
    """One supervised program.

    Attributes:
        once: it ends with 0 when its work is done, and is not started again then.
    """

    name: str
    argv: tuple[str, ...]
    once: bool = False


def _binary(name: str) -> str:
    return str(BIN_INSIDE / name)


def module_argv(name: str) -> tuple[str, ...]:
    """The command line of one of the package's own programs, inside the node."""
    return (sys.executable, "-m", f"k3s_nvidia_edge.sandbox.inside.{name}")


def programs(*, network_policy: bool) -> tuple[Program, ...]:
    """Everything that runs in the node.

    Args:
        network_policy: whether kube-router and the ipset program are there to enforce NetworkPolicy.
    """
    found = [
        Program("containerd", (_binary("containerd"), "--config", str(CONTAINERD_CONFIG_INSIDE))),
        Program("kine", _kine()),
        Program("kube-apiserver", _kube_apiserver()),
        Program("kube-controller-manager", _kube_controller_manager()),
        Program("kube-scheduler", _kube_scheduler()),
        Program("kubelet", _kubelet()),
        Program("kube-proxy", (_binary("kube-proxy"), f"--config={_CONFIG}/kube-proxy.yaml")),
        Program("images", module_argv("images"), once=True),
        Program("addons", module_argv("addons"), once=True),
    ]
    if network_policy:
        found.append(Program("kube-router", _kube_router()))
    return tuple(found)


def _kine() -> tuple[str, ...]:
    return (
        _binary("kine"),
        "--endpoint",
        _DATABASE,
        "--listen-address",
        "127.0.0.1:2379",
        "--metrics-bind-address",
        "0",
    )


def _kube_apiserver() -> tuple[str, ...]:
    return (
        _binary("kube-apiserver"),
        f"--advertise-address={addresses.NODE_IP}",
        "--bind-address=0.0.0.0",
        f"--secure-port={addresses.API_PORT}",
        "--etcd-servers=http://127.0.0.1:2379",
        "--storage-media-type=application/vnd.kubernetes.protobuf",
        f"--service-cluster-ip-range={addresses.SERVICE_NETWORK}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--anonymous-auth=true",
        f"--client-ca-file={_PKI}/ca.crt",
        f"--tls-cert-file={_PKI}/apiserver.crt",
        f"--tls-private-key-file={_PKI}/apiserver.key",
        f"--kubelet-client-certificate={_PKI}/apiserver-kubelet-client.crt",
        f"--kubelet-client-key={_PKI}/apiserver-kubelet-client.key",
        f"--kubelet-certificate-authority={_PKI}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={_PKI}/sa.pub",
        f"--service-account-signing-key-file={_PKI}/sa.key",
        f"--requestheader-client-ca-file={_PKI}/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={_PKI}/front-proxy-client.crt",
        f"--proxy-client-key-file={_PKI}/front-proxy-client.key",
        f"--audit-policy-file={_CONFIG}/audit-policy.yaml",
        f"--audit-log-path={_LOG}/audit.log",
        "--audit-log-maxsize=100",
        "--audit-log-maxbackup=2",
        "--profiling=false",
    )


def _kube_controller_manager() -> tuple[str, ...]:
    own = f"{_KUBECONFIG}/controller-manager.conf"
    return (
        _binary("kube-controller-manager"),
        f"--kubeconfig={own}",
        f"--authentication-kubeconfig={own}",
        f"--authorization-kubeconfig={own}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        # it makes one token for each controller at start; the default 20 a second would delay the first pods
        # by 4 s
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--allocate-node-cidrs=true",
        f"--cluster-cidr={addresses.POD_NETWORK}",
        f"--service-cluster-ip-range={addresses.SERVICE_NETWORK}",
        f"--client-ca-file={_PKI}/ca.crt",
        f"--root-ca-file={_PKI}/ca.crt",
        f"--cluster-signing-cert-file={_PKI}/ca.crt",
        f"--cluster-signing-key-file={_PKI}/ca.key",
        f"--service-account-private-key-file={_PKI}/sa.key",
        f"--requestheader-client-ca-file={_PKI}/front-proxy-ca.crt",
        "--profiling=false",
    )


def _kube_scheduler() -> tuple[str, ...]:
    own = f"{_KUBECONFIG}/scheduler.conf"
    return (
        _binary("kube-scheduler"),
        f"--kubeconfig={own}",
        f"--authentication-kubeconfig={own}",
        f"--authorization-kubeconfig={own}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--profiling=false",
    )


def _kubelet() -> tuple[str, ...]:
    return (
        _binary("kubelet"),
        f"--config={_CONFIG}/kubelet.yaml",
        f"--kubeconfig={_KUBECONFIG}/kubelet.conf",
        f"--hostname-override={addresses.NODE_NAME}",
        f"--node-ip={addresses.NODE_IP}",
        "--root-dir=/var/lib/kubelet",
        "--node-labels=edge.sandbox/simulated=true",
    )


def _kube_router() -> tuple[str, ...]:
    """Kube-router as a firewall only: bridge CNI and kube-proxy keep their work."""
    return (
        _binary("kube-router"),
        "--run-router=false",
        "--run-firewall=true",
        "--run-service-proxy=false",
        "--run-loadbalancer=false",
        f"--kubeconfig={_KUBECONFIG}/kube-router.conf",
        f"--hostname-override={addresses.NODE_NAME}",
        f"--service-cluster-ip-range={addresses.SERVICE_NETWORK}",
        "--service-node-port-range=30000-32767",
        "--health-port=0",
        "--metrics-port=0",
        "--iptables-sync-period=30s",
        "-v1",
    )


def sections(found: Iterable[Program]) -> str:
    """The supervisor's configuration of these programs."""
    return "\n".join(_section(program) for program in found)


def _section(program: Program) -> str:
    restart = "unexpected" if program.once else "true"
    # startsecs 1: a program counts as running after one second; startretries: several exit at first, while
    # others start
    return f"""
[program:{program.name}]
command={_command_line(program.argv)}
autorestart={restart}
exitcodes=0
startretries=60
startsecs={0 if program.once else 1}
stopwaitsecs=5
redirect_stderr=true
stdout_logfile={_LOG}/{program.name}.log
stdout_logfile_maxbytes=20MB
stdout_logfile_backups=1
"""


def _command_line(argv: tuple[str, ...]) -> str:
    """Words as the supervisor splits them, after it expanded `%(...)s`; a lone `;` would begin a comment."""
    return " ".join(
        '"' + word.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"') + '"' for word in argv
    )
