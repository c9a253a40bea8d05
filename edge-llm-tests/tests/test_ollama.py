"""Ollama as the layers share it: names, answers, whose container it is, its log."""

from datetime import UTC, datetime
from typing import Any

import pytest
from edge_llm_tests.objects import Container
from edge_llm_tests.ollama import (
    canonical,
    current_log,
    engine_libraries,
    installations,
    loaded_models,
    loads,
    log_lines,
    present_models,
    standing_failure,
    version,
)
from edge_llm_tests.ollama.installation import selects, serves
from edge_llm_tests.testing import answer, kubernetes_list, recording_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nomic-embed-text", "nomic-embed-text:latest"),
        ("qwen2.5:7b", "qwen2.5:7b"),
        ("registry.ollama.ai/library/qwen2.5:7b", "qwen2.5:7b"),
        ("hf.co/bartowski/Model-GGUF:Q4_K_M", "hf.co/bartowski/Model-GGUF:Q4_K_M"),
        ("localhost:5000/team/model", "localhost:5000/team/model:latest"),
    ],
)
def test_canonical_names(name: str, expected: str) -> None:
    assert canonical(name) == expected


def test_answers_are_typed() -> None:
    recording = recording_of(
        {
            "http:ollama:/api/version": answer({"version": "0.33.0"}),
            "http:ollama:/api/tags": answer({"models": [{"model": "a", "digest": "sha256:00", "size": 5.0}]}),
            "http:ollama:/api/ps": answer(
                {
                    "models": [
                        {"name": "a", "size": 5, "size_vram": 0, "expires_at": "2026-06-15T12:05:00+02:00"}
                    ]
                }
            ),
        }
    )
    assert recording.view(version).value == "0.33.0"
    (present,) = recording.view(present_models).value
    assert (present.name, present.digest, present.size_bytes) == ("a:latest", "00", 5)
    (loaded,) = recording.view(loaded_models).value
    assert (loaded.vram_bytes, loaded.context_length) == (0, None)
    assert loaded.expires_at == datetime(2026, 6, 15, 10, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "models", [[{"name": "a"}], [{"size": 1}], [{"name": "a", "size": True}], [1], {"a": 1}, "a"]
)
def test_a_loaded_model_without_name_or_size_is_damage(models: object) -> None:
    sight = recording_of({"http:ollama:/api/ps": answer({"models": models})}).view(loaded_models)
    assert sight.unseen is not None
    assert sight.unseen.reason == "Malformed"


def container(image: str, **more: Any) -> Container:
    return Container({"name": "x", "image": image, **more}, {})


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"image": "docker.io/ollama/ollama:0.33.0"}, True),
        ({"image": "ollama/ollama@sha256:00", "args": ["serve"]}, True),
        ({"image": "registry:5000/x/ollama-cuda", "command": ["sh", "-c", "ollama serve & wait"]}, True),
        ({"image": "ghcr.io/acme/llm:1", "ports": [{"containerPort": 11434}]}, True),
        ({"image": "ollama/ollama", "command": ["ollama", "pull", "a"]}, False),
        ({"image": "ollama/ollama", "command": ["bash", "/opt/edge/residency.sh"]}, False),
        ({"image": "ghcr.io/x/ollama-exporter:1"}, False),
        ({"image": "ghcr.io/open-webui/open-webui:ollama"}, False),
        ({"image": "docker.io/library/nginx:1", "ports": [{"containerPort": 11434}]}, False),
        ({"image": "ghcr.io/acme/llm:1", "ports": [{"containerPort": 8000}]}, False),
        ({"image": "ollama/ollama", "command": ["bash", "/opt/edge/residency.sh", "/opt/edge/plan"]}, False),
        ({"image": "ollama/ollama", "command": ["sh", "-c", "sleep 9 # serve nobody"]}, False),
        ({"image": "ollama/ollama", "command": ["sh", "-c", "/bin/ollama serve & wait"]}, True),
    ],
)
def test_whose_container_it_is(raw: dict[str, Any], expected: bool) -> None:
    assert serves(Container({"name": "x", **raw}, {})) is expected
    assert not serves(Container({"name": "x", **raw}, {}, init=True))


def test_an_empty_selector_selects_nothing() -> None:
    assert not selects({}, {"a": "b"})
    assert selects({"a": "b"}, {"a": "b", "c": "d"})
    assert not selects({"a": "b"}, {})


def pod(name: str, namespace: str, owner: tuple[str, str] | None = None, **status: Any) -> dict[str, Any]:
    owners = [{"kind": owner[0], "name": owner[1], "controller": True}] if owner else []
    return {
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": owners},
        "spec": {"containers": [{"name": "ollama", "image": "ollama/ollama:0.33.0"}]},
        "status": status,
    }


def test_pods_without_a_known_workload_are_gathered_by_their_owner() -> None:
    recording = recording_of(
        {
            "api:/api/v1/pods": kubernetes_list(
                pod("llm-0", "ai", ("StatefulSet", "llm")),
                pod("llm-1", "ai", ("StatefulSet", "llm")),
                pod("pull-x", "ai", ("Job", "pull")),
                pod("ollama", "llm-observability"),
            )
        }
    )
    found = recording.view(installations).value
    assert {each.path: len(each.pods) for each in found} == {"llm-observability/ollama": 1, "ai/llm": 2}
    assert [each.reference for each in found] == ["pod/ollama", "statefulset/llm"]


def test_there_is_no_log_where_nothing_runs() -> None:
    sight = recording_of({"api:/api/v1/pods": kubernetes_list(pod("a", "b"))}).view(current_log)
    assert sight.unseen is not None
    assert sight.unseen.reason == "Unavailable"


LOG = """\
time=2026-06-15T09:00:00.500Z level=INFO source=runner.go:67 msg="discovering available GPUs..."
time=2026-06-15T09:00:01Z level=INFO source=types.go:42 msg="inference compute" id=GPU-1 library=CUDA
time=2026-06-15T09:01:00Z level=INFO source=s.go:1 msg="starting llama-server" cmd="x --model /m/a -c 4096"
load_tensors: offloaded 29/29 layers to GPU
time=2026-06-15T09:01:02Z level=INFO source=s.go:1 msg="llama runner started in 2.41 seconds"
[GIN] 2026/06/15 - 09:01:03 | 200 |  1.912371221s |      10.42.0.21 | POST     "/api/chat"
time=yesterday level=INFO source=s.go:1 msg=plain
time=2026-06-15T09:02:00Z level=INFO source=s.go:1 msg="reloading runner" model=a num_ctx=2048
"""


def test_a_log_tells_loads_requests_and_libraries() -> None:
    lines = log_lines(LOG)
    first, second = loads(lines)
    assert (first.context, first.model, first.finished, first.offloaded) == (4096, "/m/a", True, (29, 29))
    assert (second.context, second.model, second.finished) == (2048, "a", False)
    assert second.at == datetime(2026, 6, 15, 9, 2, tzinfo=UTC)
    (request,) = [line for line in lines if line.status is not None]
    assert (request.status, request.path) == (200, "/api/chat")
    assert request.at == datetime(2026, 6, 15, 9, 1, 3, tzinfo=UTC)
    assert engine_libraries(lines) == {"cuda"}
    assert [line.at for line in lines if line.message == "plain"] == [None]
    assert standing_failure(lines) is None


def test_the_last_start_of_the_engine_counts() -> None:
    again = LOG + LOG.replace("library=CUDA", "library=cpu")
    assert engine_libraries(log_lines(again)) == {"cpu"}
    assert engine_libraries(log_lines("")) == frozenset()
