"""`edge explain`: a contract, a reason or a rung in words."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from edge_llm_tests.layer import Layer, Remedy

    from edge_cli.catalogue import Branch
    from edge_cli.catalogue import Page as Promise
    from edge_cli.terminal import Page
    from edge_cli.tree import Tree

__all__ = ["explain"]


def _names(incomplete: str) -> list[str]:
    from edge_llm_tests import load_layers  # noqa: PLC0415 - only completion pays

    from edge_cli.catalogue import pages  # noqa: PLC0415 - only completion pays

    known = pages(load_layers())
    names = {page.contract.id: None for page in known} | {
        r: None for page in known for r in page.contract.reasons
    }
    return [name for name in names if name.startswith(incomplete)]


def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[CONTRACT|REASON|RUNG]",
            help="What to explain.",
            show_default=False,
            autocompletion=_names,
        ),
    ] = None,
) -> None:
    """Print a contract or reason: promise, remedies. Without a name, list the contracts."""
    from edge_llm_tests import load_layers  # noqa: PLC0415 - `edge --help` needs none of it
    from edge_llm_tests.reads import READ_REASONS  # noqa: PLC0415 - as above

    from edge_cli.catalogue import branches, find  # noqa: PLC0415 - as above
    from edge_cli.terminal import stdout_page  # noqa: PLC0415 - as above
    from edge_cli.tree import load_tree  # noqa: PLC0415 - as above

    layers, tree, page = load_layers(), load_tree(), stdout_page()
    if name is None:
        lines = list(_overview(layers, tree, page))
    elif name in READ_REASONS:
        lines = list(_read_reason(name, layers, tree, page))
    else:
        lines = []
        for promise in find(name, layers):
            chosen = [
                branch for branch in branches(promise, tree) if name in (branch.reason, promise.contract.id)
            ]
            lines += [*_promise(promise, page), *_branches(chosen, page), ""]
    sys.stdout.write("\n".join(lines).rstrip() + "\n")


def _overview(layers: "tuple[Layer, ...]", tree: "Tree", page: "Page") -> Iterator[str]:
    from edge_cli.terminal import wrapped  # noqa: PLC0415 - with the command

    for layer in layers:
        for rung in layer.rungs:
            asks = tree.rungs[rung].asks if rung in tree.rungs else ""
            yield f"{page.paint(rung, 'bold')}  {page.paint(asks, 'dim')}"
            for contract in layer.contracts:
                if contract.rung == rung:
                    advisory = "" if contract.required else " (advisory)"
                    yield f"  {contract.id}{advisory}"
                    yield from wrapped(contract.promise, page.columns, " " * 6)
            yield ""
    yield "edge explain NAME prints the reasons and remedies of one."


def _promise(promise: "Promise", page: "Page") -> Iterator[str]:
    from edge_cli.terminal import wrapped  # noqa: PLC0415 - with the command

    contract, layer = promise.contract, promise.layer
    number = "validation" if layer.number is None else f"layer {layer.number}"
    kind = "required" if contract.required else "advisory"
    yield f"{page.paint(contract.id, 'bold')}  {number}, owner {layer.owner}, {kind}"
    yield from wrapped(contract.promise, page.columns, "  ")
    if contract.after:
        yield from wrapped(f"Stands on: {', '.join(contract.after)}", page.columns, "  ")


def _branches(chosen: "list[Branch]", page: "Page") -> Iterator[str]:
    for branch in chosen:
        yield ""
        yield f"  {page.paint(branch.reason, 'bold')}"
        for cause in branch.caused_by:
            yield f"    first look at {cause.contract} ({cause.reason}): it may be the cause"
        yield from _advice(branch.remedy, page)


def _advice(remedy: "Remedy | None", page: "Page") -> Iterator[str]:
    from edge_cli.terminal import wrapped  # noqa: PLC0415 - with the command

    if remedy is None:
        yield "    no remedy is known"
        return
    yield from wrapped(remedy.do, page.columns, "    ")
    for command in remedy.commands:
        yield f"      {page.paint(command, 'cyan')}"
    if remedy.careful:
        yield from wrapped(f"Careful: {remedy.careful}", page.columns, "    ")
    if remedy.docs:
        yield f"    Docs: docs/{remedy.docs}"


def _read_reason(name: str, layers: "tuple[Layer, ...]", tree: "Tree", page: "Page") -> Iterator[str]:
    yield f"{page.paint(name, 'bold')}  a read showed nothing: any contract that needs it is unknown"
    for layer in layers:
        for rung in layer.rungs:
            id_ = tree.rungs[rung].unseen.get(name) if rung in tree.rungs else None
            yield f"\n  {page.paint(rung, 'bold')}, owner {layer.owner}"
            yield from _advice(layer.remedies.get(id_) if id_ else None, page)
