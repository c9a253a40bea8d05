"""The sources that the settings ask for."""

from edge_llm_tests.errors import UsageError

from llm_observability_stack.exporter.contracts_source import contracts_source
from llm_observability_stack.exporter.ollama_source import ollama_source
from llm_observability_stack.exporter.settings import Settings
from llm_observability_stack.exporter.source import Source

__all__ = ["sources"]


def sources(settings: Settings) -> tuple[Source, ...]:
    """The sources to run.

    Raises:
        UsageError: There is nothing to ask, or the cluster cannot be read.
        ProfileError: The profile is unknown or wrong.
    """
    found: list[Source] = []
    if "ollama" in settings.services:
        found.append(
            ollama_source(
                settings.services["ollama"],
                settings.ollama_deadline_s,
                settings.interval_s,
                settings.max_models,
            )
        )
    if settings.in_cluster or settings.kubeconfig:
        found.append(contracts_source(settings))
    if not found:
        raise UsageError("there is nothing to ask", "give --ollama-url, --in-cluster, --kubeconfig or --gpu")
    return tuple(found)
