"""`edge status`: each layer in a line, its gate and its workloads."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from edge_cli.options import (
    ContextOption,
    FromOption,
    HostOption,
    KubeconfigOption,
    ProfileOption,
    SandboxOption,
    SshConfigOption,
    SudoOption,
    exclude,
    exclude_each_other,
)

if TYPE_CHECKING:
    from edge_llm_tests.objects import Workload

    from edge_cli.report import Report
    from edge_cli.subject import Subject
    from edge_cli.terminal import Page

__all__ = ["status"]

_HELM = "Helm"
_MANAGED_BY = "app.kubernetes.io/managed-by"


def status(
    *,
    from_file: FromOption = None,
    profile: ProfileOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    sandbox: SandboxOption = False,
    host: HostOption = None,
    ssh_config: SshConfigOption = None,
    sudo: SudoOption = False,
) -> None:
    """Show each layer in a line: gate, contracts, workloads.

    Exit code as `edge diagnose`, which says what to do.
    """
    from edge_cli.hosts import chosen_hosts  # noqa: PLC0415 - `edge --help` needs none of it
    from edge_cli.subject import live, recorded  # noqa: PLC0415 - `edge --help` needs none of it
    from edge_cli.terminal import stdout_page  # noqa: PLC0415 - as above
    from edge_cli.verdict import exit_code, refusal_error  # noqa: PLC0415 - as above

    exclude_each_other({"--from": from_file, "--kubeconfig": kubeconfig, "--sandbox": sandbox})
    hosts = chosen_hosts(host, ssh_config, sudo, {"--from": from_file, "--sandbox": sandbox})
    exclude("--from", from_file, {"--context": context})
    if from_file is not None:
        subject = recorded(from_file, profile)
    else:
        subject = live(profile, kubeconfig, context, sandbox=sandbox, hosts=hosts)
    report = subject.report()
    sys.stdout.write("".join(f"{line}\n" for line in _lines(subject, report, stdout_page())))
    if subject.live and (refused := refusal_error(subject.recording)) is not None:
        sys.stdout.flush()
        raise refused
    raise typer.Exit(exit_code(report.verdict, subject.recording))


def _lines(subject: "Subject", report: "Report", page: "Page") -> Iterator[str]:
    from edge_cli.render.table import rung_line, title  # noqa: PLC0415 - with the command

    yield title(report, page)
    yield ""
    for rung in report.rungs:
        yield rung_line(rung, page.paint)
    yield ""
    yield from _gates(subject, page)
    yield from _workloads(subject, page)
    route = report.verdict.route
    yield ""
    if route is None:
        yield page.paint("Every required contract holds.", "green", "bold")
    else:
        found = route.finding
        yield f"Fix first: {found.rung}, owner {found.layer.owner}: {found.contract.id} {found.result.reason}"
        yield "`edge diagnose` says how."


def _gates(subject: "Subject", page: "Page") -> Iterator[str]:
    from edge_llm_tests import evaluate  # noqa: PLC0415 - with the command

    from edge_cli.gate import gate  # noqa: PLC0415 - with the command
    from edge_cli.tree import load_tree  # noqa: PLC0415 - with the command

    evaluation = evaluate(subject.layers, subject.profile, subject.recording)
    preconditions = load_tree().preconditions
    for layer in subject.layers:
        if layer.number is None:
            continue
        opening = gate(evaluation, layer, preconditions)
        if opening.open:
            yield f"gate of {layer.name:<10} {page.paint('open', 'green')}"
        else:
            ids = ", ".join(finding.contract.id for finding in opening.closed_by[:3])
            rest = f" and {len(opening.closed_by) - 3} more" if len(opening.closed_by) > 3 else ""  # noqa: PLR2004 - as many as were named
            yield f"gate of {layer.name:<10} {page.paint('closed', 'red')} by {ids}{rest}"


def _workloads(subject: "Subject", page: "Page") -> Iterator[str]:
    """The workloads that Helm installed, as the API server shows them."""
    from edge_llm_tests.objects import daemonsets, deployments  # noqa: PLC0415 - with the command

    for kind, workloads in (
        ("deployment", subject.recording.view(deployments)),
        ("daemonset", subject.recording.view(daemonsets)),
    ):
        for workload in workloads.or_else(()):
            if workload.labels.get(_MANAGED_BY) == _HELM:
                yield _workload(kind, workload, page)


def _workload(kind: str, workload: "Workload", page: "Page") -> str:
    ready = f"{workload.ready_replicas}/{workload.replicas}"
    style = "green" if workload.ready_replicas >= workload.replicas else "yellow"
    chart = workload.labels.get("helm.sh/chart", "")
    return f"{kind:<11}{workload.namespace}/{workload.name}  {page.paint(ready, style)} ready  {chart}"
