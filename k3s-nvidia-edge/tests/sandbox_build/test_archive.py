import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from k3s_nvidia_edge.sandbox.build.archive import ImageConfig, write_archive
from k3s_nvidia_edge.sandbox.build.layer import Layer, LayerFile, write_layer

CONFIG = ImageConfig(
    entrypoint=("/run",), arguments=("--now",), environment=("A=1",), user="65534:65534", ports=("80/tcp",)
)


@pytest.fixture
def layers(tmp_path: Path) -> list[Layer]:
    return [
        write_layer(tmp_path / f"{name}.tar", [LayerFile(name, source=name.encode())])
        for name in ("one", "two")
    ]


def contents(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {member.name: stream.read() for member in tar if (stream := tar.extractfile(member))}


def blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    """A blob, after comparing it with its descriptor as an importer does."""
    data = files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
    assert f"sha256:{hashlib.sha256(data).hexdigest()}" == descriptor["digest"]
    assert len(data) == descriptor["size"]
    return data


def test_every_descriptor_leads_to_its_blob(tmp_path: Path, layers: list[Layer]) -> None:
    digest = write_archive(tmp_path / "image.tar", "localhost/thing:1", layers, CONFIG)
    files = contents(tmp_path / "image.tar")
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["digest"] == digest
    assert entry["annotations"]["io.containerd.image.name"] == "localhost/thing:1"
    manifest = json.loads(blob(files, entry))
    config = json.loads(blob(files, manifest["config"]))
    assert [layer["digest"] for layer in manifest["layers"]] == config["rootfs"]["diff_ids"]
    for layer in manifest["layers"]:
        blob(files, layer)
    assert config["config"] == {
        "Entrypoint": ["/run"],
        "Cmd": ["--now"],
        "Env": ["A=1"],
        "User": "65534:65534",
        "ExposedPorts": {"80/tcp": {}},
    }


def test_archive_is_the_same_byte_for_byte(tmp_path: Path, layers: list[Layer]) -> None:
    for name in ("a", "b"):
        write_archive(tmp_path / name, "localhost/thing:1", layers, CONFIG)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_digest_follows_layers_and_config_not_the_name(tmp_path: Path, layers: list[Layer]) -> None:
    digest = write_archive(tmp_path / "a", "localhost/thing:1", layers, CONFIG)
    assert write_archive(tmp_path / "b", "localhost/thing:2", layers, CONFIG) == digest
    assert write_archive(tmp_path / "c", "localhost/thing:1", layers[:1], CONFIG) != digest
    assert write_archive(tmp_path / "d", "localhost/thing:1", layers, ImageConfig()) != digest


def test_a_layer_that_occurs_twice_is_stored_once(tmp_path: Path, layers: list[Layer]) -> None:
    write_archive(tmp_path / "a", "localhost/thing:1", [layers[0], layers[0]], CONFIG)
    with tarfile.open(tmp_path / "a") as tar:
        names = tar.getnames()
    assert len(names) == len(set(names))
