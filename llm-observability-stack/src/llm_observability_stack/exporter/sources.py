"""The sources that the settings ask for."""

from edge_llm_tests import load_layers
from edge_llm_tests.profile import load_profile

from llm_observability_stack.exporter.cluster_source import cluster_source
from llm_observability_stack.exporter.contracts_source import cluster_of, contracts_source
from llm_observability_stack.exporter.gpu_source import gpu_source
from llm_observability_stack.exporter.kernel_log_source import kernel_log_source
from llm_observability_stack.exporter.memory_source import installed_gauges, memory_source
from llm_observability_stack.exporter.ollama_source import ollama_source
from llm_observability_stack.exporter.profile_source import profile_source
from llm_observability_stack.exporter.settings import Settings
from llm_observability_stack.exporter.source import Source
from llm_observability_stack.exporter.volume_source import volume_source

__all__ = ["sources"]


def sources(settings: Settings) -> tuple[Source, ...]:
    """The sources to run; what can never be read is refused now, not at each scrape.

    Raises:
        UsageError: The cluster cannot be read, or no layer is installed.
        ProfileError: The profile is unknown or wrong.
    """
    layers = load_layers()
    profile = load_profile(settings.profile, layers)
    found = [profile_source(profile)]
    if url := settings.services.get("ollama"):
        found.append(ollama_source(url, settings.ollama_deadline_s, settings.interval_s, settings.max_models))
        if (gauges := installed_gauges()) is not None:
            volume = settings.volumes.get("models", "")
            found.append(memory_source(url, volume, settings.interval_s, gauges))
    if settings.gpu:
        found.append(gpu_source(settings.interval_s))
    if settings.kernel_log:
        found.append(kernel_log_source(settings.interval_s))
    if settings.volumes:
        found.append(volume_source(settings.volumes, settings.interval_s))
    if settings.in_cluster or settings.kubeconfig:
        found.append(contracts_source(settings, layers, profile))
        resource = profile.specs["serving"].gpu.resource
        found.append(cluster_source(lambda: cluster_of(settings), settings.interval_s, resource))
    return tuple(found)
