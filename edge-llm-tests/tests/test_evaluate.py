from typing import Any

import msgspec
import pytest
from edge_llm_tests.contract import Contract, Outcome, Result, contract, failed, passed, unknown
from edge_llm_tests.evaluate import Evaluation, evaluate
from edge_llm_tests.evidence import Recording
from edge_llm_tests.fields import MalformedError
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile
from edge_llm_tests.reads import Sight, UnseenError, see
from edge_llm_tests.testing import answer, command, content, recording_of


class Spec(msgspec.Struct, frozen=True):
    """Nothing is asked for."""


def make(id_: str, result: Result | Exception, **options: Any) -> Contract:
    def judge(spec: Spec, observed: object) -> Result:
        if isinstance(result, Exception):
            raise result
        return result

    return contract(id_, "something holds", reasons=("Broken",), **options)(judge)


def run(*contracts: Contract, recording: Recording | None = None, reads: tuple[str, ...] = ()) -> Evaluation:
    layer = Layer(
        "host",
        0,
        "host-admin",
        ("host",),
        Spec,
        lambda spec, recording: None,
        contracts,
        "x",
        reads=lambda spec, recording: reads,
    )
    return evaluate((layer,), Profile("p", specs={"host": Spec()}), recording or recording_of({}))


FAIL = failed("Broken", "broken")
UNKNOWN = unknown("Broken", "unclear")
PASS = passed("fine")


def outcomes(evaluation: Evaluation) -> list[tuple[str, str | None]]:
    return [(finding.outcome.value, finding.blocked_by) for finding in evaluation.findings]


def test_all_pass() -> None:
    evaluation = run(make("host.a", PASS), make("host.b", PASS, after=("host.a",)))
    assert evaluation.outcome is Outcome.PASS
    assert [finding.rung for finding in evaluation.findings] == ["host", "host"]


def test_nothing_judged_is_not_a_pass() -> None:
    assert run().outcome is Outcome.UNKNOWN
    assert run(make("host.a", PASS, required=False)).outcome is Outcome.UNKNOWN


def test_a_fail_above_a_fail_is_blocked_through_any_distance() -> None:
    evaluation = run(
        make("host.a", FAIL),
        make("host.b", PASS, after=("host.a",)),
        make("host.c", FAIL, after=("host.b",)),
        make("host.d", FAIL, after=("host.c", "host.b")),
    )
    assert outcomes(evaluation) == [
        ("fail", None),
        ("pass", None),
        ("blocked", "host.a"),
        ("blocked", "host.a"),
    ]
    assert evaluation.outcome is Outcome.FAIL


def test_an_independent_fault_is_never_blocked() -> None:
    evaluation = run(
        make("host.a", FAIL), make("host.b", failed("Broken", "own", independent=True), after=("host.a",))
    )
    assert outcomes(evaluation) == [("fail", None), ("fail", None)]


def test_above_an_unknown_a_fail_stands_and_an_unknown_is_blocked() -> None:
    evaluation = run(
        make("host.a", UNKNOWN),
        make("host.b", FAIL, after=("host.a",)),
        make("host.c", UNKNOWN, after=("host.a",)),
        make("host.d", UNKNOWN, after=("host.c",)),
        make("host.e", FAIL, after=("host.c",)),
    )
    assert outcomes(evaluation) == [
        ("unknown", None),
        ("fail", None),
        ("blocked", "host.a"),
        ("blocked", "host.a"),
        ("fail", None),
    ]


def test_an_advisory_blocks_nothing_and_fails_nothing() -> None:
    evaluation = run(make("host.a", FAIL, required=False), make("host.b", UNKNOWN, after=("host.a",)))
    assert outcomes(evaluation) == [("fail", None), ("unknown", None)]
    assert evaluation.outcome is Outcome.UNKNOWN


def test_an_unknown_contract_below_is_no_blocker() -> None:
    assert outcomes(run(make("host.b", FAIL, after=("gpu.api", "gpu.api")))) == [("fail", None)]


def test_what_does_not_apply_is_listed() -> None:
    evaluation = run(make("host.a", FAIL, applies=lambda spec: False), make("host.b", PASS))
    assert evaluation.not_applicable == ("host.a",)
    assert evaluation.outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UnseenError("api:/x", "TimedOut", "late"), "TimedOut"),
        (MalformedError("spec is a text"), "Malformed"),
        (ZeroDivisionError("oh"), "JudgeFault"),
    ],
)
def test_a_judge_that_could_not_see_is_unknown(error: Exception, reason: str) -> None:
    (finding,) = run(make("host.a", error)).findings
    assert (finding.outcome, finding.result.reason) == (Outcome.UNKNOWN, reason)


def test_evidence_is_what_the_judge_looked_at() -> None:
    recording = recording_of({"command:df -Pk": command("x")})
    sight: Sight[str] = see(lambda: recording.command("df -Pk").output)
    missing: Sight[str] = see(lambda: recording.command("lspci").output)

    def judge(spec: Spec, observed: object) -> Result:
        return passed(sight.value)

    def blind(spec: Spec, observed: object) -> Result:
        return passed(missing.value)

    looked = contract("host.a", "looks", reasons=())(judge)
    unseen = contract("host.b", "cannot look", reasons=())(blind)
    stated = make("host.c", passed("x", evidence=("api:/x",)))
    findings = run(looked, unseen, stated).findings
    assert [finding.evidence for finding in findings] == [
        ("command:df -Pk",),
        ("command:lspci",),
        ("api:/x",),
    ]


def test_not_observed_lists_core_reads_that_showed_nothing() -> None:
    recording = recording_of(
        {
            "command:a": command("x"),
            "command:b": command(error="timeout"),
            "file:/c": content("x"),
            "file:/d": content(None, error="not-found"),
            "glob:/e*": {"paths": []},
            "api:/f": answer({}),
            "api:/g": answer(None, status=None, error="tls"),
            "http:ollama:/h": answer({}, status=404),
            "http:ollama:/i": answer({}, status=401),
            "api:/j": 7,
        }
    )
    keys = (*recording.reads, "api:/missing")
    assert run(recording=recording, reads=keys).not_observed == (
        "command:b",
        "file:/d",
        "api:/g",
        "http:ollama:/i",
        "api:/j",
        "api:/missing",
    )
