"""A fault: what an observer concluded from its evidence, before a contract says it."""

from collections.abc import Mapping

import msgspec
from edge_llm_tests import Outcome, Result

__all__ = ["Fault"]


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong.

    Attributes:
        reason: CamelCase word, declared by the contract that says it.
        message: A sentence with the values that decided.
        about: Values for the placeholders of the remedy's commands.
        independent: It stands by itself, whatever failed below.
    """

    reason: str
    message: str
    about: Mapping[str, str] = msgspec.field(default_factory=dict)
    independent: bool = False

    @property
    def result(self) -> Result:
        """The fault as a judge says it."""
        return Result(Outcome.FAIL, self.message, self.reason, about=self.about, independent=self.independent)
