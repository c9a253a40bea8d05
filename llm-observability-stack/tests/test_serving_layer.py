"""The serving layer as a whole: reads, services, releases, remedies, and damage of any kind."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests import Outcome, Recording, load_layers
from edge_llm_tests.profile import load_profile
from edge_llm_tests.testing import judge, recording_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llm_observability_stack.serving import LAYER, ServingSpec
from llm_observability_stack.serving.spec import GpuPromise, ModelPromise

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
BASE = json.loads((BASES / "rtx-4090-k3s.json").read_text())["reads"]
SPEC = ServingSpec(
    gpu=GpuPromise(count=1),
    models=(ModelPromise("qwen2.5:7b", resident=True), ModelPromise("nomic-embed-text")),
    web_ui=True,
)
LOG = "api:/api/v1/namespaces/llm/pods/ollama-5f7c96b8d4-tz8hk/log?container=ollama&tailLines=200"
WANTED = sorted(
    {
        *LAYER.reads(SPEC, Recording()),
        LOG,
        "command:dmesg --time-format iso",
        "api:/apis/nvidia.com/v1/clusterpolicies",
    }
)


def test_an_empty_recording_is_asked_for_the_core_reads_alone() -> None:
    wanted = LAYER.reads(SPEC, Recording())
    assert "http:ollama:/api/show nomic-embed-text:latest" in wanted
    assert "http:open-webui:/health" in wanted
    assert not any("/log?" in key for key in wanted)
    assert "http:open-webui:/health" not in LAYER.reads(ServingSpec(), Recording())
    assert LAYER.services(SPEC, Recording()) == {}


def test_the_logs_of_ollama_are_asked_for_once_its_pods_are_seen() -> None:
    reads = copy.deepcopy(BASE)
    assert LOG in LAYER.reads(SPEC, recording_of(reads))
    pods = reads["api:/api/v1/pods"]["body"]["items"]
    pod = next(each for each in pods if each["metadata"]["name"].startswith("ollama"))
    pod["status"]["containerStatuses"][0]["restartCount"] = 2
    assert f"{LOG}&previous=true" in LAYER.reads(SPEC, recording_of(reads))
    pod["spec"].pop("nodeName")
    assert not any("/log?" in key for key in LAYER.reads(SPEC, recording_of(reads)))


def test_the_services_are_found_by_what_they_are() -> None:
    found = LAYER.services(SPEC, recording_of(BASE))
    assert {name: (each.namespace, each.name, each.port) for name, each in found.items()} == {
        "ollama": ("llm", "ollama", "11434"),
        "open-webui": ("llm", "open-webui", "80"),
    }


def test_a_release_comes_only_with_values() -> None:
    assert LAYER.releases({}) == ()
    (release,) = LAYER.releases({"serving": {"a": 1}})
    assert (release.name, release.namespace, release.layer) == ("serving", "llm-observability", "serving")
    assert release.chart.name == "edge-serving"


@pytest.mark.parametrize("name", ["rtx-4090", "a100", "dual-4090", "gb10", "geforce-940m", "cpu", "sandbox"])
def test_what_a_profile_promises_is_what_its_chart_is_given(name: str) -> None:
    profile = load_profile(name, load_layers())
    spec: ServingSpec = profile.specs["serving"]
    values = profile.values["serving"]
    given = {each["name"].removesuffix(":latest"): each for each in values["models"]}
    assert {each.name for each in spec.models} == set(given)
    for promise in spec.models:
        model = given[promise.name]
        assert model.get("resident", False) == promise.resident
        if promise.digest:
            assert model["pull"]["digest"] == promise.digest
    assert values["ollama"]["gpu"].get("count", 0) >= spec.gpu.count
    assert (values["ollama"]["gpu"].get("count", 0) > 0) == (spec.gpu.count > 0)
    assert values.get("openWebui", {}).get("enabled", False) == spec.web_ui
    assert "memory" in values["ollama"]["resources"]["limits"]


def test_every_remedy_has_its_page_and_its_words() -> None:
    ids = {contract.id for contract in LAYER.contracts}
    for name, remedy in LAYER.remedies.items():
        assert remedy.do, name
        assert remedy.commands, name
        page = remedy.docs.removeprefix("contracts/").removesuffix(".md")
        assert page in ids or page.startswith("profile."), name


DAMAGE: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        {},
        [],
        "",
        "x",
        7,
        True,
        {"status": 200, "body": "", "error": None},
        {"status": 200, "body": {}, "error": None},
        {"status": 200, "body": "<html></html>", "error": None},
        {"status": 200, "body": {"kind": "PodList", "items": None}, "error": None},
        {"status": 200, "body": {"kind": "PodList", "items": [{}]}, "error": None},
        {"status": 200, "body": {"kind": "PodList", "items": [{"metadata": 1, "spec": []}]}, "error": None},
        {"status": 200, "body": {"models": [{"name": 1}]}, "error": None},
        {"status": 200, "body": {"models": [{"name": "qwen2.5:7b", "size": "big"}]}, "error": None},
        {"status": 403, "body": {"message": "forbidden"}, "error": None},
        {"status": 500, "body": None, "error": None},
        {"status": None, "body": None, "error": "timeout"},
        {"rc": 9, "stdout": "", "stderr": "", "error": None},
    ]
)


def outcomes(reads: dict[str, Any]) -> dict[str, tuple[Outcome, str | None]]:
    found = judge(LAYER, SPEC, Recording(reads=reads, recorded_at="2026-06-15T12:00:00Z"))
    return {key: (each.outcome, each.result.reason) for key, each in found.items()}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damage=st.dictionaries(st.sampled_from(WANTED), DAMAGE, min_size=1, max_size=6))
def test_damaged_reads_break_no_judge(damage: dict[str, Any]) -> None:
    for outcome, reason in outcomes({**BASE, **damage}).values():
        assert reason != "JudgeFault"
        assert outcome in Outcome


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(dropped=st.sets(st.sampled_from(WANTED), min_size=1))
def test_dropped_reads_never_make_a_fault_and_never_pass_what_was_not_seen(dropped: set[str]) -> None:
    found = outcomes({key: read for key, read in BASE.items() if key not in dropped})
    assert not [key for key, (outcome, _) in found.items() if outcome is Outcome.FAIL]
    stands_on = {
        "api:/api/v1/pods": ("serving.workload", "serving.scheduled", "serving.running", "serving.webui"),
        "http:ollama:/api/version": ("serving.answers",),
        "http:ollama:/api/tags": ("model.present",),
        "http:ollama:/api/ps": ("model.loadable", "model.resident"),
        "api:/api/v1/services": ("serving.endpoints",),
        "http:open-webui:/health": ("serving.webui",),
    }
    for key in dropped & set(stands_on):
        for contract in stands_on[key]:
            assert found[contract][0] is not Outcome.PASS, (key, contract)


LEAVES = st.sampled_from([None, "", "x", 0, -1, 2**70, True, [], {}, [None], {"a": None}])


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        found += paths(child, (*path, key))
    return found


PLACES = [
    (key, path)
    for key in WANTED
    if key in BASE and isinstance(BASE[key].get("body"), (dict, list))
    for path in paths(BASE[key]["body"])
    if "ollama" in json.dumps(BASE[key]["body"])[:200000]
]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(places=st.lists(st.tuples(st.sampled_from(PLACES), LEAVES), min_size=1, max_size=3))
def test_retyped_fields_break_no_judge(places: list[tuple[tuple[str, tuple[Any, ...]], Any]]) -> None:
    reads = dict(BASE)
    for (key, path), leaf in places:
        read = reads[key] = copy.deepcopy(reads[key])
        here = read["body"]
        for step in path[:-1]:
            try:
                here = here[step]
            except (KeyError, IndexError, TypeError):
                break
        else:
            if isinstance(here, (dict, list)):
                try:
                    here[path[-1]] = leaf
                except (IndexError, TypeError):
                    continue
    assert not [key for key, (_, reason) in outcomes(reads).items() if reason == "JudgeFault"]


def test_models_of_the_registry_are_named_with_the_digest_of_their_manifest() -> None:
    values = load_profile("geforce-940m", load_layers()).values
    (need,) = LAYER.models(values)
    assert need.name == "qwen2.5:0.5b", "the model that the box's own is made from"
    assert len(need.digest) == 64
    assert LAYER.models(load_profile("sandbox", load_layers()).values) == (), "it comes from a file"


def test_models_can_be_taken_from_a_folder_of_the_node() -> None:
    values = load_profile("cpu", load_layers()).values
    (release,) = LAYER.releases(LAYER.with_models(values, "/var/lib/edge/models"))
    assert release.values["ollama"]["seed"] == "/var/lib/edge/models"
    assert release.values["ollama"]["image"] == values["serving"]["ollama"]["image"]
