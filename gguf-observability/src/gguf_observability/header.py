"""What a header holds: values, arrays by their place, tensors."""

__all__ = ["PROJECTOR", "Array", "Header", "Tensor", "Value"]

DEFAULT_ALIGNMENT = 32
PROJECTOR = "clip"
"""The architecture of projectors, which are no language models."""


class Array:
    """An array of a header: its values where it is short, else its place in the file.

    Attributes:
        type: Number of the element type (8 is string).
        count: How many elements.
        offset: Where its first element begins, in bytes.
        size: Its length in bytes.
        values: The elements, or None where there are more than are kept.
    """

    __slots__ = ("count", "offset", "size", "type", "values")

    def __init__(
        self,
        type_: int,
        count: int,
        offset: int,
        size: int,
        values: tuple[int | float | bool | str, ...] | None,
    ) -> None:
        self.type = type_
        self.count = count
        self.offset = offset
        self.size = size
        self.values = values


class Tensor:
    """What a header says of one tensor.

    Attributes:
        name: Its name.
        shape: Elements by dimension, fastest first.
        type: Name of its type, for example `Q4_K`.
        offset: Relative to the data section, in bytes.
        size: In bytes.
    """

    __slots__ = ("name", "offset", "shape", "size", "type")

    def __init__(self, name: str, shape: tuple[int, ...], type_: str, offset: int, size: int) -> None:
        self.name = name
        self.shape = shape
        self.type = type_
        self.offset = offset
        self.size = size

    @property
    def elements(self) -> int:
        """How many values it holds."""
        count = 1
        for dimension in self.shape:
            count *= dimension
        return count


class Header:
    """A whole header.

    Attributes:
        path: The file.
        version: 2 or 3.
        metadata: Key to value.
        tensors: In the order of the file.
        data_offset: Where the data section begins, in bytes.
        file_size: In bytes.
        alignment: Of tensor data, in bytes.
    """

    __slots__ = ("alignment", "data_offset", "file_size", "metadata", "path", "tensors", "version")

    def __init__(self, path: str, version: int, file_size: int) -> None:
        self.path = path
        self.version = version
        self.file_size = file_size
        self.metadata: dict[str, int | float | bool | str | Array] = {}
        self.tensors: tuple[Tensor, ...] = ()
        self.data_offset = 0
        self.alignment = DEFAULT_ALIGNMENT

    @property
    def architecture(self) -> str:
        """`general.architecture`, empty where it is absent."""
        value = self.metadata.get("general.architecture", "")
        return value if isinstance(value, str) else ""

    @property
    def weights_bytes(self) -> int:
        """Sum of the tensors' sizes."""
        return sum(tensor.size for tensor in self.tensors)


Value = int | float | bool | str | Array
