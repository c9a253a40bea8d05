"""The Python part of the exporter's image: the code as it is installed here, and what it depends on."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Final

from k3s_nvidia_edge.sandbox.build.archive import machine_architecture
from k3s_nvidia_edge.sandbox.build.recipes import PythonCodeRecipe, PythonDependenciesRecipe
from k3s_nvidia_edge.sandbox.build.workshop import Workshop

__all__ = ["absent", "code_files", "copy_code", "install_dependencies", "pins", "requirements", "tag"]

METADATA_FILES: Final = ("METADATA", "entry_points.txt")
GLIBC: Final = "manylinux_2_28"  # older than the image's
UV_ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64"}


def absent(distributions: Iterable[str]) -> tuple[str, ...]:
    """Which of the distributions are not installed here."""
    return tuple(name for name in distributions if not _installed(name))


def tag(distribution: str) -> str:
    """The version of an installed distribution, for an image that carries its code."""
    return metadata.version(distribution)


def requirements(distributions: Iterable[str]) -> tuple[str, ...]:
    """What the distributions ask for, themselves and their extras left out."""
    own = {_normal(name) for name in distributions}
    asked: set[str] = set()
    for name in own:
        for requirement in metadata.requires(name) or ():
            if "extra ==" not in requirement and _normal(requirement) not in own:
                asked.add(requirement)
    return tuple(sorted(asked))


def pins(asked: Iterable[str]) -> tuple[str, ...]:
    """The versions that are installed here of what is asked for and of all that this depends on in turn."""
    pending = [_normal(requirement) for requirement in asked]
    found: dict[str, str] = {}
    while pending:
        name = pending.pop()
        if name in found or not _installed(name):
            continue
        found[name] = metadata.version(name)
        pending += [_normal(requirement) for requirement in metadata.requires(name) or ()]
    return tuple(f"{name}=={version}" for name, version in sorted(found.items()))


def install_dependencies(recipe: PythonDependenciesRecipe, shop: Workshop, out: Path) -> None:
    """Install for the image's Python and architecture, whatever this machine's are."""
    asked = requirements(recipe.distributions)
    constraints, wanted = out / "constraints.txt", out / "requirements.txt"
    constraints.write_text("\n".join(pins(asked)), encoding="utf-8")
    wanted.write_text("\n".join(asked), encoding="utf-8")
    shop.processes.run(
        [
            *(shop.program("uv"), "pip", "install", "--no-config", "--target", str(out / "site-packages")),
            *("--python", str(shop.tools / "bin/python"), "--python-version", recipe.python),
            *("--python-platform", f"{UV_ARCHITECTURES[machine_architecture()]}-{GLIBC}"),
            *("--only-binary", ":all:", "--link-mode", "copy"),
            *("-c", str(constraints), "-r", str(wanted)),
        ],
        log=shop.log,
        environment=os.environ,
        next_step="check that PyPI can be reached, then run it again: it continues with this component",
    )
    shutil.rmtree(
        out / "site-packages/bin", ignore_errors=True
    )  # scripts that name this machine's interpreter


def code_files(recipe: PythonCodeRecipe) -> Iterator[tuple[str, bytes]]:
    """Every file of the code, by its place in site-packages."""
    for distribution in recipe.distributions:
        package = _normal(distribution).replace("-", "_")
        spec = util.find_spec(package)
        places = (spec.submodule_search_locations or ()) if spec else ()
        for place in places:
            root = Path(place)
            for path in sorted(root.rglob("*")):
                name = f"{package}/{path.relative_to(root)}"
                unwanted = "__pycache__" in path.parts or any(
                    name.startswith(f"{out}/") for out in recipe.left_out
                )
                if path.is_file() and not unwanted:
                    yield name, path.read_bytes()
        installed = metadata.distribution(distribution)
        for file in METADATA_FILES:
            text = installed.read_text(file)
            if text:
                yield f"{package}-{installed.version}.dist-info/{file}", text.encode()


def copy_code(recipe: PythonCodeRecipe, out: Path) -> None:
    """Copy the code and its metadata."""
    for name, data in code_files(recipe):
        target = out / "site-packages" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _normal(requirement: str) -> str:
    """The normalised name at the front of a requirement."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", name.group() if name else requirement).lower()
