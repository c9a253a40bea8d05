"""A component: one thing that is built, with its version, what it is made of and how, and what it costs."""

import msgspec

from k3s_nvidia_edge.sandbox.build.recipes import Recipe

__all__ = ["Component"]


class Component(msgspec.Struct, frozen=True):
    """One thing that is built and cached.

    Attributes:
        outputs: what lies in its directory afterwards.
        inputs: the components that it is made of.
        seconds: how long it takes on two cores with empty caches, measured.
        disk_mib: what the output takes.
        on_path: whether its outputs are programs that the node or the tools start by name.
        on_demand: built when named only: tests need it, and no sandbox does.
    """

    name: str
    version: str
    recipe: Recipe
    outputs: tuple[str, ...]
    seconds: int
    disk_mib: int
    inputs: tuple[str, ...] = ()
    on_path: bool = False
    on_demand: bool = False
