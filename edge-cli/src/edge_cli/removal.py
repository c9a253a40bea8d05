"""A removal: what `edge up` made, found in the cluster and taken away again, top layer first."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
from edge_llm_tests.layer import Layer

from edge_cli.inhabitants import is_protected
from edge_cli.progress import OnProgress, Progress, Stage
from edge_cli.revision import Installed

__all__ = ["Found", "Removal", "find", "remove"]

_PAUSE_S = 0.3
_LOOKS = 200  # 60 s: a claim goes when no pod uses it any more


class Remover(Protocol):
    """Who acts: the installer."""

    async def installed(self, *, layer: str = "", namespace: str = "") -> tuple[Installed, ...]:
        """The releases of a layer, or of a namespace."""
        ...

    async def uninstall(self, name: str, namespace: str) -> None:
        """Remove a release and wait until its objects are gone."""
        ...

    async def remove_namespace(self, name: str) -> str:
        """Delete a namespace that is ours and empty; empty, or why it stays."""
        ...

    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that `edge up` made."""
        ...

    def claims(self, namespace: str, releases: frozenset[str]) -> tuple[str, ...]:
        """Volume claims of these releases, or of any chart of ours."""
        ...

    def delete_claim(self, namespace: str, name: str) -> None:
        """Delete a volume claim with its data."""
        ...


class Found(msgspec.Struct, frozen=True):
    """What there is to remove.

    Attributes:
        releases: Layer and release, in the order of removing.
        namespaces: Where they are, and what an earlier `edge up` made.
        claims: Namespace and name of volume claims.
    """

    releases: tuple[tuple[str, Installed], ...]
    namespaces: tuple[str, ...] = ()
    claims: tuple[tuple[str, str], ...] = ()

    def namespaces_to_go(self, *, purge_volumes: bool) -> tuple[str, ...]:
        """Those that a removal tries: all but the ones in which a volume stays."""
        held = () if purge_volumes else tuple(namespace for namespace, _ in self.claims)
        return tuple(each for each in self.namespaces if each not in held)


@dataclass
class Removal:
    """What became of it.

    Attributes:
        releases: Removed.
        claims: Volume claims that were deleted.
        kept_claims: Volume claims that stay.
        namespaces: Removed.
        kept_namespaces: Namespaces that stay, with the reason.
    """

    releases: list[Installed] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    kept_claims: list[str] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=list)
    kept_namespaces: dict[str, str] = field(default_factory=dict)


async def find(remover: Remover, layers: tuple[Layer, ...]) -> Found:
    """The releases that `edge up` made, whatever profile they came from, and their volumes.

    What stands in a protected namespace is none of them, whatever its labels say.
    """
    by_layer = await asyncio.gather(*(remover.installed(layer=layer.name) for layer in layers))
    releases = tuple(
        (layer.name, release)
        for layer, found in reversed(tuple(zip(layers, by_layer, strict=True)))
        for release in reversed(found)
        if not is_protected(release.namespace)
    )
    ours = [each for each in await asyncio.to_thread(remover.namespaces) if not is_protected(each)]
    namespaces = tuple(dict.fromkeys((*(release.namespace for _, release in releases), *ours)))
    names = frozenset(release.name for _, release in releases)
    claims = [
        (namespace, claim)
        for namespace in namespaces
        for claim in await asyncio.to_thread(remover.claims, namespace, names)
    ]
    return Found(releases, namespaces, tuple(claims))


async def remove(
    remover: Remover,
    found: Found,
    tell: OnProgress,
    *,
    purge_volumes: bool = False,
    may_act: Callable[[], None] = lambda: None,
) -> Removal:
    """Take it away; volumes stay unless `purge_volumes`, and with them their namespaces."""
    done = Removal()
    for layer, release in found.releases:
        may_act()
        tell(Progress(Stage.REMOVE, layer, release.name, "helm removes it"))
        await remover.uninstall(release.name, release.namespace)
        done.releases.append(release)
        tell(Progress(Stage.HOLDS, layer, release.name, "removed"))
    names = frozenset(release.name for _, release in found.releases)
    for namespace in found.namespaces:
        left = await asyncio.to_thread(remover.claims, namespace, names)
        if purge_volumes:
            may_act()
            await _delete_claims(remover, namespace, left, names)
            done.claims += [f"{namespace}/{claim}" for claim in left]
        else:
            done.kept_claims += [f"{namespace}/{claim}" for claim in left]
        if why := await remover.remove_namespace(namespace):
            done.kept_namespaces[namespace] = why
        else:
            done.namespaces.append(namespace)
    return done


async def _delete_claims(
    remover: Remover, namespace: str, claims: tuple[str, ...], releases: frozenset[str]
) -> None:
    for claim in claims:
        await asyncio.to_thread(remover.delete_claim, namespace, claim)
    for _ in range(_LOOKS):
        if not await asyncio.to_thread(remover.claims, namespace, releases):
            return
        await asyncio.sleep(_PAUSE_S)
