"""The climb: for each layer, the gate, its releases, then the wait for its own contracts, before the next.

Decides on what the contracts say and acts through the installer alone. Helm's own waiting is not used: it
takes every custom resource for unready, and a Ready pod proves no contract.
"""

import asyncio

import msgspec
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.layer import Layer, Release
from edge_llm_tests.redact import redact_text
from msgspec.structs import replace

from edge_cli.activity import last_event, rolling_out, unfinished
from edge_cli.ascent import Act, Ascent, End, Ground, Look, Return, broken
from edge_cli.gate import gate
from edge_cli.helm_error import HelmError, PendingReleaseError
from edge_cli.patience import Patience, Verdict
from edge_cli.progress import Progress, Stage
from edge_cli.revision import Revision
from edge_cli.timings import span

__all__ = ["ascend", "go_back"]

_BLIP_S = 1.0  # one more look before a gate is called closed: an API server may blink
_PENDING_GRACE_S = 5.0  # an operation that was begun by a process since gone may just be ending
_PAUSES_S = (0.2, 0.3, 0.5, 0.7)  # between the first looks of a wait; then one a second
_NO_RELEASE_PATIENCE_S = 5.0  # a layer that installs nothing: nothing of it will roll out


async def ascend(ground: Ground) -> Ascent:
    """Climb as far as the contracts let it.

    Raises:
        EdgeError: Helm or the API server failed, a release is pending, or the lease was lost.
    """
    return await _Climb(ground).run()


async def go_back(ground: Ground, ascent: Ascent) -> Return:
    """Roll the upgrades of the layer that does not hold back, and wait for its contracts again.

    They are judged by the same profile: what the older revision was never asked to promise may still fail.

    Raises:
        EdgeError: Helm failed, a release was changed by somebody else meanwhile, or the lease was lost.
    """
    if ascent.layer is None:
        return Return((), ascent.end, ascent.look)
    return await _Climb(ground).back(ascent.layer, ascent.to_roll_back)


class _Standing(msgspec.Struct, frozen=True):
    """A release and what the cluster has of it."""

    release: Release
    revision: Revision | None

    @property
    def unchanged(self) -> bool:
        return self.revision is not None and self.revision.is_of(self.release)


class _Climb:
    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._standings: dict[str, tuple[_Standing, ...]] = {}
        self._acts: list[Act] = []
        self._waited_s = 0.0
        self._unfinished = ""

    async def run(self) -> Ascent:
        ground = self._ground
        ground.tell(Progress(Stage.LOOK, "", message="looking at the target"))
        with span("first look"):
            look, standings = await asyncio.gather(
                ground.look(ground.layers),
                asyncio.gather(*(self._standing(layer) for layer in ground.layers)),
            )
        self._standings = {layer.name: found for layer, found in zip(ground.layers, standings, strict=True)}
        for place, layer in enumerate(ground.layers):
            look, open_ = await self._gate(look, layer)
            if not open_:
                closed_by = self._closed_by(look, layer)[0].contract.id
                ground.tell(Progress(Stage.STOPPED, layer.name, message=f"gate closed by {closed_by}"))
                return self._ended(End.CLOSED, place, look)
            look, verdict = await self._layer(look, layer)
            if verdict is not Verdict.HOLDS:
                return self._ended(_ENDS[verdict], place, look)
        return self._ended(End.HOLDS, len(ground.layers), look)

    async def back(self, layer: Layer, upgrades: tuple[Act, ...]) -> Return:
        ground = self._ground
        self._standings = {layer.name: await self._standing(layer)}
        for upgrade in upgrades:
            release = upgrade.release
            now = await ground.hands.revision(release)
            if now is None or now.number != upgrade.revision:
                raise HelmError(
                    f"release {release.name} in namespace {release.namespace} is not at revision "
                    f"{upgrade.revision} any more: somebody else changed it",
                    f"see `helm history {release.name} -n {release.namespace}`",
                )
            ground.may_act()
            ground.tell(Progress(Stage.INSTALL, layer.name, release.name, "helm rolls it back"))
            began_s = ground.clock()
            made = await ground.hands.roll_back(release, upgrade.revision)
            took_s = ground.clock() - began_s
            self._acts.append(Act(release, "rolled back", made.number, took_s))
            ground.tell(
                Progress(
                    Stage.INSTALL,
                    layer.name,
                    release.name,
                    f"rolled back, revision {made.number}, {took_s:.1f} s",
                )
            )
        now_s = ground.clock()
        limits = ground.limits
        patience = Patience(
            limits, now_s, settled_s=now_s + limits.settling_s, fresh_s=now_s + limits.fresh_s
        )
        look, verdict = await self._wait(patience, layer)
        return Return(tuple(self._acts), _ENDS.get(verdict, End.HOLDS), look)

    async def _standing(self, layer: Layer) -> tuple[_Standing, ...]:
        releases = layer.releases(self._ground.profile.values)
        return tuple(await asyncio.gather(*(self._settled(release) for release in releases)))

    async def _settled(self, release: Release) -> _Standing:
        """The release as the cluster has it, once no operation on it is under way."""
        ground = self._ground
        until_s = ground.clock() + _PENDING_GRACE_S
        revision = await ground.hands.revision(release)
        while revision is not None and revision.pending:
            if ground.recover:
                ground.may_act()
                done = await ground.hands.recover(release, revision)
                ground.tell(Progress(Stage.INSTALL, release.layer, release.name, done))
                self._acts.append(Act(release, "recovered", revision.number))
                return _Standing(release, await ground.hands.revision(release))
            if ground.clock() >= until_s:
                raise PendingReleaseError(
                    f"release {release.name} in namespace {release.namespace} is {revision.status} "
                    f"(revision {revision.number}): an operation on it began and never ended",
                    "if no other helm is at work on it, heal it with `edge up --recover`",
                )
            await ground.sleep(_BLIP_S)
            revision = await ground.hands.revision(release)
        return _Standing(release, revision)

    async def _gate(self, look: Look, layer: Layer) -> tuple[Look, bool]:
        """Whether the layer's gate is open, with one more look where it seems not to be."""
        if self._closed_by(look, layer):
            await self._ground.sleep(_BLIP_S)
            look = await self._ground.look(self._ground.layers)
        return look, not self._closed_by(look, layer)

    def _closed_by(self, look: Look, layer: Layer) -> tuple[Finding, ...]:
        return gate(look.evaluation, layer, self._ground.preconditions).closed_by

    async def _layer(self, look: Look, layer: Layer) -> tuple[Look, Verdict]:
        ground, standings = self._ground, self._standings[layer.name]
        changed = [standing for standing in standings if not standing.unchanged]
        for standing in standings:
            if standing.unchanged and standing.revision is not None:
                self._acts.append(Act(standing.release, "unchanged", standing.revision.number))
                ground.tell(Progress(Stage.UNCHANGED, layer.name, standing.release.name, "unchanged"))
        if not changed and not broken(look.evaluation, layer):
            ground.tell(Progress(Stage.HOLDS, layer.name))
            return look, Verdict.HOLDS
        for standing in changed:
            await self._apply(standing.release, "installed" if standing.revision is None else "upgraded")
        now_s = ground.clock()
        limits = ground.limits
        if not standings:
            limits = replace(limits, timeout_s=min(limits.timeout_s, _NO_RELEASE_PATIENCE_S))
        settling_s = limits.settling_s if any(standing.revision for standing in changed) else 0.0
        may_reapply = bool(standings) and not changed
        patience = Patience(
            limits,
            now_s,
            may_reapply=may_reapply,
            settled_s=now_s + settling_s,
            fresh_s=now_s + limits.fresh_s if changed else 0.0,
        )
        with span(f"wait: {layer.name}"):
            look, verdict = await self._wait(patience, layer)
        self._waited_s += ground.clock() - now_s
        if verdict is Verdict.TIMED_OUT and not standings:
            return look, Verdict.STALLED
        return look, verdict

    async def _apply(self, release: Release, verb: str) -> None:
        ground = self._ground
        ground.may_act()
        ground.tell(Progress(Stage.INSTALL, release.layer, release.name, "helm is at work"))
        began_s = ground.clock()
        with span(f"helm: {release.name}"):
            revision = await ground.hands.apply(release)
        took_s = ground.clock() - began_s
        was_unchanged = Act(release, "unchanged", revision.number - 1)
        self._acts = [act for act in self._acts if act != was_unchanged]
        self._acts.append(Act(release, verb, revision.number, took_s))
        done = f"{verb}, revision {revision.number}, {took_s:.1f} s"
        ground.tell(Progress(Stage.INSTALL, release.layer, release.name, done))

    async def _wait(self, patience: Patience, layer: Layer) -> tuple[Look, Verdict]:
        ground = self._ground
        releases = [standing.release for standing in self._standings[layer.name]]
        namespaces = frozenset(release.namespace for release in releases)
        looks = 0
        while True:
            look = await ground.look(ground.layers)
            below = self._closed_by(look, layer)
            own = tuple(each for each in broken(look.evaluation, layer) if each not in below)
            workload = unfinished(look.recording, releases)
            patience, verdict = patience.after(
                below,
                own,
                rolling=rolling_out(look.recording, namespaces),
                now_s=ground.clock(),
                unfinished=workload,
            )
            if verdict is Verdict.REAPPLY:
                for release in releases:
                    await self._apply(release, "reapplied")
                patience = patience.reapplied(ground.clock())
                looks = 0
                continue
            if verdict is not Verdict.WAIT:
                self._unfinished = "" if verdict is Verdict.HOLDS else workload
                ground.tell(Progress(Stage.HOLDS if verdict is Verdict.HOLDS else Stage.STOPPED, layer.name))
                return look, verdict
            ground.tell(_waiting(layer, (*below, *own), workload, last_event(look.recording, namespaces)))
            await ground.sleep(_PAUSES_S[looks] if looks < len(_PAUSES_S) else 1.0)
            looks += 1

    def _ended(self, end: End, place: int, look: Look) -> Ascent:
        ground = self._ground
        left = [standing for layer in ground.layers[place:] for standing in self._standings[layer.name]]
        done = {(act.release.namespace, act.release.name) for act in self._acts}
        kept_out = tuple(
            standing.release
            for standing in left
            if not standing.unchanged and (standing.release.namespace, standing.release.name) not in done
        )
        at = ground.layers[place] if place < len(ground.layers) else None
        return Ascent(
            end, at, look, tuple(self._acts), kept_out, self._waited_s, ground.limits, self._unfinished
        )


def _waiting(layer: Layer, broken: tuple[Finding, ...], workload: str, event: str) -> Progress:
    subject, said = "a second look", "all contracts hold"
    if workload:
        subject, said = workload, "its roll-out goes on"
    if broken:
        subject, said = broken[0].contract.id, broken[0].result.message
    return Progress(Stage.WAIT, layer.name, subject, redact_text(said)[0], redact_text(event)[0])


_ENDS = {
    Verdict.CLOSED: End.CLOSED,
    Verdict.TERMINAL: End.TERMINAL,
    Verdict.STALLED: End.STALLED,
    Verdict.TIMED_OUT: End.TIMED_OUT,
}
