"""What the profile promises of the models, so that alerts can hold what is against it."""

from edge_llm_tests.ollama import canonical
from prometheus_client.core import Metric

from llm_observability_stack.exporter.catalogue import family
from llm_observability_stack.exporter.source import Source
from llm_observability_stack.serving import ServingSpec

__all__ = ["profile_source"]

_INTERVAL_S = 3600.0  # a promise changes with the profile, and that with a restart
_DEADLINE_S = 5.0


def profile_source(spec: ServingSpec) -> Source:
    """The source `profile`: constant, read once at the start."""
    names = {canonical(model.name): model.resident for model in spec.models}
    families: tuple[Metric, ...] = (
        family("edge_model_promised", [((name,), 1.0) for name in names]),
        family("edge_model_promised_resident", [((name,), float(names[name])) for name in names]),
        family("edge_model_promised_gpu", [((name,), float(spec.gpu.count > 0)) for name in names]),
    )
    return Source("profile", lambda: families, _DEADLINE_S, _INTERVAL_S)
