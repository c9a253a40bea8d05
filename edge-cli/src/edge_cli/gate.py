"""The gate of a layer: open where everything that it stands on was seen to hold."""

import msgspec
from edge_llm_tests.contract import Outcome
from edge_llm_tests.evaluate import Evaluation, Finding
from edge_llm_tests.layer import Layer

__all__ = ["Gate", "gate"]


class Gate(msgspec.Struct, frozen=True):
    """The decision that lets the releases of a layer be installed.

    Attributes:
        layer: Name of the layer whose gate it is.
        closed_by: Required findings below that do not pass, in the order of the ladder.
    """

    layer: str
    closed_by: tuple[Finding, ...]

    @property
    def open(self) -> bool:
        """Whether the layer may be installed."""
        return not self.closed_by


def gate(evaluation: Evaluation, layer: Layer, preconditions: frozenset[str] = frozenset()) -> Gate:
    """The gate of `layer`: every required contract of the layers below, and its own preconditions, must pass.

    A contract that was not seen closes it like one that fails. The validation of a served model (which has no
    number) stands on all layers.
    """
    return Gate(
        layer.name,
        tuple(
            finding
            for finding in evaluation.findings
            if finding.contract.required
            and finding.outcome is not Outcome.PASS
            and (_below(finding.layer, layer) or _own(finding, layer, preconditions))
        ),
    )


def _below(one: Layer, other: Layer) -> bool:
    if one.number is None:
        return False
    return other.number is None or one.number < other.number


def _own(finding: Finding, layer: Layer, preconditions: frozenset[str]) -> bool:
    return finding.layer.name == layer.name and finding.contract.id in preconditions
