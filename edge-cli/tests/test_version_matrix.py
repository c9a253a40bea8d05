"""The version matrix: every coupling names a contract and reasons that exist, every part has its version."""

import pytest
from edge_cli.version_matrix import COUPLINGS, Coupling, version_matrix
from edge_llm_tests import load_layers
from edge_llm_tests.profile import load_profile, profile_names
from k3s_nvidia_edge.node.release import pinned_versions

LAYERS = load_layers()
CONTRACTS = {contract.id: contract for layer in LAYERS for contract in layer.contracts}
PAGE = "\n".join(version_matrix(LAYERS))


@pytest.mark.parametrize("coupling", COUPLINGS, ids=lambda each: each.parts)
def test_a_contract_notices_where_two_parts_do_not_fit(coupling: Coupling) -> None:
    assert set(coupling.reasons) <= set(CONTRACTS[coupling.contract].reasons)
    assert f"contracts/{coupling.contract}.md" in PAGE


def test_the_page_has_every_real_profile_and_release() -> None:
    for name in profile_names(LAYERS):
        assert (f"| {name} |" in PAGE) is not load_profile(name, LAYERS).simulated
    for version in pinned_versions():
        assert f"| {version} |" in PAGE


def test_every_table_is_one() -> None:
    for block in PAGE.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({row.count(" | ") for row in rows[:1] + rows[2:]}) <= 1, block
