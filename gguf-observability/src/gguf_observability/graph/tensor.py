"""A tensor of a compute graph: its shape, where its elements lie and what it is computed from; no values."""

from typing import Final

__all__ = ["TYPE_BYTES", "Tensor", "contiguous"]

TYPE_BYTES: Final = {"f32": 4, "f16": 2, "i32": 4, "i64": 8}
"""Bytes of an element. A cache's blocks count as elements of `f16`: nothing is computed from their size."""

Shape = tuple[int, int, int, int]


def contiguous(shape: Shape, element: int) -> Shape:
    """Bytes from one element to the next along each dimension, with no gaps."""
    second = shape[0] * element
    third = second * shape[1]
    return (element, second, third, third * shape[2])


class Tensor:
    """A node or a leaf.

    Attributes:
        op: What computes it; `none` for a leaf.
        shape: Elements along each of four dimensions, the fastest first.
        strides: Bytes from one element to the next along each dimension.
        kind: Type of an element.
        inputs: What it is computed from.
        root: The tensor whose memory it looks at, or None if it has memory of its own.
        home: The backend that holds it before the graph runs (weights and caches), or None.
        is_weight: Whether it is a weight.
        is_input: Whether the engine fills it before every run.
        is_output: Whether its memory must not be used again.
    """

    __slots__ = (
        "address",
        "allocated",
        "backend",
        "buffer",
        "children",
        "home",
        "inputs",
        "is_input",
        "is_output",
        "is_weight",
        "kind",
        "name",
        "op",
        "root",
        "shape",
        "strides",
        "views",
    )

    def __init__(
        self,
        op: str,
        shape: Shape,
        inputs: tuple["Tensor", ...] = (),
        *,
        kind: str = "f32",
        strides: Shape | None = None,
        root: "Tensor | None" = None,
        home: int | None = None,
        name: str = "",
    ) -> None:
        self.op = op
        self.shape = shape
        self.kind = kind
        self.strides = strides or contiguous(shape, TYPE_BYTES[kind])
        self.inputs = list(inputs)
        self.root = root
        self.home = home
        self.name = name
        self.is_weight = self.is_input = self.is_output = False
        self.backend = -1
        self.buffer = self.address = self.children = self.views = 0
        self.allocated = False

    @property
    def size(self) -> int:
        """Bytes from the first element to the end of the last."""
        a, b, c, d = self.shape
        e, f, g, h = self.strides
        if not (a and b and c and d):
            return 0
        return TYPE_BYTES[self.kind] + (a - 1) * e + (b - 1) * f + (c - 1) * g + (d - 1) * h

    @property
    def elements(self) -> int:
        """How many elements it has."""
        a, b, c, d = self.shape
        return a * b * c * d

    @property
    def external(self) -> bool:
        """Whether it is there before the graph is: nothing is reserved for it."""
        return self.home is not None or (self.root is not None and self.root.home is not None)
