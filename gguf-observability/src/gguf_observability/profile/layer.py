"""The validation of a served model against its profile. It installs nothing."""

from edge_llm_tests import Layer, Recording
from edge_llm_tests.ollama import canonical, log_keys

from gguf_observability.profile.contracts import CONTRACTS
from gguf_observability.profile.observe import observe
from gguf_observability.profile.spec import ProfileSpec

__all__ = ["LAYER"]

_CORE_READS = (
    "api:/api/v1/pods",
    "http:ollama:/api/version",
    "http:ollama:/api/tags",
    "http:ollama:/api/ps",
)


def _reads(spec: ProfileSpec, recording: Recording) -> tuple[str, ...]:
    shown = (f"http:ollama:/api/show {canonical(spec.model)}",) if spec.model else ()
    host = ("command:nvidia-smi -q -x",) if spec.processor == "gpu" else ()
    return (*_CORE_READS, *shown, *host, *log_keys(recording))


LAYER = Layer(
    name="profile",
    number=None,
    owner="gguf-observability",
    rungs=("profile",),
    spec_type=ProfileSpec,
    observe=observe,
    contracts=CONTRACTS,
    package="gguf_observability",
    reads=_reads,
)
