"""Ollama's inference engine, compiled from C++ sources for the CPU variants that matter."""

import os
import re
import shutil
from collections.abc import Collection
from importlib import resources
from pathlib import Path
from typing import Final

from k3s_nvidia_edge.sandbox.build.errors import BuildError
from k3s_nvidia_edge.sandbox.build.golang import module_directory
from k3s_nvidia_edge.sandbox.build.recipes import EngineRecipe
from k3s_nvidia_edge.sandbox.build.workshop import Workshop

__all__ = ["compile_engine", "keep_variants", "tuning"]

PROJECT_NAME: Final = "ollama-llama-server"
PROJECT: Final = "llama/server"  # the engine's CMake project in Ollama's module
VARIANT_LIST: Final = "ggml/src/CMakeLists.txt"  # where the sources list the CPU variants
VARIANT: Final = re.compile(r"^ +ggml_add_cpu_backend_variant\((?P<name>[\w.]+)[^)\n]*\)\n", re.MULTILINE)


def compile_engine(recipe: EngineRecipe, shop: Workshop, out: Path) -> None:
    """Compile the engine; programs and libraries end in `lib`."""
    work = out / ".work"
    sources = _unpack(recipe, shop, work)
    listing = sources / VARIANT_LIST
    listing.write_text(keep_variants(listing.read_text(encoding="utf-8"), recipe.variants), encoding="utf-8")
    project = module_directory(recipe.group, recipe.module, shop) / PROJECT
    environment = {**os.environ, "OLLAMA_LLAMA_CPP_SOURCE": str(sources)}
    build = work / "build"
    strip = [f"-DCMAKE_{kind}_LINKER_FLAGS=-s" for kind in ("EXE", "SHARED", "MODULE")]
    shop.processes.run(
        [
            shop.program("cmake"),
            *("-S", str(project), "-B", str(build), "-G", "Ninja"),
            f"-DCMAKE_MAKE_PROGRAM={shop.program('ninja')}",
            f"-DCMAKE_PROJECT_{PROJECT_NAME}_INCLUDE={tuning()}",
            *(f"-D{definition}" for definition in recipe.definitions),
            *strip,
        ],
        log=shop.log,
        environment=environment,
    )
    shop.processes.run(
        [shop.program("ninja"), "-C", str(build), *recipe.targets],
        log=shop.log,
        environment={**environment, "NINJA_STATUS": "%f of %t steps: "},
        on_line=shop.say,
    )
    library = out / "lib"
    library.mkdir()
    for path in sorted((build / "bin").iterdir()):
        if ".so" in path.name or path.name in recipe.targets:
            shutil.copy2(path, library / path.name, follow_symlinks=False)
    shutil.rmtree(work)


def tuning() -> Path:
    """What is added to the engine's CMake project so that it compiles fast."""
    return Path(str(resources.files(__package__))) / "engine.cmake"


def keep_variants(listing: str, wanted: Collection[str]) -> str:
    """The list of CPU variants without those that are not wanted: each costs half a minute."""
    found = [match["name"] for match in VARIANT.finditer(listing)]
    if not set(found) & set(wanted):
        raise BuildError(
            f"{VARIANT_LIST} lists none of the CPU variants {', '.join(wanted)}",
            next_step="the engine's sources have changed: adapt the variants of the ollama-engine component",
        )
    return VARIANT.sub(lambda match: match[0] if match["name"] in wanted else "", listing)


def _unpack(recipe: EngineRecipe, shop: Workshop, work: Path) -> Path:
    """The C++ sources, in a directory of our own because the list of variants is edited."""
    archive = next(shop.outputs[recipe.sources].glob("*.tar.gz"))
    work.mkdir(parents=True)
    shop.processes.run(
        ["tar", "-xzf", str(archive), "-C", str(work)], log=shop.log, environment=dict(os.environ)
    )
    return next(work.glob("*/llama.cpp"))
