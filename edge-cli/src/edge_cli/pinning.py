"""Pinning: the digests of a lock file put into what Helm gets, and what is left without one."""

from collections.abc import Iterator, Mapping
from typing import Any

from edge_llm_tests.layer import Release, UpstreamChart
from edge_llm_tests.profile import Profile

from edge_cli.lock import Lock

__all__ = ["image_refs", "pinned", "unpinned"]

LOCAL = "localhost/"  # built on this machine or brought by a bundle: no registry can change what the tag is


def pinned(profile: Profile, lock: Lock, *, whatever_it_says: bool = False) -> Profile:
    """The profile with the lock file's digest at each image that names none.

    Args:
        profile: What is installed.
        lock: What is pinned.
        whatever_it_says: The lock file's digest also where the profile names one: a bundle has images of one
            architecture, whose digests are not those of the whole image in its registry.

    Charts of ours take `repository`, `tag` and `digest`; how somebody else's chart takes a digest is its own
    affair, so those keep their tags and are held to the lock file by what the bundle brings.
    """
    values = {release: _filled(given, lock, whatever_it_says) for release, given in profile.values.items()}
    return Profile(profile.name, profile.description, profile.specs, values, profile.simulated)


def image_refs(values: Any) -> Iterator[tuple[str, str]]:
    """Each image among Helm values as its reference with tag, and its digest (empty for none)."""
    if isinstance(values, Mapping):
        if isinstance(values.get("repository"), str) and values.get("tag"):
            yield f"{values['repository']}:{values['tag']}", str(values.get("digest") or "")
            return
        for each in values.values():
            yield from image_refs(each)
    elif isinstance(values, list | tuple):
        for each in values:
            yield from image_refs(each)


def unpinned(releases: tuple[Release, ...], lock: Lock) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Charts and images of the releases that nothing pins: a registry decides what they are."""
    charts, images = [], []
    for release in releases:
        if isinstance(release.chart, UpstreamChart):
            entry = lock.charts.get(release.chart.name)
            if not lock.chart_digest(release.chart):
                charts.append(f"{release.chart.name} {release.chart.version}")
            if entry is not None and entry.is_of(release.chart):
                images += [ref for ref in entry.images if not lock.images.get(ref)]
        else:
            images += [
                ref for ref, digest in image_refs(release.values) if not digest and not ref.startswith(LOCAL)
            ]
    return tuple(dict.fromkeys(charts)), tuple(dict.fromkeys(images))


def _filled(values: Any, lock: Lock, always: bool) -> Any:
    if isinstance(values, Mapping):
        if isinstance(values.get("repository"), str) and values.get("tag"):
            digest = lock.images.get(f"{values['repository']}:{values['tag']}")
            return {**values, "digest": digest} if digest and (always or not values.get("digest")) else values
        return {key: _filled(each, lock, always) for key, each in values.items()}
    if isinstance(values, list | tuple):
        return [_filled(each, lock, always) for each in values]
    return values
