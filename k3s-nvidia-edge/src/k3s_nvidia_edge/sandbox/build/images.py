"""The container images of the sandbox, each declared: its name, its layers, and how its container starts."""

from typing import Final

from k3s_nvidia_edge.sandbox.build.archive import ImageConfig
from k3s_nvidia_edge.sandbox.build.component import Component
from k3s_nvidia_edge.sandbox.build.recipes import ImageRecipe, InputFile, LayerRecipe
from k3s_nvidia_edge.sandbox.build.versions import (
    ALERTMANAGER,
    COREDNS,
    IMAGE_PYTHON,
    LOCAL_PATH,
    OLLAMA,
    PAUSE,
    PROMETHEUS,
    PROMETHEUS_OPERATOR,
    SUITE,
)

__all__ = ["IMAGES"]

NOBODY: Final = "65534:65534"
VIRTUAL_ENVIRONMENT: Final = (
    f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {IMAGE_PYTHON}\n"
)
SEARCH_PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _image(
    name: str, version: str, recipe: ImageRecipe, *, seconds: int, disk_mib: int, on_demand: bool = False
) -> Component:
    """A component that is an image; its inputs are what its layers name."""
    inputs = {layer.component for layer in recipe.layers} | {
        file.component for layer in recipe.layers for file in layer.files
    }
    return Component(
        name,
        version,
        recipe,
        ("image.tar", "image.json"),
        seconds,
        disk_mib,
        tuple(sorted(inputs - {""})),
        on_demand=on_demand,
    )


BASE_LAYER: Final = LayerRecipe(component="rootfs")
OLLAMA_LAYER: Final = LayerRecipe(
    files=(
        InputFile("ollama-program", "ollama", "usr/bin/ollama"),
        InputFile("ollama-engine", "lib", "usr/lib/ollama"),
    )
)
OLLAMA_CONFIG: Final = ImageConfig(
    entrypoint=("/usr/bin/ollama",),
    arguments=("serve",),
    environment=(
        SEARCH_PATH,
        "OLLAMA_HOST=0.0.0.0:11434",
        "OLLAMA_NO_CLOUD=1",  # nothing here may ask the outside
        "HOME=/tmp",  # Ollama wants a key file in its home; the root file system may be read-only
    ),
    user=NOBODY,
    ports=("11434/tcp",),
)


def _static(
    name: str, destination: str, config: ImageConfig, program: str = ""
) -> tuple[tuple[LayerRecipe, ...], ImageConfig]:
    """A static program of the component and nothing else."""
    return (LayerRecipe(files=(InputFile(name, program or name, destination),)),), config


IMAGES: Final[tuple[Component, ...]] = (
    _image(
        "pause-image",
        PAUSE,
        ImageRecipe(
            f"registry.k8s.io/pause:{PAUSE}",
            *_static("pause", "pause", ImageConfig(entrypoint=("/pause",), user="65535:65535")),
        ),
        seconds=1,
        disk_mib=1,
    ),
    _image(
        "coredns-image",
        COREDNS,
        ImageRecipe(
            f"registry.k8s.io/coredns/coredns:v{COREDNS}",
            *_static(
                "coredns",
                "coredns",
                ImageConfig(
                    entrypoint=("/coredns",), user="65532:65532", directory="/", ports=("53/tcp", "53/udp")
                ),
            ),
        ),
        seconds=1,
        disk_mib=53,
    ),
    _image(
        "simulated-device-plugin-image",
        "1",
        ImageRecipe(
            "localhost/edge/simulated-device-plugin:1",
            *_static(
                "simulated-device-plugin",
                "simulated-device-plugin",
                # root: the kubelet's plugin directory is root's; it needs no capability
                ImageConfig(entrypoint=("/simulated-device-plugin",)),
            ),
        ),
        seconds=1,
        disk_mib=10,
    ),
    _image(
        "base-image",
        SUITE,
        ImageRecipe(
            f"localhost/edge/base:{SUITE}",
            (BASE_LAYER,),
            ImageConfig(arguments=("/bin/sh",), environment=(SEARCH_PATH,), user=NOBODY),
        ),
        seconds=1,
        disk_mib=89,
    ),
    _image(
        "ollama-image",
        OLLAMA,
        ImageRecipe(f"localhost/edge/ollama:{OLLAMA}", (BASE_LAYER, OLLAMA_LAYER), OLLAMA_CONFIG),
        seconds=2,
        disk_mib=137,
    ),
    _image(
        "models-image",
        "1",
        ImageRecipe(
            "localhost/edge/models:1",
            (
                BASE_LAYER,
                OLLAMA_LAYER,
                LayerRecipe(
                    files=(
                        InputFile(
                            "smollm2",
                            "SmolLM2-135M-Instruct.Q4_1.gguf",
                            "models/SmolLM2-135M-Instruct.Q4_1.gguf",
                        ),
                    )
                ),
            ),
            OLLAMA_CONFIG,
        ),
        seconds=2,
        disk_mib=231,
    ),
    _image(
        "prometheus-image",
        PROMETHEUS,
        ImageRecipe(
            f"localhost/edge/prometheus:{PROMETHEUS}",
            *_static(
                "prometheus",
                "bin/prometheus",
                ImageConfig(
                    entrypoint=("/bin/prometheus",), user=NOBODY, directory="/prometheus", ports=("9090/tcp",)
                ),
            ),
        ),
        seconds=1,
        disk_mib=74,
    ),
    _image(
        "alertmanager-image",
        ALERTMANAGER,
        ImageRecipe(
            f"localhost/edge/alertmanager:{ALERTMANAGER}",
            *_static(
                "alertmanager",
                "bin/alertmanager",
                ImageConfig(
                    entrypoint=("/bin/alertmanager",),
                    user=NOBODY,
                    directory="/alertmanager",
                    ports=("9093/tcp",),
                ),
            ),
        ),
        seconds=1,
        disk_mib=37,
    ),
    _image(
        "local-path-provisioner-image",
        LOCAL_PATH,
        ImageRecipe(
            f"rancher/local-path-provisioner:v{LOCAL_PATH}",
            *_static(
                "local-path-provisioner",
                "usr/bin/local-path-provisioner",
                ImageConfig(entrypoint=("/usr/bin/local-path-provisioner",), user=NOBODY),
            ),
        ),
        seconds=1,
        disk_mib=48,
    ),
    _image(
        "exporter-image",
        "local",
        ImageRecipe(
            "localhost/edge/exporter",
            (
                BASE_LAYER,
                LayerRecipe(
                    files=(
                        InputFile(
                            "python-dependencies",
                            "site-packages",
                            f"app/lib/python{IMAGE_PYTHON}/site-packages",
                        ),
                    ),
                    texts=(
                        (
                            "app/pyvenv.cfg",
                            VIRTUAL_ENVIRONMENT,
                        ),
                    ),
                    links=(("app/bin/python", f"/usr/bin/python{IMAGE_PYTHON}"),),
                ),
                LayerRecipe(
                    files=(
                        InputFile(
                            "python-code", "site-packages", f"app/lib/python{IMAGE_PYTHON}/site-packages"
                        ),
                    )
                ),
            ),
            ImageConfig(
                entrypoint=("/app/bin/python", "-m", "llm_observability_stack.exporter"),
                environment=(SEARCH_PATH, "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"),
                user=NOBODY,
            ),
            distribution="llm-observability-stack",
        ),
        seconds=2,
        disk_mib=94,
    ),
    *(
        _image(
            f"{name}-image",
            PROMETHEUS_OPERATOR,
            ImageRecipe(
                f"localhost/edge/{name}:{PROMETHEUS_OPERATOR}",
                *_static(
                    "prometheus-operator",
                    f"bin/{program}",
                    ImageConfig(entrypoint=(f"/bin/{program}",), user=NOBODY),
                    program,
                ),
            ),
            seconds=1,
            disk_mib=disk_mib,
            on_demand=True,
        )
        for name, program, disk_mib in (
            ("prometheus-operator", "operator", 61),
            ("prometheus-config-reloader", "prometheus-config-reloader", 42),
        )
    ),
)
