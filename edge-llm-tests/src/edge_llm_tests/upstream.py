"""An upstream release: somebody else's chart with values that its layer's owner gives it, as package data.

They lie in `<package>/upstream/<release>.yaml`. A profile takes one by naming it among its values; what it
says there goes over the owner's.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec

from edge_llm_tests.layer import Release, UpstreamChart
from edge_llm_tests.profile import merge
from edge_llm_tests.yamldoc import load_yaml

__all__ = ["Upstream", "load_upstream", "upstream_names", "upstream_releases"]

_FOLDER = "upstream"


class Upstream(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an owner says of a chart that is not theirs.

    Attributes:
        schema: `edge.upstream/v1`.
        layer: The layer that it belongs to.
        namespace: Namespace that it installs into.
        chart: Which chart.
        values: What Helm gets.
    """

    schema: str
    layer: str
    namespace: str
    chart: UpstreamChart
    values: dict[str, Any]


def upstream_names(package: str) -> tuple[str, ...]:
    """The upstream releases that a package has values for."""
    folder = files(package) / _FOLDER
    if not folder.is_dir():
        return ()
    return tuple(
        sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))
    )


def load_upstream(package: str, release: str) -> Upstream:
    """The owner's values and chart for a release."""
    source = files(package) / _FOLDER / f"{release}.yaml"
    return msgspec.convert(load_yaml(source.read_bytes()), Upstream)


def upstream_releases(package: str, values: Mapping[str, Any], *releases: str) -> tuple[Release, ...]:
    """Those of the named releases that a profile takes, with the profile's values over the owner's."""
    found = []
    for name in releases:
        if name in values:
            owned = load_upstream(package, name)
            given = merge(owned.values, values[name])
            found.append(Release(name, owned.namespace, owned.layer, owned.chart, given))
    return tuple(found)
