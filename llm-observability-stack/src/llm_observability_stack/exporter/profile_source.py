"""What the profile promises of the models, so that alerts can hold what is against it."""

from edge_llm_tests.ollama import canonical
from edge_llm_tests.profile import Profile
from prometheus_client.core import Metric

from llm_observability_stack.exporter.catalogue import family
from llm_observability_stack.exporter.source import Source

__all__ = ["profile_source"]

_INTERVAL_S = 3600.0  # a promise changes with the profile, and that with a restart
_DEADLINE_S = 5.0


def profile_source(profile: Profile) -> Source:
    """The source `profile`: constant, read once at the start."""
    names = {canonical(model.name): model.resident for model in profile.specs["serving"].models}
    # the processor is promised by whoever validates the served model, where that package is installed
    served = profile.specs.get("profile")
    on_gpu = getattr(served, "processor", "") == "gpu"
    model = getattr(served, "model", "")
    chosen = canonical(model) if model else ""
    families: tuple[Metric, ...] = (
        family("edge_gpus_promised", [((), float(profile.specs["serving"].gpu.count))]),
        family("edge_model_promised", [((name,), 1.0) for name in names]),
        family("edge_model_promised_resident", [((name,), float(names[name])) for name in names]),
        family(
            "edge_model_promised_gpu",
            [((name,), float(on_gpu and chosen in ("", name))) for name in names],
        ),
    )
    return Source("profile", lambda: families, _DEADLINE_S, _INTERVAL_S)
