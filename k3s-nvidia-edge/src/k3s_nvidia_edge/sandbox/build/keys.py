"""The key of a component: a hash of everything that its output depends on."""

import json
from collections.abc import Iterable, Mapping

from k3s_nvidia_edge.sandbox.build.archive import machine_architecture
from k3s_nvidia_edge.sandbox.build.cache import content_key
from k3s_nvidia_edge.sandbox.build.component import Component
from k3s_nvidia_edge.sandbox.build.engine import tuning
from k3s_nvidia_edge.sandbox.build.golang import group_files
from k3s_nvidia_edge.sandbox.build.image import reference
from k3s_nvidia_edge.sandbox.build.python_app import code_files, pins, requirements
from k3s_nvidia_edge.sandbox.build.recipes import (
    CRecipe,
    EngineRecipe,
    GoRecipe,
    ImageRecipe,
    ModuleFilesRecipe,
    PypiRecipe,
    PythonCodeRecipe,
    PythonDependenciesRecipe,
    RootfsRecipe,
)
from k3s_nvidia_edge.sandbox.build.toolchain import Toolchain

__all__ = ["FORMAT", "keys"]

FORMAT = 1  # raise it when the same recipe is carried out in a new way


def keys(components: Iterable[Component], toolchain: Toolchain) -> Mapping[str, str]:
    """The key of every component; the components come in the order of building."""
    found: dict[str, str] = {}
    for component in components:
        found[component.name] = content_key(
            (
                f"{FORMAT} {machine_architecture()} {component.name} {component.version}",
                repr(component.recipe),
                *(found[name] for name in component.inputs),
                *_parts(component, toolchain),
            )
        )
    return found


def _parts(component: Component, toolchain: Toolchain) -> Iterable[str | bytes]:
    """What the recipe refers to: file contents and tool versions."""
    match component.recipe:
        case GoRecipe() as recipe:
            yield f"go {toolchain.go}"
            yield f"gcc {toolchain.gcc if recipe.cgo else ''}"
            yield from _files(recipe.group)
        case CRecipe() as recipe:
            yield f"gcc {toolchain.gcc}"
            yield from _files(recipe.group)
        case ModuleFilesRecipe() as recipe:
            yield from _files(recipe.group)
        case EngineRecipe() as recipe:
            yield f"gcc {toolchain.gcc}"
            yield tuning().read_bytes()
            yield from _files(recipe.group)
        case PythonDependenciesRecipe() as recipe:
            asked = requirements(recipe.distributions)
            yield json.dumps([asked, pins(asked)])
        case PythonCodeRecipe() as recipe:
            for name, data in code_files(recipe):
                yield name
                yield data
        case ImageRecipe() as recipe:
            yield reference(recipe)
        case PypiRecipe() | RootfsRecipe():
            pass


def _files(group: str) -> Iterable[str | bytes]:
    for name, data in group_files(group):
        yield name
        yield data
