from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec
import pytest
from edge_llm_tests import profile as module
from edge_llm_tests.errors import ProfileError
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import load_profile, merge, profile_names


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds."""

    vram_mib: int = 0


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the test layer promises."""

    count: int = 1
    resource: str = "nvidia.com/gpu"
    limits: Limits = Limits()
    models: tuple[str, ...] = ()


LAYER = Layer("gpu", 1, "k3s-nvidia-edge", ("gpu",), Spec, lambda spec, recording: None, (), "test_package")


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "rtx-4090.yaml").write_text(
        "schema: edge.profile/v1\ndescription: one card\n"
        "spec: {gpu: {count: 1, limits: {vram_mib: 24000}, models: [a, b]}}\n"
        "values: {gpu: {plugin: {args: [x, y]}}}\n"
    )

    def folders(layers: tuple[Layer, ...]) -> list[Traversable]:
        return [folder]

    monkeypatch.setattr(module, "_folders", folders)
    return folder


def own(tmp_path: Path, text: str) -> str:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    return str(file)


def test_a_shipped_profile_is_decoded() -> None:
    profile = load_profile("rtx-4090", (LAYER,))
    assert profile.specs["gpu"] == Spec(1, limits=Limits(24000), models=("a", "b"))
    assert profile.values == {"gpu": {"plugin": {"args": ["x", "y"]}}}
    assert profile_names((LAYER,)) == ("rtx-4090",)


def test_a_users_file_extends_and_replaces_lists(tmp_path: Path) -> None:
    name = own(
        tmp_path,
        "extends: rtx-4090\nspec: {gpu: {count: 2, models: [c]}}\nvalues: {gpu: {plugin: {args: [z]}}}",
    )
    profile = load_profile(name, (LAYER,))
    assert profile.specs["gpu"] == Spec(2, limits=Limits(24000), models=("c",))
    assert profile.values == {"gpu": {"plugin": {"args": ["z"]}}}


def test_an_empty_file_promises_the_defaults(tmp_path: Path) -> None:
    assert load_profile(own(tmp_path, ""), (LAYER,)).specs["gpu"] == Spec()


@pytest.mark.parametrize(
    ("text", "said", "next_step"),
    [
        ("spec: {gpu: {cuont: 1}}", "`spec.gpu.cuont`", "did you mean `count`?"),
        ("spec: {gpu: {limits: {vram_mb: 1}}}", "`spec.gpu.limits.vram_mb`", "did you mean `vram_mib`?"),
        ("spec: {gpuu: {}}", "`spec.gpuu`", "did you mean `gpu`?"),
        ("spek: {}", "unknown key `spek`", "did you mean `spec`?"),
        ("zzz: {}", "unknown key `zzz`", "known here: schema"),
        ("spec: {gpu: {count: many}}", "spec.gpu.count", "edge profile show"),
        ("spec: {gpu: [1]}", "`spec.gpu` is not a mapping", "keys and values"),
        ("spec: [1]", "`spec` is not a mapping", "keys below"),
        ("values: {gpu: 7}", "`values.gpu` is not a mapping", "Helm values"),
        ("schema: edge.profile/v9", "edge.profile/v9", "edge.profile/v1"),
        ("extends: rtx-4091", "unknown profile `rtx-4091`", "did you mean `rtx-4090`?"),
        ("extends: [a]", "`extends` is not a name", "name one profile"),
        ("a: [", "not YAML", "correct the file"),
        ("- a", "not a mapping", "write keys"),
        ("extends: a\nextends: b", "key `extends` stands twice", "correct the file"),
        ("spec: {gpu: {count: 1, count: 2}}", "key `count` stands twice", "correct the file"),
        ("values: {gpu: {when: 2026-01-01}}", "`values.gpu.when`: 2026-01-01 is no value", "quote"),
        ("values: {gpu: {x: [1, !!set {a}]}}", "`values.gpu.x[1]`", "quote"),
        ("values: {gpu: {x: !!binary aGk=}}", "`values.gpu.x`", "quote"),
        ("values: {gpu: {x: .inf}}", "`values.gpu.x`: inf", "numbers"),
        ("values: {gpu: {1: x}}", "the key `values.gpu.1` is no text", "quote"),
        ("values: {1: {x: 1}}", "the key `values.1` is no text", "quote"),
        ("values: {gpu: {x: " + "[" * 60 + "]" * 60 + "}}", "nested deeper than 50 levels", "write"),
        ("simulated: 'yes'", "`simulated` is neither true nor false", "leave it out"),
        ("values: {gpu: &a {x: *a}}", "an alias stands inside of what it names", "correct the file"),
    ],
)
def test_a_wrong_profile_names_the_key_and_the_nearest_right_one(
    tmp_path: Path, text: str, said: str, next_step: str
) -> None:
    with pytest.raises(ProfileError) as caught:
        load_profile(own(tmp_path, text), (LAYER,))
    assert said in caught.value.message
    assert next_step in caught.value.next_step
    assert "\n" not in str(caught.value)


def test_a_profile_that_extends_itself_is_refused(tmp_path: Path) -> None:
    name = str(tmp_path / "own.yaml")
    own(tmp_path, f"extends: {name}")
    with pytest.raises(ProfileError, match="circle"):
        load_profile(name, (LAYER,))


def test_many_files_that_extend_each_other_are_no_circle(tmp_path: Path) -> None:
    for number in range(12):
        base = "rtx-4090" if number == 0 else f"{number - 1}.yaml"
        (tmp_path / f"{number}.yaml").write_text(f"extends: {base}\n")
    assert load_profile(str(tmp_path / "7.yaml"), (LAYER,)).specs["gpu"].count == 1
    with pytest.raises(ProfileError, match="more than 8 files deep"):
        load_profile(str(tmp_path / "11.yaml"), (LAYER,))


@pytest.mark.parametrize("base", ["base.yaml", "./base.yaml", "../here/base.yaml"])
def test_a_file_that_is_extended_is_named_as_seen_from_the_one_that_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
    (here / "base.yaml").write_text("extends: rtx-4090\nspec: {gpu: {count: 7}}\n")
    own(here, f"extends: {base}\n")
    monkeypatch.chdir(elsewhere)
    assert load_profile("../here/own.yaml", (LAYER,)).specs["gpu"].count == 7
    assert load_profile(str(here / "own.yaml"), (LAYER,)).specs["gpu"].count == 7


def test_what_stands_on_simulated_parts_cannot_say_that_it_does_not(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("extends: rtx-4090\nsimulated: true\n")
    assert load_profile(own(tmp_path, "extends: ./base.yaml\nsimulated: false\n"), (LAYER,)).simulated


def test_an_absent_file_is_named() -> None:
    with pytest.raises(ProfileError, match="No such file"):
        load_profile("./absent.yaml", (LAYER,))
    with pytest.raises(ProfileError, match="unknown profile `rtx4090`"):
        load_profile("rtx4090", (LAYER,))


def test_merge_keeps_both_sides() -> None:
    below = {"a": {"x": 1}, "b": 2}
    assert merge(below, {"a": {"y": 2}, "b": {"z": 1}}) == {"a": {"x": 1, "y": 2}, "b": {"z": 1}}
    assert below == {"a": {"x": 1}, "b": 2}
