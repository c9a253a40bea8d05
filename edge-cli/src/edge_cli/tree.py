"""The decision tree: contracts are its nodes, reasons its edges, the owners' remedies its leaves."""

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files

import msgspec
from edge_llm_tests.layer import Layer
from edge_llm_tests.reads import READ_REASONS
from edge_llm_tests.yamldoc import load_yaml

__all__ = ["NO_TREE", "Cause", "Edge", "Rung", "Tree", "load_tree", "problems"]

SCHEMA = "edge.decision-tree/v1"


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A contract above that, failing with this reason, is why the one below fails."""

    contract: str
    reason: str


class Edge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a reason leads: to a remedy of the rung's owner, or first to a cause above.

    Attributes:
        remedy: Id in the layer's `remedies.yaml`.
        caused_by: Causes above, each tried in turn before the remedy is advised.
    """

    remedy: str
    caused_by: tuple[Cause, ...] = ()


class Rung(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rung of the ladder.

    Attributes:
        asks: Its question.
        unseen: For each reason of a read that showed nothing, the remedy.
        contracts: Contract to its reasons to where they lead; a plain remedy id is an edge without causes.
        preconditions: Contracts that hold before the layer's own releases are there; its gate asks for them.
    """

    asks: str
    unseen: Mapping[str, str]
    contracts: Mapping[str, Mapping[str, str | Edge]]
    preconditions: tuple[str, ...] = ()


class Tree(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole tree, rung by rung."""

    schema: str
    rungs: Mapping[str, Rung]

    def edge(self, contract: str, reason: str | None) -> Edge | None:
        """Where `reason` of `contract` leads, or None where the tree does not know it."""
        rung = self.rungs.get(contract.partition(".")[0])
        if rung is None or reason is None:
            return None
        found = rung.contracts.get(contract, {}).get(reason) or rung.unseen.get(reason)
        return Edge(found) if isinstance(found, str) else found

    def edges(self) -> Iterator[tuple[str, str, Edge]]:
        """Every contract's edges: contract, reason, edge."""
        for rung in self.rungs.values():
            for contract, reasons in rung.contracts.items():
                for reason, edge in reasons.items():
                    yield contract, reason, Edge(edge) if isinstance(edge, str) else edge

    @property
    def preconditions(self) -> frozenset[str]:
        """Contracts that hold before their own layer is installed."""
        return frozenset(id_ for rung in self.rungs.values() for id_ in rung.preconditions)


NO_TREE = Tree(SCHEMA, {})
"""The tree of a walk on which everything holds: it is asked nothing."""


def load_tree() -> Tree:
    """The tree that ships with this package."""
    source = files("edge_cli") / "decision_tree.yaml"
    return msgspec.convert(load_yaml(source.read_bytes()), Tree)


def problems(tree: Tree, layers: tuple[Layer, ...]) -> tuple[str, ...]:
    """What keeps the tree from being complete for `layers`; nothing where it is."""
    found = [] if tree.schema == SCHEMA else [f"schema {tree.schema!r} is not {SCHEMA!r}"]
    found += _nodes(tree, layers)
    for layer in layers:
        found += _leaves(tree, layer)
    found += _climbs(layers)
    found += _causes(tree, layers)
    return tuple(found)


def _nodes(tree: Tree, layers: tuple[Layer, ...]) -> Iterator[str]:
    """Rungs and contracts that are missing, unknown or out of the order of the ladder."""
    rungs = [rung for layer in layers for rung in layer.rungs]
    if list(tree.rungs) != rungs:
        yield f"rungs {list(tree.rungs)} are not those of the layers, in order: {rungs}"
    for name, rung in tree.rungs.items():
        declared = [each.id for layer in layers for each in layer.contracts if each.rung == name]
        if list(rung.contracts) != declared:
            odd = sorted(set(declared).symmetric_difference(rung.contracts)) or "out of order"
            yield f"rung {name}: nodes are not the declared contracts: {odd}"
        yield from (
            f"rung {name}: precondition {id_} is no contract of it"
            for id_ in rung.preconditions
            if id_ not in declared
        )


def _leaves(tree: Tree, layer: Layer) -> Iterator[str]:
    """Reasons without an edge, edges without a reason, remedies unknown or unused."""
    used: set[str] = set()
    for contract in layer.contracts:
        rung = tree.rungs.get(contract.rung)
        edges = rung.contracts.get(contract.id, {}) if rung else {}
        for reason in sorted(set(contract.reasons).symmetric_difference(edges)):
            yield f"{contract.id}: {'no edge for' if reason in contract.reasons else 'undeclared'} {reason}"
        used.update(edge.remedy for id_, _, edge in tree.edges() if id_ == contract.id)
    for name in layer.rungs:
        unseen = tree.rungs[name].unseen if name in tree.rungs else {}
        for reason in sorted(set(READ_REASONS).symmetric_difference(unseen)):
            yield f"rung {name}: {'no edge for' if reason in READ_REASONS else 'no read has'} {reason}"
        used.update(unseen.values())
    for id_ in sorted(used.symmetric_difference(layer.remedies)):
        yield f"{layer.name}: remedy {id_} is {'not in remedies.yaml' if id_ in used else 'used by no edge'}"


def _climbs(layers: tuple[Layer, ...]) -> Iterator[str]:
    """Contracts that stand on one that is unknown, or not below them."""
    below: set[str] = set()
    known = {contract.id for layer in layers for contract in layer.contracts}
    for layer in layers:
        for contract in layer.contracts:
            for id_ in contract.after:
                if id_ not in known:
                    yield f"{contract.id}: stands on {id_}, which is no contract"
                elif id_ not in below:
                    yield f"{contract.id}: stands on {id_}, which is not below it"
            below.add(contract.id)


def _causes(tree: Tree, layers: tuple[Layer, ...]) -> Iterator[str]:
    """Causes that no contract declares, or that go in a circle."""
    order = [contract.id for layer in layers for contract in layer.contracts]
    reasons = {contract.id: contract.reasons for layer in layers for contract in layer.contracts}
    graph: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for contract, reason, edge in tree.edges():
        for cause in edge.caused_by:
            if cause.reason not in reasons.get(cause.contract, ()):
                yield f"{contract} {reason}: nothing declares its cause {cause.contract} {cause.reason}"
            elif contract in reasons and order.index(cause.contract) <= order.index(contract):
                yield f"{contract} {reason}: its cause {cause.contract} is not above it"
            graph.setdefault((contract, reason), set()).add((cause.contract, cause.reason))
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"causes go in a circle: {error.args[1]}"
