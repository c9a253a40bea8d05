"""What Helm makes of a release without a cluster, and the images in it."""

import subprocess
from importlib.resources import as_file
from pathlib import Path

import msgspec
from edge_llm_tests.layer import Release, UpstreamChart

from edge_cli.chart_store import ChartStore
from edge_cli.helm_error import helm_error
from edge_cli.manifest_images import manifest_images

__all__ = ["release_images", "release_manifest"]

_LIMIT_S = 60.0


def release_images(release: Release, charts: ChartStore) -> tuple[str, ...]:
    """Every image that the release makes a cluster pull, by reference with tag.

    Raises:
        EdgeError: Its chart cannot be had, or Helm refuses the values.
    """
    found = manifest_images(release_manifest(release, charts))
    return tuple(dict.fromkeys(ref.partition("@")[0] for ref in found))


def release_manifest(release: Release, charts: ChartStore) -> str:
    """What Helm makes of the release, without asking a cluster.

    Raises:
        EdgeError: Its chart cannot be had, or Helm refuses the values.
    """
    if isinstance(release.chart, UpstreamChart):
        return _template(charts.helm, release, charts.locate(release.chart))
    with as_file(release.chart) as folder:
        return _template(charts.helm, release, folder)


def _template(helm: Path, release: Release, chart: Path) -> str:
    argv = [
        str(helm),
        "template",
        release.name,
        str(chart),
        "--namespace",
        release.namespace,
        "--values",
        "-",
    ]
    done = subprocess.run(  # noqa: S603 - a list, no shell; the words come from the owner's package
        argv, input=msgspec.json.encode(release.values), capture_output=True, timeout=_LIMIT_S, check=False
    )
    if done.returncode:
        raise helm_error("template", release.name, release.namespace, done.stderr.decode("utf-8", "replace"))
    return done.stdout.decode()
