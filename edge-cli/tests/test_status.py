"""`edge status`: the ladder in lines, gates, workloads."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from edge_llm_tests import Recording

Edge = Callable[..., tuple[int, str, str]]


def workloads(kind: str, *items: dict[str, Any]) -> dict[str, Any]:
    return {"status": 200, "body": {"kind": f"{kind}List", "items": list(items)}, "error": None}


def workload(name: str, status: dict[str, int], manager: str = "Helm") -> dict[str, Any]:
    labels = {"app.kubernetes.io/managed-by": manager, "helm.sh/chart": "edge-serving-0.1.0"}
    return {
        "metadata": {"name": name, "namespace": "llm-observability", "labels": labels},
        "spec": {"replicas": 1},
        "status": status,
    }


@pytest.fixture
def status(
    edge: Edge,
    bench: SimpleNamespace,
    seen: Callable[..., Recording],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.setattr("edge_cli.tree.load_tree", lambda: bench.tree)

    def run(odd: Any = None, **fields: Any) -> tuple[int, str, str]:
        seen(odd, **fields).save(tmp_path / "recording.json")
        return edge("status", "--from", tmp_path / "recording.json")

    return run


def test_a_sound_box(status: Edge) -> None:
    code, out, err = status(simulated=True)
    assert (code, err) == (0, "")
    assert "SIMULATED" in out.splitlines()[0]
    assert out.count(" holds ") == 6
    assert out.count("open") == 4
    assert out.endswith("Every required contract holds.\n")


def test_a_broken_one_shows_gates_and_what_is_to_be_fixed(status: Edge) -> None:
    code, out, _ = status(
        {"gpu.offered": "Missing", "gpu.api": None, "host.driver": None, "serving.running": None}
    )
    assert code == 3
    assert "gate of gpu        closed by host.driver, gpu.api\n" in out
    assert "gate of telemetry  closed by host.driver, gpu.api, gpu.offered and 1 more\n" in out
    assert "Fix first: gpu, owner k3s-nvidia-edge: gpu.offered Missing\n`edge diagnose` says how.\n" in out


def test_workloads_are_those_that_helm_installed(status: Edge) -> None:
    reads = {
        "api:/apis/apps/v1/deployments": workloads(
            "Deployment", workload("ollama", {"readyReplicas": 1}), workload("other", {}, manager="me")
        ),
        "api:/apis/apps/v1/daemonsets": workloads(
            "DaemonSet", workload("device-plugin", {"desiredNumberScheduled": 2, "numberReady": 1})
        ),
    }
    out = status(reads=reads)[1]
    assert "deployment llm-observability/ollama  1/1 ready  edge-serving-0.1.0\n" in out
    assert "daemonset  llm-observability/device-plugin  1/2 ready  edge-serving-0.1.0\n" in out
    assert "other" not in out
