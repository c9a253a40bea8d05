"""Where a fault is: the values that a remedy's commands are filled with."""

from collections.abc import Callable
from typing import TypedDict

from edge_llm_tests.contract import Contract, Result
from edge_llm_tests.reads import see
from msgspec.structs import replace

from llm_observability_stack.serving.observe import ServingState
from llm_observability_stack.serving.spec import ServingSpec

__all__ = ["Where", "located"]


class Where(TypedDict, total=False):
    """Names of the objects that a result speaks of."""

    namespace: str
    workload: str
    pod: str
    container: str
    image: str
    resource: str
    service: str
    model: str


def located(contract: Contract) -> Contract:
    """The contract, its results completed with the place of the Ollama that they are about."""
    judge: Callable[[ServingSpec, ServingState], Result] = contract.judge

    def judge_located(spec: ServingSpec, observed: ServingState) -> Result:
        result = judge(spec, observed)
        one = see(lambda: observed.installation).or_else(None)
        place = {} if one is None else {"namespace": one.namespace, "workload": one.reference}
        return replace(result, about={**place, **result.about}) if result.reason else result

    return replace(contract, judge=judge_located)
