"""A supply: what an installation is made from, held to a lock file; from registries, or from a bundle."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from edge_llm_tests.errors import UsageError
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer, Release, UpstreamChart
from edge_llm_tests.profile import Profile
from msgspec.structs import replace

from edge_cli.bundle.manifest import Entry
from edge_cli.bundle.store import Loaded, current_bundle, has_bundle, store_folder
from edge_cli.chart_store import ChartStore, DigestError
from edge_cli.image_archive import archive_fault, names_manifest
from edge_cli.lock import Lock, LockedChart, load_lock, parse_lock
from edge_cli.pinning import LOCAL, image_refs, pinned, unpinned
from edge_cli.running_images import strangers

if TYPE_CHECKING:
    from k3s_nvidia_edge.node.images import Brought

__all__ = ["Supply", "load_supply"]

_OF_K3S = "docker.io/rancher/"  # a node that has such a tag takes it, whatever is in it
_LOAD = "load a bundle of this profile: `edge bundle load FILE`"


class Supply(msgspec.Struct, frozen=True):
    """Where what is installed comes from.

    Attributes:
        lock: What it is held to.
        loaded: The bundle that was loaded last; None for none.
        offline: Whether everything comes from the bundle; else only images that no registry has.
        known: What the owners and the user pin, which a bundle cannot change.
    """

    lock: Lock = msgspec.field(default_factory=Lock)
    loaded: Loaded | None = None
    offline: bool = False
    known: Lock = msgspec.field(default_factory=Lock)

    def charts(self, helm: Path) -> ChartStore:
        """Charts of others, for Helm."""
        loaded = self.loaded
        if loaded is None or not self.offline:
            return ChartStore(helm, self.lock)
        brought = {(entry.name, entry.version): loaded.path(entry) for entry in loaded.manifest.of("chart")}
        return ChartStore(helm, self.lock, brought, offline=True)

    @property
    def brought(self) -> "tuple[Brought, ...]":
        """Every image of the bundle, offline; nothing else where registries can be asked."""
        return self._archives() if self.offline else ()

    def images(self, layers: tuple[Layer, ...], profile: Profile) -> "tuple[Brought, ...]":
        """The images that the bundle brings: offline all, else those wanted that no registry has."""
        if self.offline:
            return self._archives()
        wanted = _local_images(layers, profile)
        if self.loaded is not None:
            for entry in self.loaded.manifest.of("image"):
                if entry.name in wanted:
                    _hold(self.loaded, entry, self.lock)
        return tuple(image for image in self._archives() if image.ref in wanted)

    def _archives(self) -> "tuple[Brought, ...]":
        from k3s_nvidia_edge.node.images import Brought  # noqa: PLC0415 - only who has a bundle pays

        if self.loaded is None:
            return ()
        return tuple(
            Brought(entry.name, entry.digest, self.loaded.path(entry))
            for entry in self.loaded.manifest.of("image")
        )

    @property
    def k3s(self) -> Path | None:
        """The folder with k3s that the bundle brought, if it did."""
        return self.loaded.k3s if self.loaded and self.offline else None

    def profile(self, profile: Profile, layers: tuple[Layer, ...]) -> Profile:
        """The profile with what it installs held to the lock file, and models taken from the bundle.

        Raises:
            UsageError: The bundle does not have what the profile installs.
        """
        if self.loaded is None or not self.offline:
            return pinned(profile, self.lock)
        self._check(profile, layers)
        held = pinned(profile, self.lock, whatever_it_says=True)
        if self.loaded.models is not None:
            for layer in layers:
                if layer.models(held.values):
                    held = replace(held, values=layer.with_models(held.values, str(self.loaded.models)))
        return held

    def notes(self, layers: tuple[Layer, ...], profile: Profile) -> Iterator[str]:
        """What the user should know of it: a line each."""
        if self.loaded is not None and self.offline:
            made_by, here = self.loaded.manifest.edge_version, version("edge-cli")
            yield f"offline: everything comes from the bundle in {self.loaded.folder}"
            if made_by != here:
                yield f"the bundle was made by edge {made_by}, and this is edge {here}"
            return
        charts, images = unpinned(_releases(layers, profile), self.lock)
        for kind, found in (("chart", charts), ("image", images)):
            if found:
                plural = "s" if len(found) > 1 else ""
                yield f"not pinned: {len(found)} {kind}{plural}, by tag alone: {', '.join(found)}"
        if charts or images:
            yield "a registry may change what a tag is; `edge lock` pins them"
        brought = {image.ref for image in self.images(layers, profile)}
        if not profile.simulated and (absent := sorted(_local_images(layers, profile) - brought)):
            yield (
                f"in no registry: {', '.join(absent)}; unless the node has it, make it with "
                "`edge bundle create --only-local` and bring it with `edge bundle load`"
            )

    def strangers(self, recording: Recording) -> tuple[str, ...]:
        """Pinned images of which something else runs."""
        return strangers(recording, self.lock)

    def _check(self, profile: Profile, layers: tuple[Layer, ...]) -> None:
        """Everything at once, before anything is installed."""
        if self.loaded is None:
            return
        from k3s_nvidia_edge.sandbox.build.archive import machine_architecture  # noqa: PLC0415 - only who is offline pays

        manifest, here = self.loaded.manifest, machine_architecture()
        if manifest.architecture != here:
            raise UsageError(
                f"the bundle in {self.loaded.folder} is for {manifest.architecture}, this machine is {here}",
                f"make one with `edge bundle create --arch {here}`",
            )
        charts = {(entry.name, entry.version) for entry in manifest.of("chart")}
        lacking = []
        for release in _releases(layers, profile):
            if isinstance(release.chart, UpstreamChart):
                if (release.chart.name, release.chart.version) not in charts:
                    lacking.append(f"chart {release.chart.name} {release.chart.version}")
            else:
                lacking += [
                    f"image {ref}" for ref, _ in image_refs(release.values) if ref not in self.lock.images
                ]
        models = {entry.name for entry in manifest.of("model")}
        needs = [need.name for layer in layers for need in layer.models(profile.values)]
        lacking += [f"model {name}" for name in needs if name not in models]
        lacking += [
            f"file {entry.path}"
            for entry in manifest.entries
            if not self.loaded.path(entry).is_file() or self.loaded.path(entry).stat().st_size != entry.size
        ]
        if lacking:
            raise UsageError(
                f"the bundle in {self.loaded.folder} is of profile {manifest.profile} and lacks what profile "
                f"{profile.name} installs: {', '.join(dict.fromkeys(lacking))}",
                _LOAD,
            )
        for entry in manifest.of("image"):
            _hold(self.loaded, entry, self.known)


def load_supply(layers: tuple[Layer, ...], *, offline: bool = False) -> Supply:
    """The supply by the owners' lock files and the user's; offline, by the bundle that was loaded last.

    Raises:
        UsageError: A lock file is wrong, or no bundle is loaded.
    """
    store = store_folder()
    if not offline:
        return Supply(load_lock(layers), current_bundle(store) if has_bundle(store) else None)
    loaded = current_bundle(store)
    found = [loaded.path(entry) for entry in loaded.manifest.of("lock")]
    if len(found) != 1:
        raise UsageError(f"the bundle in {loaded.folder} has no lock file", _LOAD)
    brought, known = parse_lock(found[0].read_bytes(), str(found[0])), load_lock(layers)
    charts = {
        name: known.charts[name] if name in known.charts and _pins(known.charts[name], chart) else chart
        for name, chart in brought.charts.items()
    }
    return Supply(Lock(brought.schema, charts, brought.images), loaded, offline=True, known=known)


def _pins(known: LockedChart, brought: LockedChart) -> bool:
    return bool(known.digest) and (known.repository, known.version) == (brought.repository, brought.version)


def _hold(loaded: Loaded, entry: Entry, known: Lock) -> None:
    """Hold an image of a bundle to its own manifest, and to what the owners and the user pin.

    Raises:
        DigestError: It is another image.
    """
    if entry.name.startswith(_OF_K3S):
        raise DigestError(
            f"the bundle in {loaded.folder} brings {entry.name}, and k3s's own images come with k3s alone",
            "make the bundle again, or ask who made it",
        )
    path, pinned = loaded.path(entry), known.images.get(entry.name)
    if said := archive_fault(path, entry.name, entry.digest):
        raise DigestError(
            f"image {entry.name} of the bundle in {loaded.folder}: {said}", "make the bundle again"
        )
    if not pinned or entry.digest == pinned:
        return
    if entry.index != pinned or not names_manifest(path, pinned, entry.digest):
        raise DigestError(
            f"image {entry.name} of the bundle in {loaded.folder} is {entry.index or entry.digest}, and "
            f"the lock file says {pinned}",
            "make the bundle again with this lock file; if it was renewed on purpose, run `edge lock`",
        )


def _local_images(layers: tuple[Layer, ...], profile: Profile) -> frozenset[str]:
    """Images that no registry has."""
    found = (ref for release in _releases(layers, profile) for ref, _ in image_refs(release.values))
    return frozenset(ref for ref in found if ref.startswith(LOCAL))


def _releases(layers: tuple[Layer, ...], profile: Profile) -> tuple[Release, ...]:
    return tuple(release for layer in layers for release in layer.releases(profile.values))
