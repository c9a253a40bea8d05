"""The climb: gate, install, wait; what is unchanged is left alone; what cannot hold ends it early."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from edge_cli.ascent import Ascent, End, Ground, Look, Return
from edge_cli.climb import ascend, go_back
from edge_cli.fingerprint import described, fingerprint
from edge_cli.helm_error import HelmError, PendingReleaseError
from edge_cli.patience import Limits
from edge_cli.progress import Progress, Stage
from edge_cli.revision import Revision
from edge_llm_tests.contract import Result, contract, failed, passed
from edge_llm_tests.evaluate import evaluate
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer, Release
from edge_llm_tests.profile import Profile

CHART = Path(__file__).parent  # any folder will do: nothing renders it


class _Spec(msgspec.Struct, frozen=True):
    pass


def _state(name: str, observed: Recording) -> Result:
    """The contract `name` as the recorded world has it: `ok`, or a reason."""
    said = observed.file(f"/{name}").content
    return passed("as promised") if said == "ok" else failed(said, f"{name} says {said}")


def _layer(name: str, number: int | None, releases: tuple[str, ...], *extra: str) -> Layer:
    def promise(id_: str, after: tuple[str, ...] = ()) -> Any:
        return contract(id_, id_, reasons=("Absent", "Broken"), after=after, terminal=("Broken",))(
            lambda _spec, observed: _state(id_, observed)
        )

    return Layer(
        name,
        number,
        f"owner-of-{name}",
        (name,),
        _Spec,
        lambda _spec, recording: recording,
        (*(promise(f"{name}.{each}") for each in extra), promise(f"{name}.works")),
        "nowhere",
        releases=lambda values: tuple(
            Release(each, f"{each}-space", name, CHART, values.get(each, {})) for each in releases
        ),
    )


HOST = _layer("host", 0, ())
GPU = _layer("gpu", 1, ("plugin",), "api")
SERVING = _layer("serving", 2, ("ollama",))
PROFILE = _layer("profile", None, ())
LAYERS = (HOST, GPU, SERVING, PROFILE)


@dataclass
class World:
    """A cluster of one word for each contract, changed by time and by what Helm does."""

    words: dict[str, str] = field(default_factory=dict)
    revisions: dict[str, Revision] = field(default_factory=dict)
    now_s: float = 0.0
    did: list[str] = field(default_factory=list)
    looks: list[tuple[str, ...]] = field(default_factory=list)
    told: list[Progress] = field(default_factory=list)
    pods: list[Any] = field(default_factory=list)
    deployments: list[Any] = field(default_factory=list)
    effects: dict[str, dict[str, str]] = field(default_factory=dict)
    later: list[tuple[float, dict[str, str]]] = field(default_factory=list)
    profile: Profile = field(
        default_factory=lambda: Profile("test", specs={layer.name: _Spec() for layer in LAYERS})
    )

    def deployed(self, *layers: Layer) -> "World":
        """As a run of the same content left it."""
        for layer in layers:
            for release in layer.releases(self.profile.values):
                self.revisions[release.name] = Revision(
                    1, "deployed", described(release, fingerprint(release))
                )
            self.words |= {each.id: "ok" for each in layer.contracts}
        return self

    async def look(self, layers: tuple[Layer, ...]) -> Look:
        for at_s, words in self.later:
            if at_s <= self.now_s:
                self.words |= words
        self.looks.append(tuple(layer.name for layer in layers))
        words = {each.id: "Absent" for layer in layers for each in layer.contracts} | self.words
        lists = {
            "/api/v1/pods": ("PodList", self.pods),
            "/apis/apps/v1/deployments": ("DeploymentList", self.deployments),
        }
        recording = Recording(
            {f"file:/{id_}": {"text": word} for id_, word in words.items()}
            | {
                f"api:{path}": {"status": 200, "body": {"kind": kind, "items": items}}
                for path, (kind, items) in lists.items()
            }
        )
        return Look(recording, evaluate(layers, self.profile, recording))

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    async def revision(self, release: Release) -> Revision | None:
        return self.revisions.get(release.name)

    async def apply(self, release: Release) -> Revision:
        before = self.revisions.get(release.name)
        made = Revision(
            before.number + 1 if before else 1, "deployed", described(release, fingerprint(release))
        )
        self.revisions[release.name] = made
        self.did.append(f"apply {release.name}")
        self.words |= self.effects.get(release.name, {})
        return made

    async def recover(self, release: Release, revision: Revision) -> str:
        self.did.append(f"recover {release.name} from {revision.status}")
        del self.revisions[release.name]
        return "removed"

    async def roll_back(self, release: Release, below: int) -> Revision:
        self.did.append(f"roll back {release.name} below {below}")
        self.words |= self.effects.get(f"older {release.name}", {})
        made = Revision(below + 1, "deployed", "as before")
        self.revisions[release.name] = made
        return made

    def ground(self, layers: tuple[Layer, ...] = LAYERS, **more: Any) -> Ground:
        return Ground(
            layers,
            self.profile,
            self.look,
            self,
            self.told.append,
            clock=lambda: self.now_s,
            sleep=self.sleep,
            **more,
        )

    def climb(self, layers: tuple[Layer, ...] = LAYERS, **more: Any) -> Ascent:
        return asyncio.run(ascend(self.ground(layers, **more)))

    def go_back(self, ascent: Ascent, **more: Any) -> Return:
        return asyncio.run(go_back(self.ground(**more), ascent))


@pytest.fixture
def fresh() -> World:
    """A sound host, a cluster on which nothing is installed yet, charts that keep what they promise."""
    return World(
        words={"host.works": "ok", "gpu.api": "ok"},
        effects={
            "plugin": {"gpu.works": "ok"},
            "ollama": {"serving.works": "ok", "profile.works": "ok"},
        },
    )


@pytest.fixture
def healthy() -> World:
    return World().deployed(*LAYERS)


def test_installs_layer_by_layer(fresh: World) -> None:
    ascent = fresh.climb()
    assert ascent.end is End.HOLDS
    assert [(act.verb, act.release.name) for act in ascent.acts] == [
        ("installed", "plugin"),
        ("installed", "ollama"),
    ]
    assert ascent.changed
    assert ascent.not_installed == ()
    assert set(fresh.looks) == {("host", "gpu", "serving", "profile")}


def test_a_layer_is_installed_only_after_the_contracts_below_hold(fresh: World) -> None:
    fresh.effects["plugin"] = {}
    fresh.later = [(30.0, {"gpu.works": "ok"})]
    fresh.climb()
    assert fresh.did == ["apply plugin", "apply ollama"]
    installed = [told for told in fresh.told if told.stage is Stage.INSTALL and told.layer == "serving"]
    waited = [told for told in fresh.told if told.stage is Stage.WAIT and told.layer == "gpu"]
    assert fresh.told.index(waited[-1]) < fresh.told.index(installed[0])
    assert 30 <= fresh.now_s < 36, "and the second layer is looked at twice"


def test_a_second_run_on_a_healthy_box_looks_once_and_changes_nothing(healthy: World) -> None:
    ascent = healthy.climb()
    assert ascent.end is End.HOLDS
    assert healthy.did == []
    assert not ascent.changed
    assert healthy.looks == [("host", "gpu", "serving", "profile")]
    assert healthy.now_s == 0


def test_a_broken_host_keeps_everything_out(fresh: World) -> None:
    fresh.words["host.works"] = "Broken"
    ascent = fresh.climb()
    assert (ascent.end, ascent.layer) == (End.TERMINAL, HOST)
    assert fresh.did == []
    assert [release.name for release in ascent.not_installed] == ["plugin", "ollama"]


def test_a_layer_that_installs_nothing_is_not_waited_for_long(fresh: World) -> None:
    fresh.words["host.works"] = "Absent"
    ascent = fresh.climb()
    assert (ascent.end, ascent.layer) == (End.STALLED, HOST)
    assert fresh.now_s < 7


def test_a_precondition_of_the_layer_closes_its_gate(fresh: World) -> None:
    fresh.words["gpu.api"] = "Absent"
    ascent = fresh.climb(preconditions=frozenset({"gpu.api"}))
    assert (ascent.end, ascent.layer) == (End.CLOSED, GPU)
    assert fresh.did == []


def test_a_blink_of_what_is_below_does_not_close_a_gate(fresh: World) -> None:
    fresh.words["gpu.api"] = "Absent"
    fresh.later = [(1.0, {"gpu.api": "ok"})]
    assert fresh.climb(preconditions=frozenset({"gpu.api"})).end is End.HOLDS


def test_a_terminal_reason_ends_the_wait_early_and_keeps_the_next_layer_out(fresh: World) -> None:
    fresh.effects["plugin"] = {"gpu.works": "Broken"}
    ascent = fresh.climb()
    assert (ascent.end, ascent.layer) == (End.TERMINAL, GPU)
    assert fresh.did == ["apply plugin"]
    assert [release.name for release in ascent.not_installed] == ["ollama"]
    assert fresh.now_s < 2


def test_the_wait_ends_when_the_time_is_up(fresh: World) -> None:
    fresh.effects["plugin"] = {}
    ascent = fresh.climb(limits=Limits(timeout_s=20))
    assert (ascent.end, ascent.layer) == (End.TIMED_OUT, GPU)
    assert 20 <= fresh.now_s < 22
    assert ascent.waited_s == pytest.approx(fresh.now_s)


def test_changed_values_upgrade_that_release_alone(healthy: World) -> None:
    healthy.profile = Profile("test", specs=healthy.profile.specs, values={"ollama": {"replicas": 2}})
    ascent = healthy.climb()
    assert healthy.did == ["apply ollama"]
    assert [(act.verb, act.revision) for act in ascent.acts] == [("unchanged", 1), ("upgraded", 2)]


def test_what_only_the_validation_of_the_model_sees_is_seen_too(fresh: World) -> None:
    fresh.effects["ollama"] = {"serving.works": "ok", "profile.works": "Broken"}
    ascent = fresh.climb()
    assert (ascent.end, ascent.layer) == (End.TERMINAL, PROFILE)


def test_contracts_that_hold_on_the_pods_from_before_do_not_end_an_upgrade(healthy: World) -> None:
    healthy.profile = Profile("test", specs=healthy.profile.specs, values={"ollama": {"replicas": 2}})
    metadata = {
        "name": "ollama",
        "namespace": "ollama-space",
        "generation": 2,
        "annotations": {"meta.helm.sh/release-name": "ollama"},
    }
    status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1}
    healthy.deployments.append({"metadata": metadata, "spec": {"replicas": 1}, "status": status})
    ascent = healthy.climb(limits=Limits(timeout_s=20))
    assert (ascent.end, ascent.unfinished) == (End.TIMED_OUT, "deployment/ollama")
    status["observedGeneration"] = 2
    assert healthy.climb().end is End.HOLDS


def test_what_held_right_after_an_install_is_looked_at_again(fresh: World) -> None:
    fresh.later = [(2.0, {"gpu.works": "Broken"})]
    ascent = fresh.climb()
    assert (ascent.end, ascent.layer) == (End.TERMINAL, GPU)
    assert fresh.did == ["apply plugin"]


def test_a_layer_below_that_breaks_meanwhile_ends_the_wait(fresh: World) -> None:
    fresh.effects["ollama"] = {"gpu.works": "Absent"}
    ascent = fresh.climb()
    assert (ascent.end, ascent.layer) == (End.CLOSED, SERVING)
    assert fresh.now_s < 70


def test_a_failed_revision_is_applied_again(healthy: World) -> None:
    healthy.revisions["ollama"] = Revision(1, "failed", healthy.revisions["ollama"].description)
    healthy.climb()
    assert healthy.did == ["apply ollama"]


def test_drift_is_mended_by_applying_the_unchanged_release_once(healthy: World) -> None:
    healthy.words["serving.works"] = "Absent"
    healthy.effects["ollama"] = {"serving.works": "ok"}
    ascent = healthy.climb()
    assert ascent.end is End.HOLDS
    assert [(act.verb, act.release.name) for act in ascent.acts][-1] == ("reapplied", "ollama")


def test_drift_that_cannot_be_mended_is_applied_once_and_not_for_ever(healthy: World) -> None:
    healthy.words["serving.works"] = "Absent"
    ascent = healthy.climb(limits=Limits(timeout_s=60))
    assert ascent.end is End.TIMED_OUT
    assert healthy.did == ["apply ollama"]


def test_pods_that_still_come_up_are_no_drift(healthy: World) -> None:
    healthy.words["serving.works"] = "Absent"
    healthy.pods.append(
        {"metadata": {"name": "p", "namespace": "ollama-space"}, "status": {"phase": "Pending"}}
    )
    healthy.later = [(40.0, {"serving.works": "ok"})]
    assert healthy.climb().end is End.HOLDS
    assert healthy.did == []


def test_goes_no_further_than_told(fresh: World) -> None:
    ascent = fresh.climb(LAYERS[:2])
    assert ascent.end is End.HOLDS
    assert fresh.did == ["apply plugin"]


def test_an_interrupted_run_is_gone_on_with(fresh: World) -> None:
    fresh.deployed(GPU)
    ascent = fresh.climb()
    assert fresh.did == ["apply ollama"]
    assert ascent.acts[0].verb == "unchanged"


@pytest.mark.parametrize("status", ["pending-install", "pending-upgrade", "uninstalling"])
def test_a_pending_release_is_reported_with_the_next_step(healthy: World, status: str) -> None:
    healthy.revisions["ollama"] = Revision(4, status)
    with pytest.raises(PendingReleaseError, match="--recover") as raised:
        healthy.climb()
    assert status in raised.value.message
    assert healthy.did == []


def test_an_operation_that_just_ends_is_waited_for(healthy: World) -> None:
    done = healthy.revisions["ollama"]
    healthy.revisions["ollama"] = Revision(1, "pending-install")
    sleep: Callable[[float], Any] = healthy.sleep

    async def ends(seconds: float) -> None:
        await sleep(seconds)
        if healthy.now_s >= 2:
            healthy.revisions["ollama"] = done

    healthy.sleep = ends  # type: ignore[method-assign]  # the operation ends while we sleep
    assert healthy.climb().end is End.HOLDS


def test_a_pending_release_is_healed_when_asked(healthy: World) -> None:
    healthy.revisions["ollama"] = Revision(4, "pending-upgrade")
    ascent = healthy.climb(recover=True)
    assert healthy.did == ["recover ollama from pending-upgrade", "apply ollama"]
    assert [act.verb for act in ascent.acts if act.release.name == "ollama"] == ["recovered", "installed"]


def test_nothing_is_done_once_the_lease_is_lost(fresh: World) -> None:
    def lost() -> None:
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        fresh.climb(may_act=lost)
    assert fresh.did == []


@pytest.fixture
def upgraded(healthy: World) -> tuple[World, Ascent]:
    """An upgrade of Ollama that its contract does not survive."""
    healthy.revisions["ollama"] = Revision(4, "deployed", "of other content")
    healthy.effects |= {"ollama": {"serving.works": "Broken"}, "older ollama": {"serving.works": "ok"}}
    ascent = healthy.climb()
    assert (ascent.end, ascent.layer) == (End.TERMINAL, SERVING)
    return healthy, ascent


def test_an_upgrade_that_does_not_hold_is_left_alone_until_somebody_wants_it_back(
    upgraded: tuple[World, Ascent],
) -> None:
    world, ascent = upgraded
    assert world.did == ["apply ollama"]
    assert [(act.release.name, act.revision) for act in ascent.to_roll_back] == [("ollama", 5)]


def test_a_rollback_is_judged_by_the_contracts_again(upgraded: tuple[World, Ascent]) -> None:
    world, ascent = upgraded
    began_s = world.now_s
    back = world.go_back(ascent)
    assert world.did == ["apply ollama", "roll back ollama below 5"]
    assert back.holds
    assert [(act.verb, act.revision) for act in back.acts] == [("rolled back", 6)]
    assert back.look.evaluation != ascent.look.evaluation
    assert world.now_s - began_s >= 3, "a pass right after the rollback may be the picture from before"


def test_a_rollback_that_does_not_help_says_so_and_applies_nothing(upgraded: tuple[World, Ascent]) -> None:
    world, ascent = upgraded
    world.effects["older ollama"] = {"serving.works": "Absent"}
    back = world.go_back(ascent, limits=Limits(timeout_s=30, stalled_s=20))
    assert back.end is End.STALLED
    assert world.did == ["apply ollama", "roll back ollama below 5"]


def test_what_somebody_else_changed_meanwhile_is_not_rolled_back(upgraded: tuple[World, Ascent]) -> None:
    world, ascent = upgraded
    world.revisions["ollama"] = Revision(6, "deployed", "by hand")
    with pytest.raises(HelmError, match="not at revision 5 any more"):
        world.go_back(ascent)
    assert world.did == ["apply ollama"]


def test_a_first_installation_has_nothing_to_go_back_to(fresh: World) -> None:
    fresh.effects["ollama"] = {"serving.works": "Broken"}
    ascent = fresh.climb()
    assert ascent.end is End.TERMINAL
    assert ascent.to_roll_back == ()
