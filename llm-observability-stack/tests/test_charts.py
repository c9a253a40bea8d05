"""The charts of Layers 2 and 3 as the real helm renders them, for each profile."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
import yaml

PACKAGE = "llm_observability_stack"
NAMESPACE = "llm-observability"
CHARTS = {"serving": "edge-serving", "telemetry": "edge-telemetry"}
PROFILES = ("rtx-4090", "a100", "dual-4090", "gb10", "geforce-940m", "cpu", "sandbox")
CARDS = {"rtx-4090": 1, "a100": 1, "dual-4090": 2, "gb10": 1, "geforce-940m": 1, "cpu": 0, "sandbox": 1}
# DCGM looks into the kubelet's socket and profiles the card; everything else is nobody in particular.
ROOT = {"dcgm-exporter"}
WITH_TOKEN = {"edge-exporter"}

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
def chart(release: str) -> Path:
    with as_file(files(PACKAGE) / "charts" / CHARTS[release]) as folder:
        return folder


@cache
def profile(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(
        (files(PACKAGE) / "profiles" / f"{name}.yaml").read_text("utf-8")
    )
    return found


def run_helm(
    release: str, values: Mapping[str, Any], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            helm(),
            "template",
            release,
            folder or chart(release),
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
def rendered(release: str, values_json: str) -> tuple[Document, ...]:
    done = run_helm(release, json.loads(values_json))
    assert done.returncode == 0, done.stderr
    return tuple(each for each in yaml.safe_load_all(done.stdout) if each)


def render(release: str, values: Mapping[str, Any]) -> tuple[Document, ...]:
    return rendered(release, json.dumps(values))


def of_profile(release: str, name: str) -> tuple[Document, ...]:
    return render(release, profile(name)["values"][release])


def one(documents: tuple[Document, ...], kind: str, name: str) -> Document:
    found = [each for each in documents if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    assert len(found) == 1, f"{len(found)} x {kind} {name}"
    return found[0]


def pod_of(document: Document) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = document["spec"]["template"]["spec"]
    return spec


def env_of(container: Mapping[str, Any]) -> Mapping[str, str]:
    return {each["name"]: each["value"] for each in container["env"]}


def workloads(documents: tuple[Document, ...]) -> Iterator[Document]:
    return (each for each in documents if each["kind"] in {"Deployment", "DaemonSet", "StatefulSet", "Job"})


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


all_releases = pytest.mark.parametrize("release", CHARTS)
all_profiles = pytest.mark.parametrize("name", PROFILES)


@all_releases
def test_the_schema_is_closed(release: str) -> None:
    for path, schema in schemas(json.loads((chart(release) / "values.schema.json").read_text("utf-8"))):
        mapping = isinstance(schema.get("additionalProperties"), dict) or schema.get("maxProperties") == 0
        assert schema.get("additionalProperties") is False or mapping, path


MODEL = {"name": "own:1", "pull": {}}


@pytest.mark.parametrize(
    ("release", "values", "named"),
    [
        ("serving", {"ollama": {"settings": {"keepAlvie": "5m"}}}, "keepAlvie"),
        ("serving", {"ollama": {"image": {"tag": "latest"}}}, "/ollama/image/tag"),
        ("serving", {"ollama": {"env": {"OLLAMA_CONTEXT_LENGHT": "8192"}}}, "OLLAMA_CONTEXT_LENGHT"),
        ("serving", {"ollama": {"env": {"OLLAMA_DEBUG_LOG_REQUESTS": "1"}}}, "OLLAMA_DEBUG_LOG_REQUESTS"),
        ("serving", {"ollama": {"gpu": {"count": -1}}}, "/ollama/gpu/count"),
        ("serving", {"ollama": {"resources": {"limits": {"memory": None}}}}, "memory"),
        ("serving", {"models": [{"name": "qwen2.5", "pull": {}}]}, "/models/0/name"),
        ("serving", {"models": [{"name": "own:1"}]}, "/models/0"),
        ("serving", {"models": [{**MODEL, "file": {"path": "/models/own.gguf"}}]}, "/models/0"),
        ("serving", {"models": [{**MODEL, "parameters": {"num_ctz": 1}}]}, "num_ctz"),
        ("serving", {"models": [{**MODEL, "parameters": {"num_ctx": 1}}]}, "name that one in pull.from"),
        ("serving", {"models": [MODEL, MODEL]}, "own:1 is listed twice"),
        ("telemetry", {"prometheus": {"retentoin": {}}}, "retentoin"),
        ("telemetry", {"prometheus": {"retention": {"days": "365"}}}, "/prometheus/retention/days"),
        ("telemetry", {"prometheus": {"storage": {"size": 20}}}, "/prometheus/storage/size"),
        ("telemetry", {"prometheus": {"retention": {"days": 365.5}}}, "/prometheus/retention/days"),
        ("telemetry", {"prometheus": {"retention": {"sizePercent": "80%"}}}, "/retention/sizePercent"),
        (
            "telemetry",
            {"scrape": {"extra": [{"job": "a", "targets": ["h:70000"]}]}},
            "/scrape/extra/0/targets/0",
        ),
        ("telemetry", {"scrape": {"extra": [{"job": "a", "targets": ["h:0"]}]}}, "/scrape/extra/0/targets/0"),
        ("telemetry", {"scrape": {"extra": [{"job": "a", "targets": []}]}}, "/scrape/extra/0/targets"),
        ("telemetry", {"scrape": {"sampleLimit": 9 * 10**18}}, "/scrape/sampleLimit"),
        ("telemetry", {"exporter": {"maxModels": 10**20}}, "/exporter/maxModels"),
        ("telemetry", {"rules": {"divideTimesBy": 10**18}}, "/rules/divideTimesBy"),
        ("telemetry", {"alertmanager": {"groupWait": "5s5m"}}, "/alertmanager/groupWait"),
        ("telemetry", {"alertmanager": {"repeatInterval": "-1h"}}, "/alertmanager/repeatInterval"),
        ("telemetry", {"alertmanager": {"groupInterval": "five minutes"}}, "/alertmanager/groupInterval"),
        ("telemetry", {"mode": "both"}, "/mode"),
        ("telemetry", {"exporter": {"volumes": {"Metrics Disk": "prometheus-data"}}}, "Metrics Disk"),
        ("telemetry", {"scrape": {"intervalSeconds": 0}}, "/scrape/intervalSeconds"),
        ("telemetry", {"exporter": {"gpu": True}}, "exporter.runtimeClassName"),
        ("telemetry", {"alertmanager": {"receivers": {"default": {"mailTo": "a@b.c"}}}}, "smarthost"),
    ],
)
def test_a_wrong_value_is_refused_by_name(release: str, values: Mapping[str, Any], named: str) -> None:
    done = run_helm(release, values)
    assert done.returncode != 0, "helm took values that it had to refuse"
    assert named in done.stderr


EXPLOSION = {"job": "many", "targets": [f"h{number}:1" for number in range(40)]}


@pytest.mark.parametrize(
    ("values", "key", "reason"),
    [
        ({"prometheus": {"retention": {"days": -1}}}, "prometheus.retention.days is -1", "nothing is kept"),
        ({"prometheus": {"retention": {"days": 4000}}}, "prometheus.retention.days is 4000", "ten years"),
        (
            {"prometheus": {"retention": {"sizePercent": 95}}},
            "prometheus.retention.sizePercent is 95",
            "compaction need a fifth",
        ),
        (
            {"prometheus": {"retention": {"sizePercent": -5}}},
            "prometheus.retention.sizePercent is -5",
            "write 10 to 80",
        ),
        (
            {"prometheus": {"storage": {"size": "300Mi"}}},
            "prometheus.storage.size 300Mi is too small for its cap",
            "80 % of it are 240 MB",
        ),
        ({"prometheus": {"storage": {"size": "-5Gi"}}}, "prometheus.storage.size is -5Gi", "write a size"),
        *(
            (
                {"prometheus": {"storage": {"size": size}}},
                f'prometheus.storage.size is "{size}"',
                "Mi, Gi, Ti",
            )
            for size in (
                "1TB",
                "50GB",
                "50 Gi",
                "50gi",
                "big",
                "",
                "1e3Gi",
                "99999999999999999999Ti",
                "0x10Gi",
            )
        ),
        *(
            ({"prometheus": {"storage": {"size": size}}}, f"prometheus.storage.size is {size}", "a mebibyte")
            for size in ("0Gi", "0", "20", "500k")
        ),
        (
            {"prometheus": {"storage": {"size": "300M"}}},
            "prometheus.storage.size 300M is too small for its cap",
            "80 % of it are 228 MB",
        ),
        ({"alertmanager": {"storage": {"size": "1GB"}}}, 'alertmanager.storage.size is "1GB"', "Mi, Gi, Ti"),
        (
            {"alertmanager": {"storage": {"size": "-1Gi"}}},
            "alertmanager.storage.size is -1Gi",
            "write a size",
        ),
        ({"scrape": {"intervalSeconds": 5}}, "scrape.timeoutSeconds 10 is above", "outlast its interval"),
        (
            {"scrape": {"extra": [{"job": "slow", "targets": ["h:1"], "timeoutSeconds": 40}]}},
            "job slow has a timeoutSeconds of 40",
            "outlast its interval",
        ),
        ({"scrape": {"intervalSeconds": 600}}, "scrape.intervalSeconds is 600", "every alert forget"),
        (
            {"scrape": {"extra": [{"job": "slow", "targets": ["h:1"], "intervalSeconds": 3600}]}},
            "job slow has an intervalSeconds of 3600",
            "every alert on it forget",
        ),
        *(
            ({"scrape": {"extra": jobs}}, f"job {jobs[-1]['job']} is there already", "does not start")
            for jobs in (
                [{"job": "a", "targets": ["h:1"]}, {"job": "a", "targets": ["h:2"]}],
                [{"job": "prometheus", "targets": ["h:1"]}],
                [{"job": "edge-exporter", "targets": ["h:1"]}],
            )
        ),
        (
            {
                "dcgm": {"enabled": True},
                "scrape": {"extra": [{"job": "dcgm-exporter", "targets": ["h:1"]}]},
            },
            "job dcgm-exporter is there already",
            "does not start",
        ),
        ({"alertmanager": {"groupInterval": "0s"}}, "alertmanager.groupInterval is 0s", "does not start"),
        (
            {"alertmanager": {"repeatInterval": "0h0m"}},
            "alertmanager.repeatInterval is 0h0m",
            "does not start",
        ),
        ({"scrape": {"sampleLimit": 0}}, "scrape.sampleLimit is 0", "no limit"),
        ({"scrape": {"sampleLimit": -10}}, "scrape.sampleLimit is -10", "no limit"),
        *(
            (
                {
                    "scrape": {"sampleLimit": 50_000},
                    "prometheus": {"resources": {"limits": {"memory": memory}}},
                },
                "scrape.sampleLimit is 50000",
                f"prometheus.resources.limits.memory is {mebibytes} MiB",
            )
            for memory, mebibytes in (
                ("1G", 953),
                ("1.1Gi", 1126),
                ("1000000Ki", 976),
                ("1073741824", 1024),
                (1073741824, 1024),
                ("1100000000000m", 1049),
            )
        ),
        (
            {"scrape": {"sampleLimit": 1_000_000}},
            "scrape.sampleLimit is 1000000",
            "3000000 series, about 23437 MiB",
        ),
        (
            {"scrape": {"extra": [EXPLOSION]}},
            "on 43 targets",
            "prometheus.resources.limits.memory is 2048 MiB",
        ),
        ({"exporter": {"maxModels": 1000}}, "exporter.maxModels is 1000", "every alert falls silent"),
        ({"exporter": {"maxModels": 0}}, "exporter.maxModels is 0", "no alert on models could fire"),
        ({"rules": {"divideTimesBy": 0}}, "rules.divideTimesBy is 0", "write 1"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_with_the_reason(
    values: Mapping[str, Any], key: str, reason: str
) -> None:
    done = run_helm("telemetry", values)
    assert done.returncode != 0, "helm took values that it had to refuse"
    said = " ".join(done.stderr.split())
    assert key in said
    assert reason in said


@all_releases
@all_profiles
def test_every_container_is_hardened(release: str, name: str) -> None:
    for document in workloads(of_profile(release, name)):
        what = document["metadata"]["name"]
        pod = pod_of(document)
        context = pod["securityContext"]
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, what
        assert (context.get("runAsNonRoot") is True) != (what in ROOT), what
        assert pod["automountServiceAccountToken"] is (what in WITH_TOKEN), what
        assert pod["enableServiceLinks"] is False, what
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys(), what
        assert what in ROOT or not [each for each in pod["volumes"] if "hostPath" in each], what
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["privileged"] is False
            assert security["readOnlyRootFilesystem"] is True
            assert security["allowPrivilegeEscalation"] is (what in ROOT)
            assert security["capabilities"]["drop"] == ["ALL"]
            assert (security["capabilities"].keys() == {"drop"}) != (what in ROOT)
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
            assert container["resources"]["limits"]["memory"]


@all_releases
@all_profiles
def test_no_image_is_left_to_chance(release: str, name: str) -> None:
    for document in workloads(of_profile(release, name)):
        for container in pod_of(document)["containers"]:
            repository, _, tag = container["image"].partition("@")[0].rpartition(":")
            assert re.fullmatch(r"[a-z0-9.-]+(/[a-z0-9._-]+)+", repository)
            assert tag != "latest"
            local = repository.startswith("localhost/edge/")
            assert local or name != "sandbox", "the sandbox has no network to pull from"
            assert container["imagePullPolicy"] == ("Never" if name == "sandbox" else "IfNotPresent")


@all_releases
@all_profiles
def test_every_object_says_whose_it_is(release: str, name: str) -> None:
    for document in of_profile(release, name):
        templates = [document["spec"]["template"]] if "template" in document.get("spec", {}) else []
        for labelled in (document, *templates):
            labels = labelled["metadata"]["labels"]
            assert labels["app.kubernetes.io/part-of"] == "edge"
            assert labels["app.kubernetes.io/instance"] == release
            assert labels["app.kubernetes.io/name"]
            assert labels["edge.internal/owner"] == "llm-observability-stack"
            assert labels["edge.internal/layer"] == release
        assert document["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
        assert document["kind"] != "Secret"
        clustered = document["kind"] == "ClusterRoleBinding"
        assert document["metadata"].get("namespace") == (None if clustered else NAMESPACE)


@all_releases
@all_profiles
def test_every_pod_has_a_policy_of_its_own_for_both_directions(release: str, name: str) -> None:
    documents = of_profile(release, name)
    policies = [each["spec"] for each in documents if each["kind"] == "NetworkPolicy"]
    for document in workloads(documents):
        labels = document["spec"]["template"]["metadata"]["labels"]
        own = [
            each
            for each in policies
            if each["podSelector"].get("matchLabels", {"": ""}).items() <= labels.items()
        ]
        assert len(own) == 1, document["metadata"]["name"]
        assert own[0]["policyTypes"] == ["Ingress", "Egress"]


@all_releases
@all_profiles
def test_volumes_outlive_their_release(release: str, name: str) -> None:
    claims = [each for each in of_profile(release, name) if each["kind"] == "PersistentVolumeClaim"]
    assert claims
    assert all(each["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for each in claims)


@all_releases
def test_the_notes_end_with_the_question_to_ask(release: str) -> None:
    assert (chart(release) / "templates" / "NOTES.txt").read_text("utf-8").rstrip().endswith("edge diagnose")


# Layer 2


@all_profiles
def test_ollama_asks_for_the_cards_that_the_profile_promises(name: str) -> None:
    deployment = one(of_profile("serving", name), "Deployment", "ollama")
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    pod = pod_of(deployment)
    limits = pod["containers"][0]["resources"]["limits"]
    assert limits.get("nvidia.com/gpu", 0) == CARDS[name]
    assert pod.get("runtimeClassName") == ("nvidia" if CARDS[name] else None)
    env = env_of(pod["containers"][0])
    assert env["OLLAMA_NO_CLOUD"] == "1"
    assert env.get("NVIDIA_VISIBLE_DEVICES") == (None if CARDS[name] else "void")
    assert env["HOME"] == "/var/lib/ollama" == pod["containers"][0]["volumeMounts"][0]["mountPath"]


@all_profiles
def test_only_ollama_itself_sees_the_card(name: str) -> None:
    for document in workloads(of_profile("serving", name)):
        for container in pod_of(document)["containers"]:
            if container["name"] not in {"ollama", "open-webui"}:
                assert env_of(container)["NVIDIA_VISIBLE_DEVICES"] == "void"
                assert "nvidia.com/gpu" not in container["resources"]["limits"]


@all_profiles
def test_residency_is_kept_where_it_is_promised(name: str) -> None:
    values = profile(name)["values"]["serving"]
    promised = [each["name"] for each in values["models"] if each.get("resident")]
    containers = pod_of(one(of_profile("serving", name), "Deployment", "ollama"))["containers"]
    assert [each["name"] for each in containers] == (["ollama", "residency"] if promised else ["ollama"])
    assert not promised or env_of(containers[0])["OLLAMA_KEEP_ALIVE"] == "-1"


@all_profiles
def test_the_plan_names_every_model(name: str) -> None:
    models = profile(name)["values"]["serving"]["models"]
    documents = of_profile("serving", name)
    job = one(documents, "Job", "ollama-models-1")
    plan = one(documents, "ConfigMap", "ollama-models-1")["data"]["plan"]
    lines = [each.split("\t") for each in plan.splitlines()]
    assert [each[0] for each in lines] == [each["name"] for each in models]
    assert all(len(each) == 6 and "" not in each for each in lines)
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    assert env_of(pod_of(job)["containers"][0])["MODELS"].split() == [each["name"] for each in models]


@all_profiles
def test_what_the_contracts_expect_is_what_helm_is_given(name: str) -> None:
    spec, values = profile(name)["spec"]["serving"], profile(name)["values"]["serving"]
    promised = {
        (tagged(each["name"]), each.get("digest", ""), each.get("resident", False)) for each in spec["models"]
    }
    given = {
        # a model that is made on the box has a digest of its own; the one promised is of what it is made from
        (each["name"], "" if "parameters" in each else each["pull"]["digest"], each.get("resident", False))
        for each in values["models"]
    }
    assert promised == given
    assert spec.get("gpu", {}).get("count", 0) <= values["ollama"]["gpu"]["count"]
    assert spec.get("web_ui", False) == values.get("openWebui", {}).get("enabled", False)


def tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def test_a_new_revision_makes_a_new_job() -> None:
    values = {"models": [MODEL]}
    done = subprocess.run(
        [helm(), "template", "serving", chart("serving"), "--is-upgrade", "--values", "-"],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "{{ .Release.Revision }}" in (chart("serving") / "templates" / "models.yaml").read_text("utf-8")
    assert "name: ollama-models-1\n" in done.stdout


def test_ollama_reaches_the_registry_only_while_a_model_comes_from_there() -> None:
    pulling = one(render("serving", {"models": [MODEL]}), "NetworkPolicy", "ollama")["spec"]
    offline = one(of_profile("serving", "sandbox"), "NetworkPolicy", "ollama")["spec"]
    assert [each["ports"] for each in pulling["egress"]][-1] == [{"port": 443, "protocol": "TCP"}]
    assert offline["egress"] == []


def test_models_that_a_bundle_brought_are_there_before_ollama_starts() -> None:
    values = profile("rtx-4090")["values"]["serving"]
    brought = {**values, "ollama": {**values["ollama"], "seed": "/var/lib/edge/models"}}
    documents = render("serving", brought)
    pod = pod_of(one(documents, "Deployment", "ollama"))
    seed = pod["initContainers"][0]
    mounts = {each["name"]: each for each in seed["volumeMounts"]}
    assert mounts["seed"]["readOnly"] is True
    assert mounts["models"]["mountPath"] == "/var/lib/ollama"
    assert {"name": "seed", "hostPath": {"path": "/var/lib/edge/models", "type": "Directory"}} in pod[
        "volumes"
    ]
    assert "seed.sh" in one(documents, "ConfigMap", "ollama-seed")["data"]
    assert "limits" in seed["resources"]
    assert "nvidia.com/gpu" not in seed["resources"]["limits"], "one card, and it is Ollama's"
    assert seed["securityContext"]["readOnlyRootFilesystem"] is True
    egress = one(documents, "NetworkPolicy", "ollama")["spec"]["egress"]
    assert (
        egress
        == one(render("serving", {**values, "models": []}), "NetworkPolicy", "ollama")["spec"]["egress"]
    )
    assert "initContainers" not in pod_of(one(render("serving", values), "Deployment", "ollama"))


def test_the_namespace_denies_what_nothing_allows() -> None:
    policy = one(of_profile("serving", "sandbox"), "NetworkPolicy", "default-deny")["spec"]
    assert policy == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_open_webui_reaches_ollama_by_name_and_nothing_else() -> None:
    documents = of_profile("serving", "rtx-4090")
    env = env_of(pod_of(one(documents, "Deployment", "open-webui"))["containers"][0])
    assert env["OLLAMA_BASE_URL"] == "http://ollama.llm-observability:11434"
    assert (env["OFFLINE_MODE"], env["HF_HUB_OFFLINE"], env["ENABLE_OPENAI_API"]) == ("true", "1", "false")
    assert env["RAG_EMBEDDING_MODEL"] in {
        each["name"] for each in profile("rtx-4090")["values"]["serving"]["models"]
    }
    egress = one(documents, "NetworkPolicy", "open-webui")["spec"]["egress"]
    assert [port["port"] for rule in egress for port in rule["ports"]] == [53, 53, 11434]
    assert not [each for each in of_profile("serving", "sandbox") if each["metadata"]["name"] == "open-webui"]


def test_a_change_of_models_does_not_restart_ollama() -> None:
    models = [{**MODEL, "resident": True}]
    before = one(render("serving", {"models": models}), "Deployment", "ollama")
    after = one(
        render("serving", {"models": [*models, {"name": "more:1", "pull": {}}]}), "Deployment", "ollama"
    )
    assert before == after


# Layer 3


def config_of(values: Mapping[str, Any], of: str) -> Document:
    data = one(render("telemetry", values), "ConfigMap", f"{of}-config")["data"]
    config: Document = yaml.safe_load(data[f"{of}.yml"])
    return config


@all_profiles
def test_prometheus_keeps_a_year_and_a_fifth_of_its_volume_free(name: str) -> None:
    values = profile(name)["values"]["telemetry"]
    retention = config_of(values, "prometheus")["storage"]["tsdb"]["retention"]
    size = values["prometheus"]["storage"]["size"]
    volume_mib = int(size[:-2]) * {"Mi": 1, "Gi": 1024}[size[-2:]]
    assert retention == {"time": "365d", "size": f"{volume_mib * 80 // 100}MB"}


@all_profiles
def test_the_promised_targets_are_scraped(name: str) -> None:
    jobs = {
        each["job_name"]
        for each in config_of(profile(name)["values"]["telemetry"], "prometheus")["scrape_configs"]
    }
    promised = profile(name)["spec"]["telemetry"]
    assert {*promised.get("targets", ()), "alertmanager"} <= jobs
    assert ("dcgm-exporter" in jobs) is bool(promised.get("gpu_exporter"))


@all_profiles
def test_the_exporter_judges_by_the_profile_that_it_is_installed_with(name: str) -> None:
    container = pod_of(one(of_profile("telemetry", name), "Deployment", "edge-exporter"))["containers"][0]
    args = container["args"]
    assert args[:5] == ["--in-cluster", "--profile", name, "--ollama-url", "http://ollama:11434"]
    assert {"http://prometheus:9090", "http://alertmanager:9093"} <= set(args)
    assert ("--gpu" in args) is (name == "geforce-940m")
    assert [each["containerPort"] for each in container["ports"]] == [9835, 9836]


def test_a_profile_of_the_users_own_is_mounted() -> None:
    documents = render("telemetry", {"exporter": {"profileDocument": "extends: cpu\n"}})
    assert one(documents, "ConfigMap", "edge-exporter-profile")["data"] == {"profile.yaml": "extends: cpu\n"}
    pod = pod_of(one(documents, "Deployment", "edge-exporter"))
    assert "/etc/edge/profile.yaml" in pod["containers"][0]["args"]


def test_the_exporter_reads_with_the_contracts_own_role() -> None:
    binding = one(of_profile("telemetry", "sandbox"), "ClusterRoleBinding", "edge-exporter-contract-reader")
    assert binding["roleRef"]["name"] == "edge-contract-reader"
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "edge-exporter", "namespace": NAMESPACE}
    ]


def watched(values: Mapping[str, Any]) -> tuple[list[str], dict[str, Mapping[str, Any]]]:
    """What the exporter is told of volumes, and the claims of its pod by where they are mounted."""
    pod = pod_of(one(render("telemetry", values), "Deployment", "edge-exporter"))
    [container] = pod["containers"]
    claims = {each["name"]: each.get("persistentVolumeClaim") for each in pod["volumes"]}
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    assert all(each["readOnly"] for path, each in mounts.items() if path.startswith("/volumes/"))
    at = {path: claims[each["name"]] for path, each in mounts.items() if path.startswith("/volumes/")}
    args = container["args"]
    told = args[args.index("--volumes") + 1].split(",") if "--volumes" in args else []
    return told, at


def test_the_volumes_of_prometheus_and_of_the_models_are_watched_without_being_touched() -> None:
    told, at = watched({})
    assert told == ["metrics=/volumes/metrics", "models=/volumes/models"]
    assert at == {
        "/volumes/metrics": {"claimName": "prometheus-data", "readOnly": True},
        "/volumes/models": {"claimName": "ollama-models", "readOnly": True},
    }


def test_a_volume_on_another_node_or_of_another_chart_is_left_out() -> None:
    assert watched({"exporter": {"volumes": {"models": ""}}})[0] == ["metrics=/volumes/metrics"]
    assert watched({"mode": "operator"})[0] == ["models=/volumes/models"]
    assert watched({"mode": "operator", "exporter": {"volumes": {"models": ""}}}) == ([], {})


def test_the_watched_claims_are_those_that_the_charts_make() -> None:
    made = {
        each["metadata"]["name"]
        for release in CHARTS
        for each in of_profile(release, "sandbox")
        if each["kind"] == "PersistentVolumeClaim"
    }
    assert {each["claimName"] for each in watched({})[1].values()} <= made


def test_the_gpu_exporter_reads_the_counters_that_rules_stand_on() -> None:
    documents = of_profile("telemetry", "a100")
    counters = one(documents, "ConfigMap", "dcgm-counters")["data"]["counters.csv"]
    assert counters.strip() == (chart("telemetry") / "files" / "dcgm" / "counters.csv").read_text().strip()
    pod = pod_of(one(documents, "DaemonSet", "dcgm-exporter"))
    [container] = pod["containers"]
    path = env_of(container)["DCGM_EXPORTER_COLLECTORS"]
    [mount] = [each for each in container["volumeMounts"] if path.startswith(f"{each['mountPath']}/")]
    assert {"name": mount["name"], "configMap": {"name": "dcgm-counters"}} in pod["volumes"]
    assert path == f"{mount['mountPath']}/counters.csv"


def test_the_kernel_log_is_read_by_root_with_one_capability_and_only_where_it_is_asked_for() -> None:
    deployment = one(render("telemetry", {"exporter": {"kernelLog": True}}), "Deployment", "edge-exporter")
    [container] = pod_of(deployment)["containers"]
    assert "--kernel-log" in container["args"]
    assert pod_of(deployment)["securityContext"]["runAsUser"] == 0
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["SYSLOG"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    plain = pod_of(one(render("telemetry", {}), "Deployment", "edge-exporter"))
    assert "--kernel-log" not in plain["containers"][0]["args"]
    assert plain["securityContext"]["runAsUser"] == 65534


@pytest.mark.rules
@pytest.mark.parametrize(
    "values",
    [
        {},
        {
            "dcgm": {"enabled": True},
            "prometheus": {"externalLabels": {"box": "berlin: 1 #x", "of": "'a' \"b\""}},
        },
        {
            "scrape": {
                "extra": [
                    {
                        "job": "a",
                        "targets": ["h:1", "[2001:db8::1]:9100"],
                        "path": "/m?x=1#y:z",
                        "scheme": "https",
                    },
                    {
                        "job": "b",
                        "targets": ["192.0.2.1:65535"],
                        "intervalSeconds": 120,
                        "timeoutSeconds": 120,
                    },
                ]
            },
            "prometheus": {"storage": {"size": "1.5Ti"}, "retention": {"days": 3650, "sizePercent": 10}},
        },
    ],
)
def test_promtool_accepts_the_configuration(values: Mapping[str, Any], tmp_path: Path) -> None:
    from k3s_nvidia_edge.sandbox.build import build

    promtool = shutil.which("promtool") or build(["prometheus"]).bin_dir / "promtool"
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config_of(values, "prometheus")))
    done = subprocess.run(
        [promtool, "check", "config", "--lint=none", "prometheus.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_target_of_its_own_pace() -> None:
    slow = {"job": "slow", "targets": ["h:1"], "intervalSeconds": 60, "timeoutSeconds": 50}
    [job] = [
        each
        for each in config_of({"scrape": {"extra": [slow]}}, "prometheus")["scrape_configs"]
        if each["job_name"] == "slow"
    ]
    assert (job["scrape_interval"], job["scrape_timeout"]) == ("60s", "50s")


def test_an_exporter_of_dcgm_of_the_users_own_is_scraped_under_its_name() -> None:
    extra = [{"job": "dcgm-exporter", "targets": ["192.0.2.7:9400"]}]
    config = config_of({"scrape": {"extra": extra}}, "prometheus")
    assert [job["job_name"] for job in config["scrape_configs"]].count("dcgm-exporter") == 1


def test_what_is_dropped_of_a_scrape_is_asked_for_by_nobody() -> None:
    jobs = {each["job_name"]: each for each in config_of({}, "prometheus")["scrape_configs"]}
    used = yaml.safe_load((files(PACKAGE) / "telemetry" / "third_party.yaml").read_text("utf-8"))
    for name in ("prometheus", "alertmanager"):
        [rule] = jobs[name]["metric_relabel_configs"]
        assert rule["action"] == "drop"
        assert re.fullmatch(rule["regex"], "go_goroutines")
        assert not [each for each in used["prometheus"] if re.fullmatch(rule["regex"], each)]
    assert "metric_relabel_configs" not in jobs["edge-exporter"]


def rules_of(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    content = one(render("telemetry", values), "ConfigMap", "prometheus-rules")["data"]["edge-llm.yml"]
    groups = yaml.safe_load(content)["groups"]
    return {rule.get("alert", rule.get("record")): rule for group in groups for rule in group["rules"]}


def test_times_of_rules_are_divided_and_nothing_else_is_changed() -> None:
    shipped = rules_of({})
    short = rules_of({"rules": {"divideTimesBy": 60}, "scrape": {"intervalSeconds": 2, "timeoutSeconds": 2}})
    assert short.keys() == shipped.keys()
    assert (shipped["ContractFailing"]["for"], short["ContractFailing"]["for"]) == ("2m", "2s")
    assert (shipped["AdvisoryFailing"]["for"], short["AdvisoryFailing"]["for"]) == ("1h", "60s")
    assert "[1h]" in shipped["GpuPcieReplays"]["expr"]
    assert "[60s]" in short["GpuPcieReplays"]["expr"]
    # a window of fewer than four scrapes would see nothing move
    assert "[10m]" in shipped["RuleFailing"]["expr"]
    assert "[10s]" in short["RuleFailing"]["expr"]
    for name, rule in shipped.items():
        timeless = re.sub(r"\[\w+\]", "[]", rule["expr"])
        assert timeless == re.sub(r"\[\w+\]", "[]", short[name]["expr"])
        assert rule.get("labels") == short[name].get("labels")
        assert rule.get("annotations") == short[name].get("annotations")


def test_an_explosion_of_labels_fails_the_scrape_of_any_target() -> None:
    config = config_of({"scrape": {"extra": [{"job": "x", "targets": ["h:1"]}]}}, "prometheus")
    limits = ("sample_limit", "label_limit", "label_value_length_limit")
    assert all(config["global"][each] > 0 for each in limits)
    assert not [job for job in config["scrape_configs"] if any(each in job for each in limits)]


def test_nobody_is_woken_until_a_receiver_is_filled_in() -> None:
    config = config_of({}, "alertmanager")
    assert config["route"]["receiver"] == "null"
    assert all(each.keys() == {"name"} for each in config["receivers"])


def test_receivers_that_are_filled_in() -> None:
    alertmanager = {
        "receivers": {
            "default": {"mailTo": "box@example.org"},
            "critical": {"webhookUrl": "http://hook:8080/x"},
        },
        "smtp": {
            "smarthost": "mail:587",
            "from": "edge@example.org",
            "username": "edge",
            "passwordSecret": {"name": "smtp"},
        },
    }
    config = config_of({"alertmanager": alertmanager}, "alertmanager")
    assert config["route"]["receiver"] == "default"
    receivers = {each["name"]: each for each in config["receivers"]}
    assert receivers["default"]["email_configs"] == [{"to": "box@example.org", "send_resolved": True}]
    assert receivers["critical"]["webhook_configs"] == [{"url": "http://hook:8080/x", "send_resolved": True}]
    assert config["global"]["smtp_auth_password_file"] == "/etc/alertmanager/smtp/password"  # noqa: S105 - a path
    pod = pod_of(one(render("telemetry", {"alertmanager": alertmanager}), "Deployment", "alertmanager"))
    assert {"name": "smtp", "secret": {"secretName": "smtp"}} in pod["volumes"]


def test_a_volume_in_decimal_units_is_capped_by_what_it_is() -> None:
    found = config_of({"prometheus": {"storage": {"size": "1T"}}}, "prometheus")["storage"]["tsdb"][
        "retention"
    ]
    assert found == {"time": "365d", "size": f"{10**12 // 2**20 * 80 // 100}MB"}


DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.skipif(not DOCS.is_dir(), reason="no checkout: the pages are not packaged")
@pytest.mark.parametrize("page", ["alerts.md", "telemetry.md"])
def test_the_values_that_a_page_shows_are_taken(page: str) -> None:
    shown = re.findall(r"```yaml\n(values:.*?)```", (DOCS / page).read_text(), re.DOTALL)
    assert shown
    for each in shown:
        done = run_helm("telemetry", yaml.safe_load(each)["values"]["telemetry"])
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("filled", "default", "critical"),
    [
        ((), "null", "critical"),
        (("default",), "default", "default"),
        (("critical",), "null", "critical"),
        (("default", "critical"), "default", "critical"),
    ],
)
@pytest.mark.parametrize("mode", ["standalone", "operator"])
def test_what_is_critical_is_told_to_whoever_is_filled_in(
    mode: str, filled: tuple[str, ...], default: str, critical: str
) -> None:
    hooks = {name: {"webhookUrl": f"http://{name}:8080/"} for name in filled}
    values = {"mode": mode, "alertmanager": {"receivers": hooks}}
    if mode == "standalone":
        route = config_of(values, "alertmanager")["route"]
    else:
        route = one(render("telemetry", values), "AlertmanagerConfig", "edge-llm")["spec"]["route"]
    assert (route["receiver"], route["routes"][1]["receiver"]) == (default, critical)


def test_alertmanager_reaches_out_only_where_somebody_is_told() -> None:
    quiet = one(render("telemetry", {}), "NetworkPolicy", "alertmanager")["spec"]
    told = {"alertmanager": {"receivers": {"critical": {"webhookUrl": "http://hook:8080/x"}}}}
    assert quiet["egress"] == []
    assert one(render("telemetry", told), "NetworkPolicy", "alertmanager")["spec"]["egress"]


@pytest.fixture
def with_files(tmp_path: Path) -> Path:
    """The telemetry chart with rules and a dashboard of the test's own."""
    folder = tmp_path / "edge-telemetry"
    shutil.copytree(chart("telemetry"), folder)
    for name in ("rules", "dashboards"):
        shutil.rmtree(folder / "files" / name, ignore_errors=True)
        (folder / "files" / name).mkdir(parents=True)
    alert = {"alert": "Down", "expr": "up == 0", "annotations": {"summary": "{{ $labels.job }} is down"}}
    (folder / "files" / "rules" / "edge-llm.yml").write_text(
        yaml.safe_dump({"groups": [{"name": "edge-llm", "rules": [alert]}]})
    )
    (folder / "files" / "rules" / "edge-llm.test.yml").write_text("tests: []\n")
    (folder / "files" / "dashboards" / "box.json").write_text('{"title": "{{ box }}"}')
    return folder


def test_standalone_takes_the_rules_as_files_and_leaves_their_tests_out(with_files: Path) -> None:
    done = run_helm("telemetry", {}, with_files)
    documents = tuple(yaml.safe_load_all(done.stdout))
    rules = one(tuple(each for each in documents if each), "ConfigMap", "prometheus-rules")["data"]
    assert rules.keys() == {"edge-llm.yml"}
    assert yaml.safe_load(rules["edge-llm.yml"])["groups"][0]["rules"][0]["alert"] == "Down"


def test_operator_mode_gives_the_same_to_the_operator_and_runs_no_prometheus(with_files: Path) -> None:
    done = run_helm("telemetry", {"mode": "operator", "operator": {"labels": {"release": "kps"}}}, with_files)
    assert done.returncode == 0, done.stderr
    documents = tuple(each for each in yaml.safe_load_all(done.stdout) if each)
    assert {each["metadata"]["name"] for each in workloads(documents)} == {"edge-exporter"}
    monitor = one(documents, "ServiceMonitor", "edge-exporter")
    service = one(documents, "Service", "edge-exporter")
    assert monitor["metadata"]["labels"]["release"] == "kps"
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert [each["port"] for each in monitor["spec"]["endpoints"]] == ["metrics"]
    rules = one(documents, "PrometheusRule", "edge-llm")
    assert rules["spec"]["groups"][0]["rules"][0]["annotations"] == {"summary": "{{ $labels.job }} is down"}
    # what it says of pods and nodes is theirs, not its own
    assert monitor["spec"]["endpoints"][0]["honorLabels"] is True
    dashboard = one(documents, "ConfigMap", "edge-dashboard-box")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(dashboard["data"]["box.json"]) == {"title": "{{ box }}"}


def test_an_operator_that_selects_everything_needs_no_labels() -> None:
    labels = {"labels": {"release": None}, "dashboardLabels": {"grafana_dashboard": None}}
    documents = render("telemetry", {"mode": "operator", "operator": labels})
    for kind, name in (
        ("ServiceMonitor", "edge-exporter"),
        ("PrometheusRule", "edge-llm"),
        ("AlertmanagerConfig", "edge-llm"),
        ("ConfigMap", "edge-dashboard-box"),
    ):
        found = one(documents, kind, name)["metadata"]["labels"]
        assert found["app.kubernetes.io/part-of"] == "edge"
        assert not {"release", "grafana_dashboard"} & set(found)


def matcher(given: Mapping[str, str]) -> str:
    return f'{given["name"]}{given["matchType"]}"{given["value"]}"'


def test_both_modes_route_and_hide_alike() -> None:
    told = {"receivers": {"critical": {"webhookUrl": "http://hook:8080/x"}, "default": {"mailTo": "a@b.c"}}}
    mail = {"smtp": {"smarthost": "mail:587", "from": "e@b.c", "passwordSecret": {"name": "smtp"}}}
    alertmanager = {**told, **mail}
    standalone = config_of({"alertmanager": alertmanager}, "alertmanager")
    operated = one(
        render("telemetry", {"mode": "operator", "alertmanager": alertmanager}),
        "AlertmanagerConfig",
        "edge-llm",
    )["spec"]
    ours = 'owner!=""'
    rules = [
        {
            "source_matchers": [matcher(each) for each in rule["sourceMatch"]],
            "target_matchers": [matcher(each) for each in rule["targetMatch"]],
            **({"equal": rule["equal"]} if "equal" in rule else {}),
        }
        for rule in operated["inhibitRules"]
    ]
    # an Alertmanager of others' alerts too: theirs are neither routed nor hidden
    assert all(rule["target_matchers"].pop(0) == ours for rule in rules)
    assert rules == standalone["inhibit_rules"]
    assert [matcher(each) for each in operated["route"]["matchers"]] == [ours]
    assert operated["route"]["receiver"] == standalone["route"]["receiver"] == "default"
    assert operated["route"]["groupBy"] == standalone["route"]["group_by"]
    assert [
        ([matcher(each) for each in route["matchers"]], route["receiver"])
        for route in operated["route"]["routes"]
    ] == [(route["matchers"], route["receiver"]) for route in standalone["route"]["routes"]]
    receivers = {each["name"]: each for each in operated["receivers"]}
    assert receivers.keys() == {each["name"] for each in standalone["receivers"]}
    assert receivers["critical"]["webhookConfigs"] == [{"url": "http://hook:8080/x", "sendResolved": True}]
    assert receivers["default"]["emailConfigs"] == [
        {
            "to": "a@b.c",
            "from": "e@b.c",
            "smarthost": "mail:587",
            "sendResolved": True,
            "authPassword": {"name": "smtp", "key": "password"},
        }
    ]


def test_an_operator_with_routes_of_its_own_gets_none() -> None:
    documents = render("telemetry", {"mode": "operator", "operator": {"alertmanagerConfig": False}})
    assert not [each for each in documents if each["kind"] == "AlertmanagerConfig"]
