"""An air-gapped box: a bundle made here, loaded there, and a fresh sandbox brought up from nothing else.

The model is one that a profile pulls from the registry: here it comes out of the bundle, in Ollama's layout.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests.upstream import load_upstream

EDGE = Path(sys.executable).with_name("edge")
CHART = "nvidia-device-plugin"
MODEL = "smollm2:135m"
SERVING = "llm-observability"

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox needs root"),
]


@dataclass
class Box:
    """A machine without a network: its folders, and the command on it."""

    folder: Path

    @property
    def profile(self) -> Path:
        return self.folder / "airgap.yaml"

    @property
    def bundle(self) -> Path:
        return self.folder / "box.tar.zst"

    def edge(self, *argv: str | Path, code: int = 0, cache: Path | None = None) -> str:
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("EDGE_", "KUBECONFIG"))
        }
        folders = {
            f"XDG_{name}_HOME": str(self.folder / name.lower()) for name in ("STATE", "DATA", "CONFIG")
        }
        done = subprocess.run(
            [EDGE, *argv],
            env={
                **environment,
                **folders,
                **({"XDG_CACHE_HOME": str(cache)} if cache else {}),
                "NO_COLOR": "1",
                "COLUMNS": "200",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == code, done.stderr + done.stdout
        return done.stdout + done.stderr

    def kubectl(self, *argv: str) -> str:
        return self.edge("sandbox", "shell", "--", "kubectl", *argv)

    def pods(self) -> list[dict[str, Any]]:
        said = self.kubectl("get", "pods", "-A", "-l", "app.kubernetes.io/part-of=edge", "-o", "json")
        items: list[dict[str, Any]] = json.JSONDecoder().raw_decode(said)[0]["items"]
        return items


def write_model(folder: Path) -> str:
    """The sandbox's weights as `ollama pull` would leave them; the digest of the manifest."""
    from k3s_nvidia_edge.sandbox.build import build

    weights = build(["smollm2"]).models[0]
    (folder / "blobs").mkdir(parents=True)

    def blob(content: bytes, media: str) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (folder / "blobs" / f"sha256-{digest}").write_bytes(content)
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(content)}

    config = {"model_format": "gguf", "model_family": "llama", "model_families": ["llama"], "os": "linux"}
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        "config": blob(json.dumps(config).encode(), "application/vnd.docker.container.image.v1+json"),
        "layers": [blob(weights.read_bytes(), "application/vnd.ollama.image.model")],
    }
    path = folder / "manifests/registry.ollama.ai/library/smollm2/135m"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(manifest))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cached_chart(folder: Path) -> Path:
    """A cache beside the user's own in which NVIDIA's chart was pulled earlier: a stand-in, SIMULATED."""
    kept = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "edge"
    (folder / "edge" / "charts").mkdir(parents=True)
    (folder / "edge" / "sandbox").symlink_to(kept / "sandbox")
    chart = load_upstream("k3s_nvidia_edge", CHART).chart
    source = folder / chart.name
    (source / "templates").mkdir(parents=True)
    (source / "Chart.yaml").write_text(
        f"apiVersion: v2\nname: {chart.name}\nversion: {chart.version}\ndescription: SIMULATED\n"
    )
    (source / "templates" / "note.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: simulated-chart}\n"
        "data: {runtimeClass: {{ .Values.runtimeClassName | quote }}}\n"
    )
    place = hashlib.sha256(chart.repository.encode()).hexdigest()[:12]
    with tarfile.open(
        folder / "edge" / "charts" / f"{place}-{chart.name}-{chart.version}.tgz", "w:gz"
    ) as tar:
        tar.add(source, chart.name)
    return folder


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    # the node sees /var of the host, and its own /tmp
    box = Box(Path(tempfile.mkdtemp(dir="/var/tmp", prefix="edge-airgap-")))
    digest = write_model(box.folder / "models")
    model = {"name": MODEL, "resident": True}
    profile = {
        "extends": "sandbox",
        "spec": {"serving": {"models": [{**model, "digest": digest}]}},
        "values": {"serving": {"models": [{**model, "pull": {"digest": digest}}]}, CHART: {}},
    }
    box.profile.write_text(json.dumps(profile))
    yield box
    box.edge("sandbox", "down", "--purge")
    shutil.rmtree(box.folder)


@pytest.fixture(scope="module")
def up(box: Box) -> str:
    given = ("--profile", box.profile, "--models", box.folder / "models")
    made = box.edge("bundle", "create", box.bundle, *given, cache=cached_chart(box.folder / "cache"))
    assert "1 charts, 6 images, 3 model files" in made
    box.edge("bundle", "load", box.bundle)
    shutil.rmtree(box.folder / "models")
    box.bundle.unlink()
    return box.edge("up", "--sandbox", "--offline", "--profile", box.profile, "--yes")


def test_every_layer_comes_up_from_the_bundle_alone(box: Box, up: str) -> None:
    assert "offline: everything comes from the bundle" in up
    assert "model.resident" in up
    verdict = json.loads(box.edge("diagnose", "--sandbox", "--profile", box.profile, "-o", "json"))
    assert verdict["outcome"] == "pass"


def test_every_pod_runs_what_the_bundle_pins(box: Box, up: str) -> None:
    shown = box.edge("bundle", "show")
    containers = [each for pod in box.pods() for each in pod["status"]["containerStatuses"]]
    assert len(containers) >= 6
    for container in containers:
        repository, _, digest = container["imageID"].partition("@")
        assert repository.startswith("localhost/edge/")
        assert digest, container
        assert digest in shown


def test_a_chart_of_others_is_installed_from_the_bundle(box: Box, up: str) -> None:
    listed = box.edge("sandbox", "shell", "--", "helm", "list", "-A", "-l", "edge-layer=gpu", "-o", "json")
    releases = json.JSONDecoder().raw_decode(listed)[0]
    found = {each["name"]: (each["chart"], each["status"]) for each in releases}
    assert found[CHART] == ("nvidia-device-plugin-0.20.0", "deployed")
    note = box.kubectl("-n", "gpu-operator", "get", "configmap", "simulated-chart", "-o", "jsonpath={.data}")
    assert note.startswith('{"runtimeClass":"nvidia"}'), "the owner's values reached it"


def test_the_model_was_seeded_and_not_pulled(box: Box, up: str) -> None:
    ollama = next(
        pod for pod in box.pods() if pod["metadata"]["labels"]["app.kubernetes.io/name"] == "ollama"
    )
    seeded = box.kubectl("-n", SERVING, "logs", ollama["metadata"]["name"], "-c", "seed")
    assert "registry.ollama.ai/library/smollm2/135m: copied" in seeded
    provisioned = box.kubectl(
        "-n", SERVING, "logs", "-l", "app.kubernetes.io/name=ollama-models", "--tail=-1"
    )
    assert f"{MODEL}: already there" in provisioned


def test_a_second_run_changes_nothing(box: Box, up: str) -> None:
    said = box.edge("up", "--sandbox", "--offline", "--profile", box.profile)
    assert "Nothing had to be changed." in said


def test_what_the_bundle_lacks_is_refused_before_anything_changes(box: Box, up: str) -> None:
    newer = box.folder / "newer.yaml"
    newer.write_text(
        json.dumps(
            {"extends": str(box.profile), "values": {"serving": {"ollama": {"image": {"tag": "9.9.9"}}}}}
        )
    )
    said = box.edge("up", "--sandbox", "--offline", "--profile", newer, code=2)
    assert "image localhost/edge/ollama:9.9.9" in said
    assert "Nothing had to be changed." in box.edge("up", "--sandbox", "--offline", "--profile", box.profile)
