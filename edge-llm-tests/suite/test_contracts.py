"""The contract suite: one item per contract that the profile asks for."""

from edge_llm_tests import Finding
from edge_llm_tests.plugin import NoVerdict, hold


def test_contract(finding: Finding | NoVerdict) -> None:
    """The contract holds on the target, or on the recording."""
    hold(finding)
