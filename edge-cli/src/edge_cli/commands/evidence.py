"""`edge evidence`: recordings of everything that a diagnosis reads."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edge_cli.options import (
    ContextOption,
    HostOption,
    KubeconfigOption,
    ProfileOption,
    SandboxOption,
    ServiceOption,
    SshConfigOption,
    SudoOption,
    exclude_each_other,
    services,
)

if TYPE_CHECKING:
    from edge_llm_tests import Recording

    from edge_cli.report import Report
    from edge_cli.terminal import Page

__all__ = ["evidence"]

evidence = typer.Typer(
    help="Record, show, compare and redact evidence.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_File = Annotated[Path, typer.Argument(metavar="FILE", help="A recording; - is standard input.")]
_Written = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write it; - is standard output.")
]


@evidence.command()
def record(
    *,
    output: _Written,
    profile: ProfileOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    sandbox: SandboxOption = False,
    host: HostOption = None,
    ssh_config: SshConfigOption = None,
    sudo: SudoOption = False,
    service: ServiceOption = None,
) -> None:
    """Read the target once and write what came back, redacted."""
    from edge_llm_tests.redact import redact as covered  # noqa: PLC0415 - with the command

    from edge_cli.hosts import chosen_hosts  # noqa: PLC0415 - with the command
    from edge_cli.subject import live  # noqa: PLC0415 - with the command
    from edge_cli.terminal import printable  # noqa: PLC0415 - with the command
    from edge_cli.verdict import refusal_error  # noqa: PLC0415 - with the command

    exclude_each_other({"--kubeconfig": kubeconfig, "--sandbox": sandbox})
    hosts = chosen_hosts(host, ssh_config, sudo, {"--sandbox": sandbox})
    subject = live(
        profile,
        kubeconfig,
        context,
        sandbox=sandbox,
        services=services(service),
        hosts=hosts,
    )
    recording = covered(subject.recording)
    recording.save(output)
    _wrote(output, recording)
    if (refused := refusal_error(recording)) is not None:  # what was read is what was asked for all the same
        sys.stderr.write(f"edge: note: {printable(str(refused))}\n")


@evidence.command()
def show(
    file: _File,
    key: Annotated[
        str | None,
        typer.Argument(metavar="[KEY]", help="A read, or the beginning of some.", show_default=False),
    ] = None,
) -> None:
    """List the reads of a recording, or print those whose key begins with KEY."""
    from edge_llm_tests import Recording  # noqa: PLC0415 - with the command

    recording = Recording.load(file)
    lines = _overview(recording) if key is None else _content(recording, key)
    sys.stdout.write("".join(f"{line}\n" for line in lines))


@evidence.command()
def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A recording.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="A later one.")],
) -> None:
    """Show what differs between two recordings: contracts first, then reads."""
    from edge_llm_tests.redact import redact  # noqa: PLC0415 - with the command

    from edge_cli.comparison import compare  # noqa: PLC0415 - with the command
    from edge_cli.subject import recorded  # noqa: PLC0415 - with the command
    from edge_cli.terminal import printable, stdout_page  # noqa: PLC0415 - with the command

    page = stdout_page()
    one, other = recorded(before), recorded(after)
    lines = list(_outcomes(one.report(), other.report(), page)) or ["No contract came to another outcome."]
    for difference in compare(redact(one.recording), redact(other.recording)):
        lines.append(f"{page.paint(printable(difference.key), 'bold')}  {difference.how}")
        lines += (f"    {printable(line)}" for line in difference.details)
    sys.stdout.write("".join(f"{line}\n" for line in lines))


@evidence.command()
def redact(
    file: _File,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write it; FILE itself unless given."),
    ] = None,
) -> None:
    """Cover secrets, addresses and prompts in a recording that another tool wrote."""
    from edge_llm_tests import Recording  # noqa: PLC0415 - with the command
    from edge_llm_tests.redact import redact as covered  # noqa: PLC0415 - with the command

    recording = covered(Recording.load(file))
    recording.save(output or file)
    _wrote(output or file, recording)


@evidence.command()
def demo(output: _Written) -> None:
    """Write the recording that `edge diagnose --demo` judges, to try the other commands on."""
    from edge_cli.subject import demo_recording  # noqa: PLC0415 - with the command

    recording = demo_recording()
    recording.save(output)
    _wrote(output, recording)


def _wrote(path: Path, recording: "Recording") -> None:
    simulated = ", SIMULATED" if recording.simulated else ""
    from edge_llm_tests.evidence_file import name_of  # noqa: PLC0415 - with the command

    name, reads = name_of(path, "standard output"), len(recording.reads_of_all)
    sys.stderr.write(f"wrote {name}: {reads} reads, {recording.redactions} values redacted{simulated}\n")


def _overview(recording: "Recording") -> Iterator[str]:
    from edge_llm_tests.redact import redact_text  # noqa: PLC0415 - with the command

    from edge_cli.terminal import printable  # noqa: PLC0415 - with the command

    def shown(text: str) -> str:
        return printable(redact_text(text)[0])

    about = f"profile {recording.profile or '-'}, context {recording.context or '-'}"
    simulated = ", SIMULATED" if recording.simulated else ""
    yield shown(
        f"recorded {recording.recorded_at}, {about}, {recording.redactions} values redacted{simulated}"
    )
    for key, entry in sorted(recording.reads_of_all.items()):
        yield f"{shown(_came_to(entry)):<18} {shown(key)}"


def _came_to(entry: object) -> str:
    """What a read came to, in a word."""
    if not isinstance(entry, dict):
        return "damaged"
    if isinstance(entry.get("error"), str):
        return str(entry["error"])
    for field, word in (("status", "HTTP"), ("rc", "exit")):
        if entry.get(field) is not None:
            return f"{word} {entry[field]}"
    paths = entry.get("paths")
    return f"{len(paths)} paths" if isinstance(paths, list) else "read"


def _content(recording: "Recording", key: str) -> Iterator[str]:
    import json  # noqa: PLC0415 - with the command
    from difflib import get_close_matches  # noqa: PLC0415 - with the command

    from edge_llm_tests.errors import UsageError  # noqa: PLC0415 - with the command
    from edge_llm_tests.redact import redact_value  # noqa: PLC0415 - with the command

    from edge_cli.terminal import printable  # noqa: PLC0415 - with the command

    reads = recording.reads_of_all
    chosen = sorted(each for each in reads if each.startswith(key) or each.partition(": ")[2].startswith(key))
    if not chosen:
        near = get_close_matches(key, reads, n=1, cutoff=0.3)
        step = f"did you mean {near[0]!r}?" if near else "`edge evidence show FILE` lists them"
        raise UsageError(f"no read begins with {key!r}", step)
    covered, _ = redact_value({each: reads[each] for each in chosen})
    for each, entry in covered.items():
        yield f"# {printable(each)}"
        yield json.dumps(entry, indent=1, ensure_ascii=False)


def _outcomes(one: "Report", other: "Report", page: "Page") -> Iterator[str]:
    """The contracts that came to another outcome or reason."""
    before = {step.finding.contract.id: step.finding for step in one.verdict.steps}
    for step in other.verdict.steps:
        id_, now = step.finding.contract.id, step.finding
        was = before.get(id_)
        if was is None or (was.outcome, was.result.reason) == (now.outcome, now.result.reason):
            continue
        outcomes = " -> ".join(f"{each.outcome} {each.result.reason or ''}".strip() for each in (was, now))
        yield f"{page.paint(id_, 'bold')}  {outcomes}"
