"""The lock file: every chart by version and digest, every image by digest; what has no digest is not pinned.

Each owner's package ships a `lock.yaml` for its own profiles; the user's own, made by `edge lock`, goes over
them. A loaded bundle brings one with the digests of what is in it.
"""

import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from edge_llm_tests.errors import UsageError
from edge_llm_tests.layer import Layer, UpstreamChart
from edge_llm_tests.yamldoc import YamlError, load_yaml

__all__ = ["SCHEMA", "Lock", "LockedChart", "load_lock", "parse_lock", "shipped_lock_path", "user_lock_path"]

SCHEMA = "edge.lock/v1"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = "lock.yaml"
_CORRECT = "correct it, or remove it and write it anew with `edge lock`"


class LockedChart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A chart of somebody else.

    Attributes:
        repository: Where it is published.
        version: Which version.
        digest: `sha256:...` of the packaged chart; empty while it is not pinned.
        images: The images that it brings, with the values of its layer's owner.
    """

    repository: str
    version: str
    digest: str = ""
    images: tuple[str, ...] = ()

    def is_of(self, chart: UpstreamChart) -> bool:
        """Whether it is this chart's entry."""
        return (self.repository, self.version) == (chart.repository, chart.version)


class Lock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is pinned.

    Attributes:
        schema: `edge.lock/v1`.
        charts: Charts of others by name.
        images: Image with tag to its digest; empty while it is not pinned.
    """

    schema: str = SCHEMA
    charts: dict[str, LockedChart] = {}
    images: dict[str, str] = {}

    def over(self, below: "Lock") -> "Lock":
        """Both, this one first; an entry that is not pinned here leaves the other's digest."""
        charts = dict(below.charts)
        for name, chart in self.charts.items():
            old = charts.get(name)
            same = old is not None and (old.repository, old.version) == (chart.repository, chart.version)
            charts[name] = old if same and old is not None and not chart.digest else chart
        images = below.images | {ref: digest for ref, digest in self.images.items() if digest}
        return Lock(SCHEMA, charts, {**dict.fromkeys(self.images, ""), **images})

    def chart_digest(self, chart: UpstreamChart) -> str:
        """The digest of a packaged chart; empty where it is not pinned."""
        found = self.charts.get(chart.name)
        return found.digest if found is not None and found.is_of(chart) else ""


def user_lock_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Where `edge lock` writes: `edge/lock.yaml` of the user's configuration."""
    home = environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "edge" / _NAME


def shipped_lock_path(package: str) -> Path:
    """Where an owner's package keeps its lock file."""
    return Path(str(files(package) / _NAME))


def load_lock(layers: tuple[Layer, ...], environ: Mapping[str, str] = os.environ) -> Lock:
    """The owners' lock files with the user's over them.

    Raises:
        UsageError: One is unreadable or has a wrong entry.
    """
    found = Lock()
    for package in dict.fromkeys(layer.package for layer in layers):
        source = files(package) / _NAME
        if source.is_file():
            found = parse_lock(source.read_bytes(), f"{package}/{_NAME}").over(found)
    path = user_lock_path(environ)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return found
    except OSError as error:
        raise UsageError(f"lock file {path}: {error.strerror}", "make it readable, or remove it") from None
    return parse_lock(content, str(path)).over(found)


def parse_lock(content: bytes, where: str) -> Lock:
    """A lock file's content.

    Raises:
        UsageError: It is not one; the message names the entry.
    """
    try:
        raw: Any = load_yaml(content)
        lock = msgspec.convert(raw, Lock)
    except (YamlError, msgspec.ValidationError) as error:
        raise UsageError(f"lock file {where}: {error}", _CORRECT) from None
    if lock.schema != SCHEMA:
        raise UsageError(f"lock file {where}: schema {lock.schema!r}", f"this version reads {SCHEMA!r}")
    given = {**{name: chart.digest for name, chart in lock.charts.items()}, **lock.images}
    for name, digest in given.items():
        if digest and not DIGEST.fullmatch(digest):
            raise UsageError(f"lock file {where}: {name}: {digest!r} is not a sha256 digest", _CORRECT)
    return lock


def lock_text(lock: Lock, heading: str) -> str:
    """The lock file's text, entries in order."""
    import yaml  # noqa: PLC0415 - 40 ms that only writing one pays

    document: dict[str, Any] = {"schema": lock.schema}
    if lock.charts:
        document["charts"] = {
            name: {
                "repository": chart.repository,
                "version": chart.version,
                "digest": chart.digest,
                "images": sorted(chart.images),
            }
            for name, chart in sorted(lock.charts.items())
        }
    document["images"] = dict(sorted(lock.images.items()))
    text = yaml.safe_dump(document, sort_keys=False, width=200)
    return "".join(f"# {line}\n" for line in heading.splitlines()) + str(text)
