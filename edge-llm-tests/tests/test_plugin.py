"""The plugin, on made-up layers: what is red, what is apart, and that nothing is skipped."""

import json
from pathlib import Path

import pytest

CONFTEST = """
import msgspec
import pytest
from edge_llm_tests import layer as module
from edge_llm_tests import profile
from edge_llm_tests.contract import contract, failed, passed, unknown
from edge_llm_tests.layer import Layer


class Spec(msgspec.Struct, frozen=True):
    pass


def make(id_, result, **options):
    return contract(id_, "holds", reasons=("Broken",), **options)(lambda spec, observed: result)


CONTRACTS = (
    make("gpu.api", passed("v1.35.4")),
    make("gpu.allocatable", failed("Broken", "0 x nvidia.com/gpu")),
    make("gpu.sandboxes", failed("Broken", "none starts"), after=("gpu.allocatable",)),
    make("gpu.clock", failed("Broken", "drifts"), required=False),
    make("gpu.storage", unknown("Broken", "not\\n read\\x1b[2J")),
    make("gpu.mig", passed("no"), applies=lambda spec: False),
)
OBSERVE = lambda spec, recording: None
LAYER = Layer("gpu", 1, "k3s-nvidia-edge", ("gpu",), Spec, OBSERVE, CONTRACTS, "edge_llm_tests")


class Point:
    def load(self):
        return LAYER


module.extensions = lambda group: [Point()]
"""

TEST = """
from edge_llm_tests.plugin import hold


def test_contract(finding):
    hold(finding)
"""

RECORDING = '{"schema": "edge.evidence/v1", "target": {"profile": "./own.yaml"}, "reads": {}}'


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TEST)
    (pytester.path / "box.json").write_text(RECORDING)
    (pytester.path / "own.yaml").write_text("spec: {}\n")
    return pytester


def run(suite: pytest.Pytester, *args: str) -> pytest.RunResult:
    return suite.runpytest_subprocess("-p", "no:cacheprovider", "-ra", *args)


def test_broken_contracts_are_one_line_each_and_consequences_stand_apart(suite: pytest.Pytester) -> None:
    result = run(suite, "--evidence", "box.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*contracts that do not hold*",
            "fail *gpu.allocatable Broken: 0 x nvidia.com/gpu (owner: k3s-nvidia-edge)",
            "unknown *gpu.storage Broken: not read [[]2J (owner: k3s-nvidia-edge)",
            "blocked *gpu.sandboxes by gpu.allocatable Broken: none starts (owner: k3s-nvidia-edge)",
            "advisory gpu.clock Broken: drifts (owner: k3s-nvidia-edge)",
            "*2 failed, 1 passed, 1 xfailed, 1 blocked*",
        ]
    )
    assert len([line for line in result.outlines if line.startswith("FAILED")]) == 2
    assert "skipped" not in result.stdout.str()
    assert "gpu.mig" not in result.stdout.str()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--evidence", "absent.json"), "*absent.json: No such file*"),
        (("--evidence", "box.json", "--profile", "rtx-4091"), "*unknown profile `rtx-4091`*"),
        (("--kubeconfig", "absent", "--profile", "./own.yaml"), "*kubeconfig absent: No such file*"),
        (("--sandbox",), "*sandbox is not running*"),
        (("--evidence", "box.json", "--sandbox"), "*--evidence and --sandbox exclude each other*"),
        (("--evidence", "box.json", "--host", "ssh://b"), "*--evidence and --host exclude each other*"),
    ],
)
def test_no_target_is_red_not_skipped(
    suite: pytest.Pytester, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    result = run(suite, *args)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*contracts that do not hold*", said, "*1 failed*"])


def test_every_host_of_a_recording_is_judged(suite: pytest.Pytester) -> None:
    whole = json.loads(RECORDING) | {"nodes": {"box-b": {}}}
    (suite.path / "box.json").write_text(json.dumps(whole))
    result = run(suite, "--evidence", "box.json", "-v")
    result.stdout.fnmatch_lines(
        [
            "*test_contract[[]this host: gpu.api[]] PASSED*",
            "*test_contract[[]box-b: gpu.allocatable[]] FAILED*",
            "fail *gpu.allocatable Broken: box-b: 0 x nvidia.com/gpu (owner: k3s-nvidia-edge)",
            "*4 failed, 2 passed, 2 xfailed, 2 blocked*",
        ]
    )


def test_a_host_that_cannot_be_entered_is_one_red_item(suite: pytest.Pytester) -> None:
    result = run(suite, "--host", "ssh://127.0.0.1:1", "--profile", "./own.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ssh://127.0.0.1:1: connection refused*"])
