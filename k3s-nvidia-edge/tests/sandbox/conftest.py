"""One real node for the tests marked `sandbox`, what they do with it, and what the host looks like."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from k3s_nvidia_edge.sandbox import Node, down, readiness, up
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.network import PROTOCOL
from k3s_nvidia_edge.sandbox.node import find

if TYPE_CHECKING:
    from k3s_nvidia_edge.sandbox.build import Artifacts

# kubectl comes with kubernetes
COMPONENTS = (
    "kubernetes",
    "runc",
    "cni",
    "containerd",
    "kine",
    "kube-router",
    "pause-image",
    "coredns-image",
    "base-image",
    "local-path-provisioner-image",
)
NODE_READY_S = 15.0  # the promise for warm binaries
PATIENCE_S = 60.0
# counters of the machine, which change by themselves
VOLATILE = (
    "/proc/sys/fs/",
    "/proc/sys/kernel/random/",
    "/proc/sys/kernel/ns_last_pid",
    "/proc/sys/kernel/pty/nr",
)
STEADY_LIMITS = (
    "file-max",
    "nr_open",
    "inotify/max_user_instances",
    "inotify/max_user_watches",
    "pipe-max-size",
)
NODE_PLACES = (
    "/var/lib/kubelet",
    "/var/lib/rancher",
    "/var/lib/edge",
    "/etc/rancher",
    "/var/log/pods",
    "/opt/edge",
    "/usr/bin/nvidia-smi",
    "/usr/bin/nvidia-container-runtime",
)


def _measured(what: str, seconds: float) -> None:
    """A figure for `docs/benchmarks.md`, shown with `pytest -s`."""
    sys.stdout.write(f"\n{what}: {seconds:.2f} s\n")


def _wait(what: str, done: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        result = done()
        if result:
            return result
        time.sleep(0.2)
    raise AssertionError(f"not after {patience_s:g} s: {what}")


@pytest.fixture(scope="session")
def wait() -> Callable[..., Any]:
    """Wait for a condition; gives what it returned once it is true."""
    return _wait


@dataclass(frozen=True)
class Host:
    """What a sandbox could leave behind or change on the host; its cgroups are on its record."""

    mounts: tuple[str, ...]
    links: tuple[str, ...]
    routes: str
    sysctls: dict[str, str]
    places: tuple[str, ...]


def _sysctls() -> dict[str, str]:
    found: dict[str, str] = {}
    for folder, _, names in os.walk("/proc/sys"):
        for name in names:
            path = f"{folder}/{name}"
            # somebody else's interface may come and go meanwhile; the sandbox's own must be gone
            elsewhere = "/conf/" in path and "sandbox0" not in path and "/all/" not in path
            if path.startswith(VOLATILE) or elsewhere:
                continue
            with contextlib.suppress(OSError, UnicodeDecodeError):
                found[path] = Path(path).read_text()
    for name in STEADY_LIMITS:
        found[name] = Path("/proc/sys/fs", name).read_text()
    return found


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30).stdout


def _look_at_host() -> Host:
    mountinfo = Path("/proc/self/mountinfo").read_text().splitlines()
    return Host(
        mounts=tuple(sorted(line.split(" ", 3)[3] for line in mountinfo)),
        links=tuple(sorted(one["ifname"] for one in json.loads(_run("ip", "-json", "link", "show")))),
        routes=_run("ip", "route", "show", "table", "all"),
        sysctls=_sysctls(),
        places=tuple(one for one in NODE_PLACES if os.path.lexists(one)),
    )


@pytest.fixture(scope="session")
def look_at_host() -> Callable[[], Host]:
    return _look_at_host


@pytest.fixture(scope="session")
def artifacts() -> "Artifacts":
    """What a node and these tests need; minutes where it is not built yet, nothing where it is."""
    from k3s_nvidia_edge.sandbox.build import build

    return build(COMPONENTS)


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("sandbox") / "state"
    yield folder
    down(folder, purge=True)


@pytest.fixture(scope="session")
def before(state: Path) -> Host:
    """The host before any node was up, less the routes of a sandbox that was killed with its tool.

    Those are no part of the host: the next start takes them over, and its `down` removes them.
    """
    seen = _look_at_host()
    foreign = [one for one in seen.routes.splitlines(keepends=True) if f" proto {PROTOCOL} " not in one]
    return replace(seen, routes="".join(foreign))


@pytest.fixture(scope="session")
def node(artifacts: "Artifacts", state: Path, before: Host) -> Node:
    began = time.monotonic()
    node = up(artifacts, state)
    took = time.monotonic() - began
    _measured("up to Ready, fresh state", took)
    assert took <= NODE_READY_S
    return node


class Kubectl:
    """kubectl with the node's kubeconfig, and the few things that several tests do with it."""

    def __init__(self, node: Node, program: Path) -> None:
        self.prefix = [str(program), "--kubeconfig", str(node.kubeconfig)]

    def __call__(self, *words: str, text: str = "", check: bool = True) -> str:
        done = subprocess.run(
            [*self.prefix, *words],
            input=text,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout + ("" if check else done.stderr)

    def get(self, *words: str) -> Any:
        return json.loads(self("get", *words, "-o", "json"))

    def apply(self, **manifest: Any) -> None:
        self("apply", "-f", "-", text=json.dumps(manifest))

    def pod(self, name: str, **spec: Any) -> None:
        metadata = {"name": name, "labels": {"app": name}}
        self.apply(
            apiVersion="v1", kind="Pod", metadata=metadata, spec={"terminationGracePeriodSeconds": 0, **spec}
        )

    def running(self, name: str) -> dict[str, Any]:
        """The pod, once it runs."""

        def look() -> Any:
            pod = self.get("pod", name)
            return pod if pod["status"]["phase"] == "Running" else None

        found: dict[str, Any] = _wait(f"pod {name} runs", look)
        return found

    def events(self, name: str) -> str:
        items = self.get("events", "--field-selector", f"involvedObject.name={name}")["items"]
        return "\n".join(one.get("message", "") for one in items)


@pytest.fixture(scope="session")
def kubectl(node: Node, artifacts: "Artifacts") -> Kubectl:
    return Kubectl(node, artifacts.bin_dir / "kubectl")


def _image(artifacts: "Artifacts", name: str) -> str:
    return next(one.ref for one in artifacts.images if one.ref.rsplit("/", 1)[-1].split(":")[0] == name)


@pytest.fixture(scope="session")
def base(node: Node, artifacts: "Artifacts") -> str:
    """An image with a shell, in the node."""
    ref = _image(artifacts, "base")
    readiness.wait_for_images(node, [ref], PATIENCE_S)
    return ref


@pytest.fixture(scope="session")
def pause(artifacts: "Artifacts") -> str:
    return _image(artifacts, "pause")


@pytest.fixture(scope="session")
def server_image(artifacts: "Artifacts") -> str:
    """CoreDNS, which listens where it is told to."""
    return _image(artifacts, "coredns")


@pytest.fixture(scope="session")
def gpu_pod(kubectl: Kubectl, pause: str) -> str:
    """A running pod of the RuntimeClass nvidia."""
    kubectl.apply(
        apiVersion="node.k8s.io/v1", kind="RuntimeClass", metadata={"name": "nvidia"}, handler="nvidia"
    )
    began = time.monotonic()
    kubectl.pod("gpu", runtimeClassName="nvidia", containers=[{"name": "c", "image": pause}])
    kubectl.running("gpu")
    _measured("pod created to running", time.monotonic() - began)
    return "gpu"


@pytest.fixture(scope="session")
def client_pod(kubectl: Kubectl, base: str) -> str:
    """A running pod with a shell."""
    kubectl.pod("client", containers=[{"name": "c", "image": base, "command": ["sleep", "infinity"]}])
    kubectl.running("client")
    return "client"


@pytest.fixture(scope="session")
def claim(kubectl: Kubectl, base: str) -> str:
    """A claim on the default StorageClass, with a file written into its volume."""
    kubectl.apply(
        apiVersion="v1",
        kind="PersistentVolumeClaim",
        metadata={"name": "data"},
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    )
    write = {"name": "c", "image": base, "command": ["bash", "-c", "echo kept > /data/file"]}
    kubectl.pod(
        "writer",
        restartPolicy="Never",
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        containers=[{**write, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
    )
    _wait("the writer is done", lambda: kubectl.get("pod", "writer")["status"]["phase"] == "Succeeded")
    return "data"


@pytest.fixture(scope="session")
def inside(node: Node, state: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program in whatever node is up now."""

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        entered = find(Layout.of(state)).enter_argv(argv)
        return subprocess.run(entered, capture_output=True, text=True, timeout=20, check=False)

    return run


@pytest.fixture(scope="session")
def measured() -> Callable[[str, float], None]:
    return _measured
