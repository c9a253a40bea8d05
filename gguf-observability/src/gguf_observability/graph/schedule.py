"""Which backend computes what, and the copies that this takes.

Follows llama.cpp b11434, `ggml/src/ggml-backend.cpp` (`ggml_backend_sched_split_graph`), for backends that
compute everything and cannot read each other's memory.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from gguf_observability.graph.builder import Graph
from gguf_observability.graph.tensor import Tensor

__all__ = ["schedule"]

_VIEWS: Final = frozenset(("view", "reshape", "permute", "transpose"))
_NOT_BY_WEIGHT: Final = frozenset(("rope", "flash_attn_ext"))
"""Their weights are too small to say where they run."""


def schedule(graph: Graph, backends: int, copies: int = 1) -> tuple[list[Tensor], list[Tensor]]:
    """The nodes and leaves as they are allocated, each with its backend; the last backend is the host.

    Args:
        graph: What is computed.
        backends: How many there are, the host included.
        copies: How many of each input are kept, for batches that follow each other through several cards.
    """
    host = backends - 1
    if not host:
        for each in (*graph.nodes, *graph.leaves):
            each.backend = 0
        return graph.nodes, graph.leaves
    for each in (*graph.leaves, *graph.nodes):
        each.backend = _assigned(each, host)
    working = [node for node in graph.nodes if node.op not in _VIEWS]
    for skipped in (host, -1):
        _spread(working, skipped)
        _spread(reversed(working), skipped)
    _settle(graph.nodes)
    splits = _Splits(copies)
    splits.cut(working)
    order = _ordered(graph.nodes, splits)
    leaves = graph.leaves
    if copies > 1:
        leaves = _with_copies(graph.leaves, splits, copies) + leaves
    return order, leaves


def _assigned(tensor: Tensor, host: int) -> int:
    home = tensor.home if tensor.home is not None else (tensor.root.home if tensor.root else None)
    if home is not None:
        return home
    if tensor.is_input:
        return host
    if tensor.op not in _NOT_BY_WEIGHT:
        for each in tensor.inputs:
            if each.is_weight and each.home is not None:
                return each.home
    return -1


def _spread(nodes: Iterable[Tensor], skipped: int) -> None:
    """Give nodes without a backend that of their neighbour, unless it is `skipped`."""
    current = -1
    for node in nodes:
        if node.backend >= 0:
            current = -1 if node.backend == skipped else node.backend
        elif current >= 0:
            node.backend = current


def _settle(nodes: Sequence[Tensor]) -> None:
    """Give views and what they look at a backend."""
    for node in nodes:
        if node.backend < 0 and node.root is not None:
            node.backend = node.root.backend
        for each in node.inputs:
            if each.backend < 0:
                each.backend = node.backend if each.root is None else each.root.backend
        node.backend = max(node.backend, 0)


class _Splits:
    """Runs of nodes on one backend, and what each needs from another."""

    def __init__(self, copies: int) -> None:
        self.copies = copies
        self.starts: dict[int, list[Tensor]] = {}
        """Of each split, by the identity of its first node: what is copied to it."""
        self.made: dict[tuple[int, int], list[Tensor]] = {}
        """The copies of a tensor on a backend."""

    def cut(self, nodes: Sequence[Tensor]) -> None:
        wanted: list[Tensor] = []
        current = -1
        for node in nodes:
            again = bool(wanted) and any(
                each.is_weight and each.home is not None and each.home != current for each in node.inputs
            )
            if node.backend != current or again:
                wanted = []
                self.starts[id(node)] = wanted
                current = node.backend
            for index, each in enumerate(node.inputs):
                if self._at_hand(each, current):
                    continue
                made = self.made.get((id(each), current))
                if made is None:
                    made = [_twin(each, current, lasting=self.copies > 1) for _ in range(self.copies)]
                    self.made[(id(each), current)] = made
                    wanted.append(each)
                node.inputs[index] = made[0]

    @staticmethod
    def _at_hand(tensor: Tensor, backend: int) -> bool:
        if tensor.backend == backend:
            return True
        home = tensor.home if tensor.home is not None else (tensor.root.home if tensor.root else None)
        return home == backend


def _twin(tensor: Tensor, backend: int, *, lasting: bool) -> Tensor:
    twin = Tensor("none", tensor.shape, kind=tensor.kind, strides=tensor.strides, name=tensor.name)
    twin.backend = backend
    twin.is_input = twin.is_output = lasting
    return twin


def _ordered(nodes: Sequence[Tensor], splits: _Splits) -> list[Tensor]:
    order: list[Tensor] = []
    pending: list[Tensor] = []  # views before the first node that works belong to its split
    for node in nodes:
        if not splits.starts or (not order and id(node) not in splits.starts):
            pending.append(node)
            continue
        wanted = splits.starts.get(id(node))
        if wanted is not None:
            for each in wanted:
                watch = Tensor("none", each.shape, (each,), kind=each.kind, strides=each.strides)
                watch.root = each.root or each
                watch.backend = each.backend
                order += (watch, splits.made[(id(each), node.backend)][0])
            order += pending
            pending = []
        order.append(node)
    return order + pending


def _with_copies(leaves: Sequence[Tensor], splits: _Splits, copies: int) -> list[Tensor]:
    """Every copy of every input: they are reserved first, and for good."""
    first: list[Tensor] = []
    for leaf in leaves:
        if leaf.is_input:
            leaf.is_output = True
            first += (leaf, *(_twin(leaf, leaf.backend, lasting=True) for _ in range(copies - 1)))
    for made in splits.made.values():
        first += made
    return first
