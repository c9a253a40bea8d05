import shutil
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from k3s_nvidia_edge.sandbox.build import pipeline
from k3s_nvidia_edge.sandbox.build.cache import Cache
from k3s_nvidia_edge.sandbox.build.component import Component
from k3s_nvidia_edge.sandbox.build.errors import BuildBusyError, BuildError
from k3s_nvidia_edge.sandbox.build.image import assemble
from k3s_nvidia_edge.sandbox.build.make import NETWORK_BOUND
from k3s_nvidia_edge.sandbox.build.pipeline import build, plan
from k3s_nvidia_edge.sandbox.build.process import Processes
from k3s_nvidia_edge.sandbox.build.progress import BuildProgress
from k3s_nvidia_edge.sandbox.build.recipes import (
    CRecipe,
    ImageRecipe,
    InputFile,
    LayerRecipe,
    PypiRecipe,
    PythonCodeRecipe,
)
from k3s_nvidia_edge.sandbox.build.toolchain import Toolchain
from k3s_nvidia_edge.sandbox.build.workshop import Workshop

TABLE = (
    Component("program", "1", CRecipe("runc", "m", "s.c", ()), ("program",), 100, 5, on_path=True),
    Component("model", "1", PypiRecipe("d", "0" * 64), ("tiny.gguf",), 10, 1),
    Component(
        "image",
        "1",
        ImageRecipe("localhost/thing:1", (LayerRecipe(files=(InputFile("program", "program", "program"),)),)),
        ("image.tar", "image.json"),
        1,
        5,
        ("program",),
    ),
)


class Making:
    """Stands for the compilers: makes files of the declared names, and fails where told to."""

    def __init__(self) -> None:
        self.fetched: list[str] = []
        self.made: list[str] = []
        self.failing: dict[str, BaseException] = {}

    def fetch(self, component: Component, _: Workshop) -> None:
        self.fetched.append(component.name)

    def make(self, component: Component, shop: Workshop, out: Path) -> None:
        self.made.append(component.name)
        if component.name in self.failing:
            raise self.failing[component.name]
        shop.say("at work")
        if isinstance(component.recipe, ImageRecipe):
            assemble(component.recipe, shop, out)
            return
        for name in component.outputs:
            (out / name).write_text(component.name)


@pytest.fixture
def making(monkeypatch: pytest.MonkeyPatch) -> Making:
    """A table of three components, made without compilers, network or the system's packages."""
    making = Making()
    monkeypatch.setattr(pipeline, "chosen", lambda _: TABLE)
    monkeypatch.setattr(pipeline, "survey", lambda _: Toolchain("1.26.8", "12", (), {}))
    monkeypatch.setattr(pipeline, "ensure", lambda *_, **__: ())
    monkeypatch.setattr(pipeline, "python_tools", lambda *_: Path("/nowhere"))
    monkeypatch.setattr(pipeline, "fetch", making.fetch)
    monkeypatch.setattr(pipeline, "make", making.make)
    return making


def test_everything_is_made_once_and_handed_over(making: Making, tmp_path: Path) -> None:
    artifacts = build(cache_dir=tmp_path)
    assert sorted(making.made) == ["image", "model", "program"]
    assert artifacts.program("program").read_text() == "program"
    assert not artifacts.program("program").is_symlink()
    assert [(image.ref, image.path.name) for image in artifacts.images] == [
        ("localhost/thing:1", "image.tar")
    ]
    assert [model.name for model in artifacts.models] == ["tiny.gguf"]
    making.made.clear()
    assert build(cache_dir=tmp_path) == artifacts
    assert making.made == []


def test_what_is_bound_by_the_network_is_not_fetched_ahead_as_well(making: Making, tmp_path: Path) -> None:
    build(cache_dir=tmp_path)
    assert set(making.fetched) == {
        component.name for component in TABLE if not isinstance(component.recipe, NETWORK_BOUND)
    }


def test_a_failure_names_its_component_keeps_the_others_and_the_next_build_goes_on(
    making: Making, tmp_path: Path
) -> None:
    making.failing["image"] = BuildError("no space", next_step="free some", log=tmp_path / "log")
    with pytest.raises(BuildError, match=r"^image: no space .*; free some$") as caught:
        build(cache_dir=tmp_path)
    assert caught.value.component == "image"
    making.failing.clear()
    making.made.clear()
    build(cache_dir=tmp_path)
    assert making.made == ["image"]


def test_a_failed_download_names_its_component(making: Making, tmp_path: Path) -> None:
    making.failing["model"] = BuildError("hash differs", next_step="report it")
    with pytest.raises(BuildError, match=r"^model: hash differs"):
        build(cache_dir=tmp_path)


def test_an_interruption_ends_the_programs_under_way(
    making: Making, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool] = []
    monkeypatch.setattr(Processes, "end_all", lambda _: ended.append(True))
    making.failing["program"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        build(cache_dir=tmp_path)
    assert ended == [True]
    assert not list(Cache(tmp_path).outputs.glob("program-*"))
    assert not list(Cache(tmp_path).outputs.glob(".partial-*"))


def test_declared_outputs_have_to_be_there(
    making: Making, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "make", lambda *_: None)
    with pytest.raises(BuildError, match="left no "):
        build(cache_dir=tmp_path)


def test_plan_tells_what_is_cached_and_changes_nothing(making: Making, tmp_path: Path) -> None:
    before = plan(cache_dir=tmp_path)
    assert [(step.component.name, step.cached, step.estimated_seconds) for step in before] == [
        ("program", False, 100),
        ("model", False, 10),
        ("image", False, 1),
    ]
    assert list(tmp_path.iterdir()) == []
    build(cache_dir=tmp_path)
    assert all(step.cached and step.estimated_seconds == 0 for step in plan(cache_dir=tmp_path))


def test_progress_says_beforehand_what_it_will_take_and_counts(making: Making, tmp_path: Path) -> None:
    events: list[BuildProgress] = []
    build(on_progress=events.append, cache_dir=tmp_path)
    assert events[0].step == "plan"
    assert events[0].message.startswith(
        "3 of 3 components to build, about 2 min on two cores with empty caches and 11 MiB"
    )
    assert [event.done for event in events if event.step == "done"] == [1, 2, 3]
    assert {event.count for event in events} == {3}
    events.clear()
    build(on_progress=events.append, cache_dir=tmp_path)
    assert [(event.step, event.message) for event in events] == [
        ("plan", f"all 3 components are in {tmp_path}/sandbox")
    ]


def test_a_complete_cache_needs_no_lock(making: Making, tmp_path: Path) -> None:
    build(cache_dir=tmp_path)
    with Cache(tmp_path).lock():
        build(cache_dir=tmp_path)


def test_an_incomplete_cache_does(making: Making, tmp_path: Path) -> None:
    with Cache(tmp_path).lock(), pytest.raises(BuildBusyError):
        build(cache_dir=tmp_path)


def test_a_full_disk_is_noticed_before_anything_is_compiled(
    making: Making, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=3 << 20))
    with pytest.raises(BuildError, match="3 MiB free and the build needs up to 11 MiB"):
        build(cache_dir=tmp_path)
    assert making.made == []


def test_packages_that_are_not_installed_are_left_out_by_default_and_refused_by_name(
    making: Making, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = Component(
        "code", "1", PythonCodeRecipe(("no-such-distribution",), "3.11"), ("site-packages",), 1, 1
    )
    monkeypatch.setattr(pipeline, "chosen", lambda _: (*TABLE, code))
    with pytest.raises(metadata.PackageNotFoundError):
        metadata.version("no-such-distribution")
    assert "code" not in build(cache_dir=tmp_path).outputs
    with pytest.raises(BuildError, match="code: no-such-distribution not installed"):
        build(["code"], cache_dir=tmp_path)


def test_a_part_and_the_whole_agree_on_what_is_cached() -> None:
    whole = {step.component.name: step.cached for step in plan()}
    for name in ("smollm2", "helm"):
        assert {step.component.name: step.cached for step in plan([name])} == {name: whole[name]}
