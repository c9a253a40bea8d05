"""A container image as an OCI archive for `ctr images import`: no daemon, byte for byte repeatable."""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from k3s_nvidia_edge.sandbox.build.layer import Layer

__all__ = ["ImageConfig", "machine_architecture", "write_archive"]

ARCHITECTURES: Final[Mapping[str, str]] = {"x86_64": "amd64", "aarch64": "arm64"}
MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
CONFIG: Final = "application/vnd.oci.image.config.v1+json"
LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
INDEX: Final = "application/vnd.oci.image.index.v1+json"


class ImageConfig(msgspec.Struct, frozen=True):
    """How a container of the image starts when its pod says nothing else."""

    entrypoint: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    user: str = ""
    directory: str = ""
    ports: tuple[str, ...] = ()


def machine_architecture() -> str:
    """This machine's architecture in the words of container images."""
    machine = platform.machine()
    return ARCHITECTURES.get(machine, machine)


def write_archive(path: Path, ref: str, layers: Sequence[Layer], config: ImageConfig) -> str:
    """Write the archive; the digest of its manifest, which is the image's digest in containerd."""
    config_blob = _json(_config(layers, config))
    manifest_blob = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": _descriptor(CONFIG, config_blob),
            "layers": [{"mediaType": LAYER, "digest": layer.digest, "size": layer.size} for layer in layers],
        }
    )
    manifest = _descriptor(MANIFEST, manifest_blob)
    index = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [
            {
                **manifest,
                "annotations": {
                    "io.containerd.image.name": ref,  # without it containerd knows only the tag
                    "org.opencontainers.image.ref.name": ref.rpartition(":")[2],
                },
                "platform": {"architecture": machine_architecture(), "os": "linux"},
            }
        ],
    }
    small = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json(index),
        _blob_name(str(manifest["digest"])): manifest_blob,
        _blob_name(_digest(config_blob)): config_blob,
    }
    large = {_blob_name(layer.digest): layer.path for layer in layers}
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in small.items():
            member = _member(name, len(data))
            tar.addfile(member, io.BytesIO(data))
        for name, source in sorted(large.items()):
            with source.open("rb") as data_file:
                tar.addfile(_member(name, source.stat().st_size), data_file)
    return str(manifest["digest"])


def _config(layers: Sequence[Layer], config: ImageConfig) -> dict[str, object]:
    """The image's configuration object; keys without a value are left out."""
    inner: dict[str, object] = {
        "Entrypoint": list(config.entrypoint),
        "Cmd": list(config.arguments),
        "Env": list(config.environment),
        "User": config.user,
        "WorkingDir": config.directory,
        "ExposedPorts": {port: {} for port in config.ports},
    }
    return {
        "architecture": machine_architecture(),
        "os": "linux",
        "config": {name: value for name, value in inner.items() if value},
        "rootfs": {
            "type": "layers",
            "diff_ids": [layer.digest for layer in layers],
        },  # uncompressed: the same digest
    }


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _descriptor(media: str, data: bytes) -> dict[str, object]:
    return {"mediaType": media, "digest": _digest(data), "size": len(data)}


def _blob_name(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    return member
