"""`edge bundle`, `edge lock` and what `--offline` makes of them, from a registry on loopback to a supply."""

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from edge_cli.bundle.manifest import SCHEMA, Entry, Manifest
from edge_cli.bundle.models import model_files
from edge_cli.bundle.store import Loaded, current_bundle, store_folder
from edge_cli.chart_store import DigestError, chart_cache
from edge_cli.image_archive import pull_image, renamed_archive
from edge_cli.image_reference import parse_reference
from edge_cli.k3s_files import k3s_files
from edge_cli.lock import parse_lock, user_lock_path
from edge_cli.registry import Registry
from edge_cli.supply import Supply, load_supply
from edge_llm_tests import load_layers
from edge_llm_tests.errors import EdgeError, UsageError
from edge_llm_tests.layer import ModelNeed
from edge_llm_tests.profile import Profile, load_profile
from edge_llm_tests.upstream import load_upstream
from msgspec.structs import replace

Edge = Callable[..., tuple[int, str, str]]
Played = Any  # the registry of conftest.py
IMAGES = {"ollama": "0.33.0", "prometheus": "v3.16.0", "alertmanager": "v0.35.0"}
EXPORTER = "localhost/edge/exporter:0.1.0"


@pytest.fixture(autouse=True)
def _nobody_s_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, real_helm: Path) -> None:
    """Folders of this test's own; the real helm."""
    for name in ("KUBECONFIG", "EDGE_PROFILE", "EDGE_KUBECONFIG", "DOCKER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("PATH", f"{real_helm.parent}:/usr/bin:/bin")


class Box:
    """A profile of the user's own whose images are on a registry on loopback, with its models in a folder."""

    def __init__(self, registry: Played, folder: Path) -> None:
        self.registry = registry
        self.digests = {
            name: registry.push(f"box/{name}:{tag}", name.encode()) for name, tag in IMAGES.items()
        }
        self.profile = folder / "box.yaml"
        self.models = folder / "models"
        self.bundle = folder / "box.tar.zst"
        self.exporter = self._exporter(folder)
        self.digest = self._model("config", "weights")
        self.write()

    def write(self, **more: Any) -> None:
        def image(name: str) -> dict[str, str]:
            return {"repository": f"{self.registry.host}/box/{name}", "tag": IMAGES[name]}

        serving = {
            "ollama": {"image": image("ollama")},
            "models": [{"name": "qwen2.5:0.5b", "pull": {"digest": self.digest}}],
        }
        telemetry = {name: {"image": image(name)} for name in ("prometheus", "alertmanager")}
        values = {"serving": serving, "telemetry": telemetry, **more}
        self.profile.write_text(json.dumps({"extends": "cpu", "values": values}))

    def _exporter(self, folder: Path) -> Path:
        self.registry.push("box/exporter:1", b"exporter")
        reference = parse_reference(f"{self.registry.host}/box/exporter:1")
        _, _, path = pull_image(Registry(), reference, "amd64", folder)
        (folder / "exporter").mkdir()
        _, _, archive = renamed_archive(path, folder / "exporter", parse_reference(EXPORTER))
        path.unlink()
        return archive

    def _model(self, *blobs: str) -> str:
        (self.models / "blobs").mkdir(parents=True)
        digests = [hashlib.sha256(each.encode()).hexdigest() for each in blobs]
        for digest, content in zip(digests, blobs, strict=True):
            (self.models / "blobs" / f"sha256-{digest}").write_text(content)
        manifest = self.models / "manifests/registry.ollama.ai/library/qwen2.5/0.5b"
        manifest.parent.mkdir(parents=True)
        layers = [{"digest": f"sha256:{digest}"} for digest in digests[1:]]
        manifest.write_text(json.dumps({"config": {"digest": f"sha256:{digests[0]}"}, "layers": layers}))
        return hashlib.sha256(manifest.read_bytes()).hexdigest()


@pytest.fixture
def box(registry: Played, tmp_path: Path) -> Box:
    return Box(registry, tmp_path)


@pytest.fixture
def create(edge: Edge, box: Box) -> Callable[..., tuple[int, str, str]]:
    def creating(*more: object) -> tuple[int, str, str]:
        given = ("--profile", box.profile, "--arch", "amd64", "--without-k3s")
        return edge("bundle", "create", box.bundle, *given, *more)

    return creating


@pytest.fixture
def whole(create: Callable[..., tuple[int, str, str]], box: Box) -> Box:
    code, out, err = create("--models", box.models, "--image", box.exporter)
    assert code == 0, err
    assert "4 images, 3 model files" in out
    return box


def test_a_bundle_is_made_verified_loaded_and_shown(edge: Edge, whole: Box) -> None:
    assert edge("bundle", "verify", whole.bundle)[0] == 0
    code, _, err = edge("bundle", "load", whole.bundle)
    assert code == 0, err
    code, out, _ = edge("bundle", "show")
    assert code == 0
    for name, tag in IMAGES.items():
        digest = whole.registry.platform_digest(f"box/{name}:{tag}", "amd64")
        assert f"{whole.registry.host}/box/{name}:{tag} {digest}" in out
    assert EXPORTER in out
    assert not [each for each in whole.bundle.parent.iterdir() if each.name.startswith(".box")]


def test_offline_everything_comes_from_the_bundle(edge: Edge, whole: Box) -> None:
    assert edge("bundle", "load", whole.bundle)[0] == 0
    whole.registry.server.shutdown()
    layers = load_layers()
    supply = load_supply(layers, offline=True)
    profile = supply.profile(load_profile(str(whole.profile), layers), layers)
    ollama = profile.values["serving"]["ollama"]
    assert ollama["image"]["digest"] == whole.registry.platform_digest("box/ollama:0.33.0", "amd64")
    assert profile.values["telemetry"]["exporter"]["image"]["digest"].startswith("sha256:")
    folder = current_bundle(store_folder()).folder
    assert ollama["seed"] == str(folder / "models")
    assert (Path(ollama["seed"]) / "manifests/registry.ollama.ai/library/qwen2.5/0.5b").is_file()
    images = supply.images(layers, profile)
    assert images == supply.brought
    assert {image.ref for image in images} >= {EXPORTER}
    assert all(image.path.is_file() for image in images)
    notes = list(supply.notes(layers, profile))
    assert str(folder) in notes[0]
    assert not any("not pinned" in note for note in notes)


def test_a_box_with_a_network_is_brought_what_no_registry_has(
    edge: Edge, create: Callable[..., tuple[int, str, str]], box: Box
) -> None:
    layers = load_layers()
    profile = load_profile(str(box.profile), layers)
    assert any(EXPORTER in note for note in load_supply(layers).notes(layers, profile))
    box.registry.asked.clear()
    code, out, err = create("--only-local", "--image", box.exporter)
    assert code == 0, err
    assert "1 images, 0 model files" in out
    assert box.registry.asked == []
    assert edge("bundle", "load", box.bundle)[0] == 0
    supply = load_supply(layers)
    assert [image.ref for image in supply.images(layers, profile)] == [EXPORTER]
    assert supply.brought == ()
    assert supply.k3s is None
    assert not any(EXPORTER in note for note in supply.notes(layers, profile))
    held = supply.profile(profile, layers)
    assert "seed" not in held.values["serving"]["ollama"]


def test_offline_with_another_profile_names_all_that_is_lacking(
    edge: Edge, whole: Box, tmp_path: Path
) -> None:
    assert edge("bundle", "load", whole.bundle)[0] == 0
    kubeconfig = tmp_path / "kube.conf"
    kubeconfig.write_text(
        json.dumps(
            {
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    code, _, err = edge("up", "--offline", "--profile", "a100-operator", "--kubeconfig", kubeconfig)
    assert code == 2
    for lacking in ("chart gpu-operator v26.7.0", "image docker.io/ollama/ollama:0.33.0", "model qwen2.5:7b"):
        assert lacking in err
    assert "edge bundle load" in err


def pin(box: Box, digest: str) -> None:
    path = user_lock_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"schema: edge.lock/v1\nimages: {{'{box.registry.host}/box/ollama:0.33.0': '{digest}'}}\n"
    )


def test_a_bundle_cannot_change_what_is_pinned_here(edge: Edge, whole: Box) -> None:
    assert edge("bundle", "load", whole.bundle)[0] == 0
    layers = load_layers()
    profile = load_profile(str(whole.profile), layers)
    pin(whole, whole.digests["ollama"])
    held = load_supply(layers, offline=True).profile(profile, layers)
    platform = whole.registry.platform_digest("box/ollama:0.33.0", "amd64")
    assert held.values["serving"]["ollama"]["image"]["digest"] == platform
    pin(whole, f"sha256:{'0' * 64}")
    with pytest.raises(DigestError, match=r"box/ollama:0\.33\.0"):
        load_supply(layers, offline=True).profile(profile, layers)


def test_a_bundle_that_only_says_that_it_has_what_is_pinned(edge: Edge, whole: Box) -> None:
    """Its manifest names the pinned digest, and the archive holds another image."""
    assert edge("bundle", "load", whole.bundle)[0] == 0
    layers = load_layers()
    supply = load_supply(layers, offline=True)
    assert supply.loaded is not None
    entries = tuple(
        msgspec.structs.replace(each, index=f"sha256:{'0' * 64}") if each.kind == "image" else each
        for each in supply.loaded.manifest.entries
    )
    lying = replace(supply.loaded, manifest=msgspec.structs.replace(supply.loaded.manifest, entries=entries))
    pin(whole, f"sha256:{'0' * 64}")
    known = load_supply(layers).lock
    with pytest.raises(DigestError, match="lock file says"):
        replace(supply, loaded=lying, known=known).profile(load_profile(str(whole.profile), layers), layers)


def test_a_bundle_brings_no_image_of_k3s_s_own(edge: Edge, whole: Box) -> None:
    """Its pods are made by tag: one that was put under it would run as part of k3s."""
    assert edge("bundle", "load", whole.bundle)[0] == 0
    layers = load_layers()
    supply = load_supply(layers, offline=True)
    assert supply.loaded is not None
    (first, *_) = supply.loaded.manifest.of("image")
    stranger = msgspec.structs.replace(first, name="docker.io/rancher/mirrored-pause:3.6")
    entries = (*supply.loaded.manifest.entries, stranger)
    poisoned = replace(
        supply.loaded, manifest=msgspec.structs.replace(supply.loaded.manifest, entries=entries)
    )
    with pytest.raises(DigestError, match="k3s's own images come with k3s alone"):
        replace(supply, loaded=poisoned).profile(load_profile(str(whole.profile), layers), layers)


def test_offline_without_a_bundle(edge: Edge) -> None:
    code, _, err = edge("up", "--offline", "--profile", "cpu")
    assert code == 2
    assert "no bundle is loaded" in err


def test_a_file_that_went_away_after_the_load_is_named(edge: Edge, whole: Box) -> None:
    assert edge("bundle", "load", whole.bundle)[0] == 0
    loaded = current_bundle(store_folder())
    gone = loaded.manifest.of("image")[0]
    loaded.path(gone).unlink()
    layers = load_layers()
    with pytest.raises(UsageError, match=gone.path):
        load_supply(layers, offline=True).profile(load_profile(str(whole.profile), layers), layers)


def test_a_pinned_image_is_packed_as_pinned_or_not_at_all(
    create: Callable[..., tuple[int, str, str]], box: Box
) -> None:
    path = user_lock_path()
    path.parent.mkdir(parents=True)
    path.write_text(
        f"schema: edge.lock/v1\nimages: {{'{box.registry.host}/box/ollama:0.33.0': 'sha256:{'0' * 64}'}}\n"
    )
    code, _, err = create("--models", box.models, "--image", box.exporter)
    assert code == 1
    assert "box/ollama:0.33.0" in err
    assert not box.bundle.exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), "--models"),
        (("--models", "/nowhere"), "qwen2.5:0.5b is not in /nowhere"),
        (("--arch", "mips"), "choose one of amd64, arm64"),
        (("--profile", "boxx"), "boxx"),
    ],
)
def test_what_is_not_given_is_said_before_anything_is_fetched(
    create: Callable[..., tuple[int, str, str]], box: Box, given: tuple[str, ...], words: str
) -> None:
    box.registry.asked.clear()
    code, _, err = create(*given)
    assert code == 2
    assert words in err
    assert box.registry.asked == []
    assert not box.bundle.exists()


def test_a_registry_that_is_gone_leaves_no_half_bundle(
    create: Callable[..., tuple[int, str, str]], box: Box
) -> None:
    box.registry.status = 503
    code, _, err = create("--models", box.models, "--image", box.exporter)
    assert code == 6
    assert "503" in err
    assert [each.name for each in box.bundle.parent.iterdir() if "tar.zst" in each.name] == []


def test_a_bundle_that_was_loaded_elsewhere_is_found_there(
    edge: Edge, whole: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    code, _, err = edge("bundle", "load", whole.bundle, "--to", elsewhere)
    assert code == 0
    assert f"export EDGE_BUNDLES={elsewhere}" in err
    assert edge("bundle", "show")[0] == 2
    monkeypatch.setenv("EDGE_BUNDLES", str(elsewhere))
    assert edge("bundle", "show")[0] == 0
    loaded = load_supply(load_layers(), offline=True).loaded
    assert loaded is not None
    assert loaded.folder.parent == elsewhere


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_store_that_cannot_be_made_is_named(edge: Edge, whole: Box, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    code, _, err = edge("bundle", "load", whole.bundle, "--to", tmp_path / place)
    assert (code, "internal fault" in err, str(tmp_path / "file") in err) == (1, False, True)


def test_loading_what_is_no_bundle_is_bad_input(edge: Edge, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"nothing of the kind")
    code, out, err = edge("bundle", "load", tmp_path / "b")
    assert (code, out) == (2, "")
    assert err.strip().splitlines()[-1].startswith("edge: bundle ")


def test_lock_asks_for_every_image_and_writes_the_user_s_file(edge: Edge, box: Box) -> None:
    code, out, err = edge("lock", "--profile", box.profile)
    assert code == 0, err
    lock = parse_lock(user_lock_path().read_bytes(), "there")
    for name, tag in IMAGES.items():
        assert lock.images[f"{box.registry.host}/box/{name}:{tag}"] == box.digests[name]
    assert f"box/ollama:0.33.0: not pinned -> {box.digests['ollama']}" in out
    assert EXPORTER not in lock.images, "no registry has it"
    code, out, _ = edge("lock", "--profile", box.profile, "--check")
    assert code == 0
    assert f"box/ollama:0.33.0  {box.digests['ollama']}" in out
    assert f"{EXPORTER}  built here" in out
    supply = load_supply(load_layers())
    profile = supply.profile(load_profile(str(box.profile), load_layers()), load_layers())
    assert profile.values["serving"]["ollama"]["image"]["digest"] == box.digests["ollama"]


def test_what_cannot_be_asked_keeps_what_it_had(edge: Edge, box: Box) -> None:
    assert edge("lock", "--profile", box.profile)[0] == 0
    before = user_lock_path().read_text()
    box.registry.status = 503
    code, _, err = edge("lock", "--profile", box.profile)
    assert code == 6
    assert err.count("not renewed: image") == len(IMAGES)
    assert user_lock_path().read_text() == before


def test_a_tag_that_moved_is_told(edge: Edge, box: Box) -> None:
    assert edge("lock", "--profile", box.profile)[0] == 0
    moved = box.registry.push("box/ollama:0.33.0", b"another build")
    code, out, _ = edge("lock", "--profile", box.profile)
    assert code == 0
    assert f"{box.digests['ollama']} -> {moved}" in out
    assert out.count("changed") == 1


def test_check_asks_nobody_and_shows_what_is_not_pinned(edge: Edge) -> None:
    code, out, err = edge("lock", "--check")
    assert code == 0, err
    assert "docker.io/ollama/ollama:0.33.0  " in out
    assert "chart  gpu-operator v26.7.0  " in out
    assert not user_lock_path().exists()


def test_models_are_found_by_ollama_s_own_layout(box: Box) -> None:
    places = [place for place, _ in model_files(box.models, ModelNeed("qwen2.5:0.5b", box.digest))]
    assert places[0] == "manifests/registry.ollama.ai/library/qwen2.5/0.5b"
    assert len(places) == 3
    with pytest.raises(UsageError, match="promises"):
        model_files(box.models, ModelNeed("qwen2.5:0.5b", "0" * 64))
    for blob in (box.models / "blobs").iterdir():
        blob.unlink()
    with pytest.raises(UsageError, match="is missing"):
        model_files(box.models, ModelNeed("qwen2.5:0.5b"))


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"config": {"digest": "../../etc/passwd"}, "layers": []}']
)
def test_a_model_s_manifest_that_is_none(box: Box, content: str) -> None:
    (box.models / "manifests/registry.ollama.ai/library/qwen2.5/0.5b").write_text(content)
    with pytest.raises(EdgeError, match=r"qwen2\.5:0\.5b"):
        model_files(box.models, ModelNeed("qwen2.5:0.5b"))


def test_a_damaged_blob_of_a_model_is_not_packed(
    create: Callable[..., tuple[int, str, str]], box: Box
) -> None:
    for blob in (box.models / "blobs").iterdir():
        blob.write_text("damaged")
    code, _, err = create("--models", box.models, "--image", box.exporter)
    assert code == 1
    assert "is not what its name says" in err


def test_k3s_is_packed_as_pinned_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    release = tmp_path / "release"
    release.mkdir()
    said: list[str] = []
    with pytest.raises(UsageError, match="k3s"):
        k3s_files(Profile("cpu"), "amd64", release, said.append)
    (release / "k3s").write_bytes(b"not k3s")
    with pytest.raises(EdgeError, match="is pinned"):
        k3s_files(Profile("cpu"), "amd64", release, said.append)
    assert not [each for each in (tmp_path / "cache").rglob("*") if each.is_file()]


@pytest.fixture
def chart(box: Box, tmp_path: Path, real_helm: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A chart in the place of NVIDIA's, as an earlier pull left it; the profile takes it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    upstream = load_upstream("k3s_nvidia_edge", "nvidia-device-plugin").chart
    source = tmp_path / upstream.name
    (source / "templates").mkdir(parents=True)
    (source / "Chart.yaml").write_text(
        f"apiVersion: v2\nname: {upstream.name}\nversion: {upstream.version}\n"
    )
    pod = {"spec": {"containers": [{"name": "c", "image": f"{box.registry.host}/box/ollama:0.33.0"}]}}
    (source / "templates" / "pod.yaml").write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **pod}))
    place = hashlib.sha256(upstream.repository.encode()).hexdigest()[:12]
    kept = chart_cache() / f"{place}-{upstream.name}-{upstream.version}.tgz"
    kept.parent.mkdir(parents=True)
    subprocess.run([real_helm, "package", source, "-d", tmp_path], check=True, capture_output=True)
    (tmp_path / f"{upstream.name}-{upstream.version}.tgz").rename(kept)
    box.write(**{"nvidia-device-plugin": {}})
    return kept


def test_a_chart_of_others_comes_out_of_the_bundle_as_it_went_in(
    edge: Edge, create: Callable[..., tuple[int, str, str]], box: Box, chart: Path
) -> None:
    code, out, err = create("--models", box.models, "--image", box.exporter)
    assert code == 0, err
    assert "1 charts, 4 images" in out
    content = chart.read_bytes()
    chart.unlink()
    assert edge("bundle", "load", box.bundle)[0] == 0
    supply = load_supply(load_layers(), offline=True)
    store = supply.charts(Path("/nowhere/helm"))
    upstream = load_upstream("k3s_nvidia_edge", "nvidia-device-plugin").chart
    path = store.locate(upstream)
    assert path.read_bytes() == content
    path.write_bytes(content + b"?")
    with pytest.raises(DigestError, match=r"nvidia-device-plugin 0\.20\.0"):
        store.locate(upstream)


def test_a_chart_that_is_pinned_here_cannot_come_changed(
    edge: Edge, create: Callable[..., tuple[int, str, str]], box: Box, chart: Path
) -> None:
    assert create("--models", box.models, "--image", box.exporter)[0] == 0
    assert edge("bundle", "load", box.bundle)[0] == 0
    upstream = load_upstream("k3s_nvidia_edge", "nvidia-device-plugin").chart
    entry = {"repository": upstream.repository, "version": upstream.version, "digest": f"sha256:{'0' * 64}"}
    user_lock_path().parent.mkdir(parents=True)
    user_lock_path().write_text(json.dumps({"schema": "edge.lock/v1", "charts": {upstream.name: entry}}))
    with pytest.raises(DigestError, match="the lock file says"):
        load_supply(load_layers(), offline=True).charts(Path("/nowhere/helm")).locate(upstream)


def test_a_bundle_for_another_machine_is_refused(
    edge: Edge, whole: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert edge("bundle", "load", whole.bundle)[0] == 0
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    layers = load_layers()
    with pytest.raises(UsageError, match="amd64"):
        load_supply(layers, offline=True).profile(load_profile(str(whole.profile), layers), layers)


def test_k3s_comes_out_of_the_bundle_offline_alone(tmp_path: Path) -> None:
    entry = Entry("k3s/k3s", "k3s", 1, "0" * 64)
    loaded = Loaded(tmp_path, Manifest(SCHEMA, "cpu", "amd64", "0.1.0", "2026-11-30T12:00:00Z", (entry,)))
    assert Supply(loaded=loaded, offline=True).k3s == tmp_path / "k3s"
    assert Supply(loaded=loaded).k3s is None


def test_the_lock_files_of_the_packages_are_written_by_owner(
    edge: Edge, box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edge_cli.lock.shipped_lock_path", lambda package: tmp_path / f"{package}.lock.yaml")
    code, _, err = edge("lock", "--in-packages", "--profile", box.profile)
    assert code == 0, err
    written = parse_lock((tmp_path / "llm_observability_stack.lock.yaml").read_bytes(), "there")
    assert set(written.images.values()) == set(box.digests.values())
    assert not (tmp_path / "k3s_nvidia_edge.lock.yaml").exists(), "no image of its layers is in this profile"
    assert not user_lock_path().exists()


@pytest.mark.parametrize("place", ["/dev/null", "/", "/nonexistent/box.tar.zst"])
def test_a_place_that_takes_no_file_is_refused_before_anything_is_brought(place: str, edge: Edge) -> None:
    assert edge("bundle", "create", place, "--profile", "cpu")[::2] == (
        2,
        f"edge: {place}: no file can be put there (name a file in a folder that is there)\n",
    )
