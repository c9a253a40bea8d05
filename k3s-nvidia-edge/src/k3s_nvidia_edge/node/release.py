"""A k3s release: its files for one architecture, each pinned by checksum."""

from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Annotated

import msgspec
from edge_llm_tests.errors import UsageError
from edge_llm_tests.yamldoc import load_yaml

__all__ = ["Asset", "Release", "pinned_release", "pinned_versions"]

_SCHEMA = "edge.k3s/v1"
_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
"""What `uname -m` says, to what k3s calls it."""


class Asset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a release.

    Attributes:
        name: Its name on the release page.
        sha256: Its checksum, hexadecimal.
    """

    name: str
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Assets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files of a release for one architecture."""

    binary: Asset
    images: Asset


class Pinned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release as the list has it: containerd's version, the files by architecture."""

    containerd: str
    files: dict[str, Assets]


class Pins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The list of releases, `releases.yaml`."""

    schema: str
    releases: dict[str, Pinned]


class Release(msgspec.Struct, frozen=True):
    """What is installed.

    Attributes:
        version: `v1.36.4+k3s1`.
        architecture: `amd64` or `arm64`.
        binary: The k3s program.
        images: The container images that it needs, so that it starts without a network.
    """

    version: str
    architecture: str
    binary: Asset
    images: Asset

    @property
    def url(self) -> str:
        """The folder on the release page; a `+` of the version stands as `%2B`."""
        return f"https://github.com/k3s-io/k3s/releases/download/{self.version.replace('+', '%2B')}"


@cache
def _pins() -> dict[str, Pinned]:
    document = load_yaml((files("k3s_nvidia_edge") / "node" / "releases.yaml").read_bytes())
    pins = msgspec.convert(document, Pins)
    if pins.schema != _SCHEMA:
        raise ValueError(f"releases.yaml has schema {pins.schema!r}, this version reads {_SCHEMA!r}")
    return pins.releases


def pinned_versions() -> tuple[str, ...]:
    """The versions that may be installed, newest first."""
    return tuple(sorted(_pins(), key=_order, reverse=True))


def _order(version: str) -> tuple[int, ...]:
    number, _, build = version.removeprefix("v").partition("+k3s")
    return tuple(int(part) for part in (*number.split("."), build))


def pinned_release(version: str, machine: str) -> Release:
    """The release of that version for a machine, by what `uname -m` says of it.

    Raises:
        UsageError: The version is not pinned, or k3s is not made for the machine.
    """
    if (pinned := _pins().get(version)) is None:
        near = get_close_matches(version, _pins(), n=1)
        step = f"did you mean {near[0]}?" if near else f"pinned: {', '.join(pinned_versions())}"
        raise UsageError(f"k3s {version}: no checksums are pinned for this version", step)
    architecture = _ARCHITECTURES.get(machine)
    if architecture is None or (assets := pinned.files.get(architecture)) is None:
        raise UsageError(
            f"k3s {version}: no files are pinned for machine {machine!r}",
            f"install on one of {', '.join(sorted(pinned.files))}",
        )
    return Release(version, architecture, assets.binary, assets.images)
