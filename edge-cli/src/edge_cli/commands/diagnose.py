"""`edge diagnose`: the one thing to fix first, its owner and its remedy."""

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer
from edge_llm_tests.errors import UsageError

from edge_cli.options import (
    ContextOption,
    FailOnOption,
    FromOption,
    HostOption,
    KubeconfigOption,
    OutputOption,
    ProfileOption,
    SandboxOption,
    ServiceOption,
    SshConfigOption,
    SudoOption,
    VerboseOption,
    exclude,
    exclude_each_other,
    services,
)

__all__ = ["diagnose"]

_FAIL_ON = ("contract", "advisory")


def diagnose(
    *,
    from_file: FromOption = None,
    demo: Annotated[bool, typer.Option("--demo", help="Judge the recording that ships with edge.")] = False,
    profile: ProfileOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    sandbox: SandboxOption = False,
    host: HostOption = None,
    ssh_config: SshConfigOption = None,
    sudo: SudoOption = False,
    output: OutputOption = None,
    verbose: VerboseOption = False,
    fail_on: FailOnOption = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Keep the recording that was judged.")
    ] = None,
    service: ServiceOption = None,
) -> None:
    """Name the one thing to fix, and who fixes it.

    Reads the host and the cluster (GET only), judges every contract, and routes what does not hold to the
    lowest layer that cannot satisfy its contract. Exit code: 0 holds, 3 a contract failed, 6 the target
    cannot be reached, 7 it refuses the credentials.
    """
    from edge_llm_tests.evidence_file import STANDARD_STREAM  # noqa: PLC0415 - as below

    from edge_cli.hosts import chosen_hosts  # noqa: PLC0415 - `edge --help` needs none of it
    from edge_cli.render import Output, render  # noqa: PLC0415 - `edge --help` needs none of it
    from edge_cli.settings import load_settings  # noqa: PLC0415 - as above
    from edge_cli.subject import demo as demo_subject  # noqa: PLC0415 - as above
    from edge_cli.subject import live, recorded  # noqa: PLC0415 - as above
    from edge_cli.terminal import stdout_page, write_document  # noqa: PLC0415 - as above
    from edge_cli.timings import span  # noqa: PLC0415 - as above
    from edge_cli.verdict import exit_code, refusal_error  # noqa: PLC0415 - as above

    settings = load_settings()
    chosen_output = Output(_choice("--output", output or settings.output or "table", tuple(Output)))
    chosen_fail_on = _choice("--fail-on", fail_on or settings.fail_on or "contract", _FAIL_ON)
    hosts = chosen_hosts(host, ssh_config, sudo, {"--from": from_file, "--demo": demo, "--sandbox": sandbox})
    of_a_target = {"--kubeconfig": kubeconfig, "--sandbox": sandbox}
    exclude_each_other({"--from": from_file, "--demo": demo, **of_a_target})
    for name, replayed in (("--from", from_file), ("--demo", demo)):
        exclude(name, replayed, {"--context": context, "--service": service})
    exclude("--demo", demo, {"--profile": profile})
    if save == STANDARD_STREAM:
        raise UsageError(
            "--save -: the verdict is written there", "give a FILE, or `edge evidence record -o -`"
        )
    if from_file is not None:
        subject = recorded(from_file, profile)
    elif demo:
        subject = demo_subject()
    else:
        subject = live(
            profile,
            kubeconfig,
            context,
            sandbox=sandbox,
            services=services(service),
            hosts=hosts,
        )
    if save is not None:
        from edge_llm_tests.redact import redact  # noqa: PLC0415 - asked for by a flag

        redact(subject.recording).save(save)
    judged = subject.report()
    with span("render"):
        text = render(judged, chosen_output, stdout_page(verbose=verbose))
        write_document(text, for_eyes=chosen_output is Output.TABLE)
    if subject.live and (refused := refusal_error(subject.recording)) is not None:
        raise refused
    raise typer.Exit(
        exit_code(judged.verdict, subject.recording, fail_on_advisory=chosen_fail_on == "advisory")
    )


def _choice(option: str, given: str, allowed: tuple[str, ...]) -> str:
    if given in allowed:
        return given
    near = get_close_matches(given, allowed, n=1)
    step = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(allowed)}"
    raise UsageError(f"{option} {given}: no such choice", step)
