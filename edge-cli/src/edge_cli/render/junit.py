"""The verdict as JUnit XML: a suite for each rung, a case for each contract."""

import re
from xml.etree import ElementTree as ET

from edge_llm_tests.contract import Outcome

from edge_cli.report import Report, RungReport
from edge_cli.routing import Step
from edge_cli.terminal import Page

__all__ = ["render"]

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, page: Page) -> str:
    """JUnit XML: fail is a failure, unknown an error, blocked and advisory a skip that says why."""
    root = ET.Element("testsuites", name="edge diagnose" + (" (SIMULATED)" if report.simulated else ""))
    for rung in report.rungs:
        root.append(_suite(rung, report.recording.recorded_at))
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(rung: RungReport, recorded_at: str) -> ET.Element:
    suite = ET.Element("testsuite", name=f"{rung.name} ({rung.owner})", timestamp=recorded_at)
    for step in rung.steps:
        suite.append(_case(step))
    for id_ in rung.not_applicable:
        case = ET.SubElement(suite, "testcase", name=id_, classname=f"edge.{rung.name}", time="0")
        ET.SubElement(case, "skipped", message="the profile does not ask for it")
    suite.set("tests", str(len(suite)))
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))
    return suite


def _case(step: Step) -> ET.Element:
    finding = step.finding
    case = ET.Element("testcase", name=finding.contract.id, classname=f"edge.{finding.rung}", time="0")
    message = _clean(finding.result.message)
    if finding.outcome is Outcome.BLOCKED:
        ET.SubElement(case, "skipped", message=f"blocked by {finding.blocked_by}: {message}")
    elif finding.outcome is not Outcome.PASS and not finding.contract.required:
        ET.SubElement(case, "skipped", message=f"advisory: {finding.result.reason}: {message}")
    elif finding.outcome is not Outcome.PASS:
        tag = "failure" if finding.outcome is Outcome.FAIL else "error"
        problem = ET.SubElement(case, tag, message=message, type=str(finding.result.reason))
        problem.text = _clean(_advice(step))
    return case


def _advice(step: Step) -> str:
    lines = [f"owner: {step.finding.layer.owner}"]
    if step.remedy is not None:
        lines += [f"do: {step.remedy.do}", *(f"  {command}" for command in step.remedy.commands)]
        lines += [f"careful: {step.remedy.careful}"] if step.remedy.careful else []
    return "\n".join((*lines, *(f"evidence: {key}" for key in step.finding.evidence)))


def _clean(text: str) -> str:
    return _NOT_XML.sub("?", text)
