"""What an ascent came to: exit code, the route, what was kept out, and what to try next."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edge_cli.ascent import Act, Ascent, End, Look, Return
from edge_cli.conclusion import Conclusion
from edge_cli.patience import Limits
from edge_cli.render import Output
from edge_cli.render.ascent import render
from edge_cli.terminal import Page
from edge_cli.tree import Tree
from edge_llm_tests.errors import ExitCode
from edge_llm_tests.evaluate import evaluate
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer, Release, ServiceAddress
from edge_llm_tests.profile import Profile
from msgspec.structs import replace

RELEASE = Release("ollama", "llm-space", "serving", Path(), {})
Concluding = Callable[..., Conclusion]


@pytest.fixture
def concluded(
    layers: tuple[Layer, ...],
    tree: Tree,
    profile: Profile,
    seen: Callable[..., Recording],
    monkeypatch: pytest.MonkeyPatch,
) -> Concluding:
    monkeypatch.setattr("edge_cli.conclusion.load_tree", lambda: tree)

    def conclusion(end: End, at: int | None, odd: dict[str, Any] | None = None, **more: Any) -> Conclusion:
        recording = seen(odd, reads=more.pop("reads", {}))
        look = Look(recording, evaluate(layers, profile, recording))
        acts = more.pop("acts", (Act(RELEASE, "installed", 1, 0.4),))
        kept_out = more.pop("kept_out", ())
        ascent = Ascent(end, None if at is None else layers[at], look, acts, kept_out, 1.0, Limits())
        return Conclusion(ascent, more.pop("layers", layers), profile, Path("/kube.conf"), **more)

    return conclusion


def text(conclusion: Conclusion) -> str:
    return render(conclusion, Output.TABLE, Page())


def test_what_holds_is_listed_contract_by_contract_with_what_to_try(concluded: Concluding) -> None:
    conclusion = concluded(End.HOLDS, None)
    assert conclusion.exit_code is ExitCode.OK
    shown = text(conclusion)
    for contract in ("host.driver", "gpu.offered", "model.loaded", "telemetry.targets", "profile.processor"):
        assert contract in shown
    assert "installed   ollama in llm-space, revision 1 (0.4 s)" in shown
    assert "export KUBECONFIG=/kube.conf" in shown
    assert "edge diagnose --kubeconfig /kube.conf --profile bench" in shown
    assert "edge down --kubeconfig /kube.conf" in shown


def test_the_sandbox_is_found_without_a_kubeconfig(concluded: Concluding) -> None:
    commands = [command for _, command in concluded(End.HOLDS, None, sandbox=True).next_commands]
    assert "edge diagnose" in commands
    assert "edge sandbox down" in commands


def test_in_the_sandbox_something_may_be_broken(concluded: Concluding, layers: tuple[Layer, ...]) -> None:
    address = ServiceAddress("llm-space", "ollama", "11434", "10.43.0.7")
    serving = replace(layers[2], services=lambda _spec, _recording: {"ollama": address})
    with_ollama = (*layers[:2], serving, *layers[3:])
    offered = dict(concluded(End.HOLDS, None, sandbox=True, layers=with_ollama).next_commands)
    assert offered["break something, and be told whose fault it is"] == (
        "edge sandbox shell -- kubectl -n llm-space scale deployment ollama --replicas=0; edge diagnose"
    )
    assert offered["heal it"] == "edge up --sandbox"
    assert not any("--replicas" in command for _, command in concluded(End.HOLDS, None).next_commands)


def test_a_run_that_changed_nothing_says_so(concluded: Concluding) -> None:
    assert "Nothing had to be changed." in text(
        concluded(End.HOLDS, None, acts=(Act(RELEASE, "unchanged", 3),))
    )


def test_a_completion_is_offered_where_a_model_is_loaded(
    concluded: Concluding, layers: tuple[Layer, ...]
) -> None:
    address = ServiceAddress("llm-space", "ollama", "11434", "10.43.0.7")
    serving = replace(layers[2], services=lambda _spec, _recording: {"ollama": address})
    ps = {"http:ollama:/api/ps": {"status": 200, "body": {"models": [{"name": "smollm2:135m"}]}}}
    conclusion = concluded(End.HOLDS, None, reads=ps, layers=(*layers[:2], serving, *layers[3:]))
    prompt = dict(conclusion.next_commands)["ask the model something"]
    assert prompt.startswith("curl -s http://10.43.0.7:11434/api/generate -d '")
    assert '"model": "smollm2:135m"' in prompt


@pytest.mark.parametrize(
    ("ip", "reads"),
    [
        ("", {"http:ollama:/api/ps": {"status": 200, "body": {"models": [{"name": "m"}]}}}),
        ("10.43.0.7", {"http:ollama:/api/ps": {"status": 200, "body": {"models": []}}}),
        ("10.43.0.7", {"http:ollama:/api/ps": {"status": 200, "body": {"models": ["m"]}}}),
        ("10.43.0.7", {"http:ollama:/api/ps": {"status": None, "body": None, "error": "timeout"}}),
        ("10.43.0.7", {}),
    ],
)
def test_no_completion_is_offered_that_would_not_work(
    concluded: Concluding, layers: tuple[Layer, ...], ip: str, reads: dict[str, Any]
) -> None:
    address = ServiceAddress("llm-space", "ollama", "11434", ip)
    serving = replace(layers[2], services=lambda _spec, _recording: {"ollama": address})
    conclusion = concluded(End.HOLDS, None, reads=reads, layers=(*layers[:2], serving, *layers[3:]))
    assert "curl" not in text(conclusion)


@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        (End.CLOSED, ExitCode.CONTRACT, "The gate of layer gpu is closed."),
        (End.TERMINAL, ExitCode.CONTRACT, "waiting does not mend this"),
        (End.STALLED, ExitCode.CONTRACT, "nothing moves any more"),
        (End.TIMED_OUT, ExitCode.TIMEOUT, "did not hold within 10 min"),
    ],
)
def test_a_stop_names_the_route_and_what_was_kept_out(
    concluded: Concluding, end: End, code: ExitCode, words: str
) -> None:
    conclusion = concluded(end, 1, {"gpu.offered": "Broken"}, kept_out=(RELEASE,))
    assert conclusion.exit_code is code
    shown = text(conclusion)
    assert "Fix first: gpu (layer 1), owner k3s-nvidia-edge" in shown
    assert "Broken" in shown
    assert "Repair" in shown
    assert words in shown
    assert "not installed: ollama (layer serving)" in shown
    assert "Try next" not in shown


def test_what_was_not_installed_yet_is_no_fault(concluded: Concluding) -> None:
    conclusion = concluded(End.CLOSED, 1, {"gpu.api": "Broken", "telemetry.crds": "Broken"})
    assert "telemetry" not in text(conclusion)
    assert conclusion.report.verdict.also == ()


def test_a_cause_above_is_named_although_its_layer_was_not_reached(concluded: Concluding) -> None:
    conclusion = concluded(End.TERMINAL, 1, {"gpu.offered": "Broken", "telemetry.crds": "Missing"})
    route = conclusion.report.verdict.route
    assert route is not None
    assert route.finding.contract.id == "telemetry.crds"


@pytest.mark.parametrize(
    ("read", "code"),
    [
        ({"status": None, "body": None, "error": "unreachable"}, ExitCode.UNREACHABLE),
        ({"status": 401, "body": {}, "error": None}, ExitCode.UNAUTHORISED),
    ],
)
def test_a_cluster_that_does_not_answer_has_its_own_exit_code(
    concluded: Concluding, read: dict[str, Any], code: ExitCode
) -> None:
    conclusion = concluded(End.TIMED_OUT, 1, {"gpu.api": None}, reads={"api:/api/v1/nodes": read})
    assert conclusion.exit_code is code


def test_other_formats_are_those_of_a_diagnosis(concluded: Concluding) -> None:
    assert render(concluded(End.HOLDS, None), Output.JSON, Page()).startswith("{")


def _returned(
    conclusion: Conclusion, odd: dict[str, Any] | None, seen: Callable[..., Recording]
) -> Conclusion:
    recording = seen(odd, reads={})
    look = Look(recording, evaluate(conclusion.layers, conclusion.profile, recording))
    end = End.STALLED if odd else End.HOLDS
    return replace(conclusion, back=Return((Act(RELEASE, "rolled back", 3, 0.2),), end, look))


def test_a_rollback_is_told_with_what_the_contracts_say_before_and_after(
    concluded: Concluding, seen: Callable[..., Recording]
) -> None:
    odd = {"model.loaded": "Missing"}
    upgraded = concluded(End.STALLED, 2, odd, acts=(Act(RELEASE, "upgraded", 2),))
    assert "--rollback" in text(upgraded)
    healed = _returned(upgraded, None, seen)
    shown = text(healed)
    assert healed.exit_code is ExitCode.CONTRACT
    assert "model.loaded" in shown
    assert "rolled back ollama in llm-space, revision 3 (0.2 s)" in shown
    assert "the contracts of layer serving hold again" in shown
    assert "--rollback" not in shown
    worse = text(_returned(upgraded, {"gpu.offered": "Broken"}, seen))
    assert "does not hold then either" in worse
    assert worse.index("model.loaded") < worse.index("gpu.offered")
