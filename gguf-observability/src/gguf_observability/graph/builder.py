"""Making a compute graph: the operations of ggml as far as their shapes go, in the order it would run them.

Follows llama.cpp b11434, `ggml/src/ggml.c`.
"""

from gguf_observability.graph.tensor import TYPE_BYTES, Shape, Tensor, contiguous

__all__ = ["Graph"]


class Graph:
    """A graph that grows: nodes in the order in which they run, and the leaves they start from.

    Attributes:
        nodes: In the order in which they run.
        leaves: What is there before.
        whole: Whether every block of the model is in it.
    """

    def __init__(self) -> None:
        self.nodes: list[Tensor] = []
        self.leaves: list[Tensor] = []
        self.whole = True
        self._seen: set[int] = set()

    def expand(self, tensor: Tensor) -> Tensor:
        """Add `tensor` and, before it, all that it is computed from."""
        if id(tensor) in self._seen:
            return tensor
        self._seen.add(id(tensor))
        for each in tensor.inputs:
            self.expand(each)
        (self.leaves if tensor.op == "none" else self.nodes).append(tensor)
        return tensor

    # leaves

    def given(self, *shape: int, kind: str = "f32", name: str = "") -> Tensor:
        """An input: filled before every run."""
        leaf = Tensor("none", _full(shape), kind=kind, name=name)
        leaf.is_input = True
        return leaf

    def kept(self, *shape: int, home: int, kind: str = "f32", name: str = "") -> Tensor:
        """What is in memory before the graph runs and is no weight: a cache."""
        return Tensor("none", _full(shape), kind=kind, home=home, name=name)

    def weight(self, *shape: int, home: int, name: str = "") -> Tensor:
        """A weight."""
        leaf = self.kept(*shape, home=home, name=name)
        leaf.is_weight = True
        return leaf

    # views: no memory of their own

    def view(
        self, a: Tensor, *shape: int, strides: tuple[int, ...] | None = None, op: str = "view"
    ) -> Tensor:
        """Another look at the memory of `a`; `strides` are those of the dimensions beyond the first."""
        full = _full(shape)
        if strides is None:
            steps = contiguous(full, TYPE_BYTES[a.kind])
        else:
            given = (TYPE_BYTES[a.kind], *strides)
            while len(given) < len(full):
                given = (*given, given[-1] * full[len(given) - 1])
            steps = (given[0], given[1], given[2], given[3])
        return Tensor(op, full, (a,), kind=a.kind, strides=steps, root=a.root or a)

    def reshape(self, a: Tensor, *shape: int) -> Tensor:
        """The same elements in another shape."""
        return self.view(a, *shape, op="reshape")

    def permute(self, a: Tensor, *order: int) -> Tensor:
        """The same elements, dimension `i` at place `order[i]`."""
        shape, strides = [1] * 4, [0] * 4
        for index, place in enumerate(order):
            shape[place], strides[place] = a.shape[index], a.strides[index]
        steps = (strides[0], strides[1], strides[2], strides[3])
        return Tensor("permute", _full(tuple(shape)), (a,), kind=a.kind, strides=steps, root=a.root or a)

    def transpose(self, a: Tensor) -> Tensor:
        """Rows and columns exchanged."""
        turned = self.permute(a, 1, 0, 2, 3)
        turned.op = "transpose"
        return turned

    # memory of their own

    def new(self, op: str, shape: Shape, *inputs: Tensor, kind: str = "f32") -> Tensor:
        """A node whose elements lie close together."""
        return Tensor(op, shape, inputs, kind=kind)

    def like(self, op: str, a: Tensor, *more: Tensor) -> Tensor:
        """A node of the shape of `a`."""
        return self.new(op, a.shape, a, *more, kind=a.kind)

    def mul_mat(self, weight: Tensor, x: Tensor) -> Tensor:
        """A product of matrices: rows of `weight` times rows of `x`."""
        return self.new("mul_mat", (weight.shape[1], x.shape[1], x.shape[2], x.shape[3]), weight, x)

    def mul_mat_id(self, weights: Tensor, x: Tensor, chosen: Tensor) -> Tensor:
        """Products with the weights of the chosen experts."""
        return self.new("mul_mat_id", (weights.shape[1], chosen.shape[0], x.shape[2], 1), weights, x, chosen)

    def rows(self, a: Tensor, which: Tensor) -> Tensor:
        """The rows of `a` that `which` names."""
        kind = "i32" if a.kind == "i32" else "f32"
        shape = (a.shape[0], which.shape[0], which.shape[1], which.shape[2])
        return self.new("get_rows", shape, a, which, kind=kind)

    def set_rows(self, into: Tensor, x: Tensor, which: Tensor) -> Tensor:
        """`into`, with `x` written to the rows that `which` names."""
        view = Tensor("set_rows", into.shape, (x, which, into), kind=into.kind, strides=into.strides)
        view.root = into.root or into
        return view

    def copy(self, a: Tensor, into: Tensor) -> Tensor:
        """`a` written to `into`."""
        view = Tensor("cpy", into.shape, (a, into), kind=into.kind, strides=into.strides)
        view.root = into.root or into
        return view

    def cont(self, a: Tensor, *shape: int) -> Tensor:
        """`a` with its elements moved close together."""
        return self.new("cont", _full(shape) if shape else a.shape, a, kind=a.kind)

    def cast(self, a: Tensor, kind: str) -> Tensor:
        """`a` in another type."""
        return self.new("cpy", a.shape, a, kind=kind)


def _full(shape: tuple[int, ...]) -> Shape:
    a, b, c, d = (*shape, 1, 1, 1, 1)[:4]
    return (a, b, c, d)
