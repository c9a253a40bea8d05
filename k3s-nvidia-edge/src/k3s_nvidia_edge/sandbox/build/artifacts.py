"""What a build leaves for others: where the programs, the CNI plugins, the images and the models are."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from k3s_nvidia_edge.sandbox.build.cache import Cache, content_key
from k3s_nvidia_edge.sandbox.build.component import Component
from k3s_nvidia_edge.sandbox.build.image import ImageArchive, read_archive
from k3s_nvidia_edge.sandbox.build.recipes import ImageRecipe

__all__ = ["Artifacts", "gather"]

CNI: str = "cni"


class Artifacts(msgspec.Struct, frozen=True):
    """The outputs of the components that were asked for.

    Attributes:
        bin_dir: one directory with every program that is started by name; no symbolic links, so that it can
            be mounted anywhere.
        cni_dir: the same for the CNI plugins.
        images: the container images, for `ctr images import`.
        models: GGUF files; the models image holds the same.
        outputs: the output directory of each component.
    """

    bin_dir: Path
    cni_dir: Path
    images: tuple[ImageArchive, ...]
    models: tuple[Path, ...]
    outputs: Mapping[str, Path]

    def program(self, name: str) -> Path:
        """The path of a program."""
        return self.bin_dir / name


def gather(components: Sequence[Component], outputs: Mapping[str, Path], cache: Cache) -> Artifacts:
    """Bring the programs of finished components together in one directory, by hard links."""
    on_path = [component for component in components if component.on_path or component.name == CNI]
    key = content_key(outputs[component.name].name for component in on_path)
    if not cache.has("programs", key):
        with cache.staging("programs", key) as staging:
            (staging / "bin").mkdir()
            (staging / CNI).mkdir()
            for component in on_path:
                folder = staging / (CNI if component.name == CNI else "bin")
                for name in component.outputs:
                    _link(outputs[component.name] / name, folder / name)
    cache.used("programs", key)
    programs = cache.path("programs", key)
    return Artifacts(
        bin_dir=programs / "bin",
        cni_dir=programs / CNI,
        images=tuple(
            read_archive(outputs[component.name])
            for component in components
            if isinstance(component.recipe, ImageRecipe)
        ),
        models=tuple(
            outputs[component.name] / name
            for component in components
            for name in component.outputs
            if name.endswith(".gguf")
        ),
        outputs=outputs,
    )


def _link(source: Path, target: Path) -> None:
    """The same file under another name; a copy where the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
