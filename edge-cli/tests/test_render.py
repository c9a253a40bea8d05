"""Every output format, held to golden files `case.exit.format`.

`UPDATE_GOLDEN=1 pytest ...` writes them anew; read the difference before it is committed.
"""

import json
import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
import yaml
from edge_cli.render import Output, render
from edge_cli.report import report
from edge_cli.terminal import Page
from edge_cli.tree import Tree
from edge_llm_tests import Layer, Recording
from edge_llm_tests.profile import Profile
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

GOLDEN = Path(__file__).parent / "golden"
Edge = Callable[..., tuple[int, str, str]]
Seen = Callable[..., Recording]

BROKEN: dict[str, Any] = {
    "host.disk": {"outcome": "fail", "reason": "Broken", "message": "3 % of / are free, 10 % are promised"},
    "gpu.offered": {
        "outcome": "fail",
        "reason": "Broken",
        "message": "node edge-1 offers 0 x nvidia.com/gpu, the profile promises 1; its device plugin says "
        '"No devices found. <b>Waiting</b> indefinitely & more"',
        "about": {"thing": "pod/nvidia-device-plugin-x7k2p", "node": "edge-1", "namespace": "gpu-operator"},
    },
    "serving.running": "Missing",
    "model.loaded": None,
    "profile.processor": "Broken",
    "telemetry.targets": {
        "outcome": "fail",
        "reason": "Broken",
        "message": "Prometheus has no target `edge-exporter`",
        "independent": True,
    },
}
API_DOWN = {
    f"api:/api/v1/{kind}": {"status": None, "body": "https://192.0.2.1:6443: refused", "error": "unreachable"}
    for kind in ("nodes", "pods")
}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...], int]] = {
    # name: (what is odd, fields of the recording, options, exit code)
    "holds": ({}, {}, (), 0),
    "advisory": ({"host.disk": "Broken"}, {}, ("--fail-on", "advisory"), 4),
    "broken": (BROKEN, {"simulated": True}, (), 3),
    "caused": ({"gpu.offered": "Broken", "telemetry.crds": "Missing"}, {}, (), 3),
    "unseen": ({"gpu.api": None, "telemetry.targets": None}, {}, (), 3),
    "unreachable": ({"gpu.api": None}, {"reads": API_DOWN}, (), 6),
    "verbose": (BROKEN, {}, ("-v",), 3),
}
FORMATS = {
    "broken": tuple(Output),
    "holds": (Output.TABLE, Output.JSON, Output.MARKDOWN, Output.HTML, Output.JUNIT),
    "verbose": (Output.TABLE,),
}


@pytest.mark.parametrize(
    ("case", "output"),
    [
        (case, output)
        for case in CASES
        for output in FORMATS.get(case, (Output.TABLE, Output.JSON, Output.MARKDOWN))
    ],
)
def test_output_is_the_golden_one(  # noqa: PLR0917 - fixtures
    case: str, output: Output, edge: Edge, bench: SimpleNamespace, seen: Seen, tmp_path: Path
) -> None:
    odd, fields, options, code = CASES[case]
    seen(odd, **fields).save(tmp_path / "recording.json")
    found, out, err = edge("diagnose", "--from", tmp_path / "recording.json", "-o", output.value, *options)
    assert (found, err) == (code, "")
    golden = GOLDEN / f"{case}.{code}.{output.value}"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(out)
    assert out == golden.read_text()


def test_no_golden_file_is_left_over() -> None:
    wanted = {
        f"{case}.{CASES[case][3]}.{output.value}"
        for case in CASES
        for output in FORMATS.get(case, (Output.TABLE, Output.JSON, Output.MARKDOWN))
    }
    assert {path.name for path in GOLDEN.iterdir()} == wanted


@pytest.fixture
def rendered(edge: Edge, bench: SimpleNamespace, seen: Seen, tmp_path: Path) -> Callable[..., str]:
    def shown(output: str, odd: dict[str, Any] | None = None, **fields: Any) -> str:
        seen(BROKEN if odd is None else odd, **fields).save(tmp_path / "recording.json")
        return edge("diagnose", "--from", tmp_path / "recording.json", "-o", output)[1]

    return shown


@pytest.mark.parametrize("output", list(Output))
def test_what_the_profile_does_not_ask_for_is_listed_and_no_gap(
    output: Output, layers: tuple[Layer, ...], profile: Profile, tree: Tree, seen: Seen
) -> None:
    specs = {name: msgspec.structs.replace(spec, asked=False) for name, spec in profile.specs.items()}
    found = report(layers, replace(profile, specs=specs), seen({"host.driver": None}, context=""), tree)
    shown = render(found, output, Page(verbose=True))
    assert found.rungs[-1].footing == "not asked for"
    if output is not Output.PROMETHEUS:
        assert (
            "not asked" in shown
            or "not_applicable" in shown
            or "not applicable" in shown
            or "ask for it" in shown
        )
    assert '"profile.processor",outcome' not in shown


def test_where_nothing_applies_nothing_is_known(profile: Profile, tree: Tree, seen: Seen) -> None:
    found = report((), profile, seen(), tree)
    assert "no required contract applies" in render(found, Output.TABLE, Page())
    assert "Nothing is known" in render(found, Output.HTML, Page())


def test_a_table_fits_80_columns_and_has_no_colour_where_it_is_no_terminal(
    rendered: Callable[..., str],
) -> None:
    shown = rendered("table")
    assert "\x1b" not in shown
    commands = [line for line in shown.splitlines() if "kubectl" in line]
    assert [line for line in shown.splitlines() if len(line) > 80 and line not in commands] == []


def test_json_and_yaml_are_the_same_document(rendered: Callable[..., str]) -> None:
    assert json.loads(rendered("json")) == yaml.safe_load(rendered("yaml"))


def test_junit_counts_what_it_holds(rendered: Callable[..., str]) -> None:
    root = ET.fromstring(rendered("junit"))  # noqa: S314 - our own output
    cases = root.findall("testsuite/testcase")
    assert [root.get(each) for each in ("tests", "failures", "errors", "skipped")] == ["9", "2", "0", "4"]
    assert len(cases) == 9
    failed = [case for case in cases if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["gpu.offered", "telemetry.targets"]
    assert "owner: k3s-nvidia-edge" in (failed[0].findtext("failure") or "")


def test_junit_takes_what_xml_does_not(rendered: Callable[..., str]) -> None:
    odd = {
        "outcome": "fail",
        "reason": "Broken",
        "message": "nul \x00 escape \x1b lone \ufffe",
        "about": {"thing": "\x01"},
    }
    ET.fromstring(rendered("junit", {"gpu.api": odd}))  # noqa: S314 - our own output


def test_ctrf_counts_what_it_holds(rendered: Callable[..., str]) -> None:
    report = json.loads(rendered("ctrf"))
    results = report["results"]
    statuses = [test["status"] for test in results["tests"]]
    assert (report["reportFormat"], results["summary"]["tests"]) == ("CTRF", len(statuses))
    for status in ("passed", "failed", "pending", "skipped", "other"):
        assert results["summary"][status] == statuses.count(status)
    assert {test["name"]: test["rawStatus"] for test in results["tests"]}["host.disk"] == "advisory fail"


def test_prometheus_reads_the_metrics(rendered: Callable[..., str]) -> None:
    families = {
        each.name: each for each in text_string_to_metric_families(rendered("prometheus", simulated=True))
    }
    on = {
        (sample.labels["contract"], sample.labels["outcome"])
        for sample in families["edge_contract_outcome"].samples
        if sample.value == 1
    }
    assert {("gpu.offered", "fail"), ("serving.running", "blocked"), ("gpu.api", "pass")} <= on
    assert len(on) == 9
    assert [s.labels["outcome"] for s in families["edge_diagnosis_outcome"].samples if s.value == 1] == [
        "fail"
    ]
    assert families["edge_diagnosis_simulated"].samples[0].value == 1


class _Page(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_one_file_that_asks_nothing_of_anybody(rendered: Callable[..., str]) -> None:
    shown = rendered("html", simulated=True)
    page = _Page()
    page.feed(shown)
    assert page.open == []
    assert {"script", "link", "img", "iframe", "a"}.isdisjoint(tag for tag, _ in page.tags)
    assert not any({"src", "href", "onclick", "style"} & set(attrs) for _, attrs in page.tags)
    assert re.findall(r"url\(|@import|https?://", shown) == []
    assert "SIMULATED" in page.text
    assert "prefers-color-scheme: dark" in shown


def test_html_shows_each_rung_as_a_picture_and_in_words(rendered: Callable[..., str]) -> None:
    shown = rendered("html")
    said = re.search(r'aria-label="The ladder: ([^"]*)"', shown)
    assert said is not None
    assert (
        said[1] == "host holds; gpu fails; serving blocked; model blocked; telemetry fails; profile blocked"
    )
    assert "is not there" not in shown
    assert 'class="fails"' in shown
    assert 'stroke-dasharray="12 9"' in shown


@pytest.mark.parametrize("output", ["html", "markdown"])
def test_what_a_message_says_is_text_and_not_markup(output: str, rendered: Callable[..., str]) -> None:
    hostile = "<script>alert(1)</script> | `code` [x](http://evil) \"' ]]>"
    odd = {
        "outcome": "fail",
        "reason": "Broken",
        "message": hostile,
        "about": {"thing": hostile, "node": "<img src=x>", "namespace": "```"},
    }
    shown = rendered(output, {"gpu.api": odd}, context="<i>edge</i>", profile="<b>p</b>")
    code = r"```sh.*?\n```|`[^`\n]*`"
    outside_code = re.sub(code, "", shown, flags=re.DOTALL) if output == "markdown" else shown
    assert not re.search(r"<(script|img|i|b)\b", outside_code)
    assert "alert(1)" in shown


def test_a_terminal_is_not_steered_by_what_a_message_says(rendered: Callable[..., str]) -> None:
    odd = {
        "outcome": "fail",
        "reason": "Broken",
        "message": "a\x1b[2Jb\r\nc\u202ed",
        "about": {"thing": "\x1b]0;x\x07"},
    }
    shown = rendered("table", {"gpu.api": odd}, context="\x1b[31mred")
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "a [2Jb c d" in shown


@pytest.mark.parametrize("output", list(Output))
def test_no_format_shows_a_secret(output: Output, rendered: Callable[..., str]) -> None:
    odd = {
        "outcome": "fail",
        "reason": "Broken",
        "message": "log says HF_TOKEN=canary-one and a person@canary.example.org",
        "about": {"thing": "https://user:canary-two@host/"},
    }
    reads = {
        "file:/gpu.offered": {
            "text": json.dumps(odd) + "\nPASSWORD=canary-three",
            "mtime": None,
            "error": None,
        }
    }
    damaged = {"reads": reads}
    assert "canary" not in rendered(output.value, {"gpu.api": odd}, **damaged)
