"""`edge explain`: contracts, reasons and rungs in words; and the catalogue behind it."""

from collections.abc import Callable

import pytest
from edge_cli.catalogue import branches, find, pages
from edge_cli.commands.explain import _names
from edge_cli.tree import Cause, Tree
from edge_llm_tests import Layer
from edge_llm_tests.errors import UsageError

Edge = Callable[..., tuple[int, str, str]]


@pytest.fixture
def explained(
    edge: Edge, layers: tuple[Layer, ...], tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    monkeypatch.setattr("edge_llm_tests.load_layers", lambda: layers)
    monkeypatch.setattr("edge_cli.tree.load_tree", lambda: tree)
    return lambda *names: edge("explain", *names)


def test_a_contract_with_its_promise_reasons_and_remedies(explained: Edge) -> None:
    code, out, err = explained("gpu.offered")
    assert (code, err) == (0, "")
    assert out.startswith(
        "gpu.offered  layer 1, owner k3s-nvidia-edge, required\n  the node offers the GPU\n"
    )
    assert "  Stands on: host.driver, gpu.api\n" in out
    assert "  Broken\n    first look at telemetry.crds (Missing): it may be the cause\n" in out
    assert "    Repair {thing} on {node}.\n      kubectl -n {namespace} describe {thing}\n" in out
    assert "    Careful: Do not restart {thing} while it serves.\n    Docs: docs/contracts/some.md\n" in out
    assert "  Missing\n    Restore it.\n" in out


def test_a_reason_wherever_it_is_declared(explained: Edge) -> None:
    out = explained("Missing")[1]
    assert out.count("Restore it.") == 9
    assert "Broken" not in out
    assert "profile.processor  validation, owner gguf-observability, required" in out
    assert "host.disk  layer 0, owner host-admin, advisory" in out


def test_a_rung_with_its_contracts(explained: Edge) -> None:
    out = explained("model")[1]
    assert "model.loaded" in out
    assert "serving.running  layer" not in out


def test_the_reason_of_a_read_for_each_rung(explained: Edge) -> None:
    out = explained("TimedOut")[1]
    assert out.startswith("TimedOut  a read showed nothing")
    assert out.count("Make it readable.") == 6


def test_without_a_name_every_contract(explained: Edge, layers: tuple[Layer, ...]) -> None:
    out = explained()[1]
    assert all(f"\n  {page.contract.id}" in out for page in pages(layers))
    assert "host.disk (advisory)" in out


def test_a_reason_that_leads_nowhere_says_so(explained: Edge, layers: tuple[Layer, ...]) -> None:
    layers[0].__dict__["remedies"] = {}
    assert "no remedy is known" in explained("host.driver")[1]


def test_an_unknown_name_names_the_nearest(layers: tuple[Layer, ...]) -> None:
    with pytest.raises(UsageError, match=r"did you mean `gpu\.offered`"):
        find("gpu.offred", layers)
    with pytest.raises(UsageError, match=r"did you mean `gpu\.offered`"):
        find("GPU.OFFERED", layers)
    with pytest.raises(UsageError, match="lists the contracts"):
        find("zzzzzzzz", layers)


def test_branches_follow_the_declared_reasons(layers: tuple[Layer, ...], tree: Tree) -> None:
    (page,) = find("gpu.offered", layers)
    broken, missing = branches(page, tree)
    assert broken.caused_by == (Cause("telemetry.crds", "Missing"), Cause("telemetry.targets", "Missing"))
    assert (missing.reason, missing.caused_by) == ("Missing", ())
    assert [each.reason for each in branches(page, Tree("x", {}))] == ["Broken", "Missing"]


def test_completion_offers_contracts_and_reasons(
    layers: tuple[Layer, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edge_llm_tests.load_layers", lambda: layers)
    assert _names("gpu.") == ["gpu.api", "gpu.offered"]
    assert _names("Mi") == ["Missing"]
