"""The pytest plugin: one test item per contract, judged on a live target or on a recording.

`pytest edge-llm-tests [--evidence FILE | --kubeconfig FILE | --sandbox] [--profile NAME]`
"""

from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from edge_llm_tests.contract import Outcome
from edge_llm_tests.errors import EdgeError, UsageError
from edge_llm_tests.evaluate import Finding

__all__ = ["hold"]

_FIXTURE = "finding"
_BLOCKED_BY = "blocked_by"
_SAID = "edge"


class NoVerdict(msgspec.Struct, frozen=True):
    """Why nothing could be judged: one red item, never a skip."""

    message: str


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that say what to judge."""
    group = parser.getgroup("edge", "contracts of an edge box")
    group.addoption("--evidence", metavar="FILE", help="judge this recording instead of a live target")
    group.addoption("--profile", metavar="NAME", help="profile to judge against (default: the target's own)")
    group.addoption("--kubeconfig", metavar="FILE", help="kubeconfig of the cluster to read")
    group.addoption("--context", metavar="NAME", help="context of the kubeconfig")
    group.addoption("--host", metavar="ADDRESS", help="read the host there, by ssh: ssh://user@box")
    group.addoption("--sandbox", action="store_true", help="judge the running sandbox")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item per contract for a test that asks for `finding`."""
    if _FIXTURE not in metafunc.fixturenames:
        return
    try:
        judged: dict[str, Finding | NoVerdict] = dict(_findings(metafunc.config))
    except EdgeError as error:
        judged = {"target": NoVerdict(str(error))}
    metafunc.parametrize(_FIXTURE, judged.values(), ids=judged)


def _findings(config: pytest.Config) -> Iterator[tuple[str, Finding]]:
    """Each finding by its id: the contract's, and with several hosts the host's name before it."""
    from edge_llm_tests.evaluate import evaluate  # noqa: PLC0415 - every pytest run loads this plugin
    from edge_llm_tests.layer import load_layers  # noqa: PLC0415
    from edge_llm_tests.redact import redact_quotable  # noqa: PLC0415
    from edge_llm_tests.session import judged_recording  # noqa: PLC0415

    _exclude_each_other(
        {flag: config.getoption(flag) for flag in ("--evidence", "--kubeconfig", "--sandbox")}
    )
    for flag in ("--context", "--host"):
        _exclude_each_other({"--evidence": config.getoption("--evidence"), flag: config.getoption(flag)})
    layers = load_layers()
    evidence = config.getoption("--evidence")
    recording, profile = judged_recording(
        layers,
        evidence=Path(evidence) if evidence else None,
        profile=config.getoption("--profile"),
        kubeconfig=config.getoption("--kubeconfig"),
        context=config.getoption("--context"),
        host=config.getoption("--host"),
        name="sandbox" if config.getoption("--sandbox") else None,
    )
    hosts = recording.by_node
    for each in hosts:
        name = f"{each.host or 'this host'}: " if len(hosts) > 1 else ""
        for finding in evaluate(layers, profile, redact_quotable(each)).findings:
            yield f"{name}{finding.contract.id}", _of_host(finding, name)


def _of_host(finding: Finding, name: str) -> Finding:
    result = finding.result
    return replace(finding, result=replace(result, message=f"{name}{result.message}")) if name else finding


def _exclude_each_other(flags: Mapping[str, object]) -> None:
    given = [flag for flag, value in flags.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other", "give one of them")


def hold(finding: Finding | NoVerdict) -> None:
    """Fail, on one line, unless the contract holds; an advisory one that does not is an expected failure."""
    if isinstance(finding, NoVerdict):
        pytest.fail(finding.message, pytrace=False)
    if finding.outcome is Outcome.PASS:
        return
    if not finding.contract.required:
        pytest.xfail(_line(finding))
    pytest.fail(_line(finding), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note in the report which contract does not hold, and what blocks it."""
    report = yield
    if report.when == "call" and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
        finding = item.callspec.params.get(_FIXTURE)
        if isinstance(finding, NoVerdict):
            report.user_properties.append((_SAID, finding.message))
        elif isinstance(finding, Finding) and finding.outcome is not Outcome.PASS:
            report.user_properties.append((_SAID, _line(finding)))
            if finding.blocked_by and report.failed:
                report.user_properties.append((_BLOCKED_BY, finding.blocked_by))
    return report


def _line(finding: Finding) -> str:
    from edge_llm_tests.redact import redact_text  # noqa: PLC0415 - every pytest run loads this plugin

    result = finding.result
    outcome = finding.outcome.value if finding.contract.required else "advisory"
    by = f" by {finding.blocked_by}" if finding.blocked_by else ""
    said = f"{outcome:8} {finding.contract.id}{by} {result.reason}: {result.message}"
    return _printable(redact_text(f"{said} (owner: {finding.layer.owner})")[0])


def _printable(text: str) -> str:
    """One line, without anything that would steer a terminal: messages quote logs."""
    shown = "".join(each if each.isprintable() else " " for each in text)
    return shown[:9] + " ".join(shown[9:].split())  # the outcome stands in a column


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """A consequence counts as `blocked`: red, in a list of its own."""
    if any(
        name == _BLOCKED_BY for name, _ in getattr(report, "user_properties", ())
    ):  # a collection report has none
        return "blocked", "B", "BLOCKED"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One whole line for each contract that does not hold; pytest's own summary cuts them."""
    said = [
        str(value)
        for status in ("failed", "blocked", "xfailed")
        for report in terminalreporter.stats.get(status, [])
        for name, value in getattr(report, "user_properties", ())
        if name == _SAID
    ]
    if said:
        terminalreporter.section("contracts that do not hold")
        for line in said:
            terminalreporter.write_line(line)
