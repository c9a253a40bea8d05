"""The files of the k3s release that a profile installs, each held to its pinned checksum."""

from collections.abc import Callable
from pathlib import Path

from edge_llm_tests.errors import EdgeError
from edge_llm_tests.profile import Profile

from edge_cli.chart_store import chart_cache

__all__ = ["k3s_files"]

_MODE = 0o644


def k3s_files(
    profile: Profile, architecture: str, folder: Path | None, tell: Callable[[str], None]
) -> tuple[Path, ...]:
    """The program and its image archive, from a folder or from the release page.

    Raises:
        UsageError: The version is not pinned, or the folder does not have a file.
        EdgeError: A file is not what its checksum says, or the page does not answer.
    """
    from k3s_nvidia_edge.node import folder_source, node_settings, page_source  # noqa: PLC0415 - only bundles pay
    from k3s_nvidia_edge.node.disk import (  # noqa: PLC0415 - only bundles pay
        discarded_unless_done,
        file_sha256,
        put_stream,
        settle,
    )
    from k3s_nvidia_edge.node.release import pinned_release, pinned_versions  # noqa: PLC0415 - only bundles pay

    version = node_settings(profile.name, profile.values).version or pinned_versions()[0]
    release = pinned_release(version, architecture)
    source = folder_source(folder) if folder is not None else page_source(release)
    place = chart_cache().parent / "k3s" / f"{version}-{architecture}"
    place.mkdir(parents=True, exist_ok=True)
    found = []
    for asset in (release.binary, release.images):
        path = place / asset.name
        if not (path.is_file() and file_sha256(path) == asset.sha256):
            tell(f"k3s {version}: {asset.name}")
            with source(asset) as data, discarded_unless_done(path):
                if (came := put_stream(path, data, _MODE)) != asset.sha256:
                    raise EdgeError(
                        f"{asset.name} of k3s {version} has digest sha256:{came}, "
                        f"and sha256:{asset.sha256} is pinned",
                        "fetch it again from the release page",
                    )
                settle(path)
        found.append(path)
    return tuple(found)
