"""A supply: what an installation is made from, held to a lock file; from registries, or from a bundle."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from edge_llm_tests.layer import Layer, Release
from edge_llm_tests.profile import Profile

from edge_cli.chart_store import ChartStore
from edge_cli.lock import Lock, load_lock
from edge_cli.pinning import pinned, unpinned

__all__ = ["Supply", "load_supply"]


@dataclass(frozen=True)
class Supply:
    """Where what is installed comes from.

    Attributes:
        lock: What it is held to.
    """

    lock: Lock = field(default_factory=Lock)

    def charts(self, helm: Path) -> ChartStore:
        """Charts of others, for Helm."""
        return ChartStore(helm, self.lock)

    def profile(self, profile: Profile) -> Profile:
        """The profile with what it installs held to the lock file."""
        return pinned(profile, self.lock)

    def notes(self, layers: tuple[Layer, ...], profile: Profile) -> Iterator[str]:
        """What the user should know of it: a line each."""
        releases: tuple[Release, ...] = tuple(
            release for layer in layers for release in layer.releases(profile.values)
        )
        charts, images = unpinned(releases, self.lock)
        for kind, found in (("chart", charts), ("image", images)):
            if found:
                plural = "s" if len(found) > 1 else ""
                yield f"not pinned: {len(found)} {kind}{plural}, by tag alone: {', '.join(found)}"
        if charts or images:
            yield "a registry may change what a tag is; `edge lock` pins them"


def load_supply(layers: tuple[Layer, ...]) -> Supply:
    """The supply by the owners' lock files and the user's.

    Raises:
        UsageError: A lock file is wrong.
    """
    return Supply(load_lock(layers))
