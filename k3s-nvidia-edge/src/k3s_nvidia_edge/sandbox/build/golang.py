"""Go programs: fetched and compiled from the pinned modules of a group."""

import json
import shutil
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from k3s_nvidia_edge.sandbox.build.errors import BuildError
from k3s_nvidia_edge.sandbox.build.process import ask
from k3s_nvidia_edge.sandbox.build.recipes import CRecipe, GoRecipe, ModuleFilesRecipe
from k3s_nvidia_edge.sandbox.build.standins import stand_in
from k3s_nvidia_edge.sandbox.build.toolchain import go_environment, newest
from k3s_nvidia_edge.sandbox.build.workshop import Workshop

__all__ = [
    "compile_c",
    "compile_go",
    "copy_module_files",
    "fetch_go",
    "go_minimum",
    "group_files",
    "module_directory",
]

ADVICE = "check that the Go module proxy can be reached, then run it again: it continues with this component"


def group_directory(group: str) -> Path:
    """The folder with a group's go.mod, go.sum and own sources."""
    return Path(str(resources.files(__package__))) / "go" / group


def group_files(group: str) -> list[tuple[str, bytes]]:
    """A group's files with their names: what its programs are made from is fixed by these."""
    directory = group_directory(group)
    files = (
        path for path in sorted(directory.rglob("*")) if path.is_file() and not path.name.endswith("_test.go")
    )
    return [(str(path.relative_to(directory)), path.read_bytes()) for path in files]


def go_minimum(groups: Iterable[str]) -> str:
    """The Go version that all the groups' go.mod files ask for."""
    asked = []
    for group in groups:
        text = (group_directory(group) / "go.mod").read_text(encoding="utf-8")
        asked += [line.split()[1] for line in text.splitlines() if line.startswith("go ")]
    return newest(asked)


def fetch_go(recipe: GoRecipe, shop: Workshop) -> None:
    """Download the modules that the programs need, and only those."""
    command = [
        shop.program("go"),
        "list",
        "-e",
        "-deps",
        "-f",
        "{{.ImportPath}}",
        *_tags(recipe),
        *recipe.packages,
    ]
    shop.processes.run(
        command,
        log=shop.log.with_suffix(".fetch.log"),
        environment=go_environment(cgo=recipe.cgo),
        directory=group_directory(recipe.group),
        next_step=ADVICE,
    )


def compile_go(recipe: GoRecipe, shop: Workshop, out: Path) -> None:
    """Compile the programs into the output directory."""
    directory = group_directory(recipe.group)
    work = out / ".work"
    if recipe.stand_ins:
        directory = _with_stand_ins(recipe, shop, work)
    linker = " ".join(["-s -w", *(f"-X {variable}" for variable in recipe.variables)])
    compiled = 0

    def count(line: str) -> None:
        nonlocal compiled
        compiled += 1
        shop.say(f"compiled {compiled} packages, now {line}")

    shop.processes.run(
        [
            shop.program("go"),
            "build",
            "-v",
            "-o",
            f"{out}/",
            *_tags(recipe),
            "-ldflags",
            linker,
            *recipe.packages,
        ],
        log=shop.log,
        environment=go_environment(cgo=recipe.cgo),
        directory=directory,
        on_line=count,
    )
    shutil.rmtree(work, ignore_errors=True)


def module_directory(group: str, module: str, shop: Workshop) -> Path:
    """Where a pinned module lies, downloaded if need be."""
    go = shop.program("go")
    answer = ask(
        [go, "mod", "download", "-json", module],
        go_environment(),
        directory=group_directory(group),
        patience_s=600,  # a large module over a slow line
    )
    if not answer:
        raise BuildError(f"the Go module {module} cannot be downloaded", next_step=ADVICE)
    return Path(str(json.loads(answer)["Dir"]))


def compile_c(recipe: CRecipe, shop: Workshop, out: Path, name: str) -> None:
    """Compile a static program from one C file."""
    source = module_directory(recipe.group, recipe.module, shop) / recipe.source
    shop.processes.run(
        ["gcc", *recipe.flags, "-o", str(out / name), str(source)], log=shop.log, environment=go_environment()
    )


def copy_module_files(recipe: ModuleFilesRecipe, shop: Workshop, out: Path) -> None:
    """Copy files of a pinned module into the output directory."""
    source = module_directory(recipe.group, recipe.module, shop)
    for name in recipe.files:
        shutil.copyfile(source / name, out / Path(name).name)


def _tags(recipe: GoRecipe) -> list[str]:
    return ["-tags", ",".join(recipe.tags)] if recipe.tags else []


def _with_stand_ins(recipe: GoRecipe, shop: Workshop, work: Path) -> Path:
    """A copy of the group that takes the module from a writable copy with the missing files added."""
    copy = work / "module"
    _copy_tree(module_directory(recipe.group, recipe.module, shop), copy)
    for name in recipe.stand_ins:
        path = copy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(stand_in(path.suffix, recipe.module))
    group = work / "group"
    _copy_tree(group_directory(recipe.group), group)
    shop.processes.run(
        [shop.program("go"), "mod", "edit", f"-replace={recipe.module}={copy}"],
        log=shop.log,
        environment=go_environment(),
        directory=group,
    )
    return group


def _copy_tree(source: Path, target: Path) -> None:
    """Copy files without their permissions: the module cache is read-only."""
    for path in source.rglob("*"):
        if path.is_file():
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
