"""The chart store: charts of others as files on this machine, each held to its digest before it is used."""

import asyncio
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import as_file
from pathlib import Path

import msgspec
from edge_llm_tests.errors import EdgeError, UsageError
from edge_llm_tests.layer import Release, UpstreamChart

from edge_cli.helm_error import helm_error
from edge_cli.lock import Lock

__all__ = ["ChartStore", "DigestError", "chart_cache", "file_digest"]

_PULL_LIMIT_S = 300.0


class DigestError(EdgeError):
    """A file is not what the lock file says it is."""


def chart_cache() -> Path:
    """Where charts that were pulled are kept."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if home.startswith("/") else Path("~/.cache").expanduser()
    return base / "edge" / "charts"


def file_digest(path: Path) -> str:
    """`sha256:...` of a file."""
    with path.open("rb") as content:
        return f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}"


class ChartStore(msgspec.Struct, frozen=True):
    """Where charts of others are found.

    Attributes:
        helm: The helm program that pulls what is missing.
        lock: What they are held to.
        brought: Charts that a loaded bundle brought, by name and version.
        offline: Whether nothing may be pulled.
        cache: Where pulled charts are kept.
    """

    helm: Path
    lock: Lock = msgspec.field(default_factory=Lock)
    brought: dict[tuple[str, str], Path] = msgspec.field(default_factory=dict)
    offline: bool = False
    cache: Path = msgspec.field(default_factory=chart_cache)

    @asynccontextmanager
    async def opened(self, release: Release) -> AsyncIterator[Path]:
        """The release's chart as a path: a folder of its owner's package, or a file held to its digest."""
        if isinstance(release.chart, UpstreamChart):
            yield await asyncio.to_thread(self.locate, release.chart)
        else:
            with as_file(release.chart) as folder:
                yield folder

    def locate(self, chart: UpstreamChart) -> Path:
        """The packaged chart; pulled if it is on this machine nowhere and that is allowed.

        Raises:
            UsageError: It is not here and may not be pulled.
            DigestError: It is not the one that the lock file pins.
            EdgeError: It cannot be pulled.
        """
        path = self.brought.get((chart.name, chart.version))
        if path is None and self.offline:
            raise UsageError(
                f"chart {chart} is in no loaded bundle, and --offline forbids to pull it",
                "load a bundle of this profile: `edge bundle load FILE`",
            )
        return self.held(chart, path or self.pulled(chart))

    def held(self, chart: UpstreamChart, path: Path) -> Path:
        """The path, if the file there is the one that the lock file pins.

        Raises:
            DigestError: It is another one.
        """
        wanted = self.lock.chart_digest(chart)
        if wanted and (found := file_digest(path)) != wanted:
            raise DigestError(
                f"chart {chart}: {path} has digest {found}, and the lock file says {wanted}",
                f"remove {path} and try again; if it was published anew on purpose, renew with `edge lock`",
            )
        return path

    def pulled(self, chart: UpstreamChart) -> Path:
        """The packaged chart from its repository, or from an earlier pull.

        Raises:
            EdgeError: It cannot be pulled.
        """
        place = hashlib.sha256(chart.repository.encode()).hexdigest()[:12]
        kept = self.cache / f"{place}-{chart.name}-{chart.version}.tgz"
        if kept.is_file():
            return kept
        self.cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.cache, prefix=".pull-") as folder:
            self._pull(chart, Path(folder))
            found = list(Path(folder).glob("*.tgz"))
            if len(found) != 1:
                raise EdgeError(
                    f"helm pull of chart {chart} left {len(found)} files", "pull it by hand to see more"
                )
            shutil.move(found[0], kept)
        return kept

    def _pull(self, chart: UpstreamChart, folder: Path) -> None:
        where = [f"{chart.repository.rstrip('/')}/{chart.name}"]
        if not chart.repository.startswith("oci://"):
            where = [chart.name, "--repo", chart.repository]
        plain = (
            ["--plain-http"] if chart.repository.startswith(("oci://127.0.0.1", "oci://localhost")) else []
        )
        argv = [
            str(self.helm),
            "pull",
            *where,
            "--version",
            chart.version,
            "--destination",
            str(folder),
            *plain,
        ]
        try:
            done = subprocess.run(  # noqa: S603 - a list, no shell; the words come from the owner's package
                argv,
                capture_output=True,
                text=True,
                timeout=_PULL_LIMIT_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            raise helm_error("pull", "", "", f"chart {chart}: no answer in {_PULL_LIMIT_S:.0f} s") from None
        if done.returncode:
            raise helm_error("pull", "", "", f"chart {chart}: {done.stderr}")
