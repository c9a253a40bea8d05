"""The profile layer as a whole: reads, remedies, and damage of any kind."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests import Outcome, Recording, load_layers
from edge_llm_tests.profile import load_profile
from edge_llm_tests.testing import judge, recording_of
from gguf_observability.profile import LAYER, ProfileSpec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
BASE = json.loads((BASES / "rtx-4090-k3s.json").read_text())["reads"]
SPEC = ProfileSpec(model="qwen2.5:7b", processor="gpu", context_length=8192, vram_ceiling_mib=8000)
SMI = "command:nvidia-smi -q -x"
LOG = "api:/api/v1/namespaces/llm/pods/ollama-5f7c96b8d4-tz8hk/log?container=ollama&tailLines=200"
WANTED = sorted({*LAYER.reads(SPEC, recording_of(BASE)), "api:/api/v1/nodes", "api:/api/v1/services"})


def test_reads_are_core_reads_first_and_logs_once_pods_are_seen() -> None:
    assert not any("/log?" in key for key in LAYER.reads(SPEC, Recording()))
    assert LOG in LAYER.reads(SPEC, recording_of(BASE))
    assert "http:ollama:/api/show qwen2.5:7b" in LAYER.reads(SPEC, Recording())
    cpu = LAYER.reads(ProfileSpec(processor="cpu"), Recording())
    assert SMI not in cpu
    assert not any("/api/show" in key for key in cpu)


def test_nothing_is_installed() -> None:
    assert LAYER.number is None
    assert LAYER.releases({"profile": {}}) == ()
    assert LAYER.services(SPEC, recording_of(BASE)) == {}


@pytest.mark.parametrize("name", ["rtx-4090", "a100", "dual-4090", "gb10", "geforce-940m", "cpu", "sandbox"])
def test_a_profile_promises_of_the_model_what_serving_promises_of_it(name: str) -> None:
    profile = load_profile(name, load_layers())
    spec: ProfileSpec = profile.specs["profile"]
    assert spec.processor == ("cpu" if name in ("cpu", "sandbox") else "gpu")
    if "serving" in profile.specs:
        assert spec.model in {each.name for each in profile.specs["serving"].models}


def test_every_remedy_has_its_page_and_its_words() -> None:
    ids = {contract.id for contract in LAYER.contracts}
    for name, remedy in LAYER.remedies.items():
        assert remedy.do, name
        assert remedy.commands, name
        assert remedy.docs.removeprefix("contracts/").removesuffix(".md") in ids, name


DAMAGE: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        {},
        [],
        7,
        {"status": 200, "body": "", "error": None},
        {"status": 200, "body": {}, "error": None},
        {"status": 200, "body": {"models": [{"name": "qwen2.5:7b", "size": "big"}]}, "error": None},
        {"status": 200, "body": {"models": [{"name": "qwen2.5:7b", "size": 0}]}, "error": None},
        {"status": 200, "body": {"parameters": 4, "model_info": []}, "error": None},
        {"status": 403, "body": {"message": "forbidden"}, "error": None},
        {"status": None, "body": None, "error": "timeout"},
        {"rc": 0, "stdout": "", "stderr": "", "error": None},
        {"rc": 0, "stdout": "<nvidia_smi_log><gpu/></nvidia_smi_log>", "stderr": "", "error": None},
        {"rc": 9, "stdout": "driver/library mismatch", "stderr": "", "error": None},
        {"rc": None, "stdout": None, "stderr": None, "error": "timeout"},
    ]
)


def outcomes(reads: dict[str, Any]) -> dict[str, tuple[Outcome, str | None]]:
    found = judge(LAYER, SPEC, Recording(reads=reads, recorded_at="2026-06-15T12:00:00Z"))
    return {key: (each.outcome, each.result.reason) for key, each in found.items()}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damage=st.dictionaries(st.sampled_from(WANTED), DAMAGE, min_size=1, max_size=5))
def test_damaged_reads_break_no_judge(damage: dict[str, Any]) -> None:
    assert not [key for key, (_, reason) in outcomes({**BASE, **damage}).items() if reason == "JudgeFault"]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(dropped=st.sets(st.sampled_from(WANTED), min_size=1))
def test_dropped_reads_never_make_a_fault_and_never_pass_what_was_not_seen(dropped: set[str]) -> None:
    found = outcomes({key: read for key, read in BASE.items() if key not in dropped})
    assert not [key for key, (outcome, _) in found.items() if outcome is Outcome.FAIL]
    if "http:ollama:/api/ps" in dropped:
        for contract in ("profile.processor", "profile.context", "profile.vram", "profile.stable"):
            assert found[contract][0] is not Outcome.PASS
    if LOG in dropped:
        assert found["profile.requests"][0] is not Outcome.PASS
    if SMI in dropped:
        assert found["profile.clocks"][0] is not Outcome.PASS
        assert found["profile.vram"][0] is not Outcome.PASS


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(start=st.integers(0, 8000), end=st.integers(0, 8000), junk=st.text(max_size=5))
def test_a_cut_or_garbled_card_breaks_no_judge(start: int, end: int, junk: str) -> None:
    reads = copy.deepcopy(BASE)
    output = reads[SMI]["stdout"]
    reads[SMI]["stdout"] = output[:start] + junk + output[start + end :]
    assert not [key for key, (_, reason) in outcomes(reads).items() if reason == "JudgeFault"]
