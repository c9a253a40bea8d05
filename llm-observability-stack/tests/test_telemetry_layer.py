"""The layer as others use it: what it reads, where it asks, what it installs, what its remedies say."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from edge_llm_tests import Recording
from edge_llm_tests.reads import READ_REASONS
from edge_llm_tests.testing import answer, kubernetes_list, recording_of
from llm_observability_stack.telemetry import LAYER, TelemetrySpec
from llm_observability_stack.telemetry.roles import role_of_name

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
GPU = TelemetrySpec(gpu_exporter=True)
CPU = TelemetrySpec()
Reads = dict[str, Any]
CORE = {
    "http:prometheus:/api/v1/targets?state=any",
    "http:prometheus:/api/v1/rules",
    "http:prometheus:/api/v1/alertmanagers",
    "http:prometheus:/api/v1/query?query=up",
    "http:prometheus:/api/v1/query?query=ALERTS%7Balertstate%3D%22firing%22%7D",
    "http:alertmanager:/api/v2/status",
    "http:alertmanager:/api/v2/alerts",
}
DCGM = {f"http:prometheus:/api/v1/query?query={name}" for name in GPU.gpu_series}


def box(name: str) -> Recording:
    reads: Reads = json.loads((BASES / f"{name}.json").read_text())["reads"]
    return recording_of(reads)


# ---- reads


def test_core_reads_are_wanted_before_anything_is_seen() -> None:
    wanted = set(LAYER.reads(CPU, Recording()))
    assert wanted >= CORE
    assert not wanted & DCGM
    assert set(LAYER.reads(GPU, Recording())) >= CORE | DCGM
    assert not [key for key in wanted if "/log?" in key]


@pytest.mark.parametrize("base", ["rtx-4090-k3s", "rtx-4090-light-k3s", "a100-k3s", "cpu-k3s"])
def test_every_core_read_of_telemetry_is_in_a_whole_recording(base: str) -> None:
    recording = box(base)
    assert [key for key in LAYER.reads(GPU, Recording()) if not recording.has(key)] == []


def test_the_cap_of_prometheus_is_asked_once_prometheus_was_found() -> None:
    key = "http:prometheus:/api/v1/query?query=prometheus_tsdb_retention_limit_bytes"
    assert key not in LAYER.reads(CPU, Recording())
    assert key in LAYER.reads(CPU, box("cpu-k3s"))


def test_logs_of_the_gpu_exporter_are_wanted_once_it_is_found() -> None:
    logs = [key for key in LAYER.reads(GPU, box("rtx-4090-light-k3s")) if "/log?" in key]
    assert logs == [
        "api:/api/v1/namespaces/monitoring/pods/dcgm-exporter-f6k9p/log?container=exporter&tailLines=200"
    ]
    assert not [key for key in LAYER.reads(CPU, box("rtx-4090-light-k3s")) if "/log?" in key]


def test_logs_of_what_is_unwell_are_wanted_with_its_last_run() -> None:
    recording = box("cpu-k3s")
    for pod in recording.reads["api:/api/v1/pods"]["body"]["items"]:
        if pod["metadata"]["name"] == "prometheus-kube-prometheus-stack-prometheus-0":
            pod["status"]["conditions"] = []
            pod["status"]["containerStatuses"][0]["restartCount"] = 3
    path = "api:/api/v1/namespaces/monitoring/pods/prometheus-kube-prometheus-stack-prometheus-0/log"
    assert [key for key in LAYER.reads(CPU, recording) if "/log?" in key] == [
        f"{path}?container=prometheus&tailLines=200",
        f"{path}?container=prometheus&tailLines=200&previous=true",
        f"{path}?container=config-reloader&tailLines=200",
    ]


# ---- services


def test_services_are_found_by_the_pods_behind_them() -> None:
    found = LAYER.services(CPU, box("cpu-k3s"))
    assert {
        name: (each.namespace, each.name, each.port, each.cluster_ip) for name, each in found.items()
    } == {
        "prometheus": ("monitoring", "kube-prometheus-stack-prometheus", "9090", "10.43.77.21"),
        "alertmanager": ("monitoring", "kube-prometheus-stack-alertmanager", "9093", "10.43.77.22"),
    }


def test_nothing_is_located_before_services_were_seen() -> None:
    assert LAYER.services(CPU, Recording()) == {}


def service(
    name: str, *ports: tuple[str, int], ip: str = "10.43.0.9", selector: Any = None
) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "llm-observability"},
        "spec": {
            "clusterIP": ip,
            "selector": selector or {},
            "ports": [{"name": port_name, "port": port} for port_name, port in ports],
        },
    }


def located(*found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    recording = recording_of({"api:/api/v1/services": kubernetes_list(*found, kind="ServiceList")})
    return {name: (each.name, each.port) for name, each in LAYER.services(CPU, recording).items()}


def test_services_are_found_by_name_where_no_pod_was_seen() -> None:
    assert located(service("prometheus", ("web", 9090)), service("alertmanager", ("web", 9093))) == {
        "prometheus": ("prometheus", "9090"),
        "alertmanager": ("alertmanager", "9093"),
    }


def test_a_headless_service_is_the_second_choice() -> None:
    headless = service("prometheus-operated", ("web", 9090), ip="None")
    assert located(headless) == {"prometheus": ("prometheus-operated", "9090")}
    assert located(headless, service("prometheus", ("web", 9090))) == {"prometheus": ("prometheus", "9090")}


def test_another_port_is_taken_by_its_name_or_as_the_first() -> None:
    assert located(service("prometheus-server", ("reloader", 8080), ("http", 80))) == {
        "prometheus": ("prometheus-server", "80")
    }
    assert located(service("prometheus-server", ("x", 80))) == {"prometheus": ("prometheus-server", "80")}
    assert located(service("prometheus-server")) == {"prometheus": ("prometheus-server", "9090")}


def test_a_pod_of_the_same_labels_in_another_namespace_is_not_behind_a_service() -> None:
    pod = {
        "metadata": {"name": "p", "namespace": "other", "labels": {"app": "prom"}},
        "spec": {"containers": [{"name": "p", "image": "quay.io/prometheus/prometheus:v3"}]},
        "status": {"phase": "Running"},
    }
    reads = {
        "api:/api/v1/services": kubernetes_list(service("metrics", ("web", 9090), selector={"app": "prom"})),
        "api:/api/v1/pods": kubernetes_list(pod),
    }
    assert LAYER.services(CPU, recording_of(reads)) == {}
    pod["metadata"]["namespace"] = "llm-observability"  # type: ignore[index]  # a literal of mixed values
    assert LAYER.services(CPU, recording_of(reads))["prometheus"].name == "metrics"


# ---- roles


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("prometheus", "prometheus"),
        ("kube-prometheus-stack-prometheus", "prometheus"),
        ("prometheus-k8s", "prometheus"),
        ("prometheus-server", "prometheus"),
        ("mirrored-prometheus-prometheus", "prometheus"),
        ("kube-prometheus-stack-prometheus-node-exporter", "node-exporter"),
        ("node_exporter", "node-exporter"),
        ("kube-prometheus-stack-operator", "prometheus-operator"),
        ("prometheus-operator", "prometheus-operator"),
        ("prometheus-config-reloader", "config-reloader"),
        ("kube-prometheus-stack-kube-state-metrics", "kube-state-metrics"),
        ("alertmanager-main", "alertmanager"),
        ("grafana-oss", "grafana"),
        ("nvidia-dcgm-exporter", "gpu-exporter"),
        ("nvidia_gpu_exporter", "gpu-exporter"),
        ("edge-exporter", "edge-exporter"),
        ("gpu-operator", None),
        ("grafana-image-renderer", None),
        ("prometheus-blackbox-exporter", None),
        ("ollama", None),
    ],
)
def test_roles_by_name(name: str, role: str | None) -> None:
    assert role_of_name(name) == role


# ---- releases, profiles


def test_the_release_is_there_only_where_the_profile_has_values_for_it() -> None:
    assert LAYER.releases({"serving": {}}) == ()
    (release,) = LAYER.releases({"telemetry": {"mode": "standalone"}})
    assert (release.name, release.namespace, release.layer) == ("telemetry", "llm-observability", "telemetry")
    assert release.values == {"mode": "standalone"}
    assert (release.chart / "Chart.yaml").is_file()


@pytest.mark.parametrize(
    "profile", ["rtx-4090", "a100", "dual-4090", "gb10", "geforce-940m", "cpu", "sandbox"]
)
def test_every_profile_says_what_it_promises_of_telemetry(profile: str) -> None:
    source = files("llm_observability_stack") / "profiles" / f"{profile}.yaml"
    raw = yaml.safe_load(source.read_bytes())["spec"]["telemetry"]
    spec = msgspec.convert(raw, TelemetrySpec)
    assert "edge-llm" in spec.rule_groups
    assert {"edge-exporter", "prometheus"} <= set(spec.targets)
    assert spec.gpu_exporter is (profile in ("rtx-4090", "a100", "dual-4090", "gb10"))
    assert spec.grafana is spec.gpu_exporter


# ---- contracts and remedies


def test_ids_are_of_this_rung_and_each_stands_on_what_comes_before_it() -> None:
    ids = [contract.id for contract in LAYER.contracts]
    assert len(set(ids)) == len(ids)
    assert {contract.rung for contract in LAYER.contracts} == {"telemetry"}
    for place, contract in enumerate(LAYER.contracts):
        own = [each for each in contract.after if each.startswith("telemetry.")]
        assert set(own) <= set(ids[:place]), contract.id
        assert not set(contract.reasons) & set(READ_REASONS), contract.id


def test_every_remedy_says_what_to_do_where_it_is_written_and_how_grave_it_is() -> None:
    ids = {contract.id for contract in LAYER.contracts}
    for name, remedy in LAYER.remedies.items():
        assert remedy.do.strip(), name
        assert remedy.grave in ("outage", "degraded", "note"), name
        page = re.fullmatch(r"contracts/(\S+)\.md", remedy.docs)
        assert page is not None, name
        assert page.group(1) in ids, name
        wanted = set(re.findall(r"\{(\w+)\}", " ".join(remedy.commands)))
        assert wanted <= {"namespace", "pod", "monitor", "workload"}, name


def test_a_crowd_of_pods_is_walked_once_and_quickly() -> None:
    crowd = [
        {
            "metadata": {"name": f"p{number}", "namespace": "n", "labels": {"app": "x"}},
            "spec": {
                "containers": [
                    {"name": "c", "image": "registry.example/app:1", "resources": {"limits": {"cpu": "1"}}}
                ]
            },
            "status": {"phase": "Running"},
        }
        for number in range(2000)
    ]
    recording = recording_of({"api:/api/v1/pods": kubernetes_list(*crowd, kind="PodList")})
    observed = LAYER.observe(CPU, recording)
    assert observed.cast.value.by_role == {}
    assert observed.cast is LAYER.observe(GPU, recording).cast


def test_an_api_without_the_operators_group_answers_with_none() -> None:
    reads = {
        "api:/apis/monitoring.coreos.com/v1/servicemonitors": answer("404 page not found", status=404),
        "api:/apis/monitoring.coreos.com/v1/prometheuses": answer(None, status=403),
    }
    observed = LAYER.observe(CPU, recording_of(reads))
    assert observed.monitors.value == ()
    assert not observed.prometheuses.seen
