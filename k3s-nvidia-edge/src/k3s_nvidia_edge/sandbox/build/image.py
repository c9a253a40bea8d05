"""A container image assembled from the outputs of other components."""

import json
import shutil
from pathlib import Path

import msgspec

from k3s_nvidia_edge.sandbox.build.archive import write_archive
from k3s_nvidia_edge.sandbox.build.layer import Layer, LayerFile, describe, tree, write_layer
from k3s_nvidia_edge.sandbox.build.python_app import tag
from k3s_nvidia_edge.sandbox.build.recipes import ImageRecipe, InputFile, LayerRecipe
from k3s_nvidia_edge.sandbox.build.workshop import Workshop

__all__ = ["ImageArchive", "assemble", "read_archive", "reference"]


class ImageArchive(msgspec.Struct, frozen=True):
    """An image in a file.

    Attributes:
        ref: the name that containerd gives it on import.
        path: the archive, for `ctr images import`.
        digest: of its manifest, as containerd shows it.
    """

    ref: str
    path: Path
    digest: str


def reference(recipe: ImageRecipe) -> str:
    """The image's whole name."""
    return f"{recipe.ref}:{tag(recipe.distribution)}" if recipe.distribution else recipe.ref


def assemble(recipe: ImageRecipe, shop: Workshop, out: Path) -> None:
    """Write the layers that are not there yet, and the archive."""
    work = out / ".work"
    work.mkdir()
    layers = [_layer(layer, shop, work / f"layer-{number}.tar") for number, layer in enumerate(recipe.layers)]
    ref = reference(recipe)
    digest = write_archive(out / "image.tar", ref, layers, recipe.config)
    (out / "image.json").write_text(json.dumps({"ref": ref, "digest": digest}), encoding="utf-8")
    shutil.rmtree(work)


def read_archive(directory: Path) -> ImageArchive:
    """The image that a finished component holds."""
    noted = json.loads((directory / "image.json").read_text(encoding="utf-8"))
    return ImageArchive(str(noted["ref"]), directory / "image.tar", str(noted["digest"]))


def _layer(recipe: LayerRecipe, shop: Workshop, path: Path) -> Layer:
    if recipe.component:
        return describe(shop.outputs[recipe.component] / "layer.tar")
    files: list[LayerFile] = []
    for file in recipe.files:
        files.extend(_input(file, shop))
    files.extend(LayerFile(name, source=text.encode()) for name, text in recipe.texts)
    files.extend(LayerFile(name, link=target) for name, target in recipe.links)
    return write_layer(path, files)


def _input(file: InputFile, shop: Workshop) -> list[LayerFile]:
    source = shop.outputs[file.component] / file.source
    if source.is_dir():
        return list(tree(source, file.destination))
    mode = 0o755 if source.stat().st_mode & 0o100 else 0o644
    return [LayerFile(file.destination, source=source, mode=mode)]
