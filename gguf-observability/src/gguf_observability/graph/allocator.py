"""The engine's graph allocator: how much memory a graph takes when what is no longer needed is used again.

Follows llama.cpp b11434, `ggml/src/ggml-alloc.c` (`ggml_gallocr_alloc_graph_impl`), step by step: the figure
depends on how holes are found and filled, so nothing shorter gives the same bytes.
"""

from collections.abc import Sequence
from typing import Final

from gguf_observability.graph.tensor import Tensor

__all__ = ["allocate"]

_ENDLESS: Final = 1 << 62
_IN_PLACE: Final = frozenset(
    (
        "fill",
        "scale",
        "add",
        "add_id",
        "sub",
        "mul",
        "div",
        "sqr",
        "sqrt",
        "log",
        "unary",
        "rope",
        "rms_norm",
        "clamp",
        "soft_max",
    )
)
"""What may write over one of its inputs."""


class _Buffer:
    """One growing buffer: its holes in order of address, and how far it was ever filled."""

    __slots__ = ("alignment", "holes", "peak")

    def __init__(self, alignment: int) -> None:
        self.alignment = alignment
        self.holes: list[list[int]] = [[0, _ENDLESS]]
        self.peak = 0

    def padded(self, size: int) -> int:
        return -(-size // self.alignment) * self.alignment

    def take(self, size: int) -> int:
        """The address of the tightest hole, the last one (which has no end) only if no other fits."""
        size = self.padded(size)
        holes = self.holes
        best, best_size = len(holes) - 1, _ENDLESS
        for index in range(len(holes) - 1):
            if size <= holes[index][1] <= best_size:
                best, best_size = index, holes[index][1]
        hole = holes[best]
        address = hole[0]
        hole[0] += size
        hole[1] -= size
        if hole[1] == 0:
            del holes[best]
        self.peak = max(self.peak, address + size)
        return address

    def give_back(self, address: int, size: int) -> None:
        size = self.padded(size)
        holes = self.holes
        for index, hole in enumerate(holes):
            if hole[0] + hole[1] == address:
                hole[1] += size
                if index + 1 < len(holes) and hole[0] + hole[1] == holes[index + 1][0]:
                    hole[1] += holes[index + 1][1]
                    del holes[index + 1]
                return
            if address + size == hole[0]:
                hole[0] = address
                hole[1] += size
                if index and holes[index - 1][0] + holes[index - 1][1] == address:
                    holes[index - 1][1] += hole[1]
                    del holes[index]
                return
        position = 0
        while position < len(holes) and holes[position][0] < address:
            position += 1
        holes.insert(position, [address, size])


def allocate(nodes: Sequence[Tensor], leaves: Sequence[Tensor], alignments: Sequence[int]) -> list[int]:
    """Bytes that each backend's buffer needs for `nodes`, computed in this order.

    Args:
        nodes: What is computed; `backend` of each says where.
        leaves: What is there before: inputs are reserved first.
        alignments: Of each backend's buffer, in bytes.
    """
    buffers = [_Buffer(each) for each in alignments]
    for leaf in leaves:
        _reserve(leaf, leaf.backend, buffers)
    for node in nodes:
        _count(node, buffers)
    for node in nodes:
        for each in node.inputs:
            _reserve(each, node.backend, buffers)
        _reserve(node, node.backend, buffers)
        for each in node.inputs:
            each.children -= 1
            if not each.children and not each.views:
                _done_with(each, buffers)
    return [buffer.peak for buffer in buffers]


def _count(node: Tensor, buffers: list[_Buffer]) -> None:
    """Count who needs what a node reads; inputs are reserved before anything runs."""
    if node.root is not None and node.op != "none":
        node.root.views += 1
    if node.is_input:
        _reserve(node, node.backend, buffers)
    for each in node.inputs:
        each.children += 1
        if each.is_input:
            _reserve(each, node.backend, buffers)


def _done_with(tensor: Tensor, buffers: list[_Buffer]) -> None:
    root = tensor.root
    if root is not None:
        root.views -= 1
        if not root.views and not root.children and root.allocated:
            _release(root, buffers)
    elif tensor.allocated:
        _release(tensor, buffers)


def _release(tensor: Tensor, buffers: list[_Buffer]) -> None:
    if tensor.is_output:
        return
    buffers[tensor.buffer].give_back(tensor.address, tensor.size)
    tensor.allocated = False


def _reserve(tensor: Tensor, backend: int, buffers: list[_Buffer]) -> None:
    if tensor.allocated or tensor.root is not None or tensor.home is not None:
        return
    tensor.allocated = True
    if tensor.op in _IN_PLACE and _reuse(tensor, buffers):
        return
    tensor.buffer = backend
    tensor.address = buffers[backend].take(tensor.size)


def _reuse(tensor: Tensor, buffers: list[_Buffer]) -> bool:
    """Whether `tensor` takes over the memory of an input that nobody else needs."""
    for parent in tensor.inputs:
        if (
            not parent.allocated
            or parent.is_output
            or parent.children != 1
            or parent.views
            or parent.shape != tensor.shape
            or parent.strides != tensor.strides
            or parent.kind != tensor.kind
        ):
            continue
        tensor.buffer, tensor.address = parent.buffer, parent.address
        parent.allocated = False
        return True
    return False
