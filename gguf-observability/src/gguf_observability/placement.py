"""Where the weights go: the last layers on the cards, the look-up of tokens always with the host.

Source: llama.cpp b11434, `llama-model.cpp` (`load_tensors`): of `block_count + 1` layers the last ones are
offloaded, so one layer is the output alone; tied embeddings are there twice then.
"""

from bisect import bisect_right
from itertools import accumulate

from gguf_observability.header import Header, Tensor
from gguf_observability.model import Model

__all__ = ["HOST", "Placement", "offloaded", "place", "spread"]

_BLOCK = "blk."
_INPUT = ("token_embd.", "per_layer_token_embd.", "position_embd.", "token_types.")
_FIRST_BLOCK = ("token_embd_norm.", "per_layer_model_proj.", "per_layer_proj_norm.")
_ROTARY = "rope_"
_REPACKED = frozenset(("Q4_0", "Q4_K", "IQ4_NL", "MXFP4"))  # `ggml-cpu/repack.cpp`, for AVX2
_REPACKED_ROWS = 8
_BY_HOST = "bitnet"
"""Its logits are made where the look-up of tokens is: nothing is there twice."""
HOST = -1
"""Number of the host among cards."""


class Placement:
    """Where each layer of a model is.

    Attributes:
        blocks: The card of each block, or -1 for the host.
        output: The card of the output layer, or -1.
        host_bytes: Weights in the host's memory.
        device_bytes: Weights on each card.
        repacked_bytes: Of those in the host's memory, what an x86 processor with AVX2 keeps in another order,
            in a buffer of its own (`CPU_REPACK`).
        tied: Whether the output layer is the token embedding.
    """

    __slots__ = ("blocks", "device_bytes", "host_bytes", "output", "repacked_bytes", "tied")

    def __init__(
        self,
        blocks: tuple[int, ...],
        output: int,
        host_bytes: int,
        device_bytes: tuple[int, ...],
        *,
        repacked_bytes: int,
        tied: bool,
    ) -> None:
        self.blocks = blocks
        self.output = output
        self.host_bytes = host_bytes
        self.device_bytes = device_bytes
        self.repacked_bytes = repacked_bytes
        self.tied = tied

    @property
    def counts(self) -> tuple[int, ...]:
        """How many blocks each card has."""
        return tuple(self.blocks.count(card) for card in range(len(self.device_bytes)))


def place(header: Header, model: Model, gpu_layers: int, shares: tuple[float, ...] = (1.0,)) -> Placement:
    """The placement of `gpu_layers` layers over cards, in proportion to `shares` (their free memory)."""
    on_cards = offloaded(model.layers, gpu_layers)
    cards = list(spread(model.layers, gpu_layers, shares))
    host, repacked, devices = 0, 0, [0] * (len(shares) if on_cards else 0)
    tied = not any(tensor.name == "output.weight" for tensor in header.tensors)
    twice = tied and header.architecture != _BY_HOST
    for tensor in header.tensors:
        for card in _cards(tensor, cards, tied=twice):
            if card == HOST:
                host += tensor.size
                repacked += tensor.size if _repacked(tensor) else 0
            else:
                devices[card] += tensor.size
    return Placement(tuple(cards[:-1]), cards[-1], host, tuple(devices), repacked_bytes=repacked, tied=tied)


def _repacked(tensor: Tensor) -> bool:
    matrix = len(tensor.shape) > 1 and not tensor.name.startswith(_INPUT)
    return matrix and tensor.type in _REPACKED and tensor.shape[1] % _REPACKED_ROWS == 0


def offloaded(layers: int, gpu_layers: int) -> int:
    """How many of `layers` blocks and the output layer are on cards; below 0 all, as the engine has it."""
    return layers + 1 if gpu_layers < 0 else min(gpu_layers, layers + 1)


def spread(layers: int, gpu_layers: int, shares: tuple[float, ...]) -> tuple[int, ...]:
    """The card of each of `layers` blocks and, last, of the output layer; -1 is the host."""
    total, on_cards = layers + 1, offloaded(layers, gpu_layers)
    first = total - on_cards
    return tuple(_card(layer - first, on_cards, shares) if layer >= first else HOST for layer in range(total))


def _card(index: int, count: int, shares: tuple[float, ...]) -> int:
    """The card of the index-th offloaded layer."""
    whole = sum(shares)
    sums = [each / whole for each in accumulate(shares)]
    return min(bisect_right(sums, index / count), len(shares) - 1)


def _cards(tensor: Tensor, cards: list[int], *, tied: bool) -> tuple[int, ...]:
    """Where a tensor is; a tied embedding may be in two places."""
    name = tensor.name
    if name.startswith(_BLOCK):
        number = name[len(_BLOCK) :].partition(".")[0]
        layer = int(number) if number.isdecimal() and int(number) < len(cards) - 1 else 0
        return (cards[layer],)
    if name.startswith(_INPUT):
        twice = tied and name == "token_embd.weight" and cards[-1] != HOST
        return (HOST, cards[-1]) if twice else (HOST,)
    if name.startswith(_FIRST_BLOCK):
        return (cards[0],)
    if name.startswith(_ROTARY):
        return tuple(sorted(set(cards[:-1])))  # a table that the blocks share: once wherever there are some
    return (cards[-1],)
