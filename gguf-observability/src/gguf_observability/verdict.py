"""The contracts of the `profile` rung on one recording: `edge diagnose` judges with the same code."""

from edge_llm_tests import Outcome, Recording, load_layers
from edge_llm_tests.errors import ExitCode
from edge_llm_tests.evaluate import Evaluation, evaluate
from edge_llm_tests.profile import Profile, load_profile

from gguf_observability.profile import LAYER
from gguf_observability.terminal import printable

__all__ = ["exit_code", "judged", "lines", "own_profile"]


def judged(profile: str, recording: Recording) -> Evaluation:
    """The findings of this layer for a profile of its own, or of a user's file.

    Raises:
        ProfileError: There is no such profile, or it is not well-formed.
    """
    return evaluate((LAYER,), own_profile(profile), recording)


def own_profile(name: str) -> Profile:
    """The profile of that name or file; what it says of other layers is held to those that are installed.

    Raises:
        ProfileError: There is no such profile, or it is not well-formed.
    """
    return load_profile(name, load_layers())


def lines(evaluation: Evaluation) -> list[str]:
    """One line a finding."""
    return [
        f"{finding.outcome.value:8} {finding.contract.id:18} {printable(finding.result.message, 400)}"
        for finding in evaluation.findings
    ]


def exit_code(evaluation: Evaluation) -> int:
    """0 where every required contract passes, else 3."""
    return ExitCode.OK if evaluation.outcome is Outcome.PASS else ExitCode.CONTRACT
