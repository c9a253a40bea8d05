"""A registry on loopback: what a tag is, tokens, and images that come whole or not at all."""

import base64
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from edge_cli.image_archive import archive_fault, names_manifest, pull_image, renamed_archive
from edge_cli.image_reference import ImageReference, parse_reference
from edge_cli.registry import Registry
from edge_llm_tests.errors import EdgeError, TargetUnreachableError, UnauthorisedError, UsageError

Played = Any  # the registry of conftest.py
LAYERS = (b"layer one", b"layer two" * 100_000)


def reference(registry: Played, name: str = "team/app:1.0") -> ImageReference:
    return parse_reference(f"{registry.host}/{name}")


@pytest.mark.parametrize(
    ("text", "host", "path", "version", "api"),
    [
        (
            "docker.io/ollama/ollama:0.33.0",
            "docker.io",
            "ollama/ollama",
            "0.33.0",
            "https://registry-1.docker.io/v2/",
        ),
        (
            "nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0-x",
            "nvcr.io",
            "nvidia/k8s/dcgm-exporter",
            "4.6.0-x",
            "https://nvcr.io/",
        ),
        ("localhost:5000/a:1", "localhost:5000", "a", "1", "http://localhost:5000/v2/a"),
        (
            f"quay.io/a/b:v1@sha256:{'0' * 64}",
            "quay.io",
            "a/b",
            f"sha256:{'0' * 64}",
            "https://quay.io/v2/a/b",
        ),
    ],
)
def test_a_reference_in_its_parts(text: str, host: str, path: str, version: str, api: str) -> None:
    found = parse_reference(text)
    assert (found.host, found.path, found.version) == (host, path, version)
    assert found.api.startswith(api)
    assert str(found) == text


@pytest.mark.parametrize(
    "text", ["", "ollama", "docker.io/ollama/ollama", "docker.io/a:b:c", "docker.io/A/b:1", "a/../b:1"]
)
def test_a_reference_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="no full reference"):
        parse_reference(text)


def test_the_digest_of_a_tag_is_that_of_its_index(registry: Played) -> None:
    digest = registry.push("team/app:1.0", *LAYERS)
    found = Registry().manifest(reference(registry))
    assert found.digest == digest
    assert Registry().of_platform(reference(registry), found, "arm64").digest == registry.platform_digest(
        "team/app:1.0", "arm64"
    )


def test_an_image_for_another_machine_alone(registry: Played) -> None:
    registry.push("team/app:1.0", *LAYERS, architectures=("arm64",))
    asked = Registry()
    with pytest.raises(EdgeError, match="linux/amd64"):
        asked.of_platform(reference(registry), asked.manifest(reference(registry)), "amd64")


def test_a_token_is_fetched_where_the_registry_wants_one(registry: Played) -> None:
    registry.push("team/app:1.0", *LAYERS)
    registry.guard()
    asked = Registry()
    assert asked.manifest(reference(registry)).digest
    assert asked.manifest(reference(registry)).digest
    assert sum(path.startswith("/token") for path in registry.asked) == 1
    assert any("service=played" in path for path in registry.asked)


def test_credentials_of_docker_login_are_used(
    registry: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.push("team/app:1.0", *LAYERS)
    registry.guard(base64.b64encode(b"me:secret").decode())
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with pytest.raises(UnauthorisedError, match="no token"):
        Registry().manifest(reference(registry))
    (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.host: {"auth": registry.password}}}))
    assert Registry().manifest(reference(registry)).digest


@pytest.mark.parametrize("content", ["{", "[]", '{"auths": []}', '{"auths": {"%s": {"auth": "%%%%"}}}'])
def test_credentials_that_are_damaged_are_none(
    content: str, registry: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.push("team/app:1.0", *LAYERS)
    registry.guard()
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text(content.replace("%s", registry.host))
    assert Registry().manifest(reference(registry)).digest


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (404, EdgeError, "knows no such image"),
        (403, UnauthorisedError, "docker login"),
        (500, TargetUnreachableError, "answers 500"),
    ],
)
def test_what_the_registry_refuses(registry: Played, status: int, error: type[EdgeError], words: str) -> None:
    registry.status = status
    with pytest.raises(error) as raised:
        Registry().manifest(reference(registry))
    assert words in str(raised.value)
    assert "team/app:1.0" in raised.value.message


def test_a_registry_that_does_not_answer() -> None:
    with pytest.raises(TargetUnreachableError, match=r"127\.0\.0\.1:1/a:1") as raised:
        Registry().manifest(parse_reference("127.0.0.1:1/a:1"))
    assert "refused" in raised.value.message
    assert "object at 0x" not in raised.value.message


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"mediaType": "text/plain"}', b"x" * (5 << 20)])
def test_a_manifest_that_is_none(registry: Played, content: bytes) -> None:
    registry.manifests["team/app:1.0"] = ("text/html", content)
    with pytest.raises(EdgeError, match="team/app"):
        Registry().manifest(reference(registry))


def test_a_pinned_image_that_the_registry_has_changed(registry: Played) -> None:
    digest = registry.push("team/app:1.0", *LAYERS)
    registry.manifests[digest] = registry.manifests[registry.push("team/app:2.0", b"other")]
    with pytest.raises(EdgeError, match="the registry sent"):
        Registry().manifest(ImageReference(registry.host, "team/app", "1.0", digest))


def names(path: Path) -> dict[str, str]:
    with tarfile.open(path) as tar:
        found = tar.extractfile("index.json")
        assert found is not None
        listed = json.load(found)["manifests"]
    return {each["annotations"]["io.containerd.image.name"]: each["digest"] for each in listed}


def test_an_image_is_pulled_whole_and_called_by_tag_and_digest(registry: Played, tmp_path: Path) -> None:
    registry.push("team/app:1.0", *LAYERS)
    index, digest, path = pull_image(Registry(), reference(registry), "amd64", tmp_path)
    assert digest == registry.platform_digest("team/app:1.0", "amd64")
    assert names_manifest(path, index, digest)
    assert not names_manifest(path, index, f"sha256:{'0' * 64}")
    assert not names_manifest(path, digest, digest)
    assert names(path) == {
        f"{registry.host}/team/app:1.0": digest,
        f"{registry.host}/team/app@{digest}": digest,
    }
    with tarfile.open(path) as tar:
        contents = {name: tar.extractfile(name) for name in tar.getnames() if name.startswith("blobs/")}
        assert {file.read() for file in contents.values() if file} >= set(LAYERS)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("name", "digest", "words"),
    [
        ("", "", ""),
        ("docker.io/library/busybox:1", "", "brings another image along"),
        ("", f"sha256:{'0' * 64}", f"it has sha256:{'0' * 64}"),
    ],
)
def test_an_archive_is_of_one_image_under_its_own_names(
    registry: Played, tmp_path: Path, name: str, digest: str, words: str
) -> None:
    registry.push("team/app:1.0", *LAYERS)
    _, manifest, path = pull_image(Registry(), reference(registry), "amd64", tmp_path)
    wicked = tmp_path / "wicked.tar"
    with tarfile.open(path) as old, tarfile.open(wicked, "w") as new:
        for member in old:
            content = old.extractfile(member)
            assert content is not None
            raw = content.read()
            if member.name == "index.json":
                index = json.loads(raw)
                last = index["manifests"][-1]
                last["annotations"]["io.containerd.image.name"] = (
                    name or last["annotations"]["io.containerd.image.name"]
                )
                last["digest"] = digest or last["digest"]
                raw = json.dumps(index).encode()
                member.size = len(raw)
            new.addfile(member, io.BytesIO(raw))
    said = archive_fault(wicked, f"{registry.host}/team/app:1.0", manifest)
    assert words in said
    assert bool(said) is bool(words)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b'{"manifests": [1]}',
        b'{"manifests": [{"annotations": 7}]}',
        b'{"manifests": ' + b"[" * 100_000,
    ],
)
def test_an_archive_whose_index_is_none_is_at_fault(content: bytes, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("oci-layout"), io.BytesIO())
        member = tarfile.TarInfo("index.json")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    assert archive_fault(tmp_path / "a.tar", "docker.io/a/b:1", f"sha256:{'0' * 64}")


@pytest.mark.parametrize(
    "change",
    [
        {"config": None},
        {"layers": [{"digest": "sha256:../../etc/passwd", "size": 1}]},
        {"layers": [{"digest": f"sha256:{'0' * 64}", "size": -1}]},
        {"layers": [{"size": 1}]},
        {"layers": 7},
    ],
)
def test_a_manifest_without_sound_layers_is_no_image(
    registry: Played, tmp_path: Path, change: dict[str, Any]
) -> None:
    registry.push("team/app:1.0", *LAYERS)
    media, content = registry.manifests[registry.platform_digest("team/app:1.0", "amd64")]
    registry.manifests["team/app:1.0"] = (media, json.dumps(json.loads(content) | change).encode())
    with pytest.raises(EdgeError, match="names no layers"):
        pull_image(Registry(), reference(registry), "amd64", tmp_path)


@pytest.mark.parametrize(
    "listed",
    [
        None,
        [7],
        [{"platform": 7}],
        [{"platform": {"os": "linux", "architecture": "amd64"}, "digest": "../x"}],
    ],
)
def test_an_index_that_lists_no_image(registry: Played, tmp_path: Path, listed: Any) -> None:
    registry.push("team/app:1.0", *LAYERS)
    media, content = registry.manifests["team/app:1.0"]
    registry.manifests["team/app:1.0"] = (
        media,
        json.dumps(json.loads(content) | {"manifests": listed}).encode(),
    )
    with pytest.raises(EdgeError, match="not published for linux/amd64"):
        pull_image(Registry(), reference(registry), "amd64", tmp_path)


def test_a_damaged_blob_is_no_image(registry: Played, tmp_path: Path) -> None:
    registry.push("team/app:1.0", *LAYERS)
    registry.damaged = set(registry.blobs)
    with pytest.raises(EdgeError, match="came damaged"):
        pull_image(Registry(), reference(registry), "amd64", tmp_path)


def test_an_archive_is_called_by_its_digest_too(registry: Played, tmp_path: Path) -> None:
    registry.push("team/app:1.0", *LAYERS)
    _, digest, path = pull_image(Registry(), reference(registry), "amd64", tmp_path)
    (tmp_path / "out").mkdir()
    named, again, copy = renamed_archive(path, tmp_path / "out", parse_reference("localhost/edge/app:2"))
    assert (str(named), again) == ("localhost/edge/app:2", digest)
    assert names(copy) == {"localhost/edge/app:2": digest, f"localhost/edge/app@{digest}": digest}
    assert str(renamed_archive(path, tmp_path / "out")[0]) == f"{registry.host}/team/app:1.0"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"linkname": "/etc/shadow"}, tarfile.SYMTYPE),
        ({"linkname": "index.json"}, tarfile.LNKTYPE),
        ({}, tarfile.FIFOTYPE),
    ],
)
def test_an_archive_holds_files_alone(
    registry: Played, tmp_path: Path, change: dict[str, str], kind: bytes
) -> None:
    registry.push("team/app:1.0", *LAYERS)
    _, manifest, path = pull_image(Registry(), reference(registry), "amd64", tmp_path)
    odd = tarfile.TarInfo(f"blobs/sha256/{'0' * 64}")
    odd.type, odd.linkname = kind, change.get("linkname", "")
    with tarfile.open(path, "a") as tar:
        tar.addfile(odd)
    assert f"it holds {odd.name}"[:80] in archive_fault(path, f"{registry.host}/team/app:1.0", manifest)


ENTRY = {
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "digest": f"sha256:{'0' * 64}",
    "size": 1,
    "annotations": {"io.containerd.image.name": "docker.io/a/b:1"},
}


@pytest.mark.parametrize(
    "manifests",
    [
        None,
        7,
        [],
        [7],
        [[]],
        [{**ENTRY, "digest": "../../escaped"}],
        [{**ENTRY, "digest": ["a"]}],
        [{**ENTRY, "size": "many"}],
        [{**ENTRY, "size": None}],
        [{**ENTRY, "annotations": 7}],
        [{**ENTRY, "platform": "linux"}],
        [{**ENTRY, "mediaType": "text/plain"}],
        [ENTRY, {**ENTRY, "digest": f"sha256:{'1' * 64}"}],
    ],
)
def test_an_archive_that_a_user_names_is_of_one_image(tmp_path: Path, manifests: Any) -> None:
    content = json.dumps({"manifests": manifests}).encode()
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        member = tarfile.TarInfo("index.json")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    (tmp_path / "work").mkdir()
    with pytest.raises(UsageError, match="no OCI archive of one image"):
        renamed_archive(tmp_path / "a.tar", tmp_path / "work")
    assert {each.name for each in tmp_path.rglob("*")} == {"a.tar", "work"}


@pytest.mark.parametrize("content", [b"", b"no tar", bytes(10240)])
def test_an_archive_that_is_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(UsageError, match="no OCI archive"):
        renamed_archive(tmp_path / "a.tar", tmp_path)
