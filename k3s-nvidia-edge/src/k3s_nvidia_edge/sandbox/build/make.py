"""How each kind of recipe is carried out."""

from pathlib import Path
from typing import Final

from k3s_nvidia_edge.sandbox.build.component import Component
from k3s_nvidia_edge.sandbox.build.engine import compile_engine
from k3s_nvidia_edge.sandbox.build.golang import (
    compile_c,
    compile_go,
    copy_module_files,
    fetch_go,
    module_directory,
)
from k3s_nvidia_edge.sandbox.build.image import assemble
from k3s_nvidia_edge.sandbox.build.pypi import fetch_file
from k3s_nvidia_edge.sandbox.build.python_app import copy_code, install_dependencies
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
from k3s_nvidia_edge.sandbox.build.rootfs import make_rootfs
from k3s_nvidia_edge.sandbox.build.workshop import Workshop

__all__ = ["NETWORK_BOUND", "fetch", "make"]

NETWORK_BOUND: Final = (
    PypiRecipe,
    RootfsRecipe,
    PythonDependenciesRecipe,
)  # these wait for downloads, not for a core


def fetch(component: Component, shop: Workshop) -> None:
    """Download ahead what the making will need, where that can be known."""
    match component.recipe:
        case GoRecipe() as recipe:
            fetch_go(recipe, shop)
        case CRecipe() | EngineRecipe() | ModuleFilesRecipe() as recipe:
            module_directory(recipe.group, recipe.module, shop)
        case _:
            pass


def make(component: Component, shop: Workshop, out: Path) -> None:
    """Carry out the recipe: afterwards the component's outputs are in the directory."""
    match component.recipe:
        case GoRecipe() as recipe:
            compile_go(recipe, shop, out)
        case CRecipe() as recipe:
            compile_c(recipe, shop, out, component.outputs[0])
        case ModuleFilesRecipe() as recipe:
            copy_module_files(recipe, shop, out)
        case EngineRecipe() as recipe:
            compile_engine(recipe, shop, out)
        case PypiRecipe() as recipe:
            fetch_file(recipe, component.version, shop, out)
        case RootfsRecipe() as recipe:
            make_rootfs(recipe, shop, out)
        case PythonDependenciesRecipe() as recipe:
            install_dependencies(recipe, shop, out)
        case PythonCodeRecipe() as recipe:
            copy_code(recipe, out)
        case ImageRecipe() as recipe:
            assemble(recipe, shop, out)
