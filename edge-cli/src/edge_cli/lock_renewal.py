"""The renewal of a lock file: what each chart and image is now, asked of where it is published."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from edge_llm_tests.errors import EdgeError
from edge_llm_tests.layer import Layer, Release, UpstreamChart
from edge_llm_tests.profile import Profile

from edge_cli.chart_store import ChartStore, file_digest
from edge_cli.image_reference import parse_reference
from edge_cli.lock import SCHEMA, Lock, LockedChart
from edge_cli.pinning import LOCAL
from edge_cli.registry import Registry
from edge_cli.rendering import release_images

__all__ = ["Renewal", "renew"]


@dataclass
class Renewal:
    """What came of it.

    Attributes:
        lock: The new lock; what could not be asked keeps what it had.
        changed: What has another digest than before, as `name: old -> new`.
        failed: What could not be asked, with the error.
    """

    lock: Lock
    changed: list[str] = field(default_factory=list)
    failed: list[tuple[str, EdgeError]] = field(default_factory=list)


def renew(
    profiles: Iterable[Profile],
    layers: tuple[Layer, ...],
    old: Lock,
    helm: Path,
    tell: Callable[[str], None],
) -> Renewal:
    """Ask for everything that the profiles install; nothing on this machine but the lock file changes.

    Args:
        profiles: What is installed.
        layers: Whose releases.
        old: What was known before.
        helm: Pulls charts and renders releases.
        tell: Is told of each question.
    """
    releases = {
        (release.name, str(release.chart), repr(release.values)): release
        for profile in profiles
        for layer in layers
        for release in layer.releases(profile.values)
    }
    with TemporaryDirectory(prefix="edge-lock-") as folder:
        charts = ChartStore(
            helm, cache=Path(folder)
        )  # a fresh one: what was pulled before is not what is there now
        work = _Work(old, charts, Renewal(Lock(SCHEMA)), tell)
        for release in releases.values():
            work.release(release)
        work.images()
    return work.renewal


@dataclass
class _Work:
    old: Lock
    charts: ChartStore
    renewal: Renewal
    tell: Callable[[str], None]

    def release(self, release: Release) -> None:
        chart, lock = release.chart, self.renewal.lock
        what = f"chart {chart}" if isinstance(chart, UpstreamChart) else f"release {release.name}"
        self.tell(what)
        try:
            images = tuple(ref for ref in release_images(release, self.charts) if not ref.startswith(LOCAL))
        except EdgeError as error:
            self.renewal.failed.append((what, error))
            images = self._known(chart)
        lock.images.update(dict.fromkeys(images, ""))
        if isinstance(chart, UpstreamChart):
            before = self.old.chart_digest(chart)
            digest = self._chart_digest(chart) or before
            earlier = lock.charts.get(chart.name)
            all_images = {*images, *(earlier.images if earlier else ())}
            lock.charts[chart.name] = LockedChart(
                chart.repository, chart.version, digest, tuple(sorted(all_images))
            )
            if earlier is None:
                self._changed(what, before, digest)

    def _chart_digest(self, chart: UpstreamChart) -> str:
        try:
            return file_digest(self.charts.locate(chart))
        except EdgeError:
            return ""  # said already, when its images were asked for

    def _known(self, chart: object) -> tuple[str, ...]:
        """The images that the old lock file has of a chart that cannot be had."""
        if not isinstance(chart, UpstreamChart):
            return ()
        entry = self.old.charts.get(chart.name)
        return entry.images if entry is not None and entry.is_of(chart) else ()

    def images(self) -> None:
        registry, images = Registry(), self.renewal.lock.images
        for ref in sorted(images):
            self.tell(f"image {ref}")
            before = self.old.images.get(ref, "")
            try:
                images[ref] = registry.manifest(parse_reference(ref)).digest
            except EdgeError as error:
                images[ref] = before
                self.renewal.failed.append((f"image {ref}", error))
            self._changed(f"image {ref}", before, images[ref])

    def _changed(self, what: str, before: str, now: str) -> None:
        if before != now:
            self.renewal.changed.append(f"{what}: {before or 'not pinned'} -> {now}")
