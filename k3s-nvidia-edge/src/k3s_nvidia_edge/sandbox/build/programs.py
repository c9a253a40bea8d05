"""The programs of the sandbox, each compiled from a pinned Go module.

The order is the order of building: what the node cannot start without comes first.
"""

from typing import Final

from k3s_nvidia_edge.sandbox.build.component import Component
from k3s_nvidia_edge.sandbox.build.recipes import CRecipe, GoRecipe, ModuleFilesRecipe
from k3s_nvidia_edge.sandbox.build.versions import (
    ALERTMANAGER,
    CNI,
    CONTAINERD,
    COREDNS,
    HELM,
    KINE,
    KUBE_ROUTER,
    KUBERNETES,
    LOCAL_PATH,
    NODE_EXPORTER,
    OLLAMA,
    PAUSE,
    PROMETHEUS,
    PROMETHEUS_OPERATOR,
    RUNC,
)

__all__ = ["PROGRAMS"]

PROGRAMS: Final[tuple[Component, ...]] = (
    Component(
        "kubernetes",
        KUBERNETES,
        GoRecipe(
            "kubernetes",
            tuple(
                f"k8s.io/kubernetes/cmd/{name}"
                for name in (
                    "kube-apiserver",
                    "kube-controller-manager",
                    "kube-scheduler",
                    "kubelet",
                    "kube-proxy",
                    "kubectl",
                )
            ),
            variables=(
                f"k8s.io/component-base/version.gitVersion=v{KUBERNETES}",
                "k8s.io/component-base/version.gitMajor=1",
                "k8s.io/component-base/version.gitMinor=35",
                f"k8s.io/client-go/pkg/version.gitVersion=v{KUBERNETES}",
            ),
        ),
        ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"),
        seconds=420,
        disk_mib=459,
        on_path=True,
    ),
    Component(
        "pause",
        PAUSE,
        CRecipe(
            "kubernetes",
            "k8s.io/kubernetes",
            "build/pause/linux/pause.c",
            ("-Os", "-static", "-s", f"-DVERSION=v{PAUSE}"),
        ),
        ("pause",),
        seconds=1,
        disk_mib=1,
    ),
    Component(
        "runc",
        RUNC,
        GoRecipe(
            "runc",
            ("github.com/opencontainers/runc",),
            tags=("seccomp",),  # without it every container fails: its profile cannot be applied
            variables=(f"main.version={RUNC}",),
            cgo=True,
        ),
        ("runc",),
        seconds=15,
        disk_mib=9,
        on_path=True,
    ),
    Component(
        "cni",
        CNI,
        GoRecipe(
            "cni",
            tuple(
                f"github.com/containernetworking/plugins/plugins/{name}"
                for name in ("main/bridge", "main/loopback", "ipam/host-local", "meta/portmap")
            ),
        ),
        ("bridge", "loopback", "host-local", "portmap"),
        seconds=8,
        disk_mib=16,
    ),
    Component(
        "containerd",
        CONTAINERD,
        GoRecipe(
            "platform",
            tuple(
                f"github.com/containerd/containerd/v2/cmd/{name}"
                for name in ("containerd", "containerd-shim-runc-v2", "ctr")
            ),
            tags=("no_btrfs", "no_zfs", "no_devmapper"),  # overlayfs is enough, and these want C libraries
            variables=(f"github.com/containerd/containerd/v2/version.Version=v{CONTAINERD}",),
        ),
        ("containerd", "containerd-shim-runc-v2", "ctr"),
        seconds=65,
        disk_mib=73,
        on_path=True,
    ),
    Component(
        "kine",
        KINE,
        GoRecipe(
            "platform",
            ("github.com/k3s-io/kine",),
            variables=(f"github.com/k3s-io/kine/pkg/version.Version=v{KINE}",),
            cgo=True,  # SQLite
        ),
        ("kine",),
        seconds=120,
        disk_mib=38,
        on_path=True,
    ),
    Component(
        "helm",
        HELM,
        GoRecipe(
            "platform",
            ("helm.sh/helm/v4/cmd/helm",),
            variables=(
                f"helm.sh/helm/v4/internal/version.version=v{HELM}",  # its callers parse this
                "helm.sh/helm/v4/internal/version.gitTreeState=clean",
            ),
        ),
        ("helm",),
        seconds=120,
        disk_mib=64,
        on_path=True,
    ),
    Component(
        "coredns",
        COREDNS,
        GoRecipe("platform", ("./coredns",)),
        ("coredns",),
        seconds=15,
        disk_mib=53,
    ),
    Component(
        "simulated-device-plugin",
        "1",
        GoRecipe("simulated-device-plugin", (".",)),
        ("simulated-device-plugin",),
        seconds=5,
        disk_mib=10,
    ),
    Component(
        "ollama-program",
        OLLAMA,
        GoRecipe(
            "ollama",
            ("github.com/ollama/ollama",),
            variables=(f"github.com/ollama/ollama/version.Version={OLLAMA}",),
            cgo=True,
        ),
        ("ollama",),
        seconds=85,
        disk_mib=34,
    ),
    Component(
        "prometheus",
        PROMETHEUS,
        GoRecipe(
            "platform",
            tuple(f"github.com/prometheus/prometheus/cmd/{name}" for name in ("prometheus", "promtool")),
            # the cloud providers' service discoveries are left out: half of its compile time
            tags=("netgo", "remove_all_sd", "enable_kubernetes_sd", "enable_dns_sd"),
            variables=(f"github.com/prometheus/common/version.Version={PROMETHEUS}",),
        ),
        ("prometheus", "promtool"),
        seconds=105,
        disk_mib=126,
        on_path=True,
    ),
    Component(
        "alertmanager",
        ALERTMANAGER,
        GoRecipe(
            "alertmanager",
            tuple(f"github.com/prometheus/alertmanager/cmd/{name}" for name in ("alertmanager", "amtool")),
            variables=(f"github.com/prometheus/common/version.Version={ALERTMANAGER}",),
            module="github.com/prometheus/alertmanager",
            stand_ins=tuple(
                f"ui/app/dist/{ui}/index.html.{encoding}"
                for ui in ("elm", "mantine")
                for encoding in ("gz", "br")
            ),
        ),
        ("alertmanager", "amtool"),
        seconds=45,
        disk_mib=58,
        on_path=True,
    ),
    Component(
        "local-path-provisioner",
        LOCAL_PATH,
        GoRecipe(
            "kubernetes",  # the same client library as Kubernetes, so that it is compiled once
            ("github.com/rancher/local-path-provisioner",),
            variables=(f"main.VERSION=v{LOCAL_PATH}",),
        ),
        ("local-path-provisioner",),
        seconds=8,
        disk_mib=48,
    ),
    Component(
        "kube-router",
        KUBE_ROUTER,
        GoRecipe(
            "kubernetes",
            ("github.com/cloudnativelabs/kube-router/v2/cmd/kube-router",),
            variables=(f"github.com/cloudnativelabs/kube-router/v2/pkg/version.Version=v{KUBE_ROUTER}",),
        ),
        ("kube-router",),
        seconds=35,
        disk_mib=64,
        on_path=True,
    ),
    Component(
        "prometheus-operator",
        PROMETHEUS_OPERATOR,
        GoRecipe(
            "prometheus-operator",
            tuple(
                f"github.com/prometheus-operator/prometheus-operator/cmd/{name}"
                for name in ("operator", "prometheus-config-reloader")
            ),
            variables=(f"github.com/prometheus/common/version.Version={PROMETHEUS_OPERATOR}",),
        ),
        ("operator", "prometheus-config-reloader"),
        seconds=120,
        disk_mib=102,
        on_demand=True,
    ),
    Component(
        "prometheus-operator-crds",
        PROMETHEUS_OPERATOR,
        ModuleFilesRecipe(
            "prometheus-operator", "github.com/prometheus-operator/prometheus-operator", ("bundle.yaml",)
        ),
        ("bundle.yaml",),
        seconds=1,
        disk_mib=5,
        on_demand=True,
    ),
    Component(
        "node-exporter",
        NODE_EXPORTER,
        GoRecipe(
            "node-exporter",
            ("github.com/prometheus/node_exporter",),
            variables=(f"github.com/prometheus/common/version.Version={NODE_EXPORTER}",),
        ),
        ("node_exporter",),
        seconds=28,
        disk_mib=16,
        on_demand=True,
    ),
)
