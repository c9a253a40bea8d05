"""The decision tree: complete for the installed layers, and a check that finds what is not."""

from collections.abc import Callable
from importlib.resources import files

import msgspec
import pytest
import yaml
from edge_cli.tree import Cause, Edge, Rung, Tree, load_tree, problems
from edge_llm_tests import Contract, Layer, load_layers
from msgspec.structs import force_setattr


def test_the_tree_is_complete_for_the_installed_layers() -> None:
    assert problems(load_tree(), load_layers()) == ()


def test_each_reason_has_exactly_one_edge_in_the_file() -> None:
    """A key given twice would be silently the last one."""
    node = yaml.compose((files("edge_cli") / "decision_tree.yaml").read_text())
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, yaml.MappingNode):
            keys = [key.value for key, _ in here.value]
            assert len(keys) == len(set(keys)), keys
            waiting += [value for _, value in here.value]


def test_the_small_tree_is_complete(tree: Tree, layers: tuple[Layer, ...]) -> None:
    assert problems(tree, layers) == ()
    assert tree.preconditions == {"gpu.api"}


def test_an_edge_is_found_by_contract_and_reason(tree: Tree) -> None:
    assert tree.edge("gpu.api", "Broken") == Edge("repair")
    assert tree.edge("gpu.api", "TimedOut") == Edge("look")
    assert tree.edge("gpu.offered", "Broken") == Edge(
        "repair", (Cause("telemetry.crds", "Missing"), Cause("telemetry.targets", "Missing"))
    )
    assert tree.edge("gpu.api", None) is None
    assert tree.edge("gpu.api", "Other") is None
    assert tree.edge("lan.up", "Broken") is None


Change = Callable[[Tree], Tree]


def with_rung(name: str, **changes: object) -> Change:
    def change(tree: Tree) -> Tree:
        rung = msgspec.structs.replace(tree.rungs[name], **changes)
        return msgspec.structs.replace(tree, rungs={**tree.rungs, name: rung})

    return change


def with_edges(contract: str, **edges: str | Edge) -> Change:
    def change(tree: Tree) -> Tree:
        rung = contract.partition(".")[0]
        contracts = {**tree.rungs[rung].contracts, contract: edges}
        return with_rung(rung, contracts=contracts)(tree)

    return change


def without_rung(tree: Tree) -> Tree:
    return msgspec.structs.replace(
        tree, rungs={name: rung for name, rung in tree.rungs.items() if name != "model"}
    )


BROKEN: dict[str, tuple[Change, str]] = {
    "another schema": (lambda tree: msgspec.structs.replace(tree, schema="x"), "schema 'x' is not"),
    "a rung missing": (
        without_rung,
        "rungs ['host', 'gpu', 'serving', 'telemetry', 'profile'] are not those",
    ),
    "a contract missing": (with_rung("gpu", contracts={}), "nodes are not the declared contracts"),
    "a contract unknown": (with_edges("gpu.other", Broken="repair"), "['gpu.other']"),
    "an edge missing": (with_edges("gpu.api", Broken="repair"), "gpu.api: no edge for Missing"),
    "an edge undeclared": (
        with_edges("gpu.api", Broken="repair", Missing="repair", Odd="repair"),
        "gpu.api: undeclared Odd",
    ),
    "a remedy unknown": (
        with_edges("gpu.api", Broken="repair", Missing="pray"),
        "gpu: remedy pray is not in",
    ),
    "a remedy unused": (
        lambda tree: with_edges("gpu.offered", Broken="repair", Missing="repair")(
            with_edges("gpu.api", Broken="repair", Missing="repair")(tree)
        ),
        "gpu: remedy restore is used by no edge",
    ),
    "a read's reason missing": (
        with_rung("gpu", unseen={"TimedOut": "look"}),
        "rung gpu: no edge for Forbidden",
    ),
    "a read's reason unknown": (
        lambda tree: with_rung("gpu", unseen={**tree.rungs["gpu"].unseen, "Tired": "look"})(tree),
        "rung gpu: no read has Tired",
    ),
    "a precondition unknown": (
        with_rung("gpu", preconditions=("gpu.x",)),
        "precondition gpu.x is no contract",
    ),
    "a cause undeclared": (
        with_edges("gpu.api", Missing="restore", Broken=Edge("repair", (Cause("telemetry.crds", "Odd"),))),
        "gpu.api Broken: nothing declares its cause telemetry.crds Odd",
    ),
    "a cause below": (
        with_edges("gpu.api", Missing="restore", Broken=Edge("repair", (Cause("host.driver", "Broken"),))),
        "gpu.api Broken: its cause host.driver is not above it",
    ),
    "causes in a circle": (
        with_edges(
            "telemetry.crds", Missing=Edge("repair", (Cause("gpu.offered", "Broken"),)), Broken="restore"
        ),
        "causes go in a circle",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_tree_that_is_not_complete_says_what_is_wrong(
    name: str, tree: Tree, layers: tuple[Layer, ...]
) -> None:
    change, said = BROKEN[name]
    found = problems(change(tree), layers)
    assert any(said in problem for problem in found), found


@pytest.mark.parametrize(
    ("after", "said"),
    [("gpu.other", "stands on gpu.other, which is no contract"), ("model.loaded", "which is not below it")],
)
def test_a_contract_stands_only_on_what_is_below_it(
    after: str, said: str, tree: Tree, layers: tuple[Layer, ...]
) -> None:
    moved = layers[1].contracts[0]
    odd = Contract(moved.id, moved.promise, moved.judge, moved.reasons, (after,))
    force_setattr(layers[1], "contracts", (odd, *layers[1].contracts[1:]))
    assert any(said in problem for problem in problems(tree, layers))


def test_rungs_forbid_unknown_keys() -> None:
    with pytest.raises(msgspec.ValidationError, match="extra"):
        msgspec.convert({"asks": "?", "unseen": {}, "contracts": {}, "extra": 1}, Rung)
