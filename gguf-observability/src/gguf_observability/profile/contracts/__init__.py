"""The promises of the served model, in the order of the ladder."""

from collections.abc import Callable

from edge_llm_tests.contract import Contract, Result
from msgspec.structs import replace

from gguf_observability.profile.contracts.memory import context, processor, vram
from gguf_observability.profile.contracts.pace import clocks, requests, stable
from gguf_observability.profile.observe import ProfileState
from gguf_observability.profile.spec import ProfileSpec

__all__ = ["CONTRACTS"]


def _located(contract: Contract) -> Contract:
    """The contract, its results completed with the place of the Ollama that they are about."""
    judge: Callable[[ProfileSpec, ProfileState], Result] = contract.judge

    def judge_located(spec: ProfileSpec, observed: ProfileState) -> Result:
        result = judge(spec, observed)
        return replace(result, about={**observed.place, **result.about}) if result.reason else result

    return replace(contract, judge=judge_located)


CONTRACTS = tuple(_located(each) for each in (processor, context, vram, stable, clocks, requests))
