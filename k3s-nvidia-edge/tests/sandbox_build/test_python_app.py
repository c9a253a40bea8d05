from importlib import metadata
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox.build.python_app import absent, code_files, copy_code, pins, requirements, tag
from k3s_nvidia_edge.sandbox.build.recipes import PythonCodeRecipe

OWN = ("k3s-nvidia-edge", "edge-llm-tests")
RECIPE = PythonCodeRecipe(OWN, "3.11", left_out=("k3s_nvidia_edge/sandbox",))


def test_absent_distributions_are_named() -> None:
    assert absent((*OWN, "no-such-distribution")) == ("no-such-distribution",)


def test_tag_is_the_installed_version() -> None:
    assert tag("k3s-nvidia-edge") == metadata.version("k3s-nvidia-edge")


def test_requirements_leave_out_our_own_and_extras() -> None:
    asked = requirements(OWN)
    assert asked
    assert not [
        requirement for requirement in asked if requirement.startswith(("edge-llm-tests", "k3s-nvidia-edge"))
    ]
    assert not [requirement for requirement in asked if "extra ==" in requirement]


def test_pins_are_what_is_installed() -> None:
    pinned = dict(pin.split("==") for pin in pins(requirements(OWN)))
    assert pinned
    for name, version in pinned.items():
        assert metadata.version(name) == version


def test_pins_follow_what_is_asked_for_in_turn() -> None:
    names = {pin.partition("==")[0] for pin in pins(["pytest>=8"])}
    assert {"pytest", "pluggy", "iniconfig"} <= names


def test_code_is_there_without_caches_and_what_is_left_out() -> None:
    names = [name for name, _ in code_files(RECIPE)]
    assert "edge_llm_tests/contract.py" in names
    assert "k3s_nvidia_edge/__init__.py" in names
    assert not [
        name for name in names if "__pycache__" in name or name.startswith("k3s_nvidia_edge/sandbox/")
    ]


def test_entry_points_travel_with_the_code(tmp_path: Path) -> None:
    copy_code(RECIPE, tmp_path)
    (distribution,) = metadata.distributions(name="k3s-nvidia-edge", path=[str(tmp_path / "site-packages")])
    layers = {entry.name for entry in distribution.entry_points if entry.group == "edge.layers"}
    assert layers == {"host", "gpu"}


def test_an_unknown_distribution_fails_loudly() -> None:
    with pytest.raises(metadata.PackageNotFoundError):
        requirements(("no-such-distribution",))
