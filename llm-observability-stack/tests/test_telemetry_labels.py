"""Labels: whoever asks for one, or for a value of it, asks for what somebody publishes.

A rule on a label that no series carries parses, is accepted, and never fires. So expressions are read by a
parser of PromQL, and what labels come out of each part of them is worked out from the two lists of metrics.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any

import promql_parser
import pytest
import yaml
from edge_llm_tests.reads import READ_REASONS
from llm_observability_stack.exporter.catalogue import catalogue
from llm_observability_stack.telemetry.usage import asked_for, expressions
from promql_parser import AggModifierType, LabelModifierType, MatchOp

CHART = files("llm_observability_stack") / "charts" / "edge-telemetry"
OF_A_TARGET = frozenset({"instance", "job"})
KEEP_LABELS = {"topk", "bottomk", "limitk"}
SET_OPERATORS = {"and", "or", "unless"}
NO_LABELS = {"vector", "time", "scalar", "pi"}

Labels = frozenset[str]


@cache
def third_party() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = yaml.safe_load(
        (files("llm_observability_stack.telemetry") / "third_party.yaml").read_bytes()
    )
    return found


@cache
def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((CHART / "files" / "rules" / "edge-llm.yml").read_bytes())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@cache
def jobs() -> set[str]:
    """Jobs that there are: those of the chart, the control machine's, and NVIDIA's under its operator."""
    template = (CHART / "templates" / "_prometheus.tpl").read_text()
    return {
        *re.findall(r"job_name: ([a-z-]+)$", template, re.MULTILINE),
        "node-exporter",
        "nvidia-dcgm-exporter",
    }


@cache
def published() -> dict[str, Labels]:
    """Labels of every series that somebody publishes; `ALERTS` carries those of every alert."""
    own = {name: frozenset(entry.labels) | OF_A_TARGET for name, entry in catalogue().items()}
    others = {
        name: frozenset(labels) | OF_A_TARGET
        for each in third_party().values()
        for name, labels in each.items()
    }
    known = {**own, **others}
    for rule in rules():
        if "record" in rule:
            known[rule["record"]] = Reading(known).of(rule["expr"])
    return known


@dataclass
class Reading:
    """One reading of expressions: what labels come out, and what is wrong with them."""

    known: Mapping[str, Labels]
    wrong: list[str] = field(default_factory=list)
    series: set[str] = field(default_factory=set)

    def of(self, expression: str) -> Labels:
        return self._of(promql_parser.parse(expression)) or frozenset()

    def _of(self, node: Any) -> Labels | None:
        """Labels that come out of a part of an expression; None where it is a number or a text."""
        kind = type(node).__name__
        made: Labels | None = getattr(self, f"_{kind.lower()}")(node)
        return made

    def _require(self, labels: Any, there: Labels | None, what: str) -> None:
        absent = sorted(set(labels) - (there or frozenset()))
        if absent:
            self.wrong.append(f"{what} {', '.join(absent)}, which is not there")

    def _numberliteral(self, _node: Any) -> None:
        return None

    def _stringliteral(self, _node: Any) -> None:
        return None

    def _parenexpr(self, node: Any) -> Labels | None:
        return self._of(node.expr)

    _unaryexpr = _subqueryexpr = _parenexpr

    def _matrixselector(self, node: Any) -> Labels:
        return self._vectorselector(node.vector_selector)

    def _vectorselector(self, node: Any) -> Labels:
        name = node.name
        if name is None or name not in self.known:
            self.wrong.append(f"{name or 'a series by pattern'} is published by nobody")
            return frozenset()
        self.series.add(name)
        labels = self.known[name]
        for matcher in chain(node.matchers.matchers, *node.matchers.or_matchers):
            self._require([matcher.name], labels, f"{name} is asked for the label")
            self.wrong += impossible(name, matcher.name, matcher.op, matcher.value)
        return labels

    def _aggregateexpr(self, node: Any) -> Labels:
        inner = self._of(node.expr) or frozenset()
        if node.modifier is None:
            return inner if str(node.op) in KEEP_LABELS else frozenset()
        self._require(node.modifier.labels, inner, f"{node.op} groups by")
        if node.modifier.type == AggModifierType.Without:
            return inner - set(node.modifier.labels)
        return inner if str(node.op) in KEEP_LABELS else frozenset(node.modifier.labels)

    def _binaryexpr(self, node: Any) -> Labels | None:
        left, right = self._of(node.lhs), self._of(node.rhs)
        if left is None or right is None:
            return left if right is None else right
        operator, modifier = str(node.op), node.modifier
        matching = modifier.matching if modifier else None
        if operator == "or":
            return left | right
        if matching is None:
            if left != right:
                self.wrong.append(
                    f"the sides of {operator} differ in {', '.join(sorted(left ^ right))}: no match"
                )
            return left
        for side in (left, right):
            self._require(matching.labels, side, f"{operator} matches on")
        grouped = frozenset(modifier.group_labels or ())
        if operator in SET_OPERATORS or modifier.group_labels is not None:
            return left | grouped
        if matching.type == LabelModifierType.Include:
            return frozenset(matching.labels)
        return left - set(matching.labels)

    def _call(self, node: Any) -> Labels | None:
        name = node.func.name
        inner = [self._of(argument) for argument in node.args]
        if name in NO_LABELS:
            return frozenset() if name == "vector" else None
        if name == "absent":
            return frozenset(
                matcher.name for matcher in node.args[0].matchers.matchers if matcher.op == MatchOp.Equal
            )
        vector = next((each for each in inner if each is not None), frozenset())
        if name == "label_replace":
            texts = [argument.val for argument in node.args[1:]]
            if texts[2]:
                self._require([texts[2]], vector, "label_replace reads")
            return vector | {texts[0]}
        return vector


def alternatives(pattern: str) -> list[str]:
    """What a pattern takes, split where it says `or` outside brackets."""
    found, depth = [""], 0
    for char in pattern:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "|" and not depth:
            found.append("")
        else:
            found[-1] += char
    return found


def values_of(name: str, label: str) -> set[str] | None:
    """All values that a label of a series can have, where it has a fixed few."""
    if label == "job":
        return jobs()
    entry = catalogue().get(name)
    return set(entry.values[label]) if entry and label in entry.values else None


def impossible(name: str, label: str, operator: Any, value: str) -> list[str]:
    """What a matcher asks for, or leaves out, that never is."""
    there = values_of(name, label)
    if there is None or not value:
        return []
    wanted = alternatives(value) if operator in (MatchOp.Re, MatchOp.NotRe) else [re.escape(value)]
    return [
        f"{label} of {name} is never {each}"
        for each in wanted
        if not any(re.fullmatch(each, one) for one in there)
    ]


def asked() -> list[tuple[str, str]]:
    return [(user, each.replace("$__rate_interval", "5m")) for user, each in expressions()]


def test_whoever_asks_for_a_series_a_label_or_a_value_gets_it_from_somebody() -> None:
    known = published()
    found = [f"{user}: {wrong}" for user, each in asked() for wrong in complaints(each, known)]
    assert found == []


def complaints(expression: str, known: Mapping[str, Labels]) -> list[str]:
    reading = Reading(known)
    reading.of(expression)
    return reading.wrong


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ("edge_nonsense == 0", "edge_nonsense is published by nobody"),
        ("up1 == 0", "up1 is published by nobody"),
        ("nonsense == 0", "nonsense is published by nobody"),
        ('{__name__=~"edge_.+"} == 0', "a series by pattern"),
        ("rung:edge_contracts_failing:max > 0", "rung:edge_contracts_failing:max is published by nobody"),
        ("rung:edge_contracts_failing:sum{instance='a'}", "the label instance"),
        ("edge_ollama_up{model='a'} == 0", "the label model"),
        ("sum by (node) (edge_gpu_temperature_celsius) > 90", "groups by node"),
        ("sum without (node) (edge_ollama_up)", "groups by node"),
        ("edge_node_gpus_offered < on (node) edge_gpus_promised", "matches on node"),
        ("edge_ollama_model_loaded and on (gpu) edge_gpu_info", "matches on gpu"),
        ("edge_node_gpus_offered < edge_gpus_promised", "the sides of < differ in node: no match"),
        ("sum by (job) (up) > on (instance) sum by (instance) (up)", "matches on instance"),
        ('label_replace(edge_ollama_up, "a", "$1", "host", "(.+)")', "label_replace reads host"),
        ('edge_contract_outcome{outcome="failed"} == 1', "is never failed"),
        ('edge_contract_outcome{outcome=~"fail|unkown"} == 1', "is never unkown"),
        ('edge_contract_outcome{rung!="hosts"} == 1', "is never hosts"),
        ('edge_exporter_source_up{source!~"ollama|gpus"} == 0', "is never gpus"),
        ('edge_gpu_slowdown_active{reason="thermal"} == 1', "is never thermal"),
        ('up{job="edge_exporter"} == 0', "is never edge_exporter"),
        ('up{job=~"edge-exporter|(nvidia-)?dcgm"} == 0', "is never (nvidia-)?dcgm"),
    ],
)
def test_the_check_can_fail(expression: str, wrong: str) -> None:
    assert wrong in "; ".join(complaints(expression, published()))


def test_series_are_found_as_a_parser_finds_them() -> None:
    known = published()
    for user, expression in asked():
        reading = Reading(known)
        reading.of(expression)
        assert asked_for(expression) == reading.series, user


@cache
def alert_labels() -> dict[str, Labels]:
    """Every label that an alert can carry."""
    known = published()
    return {
        rule["alert"]: Reading(known).of(rule["expr"]) | set(rule["labels"]) | {"alertname"}
        for rule in rules()
        if "alert" in rule
    }


@pytest.mark.parametrize("name", alert_labels())
def test_the_text_of_an_alert_names_only_labels_that_it_carries(name: str) -> None:
    [rule] = [each for each in rules() if each.get("alert") == name]
    named = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
    assert named - alert_labels()[name] == set()
    assert {"layer", "rung", "owner", "severity"} <= alert_labels()[name]


def inhibition() -> Iterator[tuple[str, str, str]]:
    """Label, operator and value of every matcher."""
    for rule in yaml.safe_load((CHART / "files" / "alertmanager" / "inhibition.yml").read_bytes()):
        for matcher in chain(rule["source_matchers"], rule["target_matchers"]):
            found = re.fullmatch(r'(\w+)(=~|!~|!=|=)"(.*)"', matcher)
            assert found, matcher
            yield found[1], found[2], found[3]
        yield from ((label, "", "") for label in rule.get("equal", ()))


def test_what_hides_what_is_said_by_labels_and_values_that_alerts_have() -> None:
    carried = frozenset(chain.from_iterable(alert_labels().values()))
    fixed = {"alertname": set(alert_labels())}
    for label in ("layer", "rung", "owner"):
        fixed[label] = set(catalogue()["edge_contract_outcome"].values[label])
    fixed["severity"] = {rule["labels"]["severity"] for rule in rules() if "alert" in rule}
    for label, operator, value in inhibition():
        assert label in carried
        for each in alternatives(value) if "~" in operator else [re.escape(value)] if value else []:
            if label in fixed:
                assert any(re.fullmatch(each, one) for one in fixed[label]), f"{label} is never {each}"


def test_the_legend_of_a_panel_names_only_labels_that_come_out() -> None:
    known = published()
    for path in (CHART / "files" / "dashboards").iterdir():
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", ()):
                there = Reading(known).of(target["expr"].replace("$__rate_interval", "5m"))
                named = set(re.findall(r"\{\{\s*(\w+)\s*\}\}", target.get("legendFormat", "")))
                assert named <= there, f"{path.name}: {panel['title']}: {sorted(named - there)}"


def test_the_reasons_of_failures_are_those_of_reads_and_of_the_exporters_own() -> None:
    reasons = {each.lower() for each in READ_REASONS} - {"timedout"}
    assert set(catalogue()["edge_exporter_source_failures_total"].values["reason"]) == reasons | {
        "timeout",
        "error",
    }
