import pytest
from edge_llm_tests.contract import Contract, Outcome, contract, failed, passed, unknown


def declare(id_: str = "gpu.allocatable", **kwargs: object) -> Contract:
    options = {"reasons": ("NoAllocatableGpu",), **kwargs}
    return contract(id_, "the node offers the GPUs", **options)(
        lambda spec, observed: passed("1 x nvidia.com/gpu")
    )


def test_a_contract_keeps_what_it_declares() -> None:
    declared = declare(after=("gpu.device-plugin",), terminal=("NoAllocatableGpu",))
    assert (declared.id, declared.rung, declared.after) == ("gpu.allocatable", "gpu", ("gpu.device-plugin",))
    assert declared.required
    assert declared.applies(object())
    assert declared.judge(None, None).outcome is Outcome.PASS


@pytest.mark.parametrize("id_", ["gpu", "gpu.", "GPU.allocatable", "gpu.Allocatable", "gpu.a_b", "gpu.a.b"])
def test_an_id_is_rung_and_noun(id_: str) -> None:
    with pytest.raises(ValueError, match="is not <rung>"):
        declare(id_)


@pytest.mark.parametrize("reason", ["noGpu", "No-Gpu", "No Gpu", ""])
def test_a_reason_is_one_camel_case_word(reason: str) -> None:
    with pytest.raises(ValueError, match="CamelCase"):
        declare(reasons=(reason,))


def test_a_terminal_reason_is_a_declared_one() -> None:
    with pytest.raises(ValueError, match="not declared"):
        declare(terminal=("Other",))


def test_results_carry_reason_and_placeholders() -> None:
    result = failed("NoAllocatableGpu", "none", evidence=("api:/api/v1/nodes",), node="edge-1")
    assert (result.outcome, result.about, result.independent) == (Outcome.FAIL, {"node": "edge-1"}, False)
    assert unknown("NotObserved", "not read").outcome is Outcome.UNKNOWN
    assert passed("fine").reason is None
