"""Ollama as the outside sees it: where it is, what its API answered, what its log says.

The layers that judge a served model share this one parse. What is here raises `UnseenError` or
`MalformedError` where a read shows nothing: observers ask for it as `recording.view(...)`.
"""

from edge_llm_tests.ollama.answers import (
    LoadedModel,
    PresentModel,
    canonical,
    loaded_models,
    present_models,
    version,
)
from edge_llm_tests.ollama.installation import Installation, container_of, installations, log_key, log_keys
from edge_llm_tests.ollama.load import (
    FailureKind,
    Load,
    LoadFailure,
    engine_libraries,
    failure_kind,
    loads,
    standing_failure,
)
from edge_llm_tests.ollama.log import LogLine, current_log, log_lines

__all__ = [
    "FailureKind",
    "Installation",
    "Load",
    "LoadFailure",
    "LoadedModel",
    "LogLine",
    "PresentModel",
    "canonical",
    "container_of",
    "current_log",
    "engine_libraries",
    "failure_kind",
    "installations",
    "loaded_models",
    "loads",
    "log_key",
    "log_keys",
    "log_lines",
    "present_models",
    "standing_failure",
    "version",
]
