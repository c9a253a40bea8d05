"""An image as an OCI archive that `ctr images import` and k3s take, by its tag and by its digest."""

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from edge_llm_tests.errors import EdgeError, UsageError

from edge_cli.image_reference import ImageReference, parse_reference
from edge_cli.registry import MANIFESTS, Descriptor, Registry

__all__ = ["archive_fault", "names_manifest", "pull_image", "renamed_archive"]

_INDEX = "application/vnd.oci.image.index.v1+json"
_INDEX_LIMIT_BYTES = 4 << 20
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MEMBER = re.compile(r"oci-layout|index\.json|blobs/sha256/[0-9a-f]{64}")
_NAME = "io.containerd.image.name"
_TAG = "org.opencontainers.image.ref.name"


def pull_image(
    registry: Registry,
    reference: ImageReference,
    architecture: str,
    folder: Path,
    tell: Callable[[str], None] = lambda _said: None,
) -> tuple[str, str, Path]:
    """Digest of the reference, of its manifest for the architecture, and its archive, written to the folder.

    The index that the reference names goes along: it is what a lock file pins, and names the manifest.

    Raises:
        EdgeError: The registry does not have it, does not answer, or sent something else.
    """
    named = registry.manifest(reference)
    found = registry.of_platform(reference, named, architecture)
    blobs = _blobs(found, reference)
    path = folder / f"{found.digest.removeprefix('sha256:')}.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        _add(tar, "index.json", _index(reference, found.digest, found.media_type, len(found.content), {}))
        for each in {named.digest: named, found.digest: found}.values():
            _add(tar, _blob(each.digest), each.content)
        for digest, size in blobs.items():
            tell(f"{reference}: {digest[7:19]}, {size >> 20} MiB")
            part = folder / ".blob"
            with part.open("wb") as data:
                for piece in registry.blob(reference, digest, size):
                    data.write(piece)
            with part.open("rb") as data:
                tar.addfile(_member(_blob(digest), size), data)
            part.unlink()
    return named.digest, found.digest, path


def _blobs(found: Descriptor, reference: ImageReference) -> dict[str, int]:
    """Digest to size of what the image is made of."""
    try:
        document = found.document
        blobs = {str(each["digest"]): int(each["size"]) for each in (document["config"], *document["layers"])}
    except (ValueError, KeyError, TypeError):
        blobs = {"": 0}
    if not all(_DIGEST.fullmatch(digest) and size >= 0 for digest, size in blobs.items()):
        raise EdgeError(f"image {reference}: its manifest names no layers", "ask another registry")
    return blobs


def names_manifest(archive: Path, index: str, manifest: str) -> bool:
    """Whether the archive holds the index of that digest, and the index names the manifest."""
    try:
        with tarfile.open(archive, "r:") as tar:
            found = tar.extractfile(_blob(index))
            content = found.read(_INDEX_LIMIT_BYTES) if found else b""
        listed = {each.get("digest") for each in json.loads(content)["manifests"]}
    except (OSError, tarfile.TarError, KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return False
    return f"sha256:{hashlib.sha256(content).hexdigest()}" == index and manifest in listed


def archive_fault(archive: Path, ref: str, digest: str) -> str:
    """Why the archive is not one of that image under its two names alone; empty if it is.

    A name by digest that led to another manifest would be taken for the pinned image by every kubelet.
    """
    if said := _layout_fault(archive):
        return said
    index = _read_index(archive)
    manifests = index.get("manifests") if isinstance(index, dict) else None
    if not isinstance(manifests, list) or not manifests:
        return "it is no OCI archive"
    reference = parse_reference(ref)
    allowed = {ref, reference.at(digest)}
    for each in manifests:
        annotations = each.get("annotations") if isinstance(each, dict) else None
        name = annotations.get(_NAME) if isinstance(annotations, dict) else None
        if name not in allowed:
            return f"it brings another image along ({str(name)[:80]})"
        if each.get("digest") != digest:
            return f"under {name} it has {str(each.get('digest'))[:80]}"
    return ""


def _layout_fault(archive: Path) -> str:
    """Why the members are not those of an OCI layout, each once; containerd reads Docker's layout as well."""
    try:
        with tarfile.open(archive, "r:") as tar:
            members = [member for member in tar if not member.isdir()]
    except (OSError, tarfile.TarError, ValueError):
        return "it is no OCI archive"
    names = [member.name for member in members]
    if not {"oci-layout", "index.json"} <= set(names):
        return "it is no OCI archive"
    odd = [each.name for each in members if not (each.isreg() and _MEMBER.fullmatch(each.name))]
    return (
        f"it holds {odd[0][:80]}"
        if odd
        else ""
        if len(set(names)) == len(names)
        else "a member is there twice"
    )


def renamed_archive(
    source: Path, folder: Path, reference: ImageReference | None = None
) -> tuple[ImageReference, str, Path]:
    """An OCI archive of one image, copied so that the image is found by tag and by digest.

    Args:
        source: The archive, of whatever made it.
        folder: Where the copy goes.
        reference: What the image is called; None for the name that the archive has.

    Raises:
        UsageError: It is not an OCI archive of one image with a full name.
    """
    first = _only_manifest(source)
    named = reference or parse_reference(str(first["annotations"].get(_NAME, "")))
    digest = str(first["digest"])
    fresh = _index(named, digest, str(first["mediaType"]), first["size"], first["platform"])
    path = folder / f"{digest.removeprefix('sha256:')}.tar"
    with tarfile.open(source, "r:") as old, tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for member in old:
            if member.name == "index.json":
                _add(tar, "index.json", fresh)
            elif member.isreg():
                tar.addfile(_member(member.name, member.size), old.extractfile(member))
    return named, digest, path


def _only_manifest(source: Path) -> Mapping[str, Any]:
    """The entry of an archive's index for its one image, which may stand there under several names.

    Raises:
        UsageError: There is no such entry, or it is none.
    """
    index = _read_index(source)
    listed = index.get("manifests") if isinstance(index, dict) else None
    manifests = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    digests = {str(each.get("digest")) for each in manifests}
    first = manifests[0] if manifests else {}
    maps = {key: first.get(key) or {} for key in ("annotations", "platform")}
    sound = (
        len(digests) == 1
        and all(_DIGEST.fullmatch(each) for each in digests)
        and first.get("mediaType") in MANIFESTS
        and type(first.get("size")) is int
        and all(isinstance(each, dict) for each in maps.values())
    )
    if not sound:
        raise UsageError(
            f"{source} is no OCI archive of one image", "export it with `skopeo copy ... oci-archive:`"
        )
    return first | maps


def _read_index(source: Path) -> Any:
    try:
        with tarfile.open(source, "r:") as tar:
            found = tar.extractfile("index.json")
            return json.loads(found.read(_INDEX_LIMIT_BYTES)) if found else {}
    except (OSError, tarfile.TarError, KeyError, ValueError, RecursionError):
        return {}


def _index(
    reference: ImageReference, digest: str, media: str, size: int, platform: Mapping[str, Any]
) -> bytes:
    """Both names of one manifest: the tag for people, the digest for what a pinned pod asks the node for."""
    names = [reference.at(digest)]
    if reference.tag:
        names.insert(0, f"{reference.host}/{reference.path}:{reference.tag}")
    manifests = [
        {
            "mediaType": media,
            "digest": digest,
            "size": size,
            "annotations": {
                _NAME: name,
                **({_TAG: reference.tag} if name.endswith(f":{reference.tag}") else {}),
            },
            **({"platform": dict(platform)} if platform else {}),
        }
        for name in names
    ]
    return json.dumps({"schemaVersion": 2, "mediaType": _INDEX, "manifests": manifests}).encode()


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    tar.addfile(_member(name, len(content)), io.BytesIO(content))


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    return member
