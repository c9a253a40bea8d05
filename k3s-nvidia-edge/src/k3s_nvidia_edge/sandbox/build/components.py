"""All components in the order of building: each image right after the last thing that it is made of."""

from collections.abc import Iterable, Mapping
from typing import Final

from k3s_nvidia_edge.sandbox.build.component import Component
from k3s_nvidia_edge.sandbox.build.errors import UnknownComponentError
from k3s_nvidia_edge.sandbox.build.images import IMAGES
from k3s_nvidia_edge.sandbox.build.materials import MATERIALS
from k3s_nvidia_edge.sandbox.build.programs import PROGRAMS

__all__ = ["BY_NAME", "COMPONENTS", "chosen"]


def _ordered() -> tuple[Component, ...]:
    """Programs and materials in their own order, images as early as they can be made."""
    order: list[Component] = []
    waiting = list(IMAGES)
    for component in (*PROGRAMS, *MATERIALS):
        order.append(component)
        made = {one.name for one in order}
        ready = [image for image in waiting if made.issuperset(image.inputs)]
        order.extend(ready)
        waiting = [image for image in waiting if image not in ready]
    return (*order, *waiting)


COMPONENTS: Final = _ordered()
BY_NAME: Final[Mapping[str, Component]] = {component.name: component for component in COMPONENTS}


def chosen(names: Iterable[str] | None) -> tuple[Component, ...]:
    """The named components and what they are made of, in the order of building; a sandbox's for None."""
    if names is None:
        return tuple(component for component in COMPONENTS if not component.on_demand)
    wanted: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in BY_NAME:
            raise UnknownComponentError(
                f"no component is called {name!r}: choose from {', '.join(sorted(BY_NAME))}"
            )
        if name not in wanted:
            wanted.add(name)
            pending.extend(BY_NAME[name].inputs)
    return tuple(component for component in COMPONENTS if component.name in wanted)
