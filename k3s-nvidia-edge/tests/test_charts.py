"""The Layer 1 chart as the real helm renders it, for each profile."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
import yaml

PACKAGE = "k3s_nvidia_edge"
CHART, RELEASE, NAMESPACE = "k3s-nvidia-edge", "gpu", "gpu-operator"
PROFILES = ("rtx-4090", "a100", "dual-4090", "gb10", "geforce-940m", "cpu", "sandbox")
WITH_CARD = ("rtx-4090", "a100", "dual-4090", "gb10", "geforce-940m")
READER = "edge-contract-reader"

Document = dict[str, Any]


@cache
def helm() -> str:
    """The helm on PATH, else the one that the sandbox's build made."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    built = sorted((home / "edge" / "sandbox").glob("helm-*/helm"), key=lambda each: each.stat().st_mtime)
    found = shutil.which("helm") or (str(built[-1]) if built else None)
    if found is None:
        pytest.fail(
            "no helm: put Helm 4 on PATH, or build it with `python -m k3s_nvidia_edge.sandbox.build helm`",
            pytrace=False,
        )
    return found


@cache
def chart() -> Path:
    with as_file(files(PACKAGE) / "charts" / CHART) as folder:
        return folder


@cache
def profile(name: str) -> Mapping[str, Any]:
    document = yaml.safe_load((files(PACKAGE) / "profiles" / f"{name}.yaml").read_text("utf-8"))
    found: Mapping[str, Any] = document["values"][RELEASE]
    return found


def run_helm(values: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            helm(),
            "template",
            RELEASE,
            chart(),
            "--namespace",
            NAMESPACE,
            "--kube-version",
            "1.35.4",
            "--values",
            "-",
        ],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@cache
def rendered(values_json: str) -> tuple[Document, ...]:
    done = run_helm(json.loads(values_json))
    assert done.returncode == 0, done.stderr
    return tuple(each for each in yaml.safe_load_all(done.stdout) if each)


def render(values: Mapping[str, Any]) -> tuple[Document, ...]:
    return rendered(json.dumps(values))


def refusal(values: Mapping[str, Any]) -> str:
    done = run_helm(values)
    assert done.returncode != 0, "helm took values that it had to refuse"
    return done.stderr


def one(documents: tuple[Document, ...], kind: str, name: str | None = None) -> Document:
    found = [each for each in documents if each["kind"] == kind and name in (None, each["metadata"]["name"])]
    assert len(found) == 1, f"{len(found)} x {kind} {name or ''}"
    return found[0]


def schemas(node: object, path: str = "$") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every schema of an object in it, with its path."""
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield path, node
        for key, inner in node.items():
            yield from schemas(inner, f"{path}.{key}")
    elif isinstance(node, list):
        for index, inner in enumerate(node):
            yield from schemas(inner, f"{path}[{index}]")


def test_the_schema_is_closed() -> None:
    for path, schema in schemas(json.loads((chart() / "values.schema.json").read_text("utf-8"))):
        mapping = isinstance(schema.get("additionalProperties"), dict) or schema.get("maxProperties") == 0
        assert schema.get("additionalProperties") is False or mapping, path


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"devicePlugin": {"enabeld": True}}, "enabeld"),
        ({"runtimeclass": {}}, "runtimeclass"),
        ({"devicePlugin": {"image": {"tag": "latest"}}}, "/devicePlugin/image/tag"),
        ({"devicePlugin": {"image": {"digest": "sha256:123"}}}, "/devicePlugin/image/digest"),
        ({"devicePlugin": {"resources": {"limits": {"memory": None}}}}, "memory"),
        ({"runtimeClass": {"create": "yes"}}, "/runtimeClass/create"),
        ({"reader": {"services": [{"name": "ollama"}]}}, "ports"),
        ({"devicePlugin": {"faultDirectory": "/run/edge"}}, "SIMULATED"),
    ],
)
def test_a_wrong_value_is_refused_by_name(values: Mapping[str, Any], named: str) -> None:
    assert named in refusal(values)


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_renders_and_holds_no_application(name: str) -> None:
    allowed = {
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "RuntimeClass",
        "DaemonSet",
        "NetworkPolicy",
    }
    documents = render(profile(name))
    assert {each["kind"] for each in documents} <= allowed
    images = [
        container["image"]
        for each in documents
        if each["kind"] == "DaemonSet"
        for container in each["spec"]["template"]["spec"]["containers"]
    ]
    assert all("device-plugin" in image for image in images)


@pytest.mark.parametrize("name", PROFILES)
def test_every_object_says_whose_it_is(name: str) -> None:
    for document in render(profile(name)):
        templates = [document["spec"]["template"]] if document["kind"] == "DaemonSet" else []
        for labelled in (document, *templates):
            labels = labelled["metadata"]["labels"]
            assert labels["app.kubernetes.io/part-of"] == "edge"
            assert labels["app.kubernetes.io/instance"] == RELEASE
            assert labels["app.kubernetes.io/name"]
            assert labels["edge.internal/owner"] == "k3s-nvidia-edge"
            assert labels["edge.internal/layer"] == "gpu"
        assert document["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
        clustered = document["kind"] in {"ClusterRole", "ClusterRoleBinding", "RuntimeClass"}
        assert document["metadata"].get("namespace") == (None if clustered else NAMESPACE)


@pytest.mark.parametrize("name", [*WITH_CARD, "sandbox"])
def test_the_device_plugin_has_root_and_nothing_else(name: str) -> None:
    documents = render(profile(name))
    pod = one(documents, "DaemonSet")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        assert container["resources"]["limits"]["memory"]
        assert container["image"].rpartition(":")[2] not in {"", "latest"}
    assert not one(documents, "ServiceAccount", "edge-contract-reader")["automountServiceAccountToken"]
    policy = one(documents, "NetworkPolicy")["spec"]
    assert policy == {
        "podSelector": {"matchLabels": one(documents, "DaemonSet")["spec"]["selector"]["matchLabels"]},
        "policyTypes": ["Ingress", "Egress"],
    }


@pytest.mark.parametrize("name", WITH_CARD)
def test_nvidias_plugin_sees_the_driver_and_comes_back_after_its_repair(name: str) -> None:
    daemonset = one(render(profile(name)), "DaemonSet", "nvidia-device-plugin")
    pod = daemonset["spec"]["template"]["spec"]
    assert pod["runtimeClassName"] == "nvidia"
    env = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
    assert env["FAIL_ON_INIT_ERROR"] == "true"
    assert env["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert "edge.internal/simulated" not in daemonset["metadata"]["labels"]


def test_the_simulated_plugin_says_so_and_needs_no_runtime() -> None:
    daemonset = one(render(profile("sandbox")), "DaemonSet")
    assert daemonset["metadata"]["name"] == "simulated-device-plugin"
    assert daemonset["metadata"]["labels"]["edge.internal/simulated"] == "true"
    pod = daemonset["spec"]["template"]["spec"]
    assert "runtimeClassName" not in pod
    assert pod["containers"][0]["image"] == "localhost/edge/simulated-device-plugin:1"
    assert pod["containers"][0]["imagePullPolicy"] == "Never"


def test_with_mig_the_plugin_may_look_at_the_slices() -> None:
    pod = one(render({"devicePlugin": {"migStrategy": "single"}}), "DaemonSet")["spec"]["template"]["spec"]
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["SYS_ADMIN"]}
    env = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
    assert env["NVIDIA_MIG_MONITOR_DEVICES"] == "all"


def test_a_machine_without_a_card_gets_the_reader_only() -> None:
    assert {(each["kind"], each["metadata"]["name"]) for each in render(profile("cpu"))} == {
        ("ServiceAccount", READER),
        ("ClusterRole", READER),
        ("ClusterRoleBinding", READER),
    }


def test_with_nvidia_s_operator_it_makes_the_counters_and_no_plugin_of_its_own() -> None:
    documents = render(profile("a100-operator"))
    counters = one(documents, "ConfigMap", "dcgm-counters")
    assert "DCGM_FI_DEV_XID_ERRORS" in counters["data"]["dcgm-metrics.csv"], "the key that the operator wants"
    assert not [each for each in documents if each["kind"] in ("DaemonSet", "RuntimeClass")]
    one(documents, "ClusterRole", "edge-contract-reader")
    assert not [each for each in render(profile("a100")) if each["kind"] == "ConfigMap"]


def test_a_digest_pins_the_image() -> None:
    digest = "sha256:" + "0" * 64
    pod = one(render({"devicePlugin": {"image": {"digest": digest}}}), "DaemonSet")["spec"]["template"][
        "spec"
    ]
    assert pod["containers"][0]["image"] == f"nvcr.io/nvidia/k8s-device-plugin:v0.20.0@{digest}"


@pytest.mark.parametrize(("create", "made"), [("auto", 1), ("always", 1), ("never", 0)])
def test_the_runtime_class(create: str, made: int) -> None:
    documents = render({"runtimeClass": {"create": create}})
    assert sum(each["kind"] == "RuntimeClass" for each in documents) == made


def test_the_reader_may_read_what_a_recording_needs_and_nothing_else() -> None:
    rules = one(render(profile("sandbox")), "ClusterRole", READER)["rules"]
    resources = {
        (group, resource): tuple(rule["verbs"])
        for rule in rules
        if "resourceNames" not in rule
        for group in rule.get("apiGroups", ())
        for resource in rule["resources"]
    }
    assert set(resources.values()) == {("get", "list", "watch")}
    assert resources.keys() == {
        ("", "nodes"),
        ("", "pods"),
        ("", "pods/log"),
        ("", "events"),
        ("", "services"),
        ("", "persistentvolumeclaims"),
        ("apps", "deployments"),
        ("apps", "replicasets"),
        ("apps", "daemonsets"),
        ("node.k8s.io", "runtimeclasses"),
        ("discovery.k8s.io", "endpointslices"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("nvidia.com", "clusterpolicies"),
        ("monitoring.coreos.com", "servicemonitors"),
        ("monitoring.coreos.com", "prometheuses"),
    }
    assert [rule for rule in rules if "nonResourceURLs" in rule] == [
        {"nonResourceURLs": ["/version", "/readyz"], "verbs": ["get"]}
    ]


def test_the_reader_may_ask_the_named_services_through_the_proxy() -> None:
    rules = one(render(profile("sandbox")), "ClusterRole", READER)["rules"]
    (proxy,) = [rule for rule in rules if "resourceNames" in rule]
    assert (proxy["resources"], proxy["verbs"]) == (["services/proxy"], ["get"])
    names = set(proxy["resourceNames"])
    assert {
        "ollama:11434",
        "open-webui:80",
        "open-webui:8080",
        "prometheus:9090",
        "alertmanager:9093",
    } <= names


def test_a_service_with_tls_is_named_with_its_scheme() -> None:
    service = {"name": "gateway", "ports": [8443], "scheme": "https"}
    rules = one(render({"reader": {"services": [service]}}), "ClusterRole", READER)["rules"]
    assert [rule["resourceNames"] for rule in rules if "resourceNames" in rule] == [["https:gateway:8443"]]


def test_no_service_means_no_rule_for_all_services() -> None:
    rules = one(render({"reader": {"services": []}}), "ClusterRole", READER)["rules"]
    assert not [rule for rule in rules if "services/proxy" in rule.get("resources", ())]


def test_the_notes_end_with_the_question_to_ask() -> None:
    assert (chart() / "templates" / "NOTES.txt").read_text("utf-8").rstrip().endswith("edge diagnose")
