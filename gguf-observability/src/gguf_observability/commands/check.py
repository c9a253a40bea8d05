"""`check`: the contracts of a served model against a profile, for CI; 0 holds, 3 does not."""

import argparse
import os
from pathlib import Path

from edge_llm_tests import Recording
from edge_llm_tests.errors import EdgeError

from gguf_observability.profile import LAYER
from gguf_observability.served import record
from gguf_observability.terminal import say
from gguf_observability.verdict import exit_code, judged, lines, own_profile

__all__ = ["ERRORS", "add", "run"]

ERRORS = (EdgeError,)
"""What a user can do something about, beside a wrong value."""

_OLLAMA = "http://127.0.0.1:11434"


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--profile", required=True, help="name of a profile, or a file")
    parser.add_argument("--from", dest="recorded", help="a recording of `edge evidence record`")
    parser.add_argument("--ollama", default=os.environ.get("OLLAMA_HOST", _OLLAMA), help="Ollama's address")


def run(options: argparse.Namespace) -> int:
    """Print it."""
    if options.recorded:
        recording = Recording.load(Path(options.recorded))
    else:
        spec = own_profile(options.profile).specs.get(LAYER.name)
        recording = record(options.ollama, getattr(spec, "model", "") or "any")
    evaluation = judged(options.profile, recording)
    say("\n".join(lines(evaluation)))
    return exit_code(evaluation)
