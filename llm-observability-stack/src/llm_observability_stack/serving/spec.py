"""What a profile promises of serving: the GPU, the models, the web interface."""

import msgspec
from edge_llm_tests.bounds import Count

__all__ = ["GpuPromise", "ModelPromise", "ServingSpec"]


class GpuPromise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The GPU that Ollama asks for.

    Attributes:
        count: How many; 0 promises that it runs without.
        resource: Extended resource; another of the vendor that the node offers (MIG, sharing) counts too.
        runtime_class: RuntimeClass that brings the GPU into the container where CDI does not.
    """

    count: Count = 0
    resource: str = "nvidia.com/gpu"
    runtime_class: str = "nvidia"


class ModelPromise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that is on Ollama's disk.

    Attributes:
        name: Name by which clients ask for it.
        digest: Digest of its manifest, as `/api/tags` gives it; empty where any will do.
        resident: Whether it stays loaded for ever.
    """

    name: str
    digest: str = ""
    resident: bool = False


class ServingSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the serving layer promises.

    Attributes:
        gpu: The GPU that Ollama asks for.
        models: Models that are present.
        web_ui: Whether Open WebUI is installed and reaches Ollama.
        memory_limit: Whether the Ollama container has a memory limit.
    """

    gpu: GpuPromise = GpuPromise()
    models: tuple[ModelPromise, ...] = ()
    web_ui: bool = False
    memory_limit: bool = True
