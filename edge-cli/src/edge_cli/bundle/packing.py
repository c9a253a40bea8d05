"""Packing: what a profile needs, gathered from registries, folders and the sandbox's build into a bundle."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from edge_llm_tests.errors import UsageError
from edge_llm_tests.layer import Layer, Release, UpstreamChart
from edge_llm_tests.profile import Profile

from edge_cli.bundle.archive import write_bundle
from edge_cli.bundle.manifest import SCHEMA, Entry, Manifest
from edge_cli.bundle.models import model_files
from edge_cli.chart_store import ChartStore, DigestError, file_digest
from edge_cli.image_archive import pull_image, renamed_archive
from edge_cli.image_reference import ImageReference, parse_reference
from edge_cli.lock import Lock, LockedChart, lock_text
from edge_cli.pinning import LOCAL
from edge_cli.registry import Registry
from edge_cli.rendering import release_images

__all__ = ["Order", "pack"]

Tell = Callable[[str], None]
LocalImages = Callable[[tuple[str, ...]], Mapping[str, Path]]


class Order(msgspec.Struct, frozen=True):
    """What a bundle is to be made of.

    Attributes:
        profile: For which profile.
        layers: Whose releases.
        charts: Where charts of others come from; its lock file is held to.
        architecture: `amd64` or `arm64`.
        images: Archives of images that no registry has, given by the user.
        local_images: Gives archives of images that this project builds itself.
        models: A folder in Ollama's layout; None where no model is needed from there.
        k3s: Gives the files of the k3s release; nothing to leave it out.
        only_local: Nothing but the images that no registry has, for a box with a network.
    """

    profile: Profile
    layers: tuple[Layer, ...]
    charts: ChartStore
    architecture: str
    images: tuple[Path, ...] = ()
    local_images: LocalImages = lambda _refs: {}
    models: Path | None = None
    k3s: Callable[[], tuple[Path, ...]] = tuple
    only_local: bool = False


@dataclass
class _Packed:
    entries: list[Entry] = field(default_factory=list)
    sources: list[Path] = field(default_factory=list)

    def add(self, kind: Any, path: str, source: Path, **about: str) -> None:
        digest = file_digest(source).removeprefix("sha256:")
        self.entries.append(Entry(path, kind, source.stat().st_size, digest, **about))
        self.sources.append(source)


def pack(order: Order, out: Path, tell: Tell) -> Manifest:
    """Gather everything and write the bundle; what is incomplete is never left at its place.

    Raises:
        UsageError: Something that it needs is given nowhere.
        EdgeError: A registry or repository does not have it, or has something else than the lock file says.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    packed = _Packed()
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        work = Path(folder)
        charts: dict[str, LockedChart] = {}
        if not order.only_local:
            _models(order, packed)  # first: a missing model is said before gigabytes of images are fetched
            for source in order.k3s():
                packed.add("k3s", f"k3s/{source.name}", source)
            charts = _charts(order, packed, tell)
        refs = _refs(order)
        images = _images(order, refs, packed, work, tell)
        (work / "lock.yaml").write_text(
            lock_text(Lock(charts=charts, images=images), "What is in this bundle."), encoding="utf-8"
        )
        packed.add("lock", "lock/lock.yaml", work / "lock.yaml")
        manifest = Manifest(
            SCHEMA,
            order.profile.name,
            order.architecture,
            version("edge-cli"),
            datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            tuple(packed.entries),
        )
        write_bundle(out, manifest, packed.sources, lambda entry: tell(f"writing {entry.path}"))
    return manifest


def _refs(order: Order) -> tuple[str, ...]:
    """The images that are wanted; those of this project are in charts of ours alone."""
    releases = [
        each for each in _releases(order) if not (order.only_local and isinstance(each.chart, UpstreamChart))
    ]
    found = [ref for release in releases for ref in release_images(release, order.charts)]
    return tuple(dict.fromkeys(ref for ref in found if ref.startswith(LOCAL) or not order.only_local))


def _releases(order: Order) -> Iterator[Release]:
    for layer in order.layers:
        yield from layer.releases(order.profile.values)


def _charts(order: Order, packed: _Packed, tell: Tell) -> dict[str, LockedChart]:
    charts = {}
    for release in _releases(order):
        chart = release.chart
        if not isinstance(chart, UpstreamChart):
            continue
        tell(f"chart {chart}")
        path = order.charts.locate(chart)
        packed.add(
            "chart", f"charts/{chart.name}-{chart.version}.tgz", path, name=chart.name, version=chart.version
        )
        charts[chart.name] = LockedChart(chart.repository, chart.version, file_digest(path))
    return charts


def _models(order: Order, packed: _Packed) -> None:
    needs = [need for layer in order.layers for need in layer.models(order.profile.values)]
    if not needs:
        return
    if order.models is None:
        names = ", ".join(need.name for need in needs)
        raise UsageError(
            f"profile {order.profile.name} needs models that no folder was given for: {names}",
            "give the folder that `ollama pull` filled: --models ~/.ollama/models",
        )
    done: set[str] = set()
    for need in needs:
        for place, source in model_files(order.models, need):
            if place in done:
                continue
            done.add(place)
            packed.add("model", f"models/{place}", source, name=need.name)
            named = place.removeprefix("blobs/sha256-")
            if place.startswith("blobs/") and packed.entries[-1].sha256 != named:
                raise DigestError(
                    f"model {need.name}: the SHA-256 of {source} is not what its name says",
                    "fetch the model again",
                )


def _images(order: Order, refs: tuple[str, ...], packed: _Packed, work: Path, tell: Tell) -> dict[str, str]:
    """The digest of each image; its archive among what is packed."""
    given = _given(order.images, work)
    local = tuple(ref for ref in refs if ref.startswith(LOCAL) and ref not in given)
    built = order.local_images(local) if local else {}
    registry = Registry()
    digests: dict[str, str] = {}
    for number, ref in enumerate(refs):
        reference, index = parse_reference(ref), ""
        tell(f"image {ref}")
        if ref in given:
            digest, path = given[ref]
        elif ref in built:
            _, digest, path = renamed_archive(built[ref], work, reference)
        elif ref in local:
            raise UsageError(
                f"image {ref} is in no registry, and is not built here",
                "give its OCI archive with --image FILE",
            )
        else:
            index, digest, path = _pulled(order, registry, reference, work, tell)
        slug = ref.rpartition("/")[2].replace(":", "-").replace("@", "-")
        packed.add("image", f"images/{number:02}-{slug}.tar", path, name=ref, digest=digest, index=index)
        digests[ref] = digest
    return digests


def _pulled(
    order: Order, registry: Registry, reference: ImageReference, work: Path, tell: Tell
) -> tuple[str, str, Path]:
    """An image of a registry, held to the lock file: what was pinned is what is packed."""
    pinned = order.charts.lock.images.get(str(reference), "")
    wanted = ImageReference(reference.host, reference.path, reference.tag, pinned)
    index, digest, path = pull_image(registry, wanted, order.architecture, work, tell)
    if not pinned:
        tell(f"image {reference}: not pinned, the registry gave {index}")
    return index, digest, path


def _given(archives: tuple[Path, ...], work: Path) -> dict[str, tuple[str, Path]]:
    found = {}
    for archive in archives:
        reference, digest, path = renamed_archive(archive, work)
        found[str(reference)] = (digest, path)
    return found
