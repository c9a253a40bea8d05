"""The catalogue: every contract with its reasons and remedies, found by its id or by a reason."""

from collections.abc import Iterator
from difflib import get_close_matches

import msgspec
from edge_llm_tests.contract import Contract
from edge_llm_tests.errors import UsageError
from edge_llm_tests.layer import Layer, Remedy
from edge_llm_tests.reads import READ_REASONS

from edge_cli.tree import Cause, Tree

__all__ = ["Branch", "Page", "branches", "find", "pages"]


class Page(msgspec.Struct, frozen=True):
    """A contract and the layer that promises it."""

    contract: Contract
    layer: Layer


class Branch(msgspec.Struct, frozen=True):
    """A reason of a contract, and where it leads.

    Attributes:
        reason: The reason.
        remedy: The owner's remedy.
        caused_by: Causes above that are tried first.
    """

    reason: str
    remedy: Remedy | None
    caused_by: tuple[Cause, ...]


def pages(layers: tuple[Layer, ...]) -> tuple[Page, ...]:
    """Every contract in the order of the ladder."""
    return tuple(Page(contract, layer) for layer in layers for contract in layer.contracts)


def branches(page: Page, tree: Tree, *, reads: bool = False) -> Iterator[Branch]:
    """The reasons of a contract; with `reads`, those of a read that showed nothing."""
    for reason in READ_REASONS if reads else page.contract.reasons:
        edge = tree.edge(page.contract.id, reason)
        remedy = page.layer.remedies.get(edge.remedy) if edge else None
        yield Branch(reason, remedy, edge.caused_by if edge else ())


def find(name: str, layers: tuple[Layer, ...]) -> tuple[Page, ...]:
    """The contract `name`, or the contracts of the rung `name`, or those with the reason `name`.

    Raises:
        UsageError: Nothing is called so; the error names the nearest.
    """
    known = pages(layers)
    for chosen in (
        tuple(page for page in known if page.contract.id == name),
        tuple(page for page in known if page.contract.rung == name),
        tuple(page for page in known if name in page.contract.reasons),
    ):
        if chosen:
            return chosen
    names = [page.contract.id for page in known] + [each for page in known for each in page.contract.reasons]
    spelt = {each.lower(): each for each in (*names, *READ_REASONS)}
    near = get_close_matches(name.lower(), spelt, n=1, cutoff=0.5)
    raise UsageError(
        f"no contract, reason or rung is called `{name}`",
        f"did you mean `{spelt[near[0]]}`?" if near else "`edge explain` lists the contracts",
    )
