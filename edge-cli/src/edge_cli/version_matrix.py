"""The version matrix: what belongs together, and which contract notices where it does not. Generated."""

from collections.abc import Iterator
from importlib.resources import files

import msgspec
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile, load_profile, profile_names
from edge_llm_tests.upstream import load_upstream, upstream_names
from edge_llm_tests.yamldoc import load_yaml

from edge_cli.lock import Lock, parse_lock
from edge_cli.pinning import LOCAL, image_refs

__all__ = ["COUPLINGS", "version_matrix"]


class Coupling(msgspec.Struct, frozen=True):
    """Two parts whose versions must fit, and what says so where they do not."""

    parts: str
    rule: str
    contract: str
    reasons: tuple[str, ...] = ()


COUPLINGS = (
    Coupling(
        "Ollama and the driver",
        "Ollama from 0.30 wants a driver of branch 550 or newer for its CUDA backend",
        "host.driver-fit",
        ("DriverTooOldForEngine",),
    ),
    Coupling(
        "an image and the driver",
        "an image with newer CUDA libraries than the driver knows does not start",
        "host.driver-fit",
        ("DriverTooOldForImage",),
    ),
    Coupling(
        "the driver and the card",
        "new branches leave old generations out",
        "host.driver-fit",
        ("NoBranchFits",),
    ),
    Coupling(
        "the driver and the kernel", "the module is built for the kernel that runs", "host.driver-loaded"
    ),
    Coupling(
        "the GPU operator's toolkit and containerd",
        "the toolkit writes a drop-in of the same configuration version as the file that k3s wrote",
        "gpu.runtime-handler",
        ("HandlerMissing",),
    ),
    Coupling("CDI and containerd", "CDI is in containerd's CRI from 2.0", "gpu.cdi"),
    Coupling(
        "the device plugin and the kubelet",
        "the plugin registers with the kubelet's API",
        "gpu.device-plugin",
    ),
    Coupling(
        "a model and Ollama",
        "an engine loads the architectures that it knows",
        "model.loadable",
        ("EngineTooOld", "EngineTooNew"),
    ),
    Coupling(
        "kube-prometheus-stack and our telemetry chart",
        "operator mode uses ServiceMonitor and PrometheusRule of the stack's own kinds",
        "telemetry.monitoring-crds",
    ),
    Coupling(
        "DCGM's exporter and our rules",
        "the exporter publishes the fields of the counters file",
        "telemetry.gpu-exporter",
    ),
)


def version_matrix(layers: tuple[Layer, ...]) -> Iterator[str]:
    """The page's lines after its heading."""
    profiles = tuple(load_profile(name, layers) for name in profile_names(layers))
    real = tuple(each for each in profiles if not each.simulated)
    lock = _shipped_lock(layers)
    yield "Read from the profiles, the owners' `upstream/` values and the lock files that the packages ship."
    yield "What is pinned by digest is held to it; what is not is by tag alone, and `edge up` says so."
    yield from _couplings(layers)
    yield from _k3s()
    yield from _drivers(real)
    yield from _charts(layers, lock)
    yield from _own_charts(layers)
    yield from _images(real, lock)
    yield from _models(real, layers)


def _shipped_lock(layers: tuple[Layer, ...]) -> Lock:
    lock = Lock()
    for package in dict.fromkeys(layer.package for layer in layers):
        source = files(package) / "lock.yaml"
        if source.is_file():
            lock = parse_lock(source.read_bytes(), package).over(lock)
    return lock


def _table(heading: str, *columns: str) -> Iterator[str]:
    yield from ("", f"## {heading}", "", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}")


def _couplings(layers: tuple[Layer, ...]) -> Iterator[str]:
    promises = {contract.id: contract.promise for layer in layers for contract in layer.contracts}
    yield from _table("What has to fit", "parts", "rule", "the contract that notices")
    for each in (each for each in COUPLINGS if each.contract in promises):
        reasons = f" ({', '.join(f'`{reason}`' for reason in each.reasons)})" if each.reasons else ""
        link = f"[{each.contract}](contracts/{each.contract}.md){reasons}: {promises[each.contract]}"
        yield f"| {each.parts} | {each.rule} | {link} |"


def _k3s() -> Iterator[str]:
    document = load_yaml((files("k3s_nvidia_edge") / "node" / "releases.yaml").read_bytes())
    yield from _table("k3s", "version", "containerd", "architectures", "pinned")
    for name, pinned in document["releases"].items():
        yield f"| {name} | {pinned['containerd']} | {', '.join(pinned['files'])} | each file by SHA-256 |"


def _drivers(profiles: tuple[Profile, ...]) -> Iterator[str]:
    yield from _table("NVIDIA driver", "profile", "branch, at least")
    for profile in profiles:
        host = profile.specs["host"]
        yield f"| {profile.name} | {host.driver_branch_min if host.gpus else 'none is needed'} |"


def _charts(layers: tuple[Layer, ...], lock: Lock) -> Iterator[str]:
    yield from _table("Charts of others", "chart", "version", "repository", "digest", "brings")
    for package in dict.fromkeys(layer.package for layer in layers):
        for name in upstream_names(package):
            chart = load_upstream(package, name).chart
            entry = lock.charts[chart.name]
            digest = f"`{entry.digest}`" if entry.digest else "not pinned"
            brings = ", ".join(_short(ref) for ref in entry.images)
            yield f"| {chart.name} | {chart.version} | {chart.repository} | {digest} | {brings} |"


def _own_charts(layers: tuple[Layer, ...]) -> Iterator[str]:
    yield from _table("Our charts", "chart", "version", "Kubernetes")
    for package in dict.fromkeys(layer.package for layer in layers):
        folder = files(package) / "charts"
        if folder.is_dir():
            for chart in sorted(folder.iterdir(), key=lambda each: each.name):
                about = load_yaml((chart / "Chart.yaml").read_bytes())
                yield f"| {about['name']} | {about['version']} | `{about['kubeVersion']}` |"


def _images(profiles: tuple[Profile, ...], lock: Lock) -> Iterator[str]:
    users: dict[str, list[str]] = {}
    for profile in profiles:
        for ref, _ in image_refs(profile.values):
            names = users.setdefault(ref, [])
            if profile.name not in names:
                names.append(profile.name)
    yield from _table("Images of our charts", "image", "digest", "profiles")
    for ref, names in sorted(users.items()):
        digest = lock.images.get(ref)
        said = (
            f"`{digest}`"
            if digest
            else ("built from this repository" if ref.startswith(LOCAL) else "not pinned")
        )
        yield f"| `{ref}` | {said} | {', '.join(names)} |"


def _models(profiles: tuple[Profile, ...], layers: tuple[Layer, ...]) -> Iterator[str]:
    users: dict[tuple[str, str], list[str]] = {}
    for profile in profiles:
        for layer in layers:
            for need in layer.models(profile.values):
                users.setdefault((need.name, need.digest), []).append(profile.name)
    yield from _table("Models", "model", "digest of its manifest", "profiles")
    for (name, digest), names in sorted(users.items()):
        yield f"| {name} | {f'`{digest[:12]}`' if digest else 'not pinned'} | {', '.join(names)} |"


def _short(ref: str) -> str:
    return ref.rpartition("/")[2].replace(":", " ")
