"""Installations of the field that look otherwise and hold: other names, namespaces, charts, shapes."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy
import json

from box import (
    DEPLOYMENTS,
    EVENTS,
    PODS,
    PROMETHEUSES,
    REPLICASETS,
    SERVICES,
    SLICES,
    TARGETS,
    Box,
    situation,
)
from situations_field_model import ASKED, FAILED, not_loading
from situations_field_serving import created_not, ended, waiting
from situations_field_telemetry import crashes

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
BELOW = f"{DRIVER} | restart the device plugin | reinstall the device plugin"
UP = "http:prometheus:/api/v1/query?query=up"


def renamed(box: Box, *pairs: tuple[str, str]) -> None:
    """Every occurrence of a name, in keys and in values."""
    text = json.dumps(box.whole["reads"])
    for old, new in pairs:
        text = text.replace(old, new)
    box.whole["reads"] = json.loads(text)


@situation(OPERATOR, "Ollama, Open WebUI and the exporter live in the namespace `ai`")
def other_namespace(box: Box) -> None:
    renamed(
        box,
        ('"namespace": "llm"', '"namespace": "ai"'),
        ("/namespaces/llm/", "/namespaces/ai/"),
        ("ollama.llm", "ollama.ai"),
        ('"exported_namespace": "llm"', '"exported_namespace": "ai"'),
        ("serviceMonitor/llm/", "serviceMonitor/ai/"),
    )


@situation(LIGHT, "The monitoring stack is a release named `prometheus`")
def other_release(box: Box) -> None:
    renamed(
        box,
        (
            "prometheus-kube-prometheus-stack-prometheus-0",
            "prometheus-prometheus-kube-prometheus-prometheus-0",
        ),
        (
            "alertmanager-kube-prometheus-stack-alertmanager-0",
            "alertmanager-prometheus-kube-prometheus-alertmanager-0",
        ),
        ("kube-prometheus-stack-grafana", "prometheus-grafana"),
        ("kube-prometheus-stack-kube-state-metrics", "prometheus-kube-state-metrics"),
        ("kube-prometheus-stack-prometheus-node-exporter", "prometheus-prometheus-node-exporter"),
        ("kube-prometheus-stack-operator", "prometheus-kube-prometheus-operator"),
        ("kube-prometheus-stack-prometheus", "prometheus-kube-prometheus-prometheus"),
        ("kube-prometheus-stack-alertmanager", "prometheus-kube-prometheus-alertmanager"),
        ('"release": "kube-prometheus-stack"', '"release": "prometheus"'),
    )


@situation(A100, "The images come from a mirror, by digest and without a tag")
def by_digest(box: Box) -> None:
    digest = "sha256:" + "d0" * 32
    renamed(
        box,
        ("docker.io/ollama/ollama:0.33.0", f"registry.local:5000/mirror/ollama/ollama@{digest}"),
        ("ghcr.io/open-webui/open-webui:0.9.2", f"registry.local:5000/open-webui/open-webui@{digest}"),
        ("docker.io/grafana/grafana:13.0.1", f"registry.local:5000/grafana/grafana@{digest}"),
    )


@situation(OPERATOR, "The Service of Ollama is `ollama-service` on port 80, and Open WebUI asks it so")
def service_on_80(box: Box) -> None:
    service = box.item(SERVICES, "ollama")
    service["metadata"]["name"] = "ollama-service"
    service["spec"]["ports"] = [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": "http"}]
    for each in box.items(SLICES):
        if each["metadata"]["labels"].get("kubernetes.io/service-name") == "ollama":
            each["metadata"] |= {
                "name": "ollama-service-76e3c",
                "labels": {"kubernetes.io/service-name": "ollama-service"},
            }
    box.env("open-webui", OLLAMA_BASE_URL="http://ollama-service.llm")


@situation(
    OPERATOR, "Prometheus and Alertmanager run in several replicas, one Alertmanager of three is young"
)
def replicas(box: Box) -> None:
    box.clone_pod("prometheus-kube", "0")["metadata"]["name"] = (
        "prometheus-kube-prometheus-stack-prometheus-1"
    )
    for number in (1, 2):
        box.clone_pod("alertmanager-kube", "0")["metadata"]["name"] = (
            f"alertmanager-kube-prometheus-stack-alertmanager-{number}"
        )
    young = box.pods("alertmanager-kube")[-1]
    young["status"]["containerStatuses"][0]["state"] = {"running": {"startedAt": "2026-06-15T11:59:30Z"}}
    young["status"]["containerStatuses"][0]["ready"] = False
    for condition in young["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition["status"] = "False"
    box.items(PROMETHEUSES)[0]["spec"]["replicas"] = 2
    found = box.reads["http:prometheus:/api/v1/alertmanagers"]["body"]["data"]["activeAlertmanagers"]
    found += [{"url": f"http://10.42.0.{n}:9093/api/v2/alerts"} for n in (44, 45)]


@situation(CPU, "Grafana by its own operator, of another image and name")
def grafana_oss(box: Box) -> None:
    renamed(
        box,
        ("docker.io/grafana/grafana:13.0.1", "docker.io/grafana/grafana-oss:12.4.0"),
        ("kube-prometheus-stack-grafana", "main-grafana-deployment"),
    )


@situation(OPERATOR, "A Job pulls another model this minute")
def pulls_another(box: Box) -> None:
    pod = copy.deepcopy(box.pods("ollama")[0])
    pod["metadata"] |= {
        "name": "pull-llama-7d9x2",
        "uid": "00000000-0000-4000-8000-0000000000a7",
        "labels": {},
        "ownerReferences": [{"kind": "Job", "name": "pull-llama", "controller": True}],
        "creationTimestamp": "2026-06-15T11:58:00Z",
    }
    pod["spec"].pop("runtimeClassName")
    pod["spec"]["containers"][0] |= {
        "name": "pull",
        "command": ["ollama", "pull", "llama3.3:70b"],
        "resources": {},
        "ports": [],
        "env": [{"name": "OLLAMA_HOST", "value": "http://ollama.llm:11434"}],
    }
    pod["status"]["containerStatuses"][0] |= {"name": "pull"}
    box.items(PODS).append(pod)


@situation(LIGHT, "A native sidecar of Ollama runs beside it for good")
def native_sidecar(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["initContainers"] = [
            {"name": "log-shipper", "image": "docker.io/fluent/fluent-bit:5.0", "restartPolicy": "Always"}
        ]
    box.pods("ollama")[0]["status"]["initContainerStatuses"] = [
        {
            "name": "log-shipper",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-06-01T09:02:00Z"}},
            "lastState": {},
        }
    ]


@situation(OPERATOR, "An old event that carries eventTime alone")
def event_time_alone(box: Box) -> None:
    name = box.pods("ollama")[0]["metadata"]["name"]
    box.items(EVENTS).append(
        {
            "metadata": {
                "name": f"{name}.aaaa",
                "namespace": "llm",
                "creationTimestamp": "2026-06-01T09:00:01Z",
            },
            "involvedObject": {"kind": "Pod", "namespace": "llm", "name": name},
            "reason": "FailedScheduling",
            "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
            "type": "Warning",
            "eventTime": "2026-06-01T09:00:01.000000Z",
            "firstTimestamp": None,
            "lastTimestamp": None,
            "reportingComponent": "default-scheduler",
        }
    )


@situation(OPERATOR, "Ollama's Deployment is paused by an administrator; it serves")
def deployment_paused(box: Box) -> None:
    box.item(DEPLOYMENTS, "ollama")["spec"]["paused"] = True


@situation(OPERATOR, "kube-state-metrics of another team is down; ours is up")
def other_state_metrics(box: Box) -> None:
    target = copy.deepcopy(box.target("kube-state-metrics"))
    target["labels"] |= {
        "namespace": "team-a",
        "instance": "10.42.0.99:8080",
        "pod": "team-a-kube-state-metrics-0",
    }
    target |= {
        "scrapePool": "serviceMonitor/team-a/kube-state-metrics/0",
        "scrapeUrl": "http://10.42.0.99:8080/metrics",
        "health": "down",
        "lastError": "connection refused",
    }
    box.reads[TARGETS]["body"]["data"]["activeTargets"].append(target)
    box.reads[UP]["body"]["data"]["result"].append(
        {"metric": {"__name__": "up", **target["labels"]}, "value": [1781524800.0, "0"]}
    )


@situation(CPU, "The model was used with many contexts by clients, all of them long enough")
def loads_of_the_day(box: Box) -> None:
    box.logs(
        "ollama",
        *[
            f'time=2026-06-15T0{hour}:11:04.220Z level=INFO source=llama_server.go:610 msg="llama runner started in 2.41 seconds"'
            for hour in range(1, 9)
        ],
    )


@situation(
    OPERATOR,
    "The probe's program is not in the image: the pod is killed again and again",
    "serving",
    says="probe",
    never=f"{BELOW} | memory limit | ollama pull",
)
def probe_without_curl(box: Box) -> None:
    box.state("ollama", waiting("CrashLoopBackOff", "back-off 5m0s"), last=ended(137), restarts=33)
    name = box.pods("ollama")[0]["metadata"]["name"]
    box.event(
        "Pod",
        "llm",
        name,
        "Unhealthy",
        'Liveness probe errored and resulted in unknown state: rpc error: code = Unknown desc = failed to exec in container: exec: "curl": executable file not found in $PATH',
    )
    box.event("Pod", "llm", name, "Killing", "Container ollama failed liveness probe, will be restarted")


@situation(
    CPU,
    "The readiness probe asks a path that Ollama does not have",
    "serving",
    says="probe | 404",
    never=f"{BELOW} | nvidia | memory limit",
)
def probe_path(box: Box) -> None:
    box.state("ollama", {"running": {"startedAt": "2026-06-15T11:20:00Z"}})
    box.event(
        "Pod",
        "llm",
        box.pods("ollama")[0]["metadata"]["name"],
        "Unhealthy",
        "Readiness probe failed: HTTP probe failed with statuscode: 404",
    )


@situation(
    A100,
    "The image that came is not the one that was meant",
    "serving",
    says="digest | image",
    never=f"{BELOW} | ollama pull",
)
def image_digest(box: Box) -> None:
    box.state("ollama", waiting("ImagePullBackOff", "Back-off pulling image"))
    box.event(
        "Pod",
        "llm",
        box.pods("ollama")[0]["metadata"]["name"],
        "Failed",
        'Failed to pull image "docker.io/ollama/ollama@sha256:aa": failed to pull and unpack image: failed commit on ref "layer-sha256:bb": unexpected commit digest sha256:cc, expected sha256:bb: failed precondition',
    )


@situation(
    OPERATOR,
    "The container runtime holds the name of a container that is gone",
    "serving",
    "gpu",
    says="reserved | name",
    never=f"{DRIVER} | ollama pull | memory limit",
)
def name_reserved(box: Box) -> None:
    said = 'failed to reserve container name "ollama_ollama-5f7c96b8d4-tz8hk_llm_7b63c286_1": name "ollama_ollama-5f7c96b8d4-tz8hk_llm_7b63c286_1" is reserved for "f0a1"'
    box.state("ollama", waiting("CreateContainerError", said))
    box.event("Pod", "llm", box.pods("ollama")[0]["metadata"]["name"], "Failed", f"Error: {said}")


@situation(
    LIGHT,
    "A snapshot of the image is gone from the runtime's store after a hard power-off",
    "serving",
    "gpu",
    says="snapshot | image",
    never=f"{DRIVER} | ollama pull | memory limit",
)
def snapshot_gone(box: Box) -> None:
    said = "failed to create containerd container: failed to create prepare snapshot dir: failed to stat parent: stat /var/lib/rancher/k3s/agent/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/152/fs: no such file or directory"
    box.state("ollama", waiting("CreateContainerError", said))
    box.event("Pod", "llm", box.pods("ollama")[0]["metadata"]["name"], "Failed", f"Error: {said}")


@situation(
    CPU,
    "The engine cannot get the host's memory that it asks for",
    "model",
    "serving",
    "host",
    says="memory | allocate",
    never=f"{BELOW} | nvidia | ollama pull",
)
def host_buffer(box: Box) -> None:
    not_loading(
        box,
        "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 5034291200",
        "alloc_tensor_range: failed to allocate CPU buffer of size 5034291200",
        "llama_model_load: error loading model: unable to allocate CPU buffer",
        FAILED.format("llama runner process has terminated: exit status 2"),
    )


@situation(
    OPERATOR,
    "The engine asserts and ends at every request",
    "model",
    "profile",
    says="assert",
    never=f"{BELOW} | ollama pull",
)
def engine_asserts(box: Box) -> None:
    not_loading(
        box,
        "/build/ml/backend/ggml/ggml/src/ggml-cuda/fattn.cu:212: GGML_ASSERT(max_bias == 0.0f) failed",
        FAILED.format("llama runner process has terminated: signal: aborted (core dumped)"),
    )


@situation(
    OPERATOR,
    "Prometheus may not list what it is to discover: it has no target at all",
    "telemetry",
    says="target | discover",
    never=f"{BELOW} | ollama pull",
)
def no_target_at_all(box: Box) -> None:
    box.reads[TARGETS]["body"]["data"]["activeTargets"] = []
    box.reads[UP]["body"]["data"]["result"] = []
    box.without_series("DCGM_")


@situation(
    OPERATOR,
    "The operator of Prometheus is gone and its monitors with it, while Prometheus runs on",
    "telemetry",
    says="monitor | target",
    never=f"{BELOW} | ollama pull",
)
def monitors_gone(box: Box) -> None:
    box.items("api:/apis/monitoring.coreos.com/v1/servicemonitors").clear()
    for key in (DEPLOYMENTS, REPLICASETS):
        box.take(key, "kube-prometheus-stack-operator")
    box.take_pod("kube-prometheus-stack-operator")
    for job in ("edge-exporter", "nvidia-dcgm-exporter"):
        box.untargeted(job)
    box.without_series("DCGM_")


@situation(
    LIGHT,
    "The volume of Grafana is not mounted: another node has it",
    "telemetry",
    says="volume | attach",
    never=BELOW,
)
def grafana_volume(box: Box) -> None:
    created_not(
        box,
        "kube-prometheus-stack-grafana",
        'Multi-Attach error for volume "pvc-fff59316-7f48-406d-abb1-9c02c0895571" Volume is already exclusively attached to one node and can\'t be attached to another',
        "FailedAttachVolume",
    )


@situation(
    OPERATOR,
    "Grafana cannot write its data: the volume belongs to another user",
    "telemetry",
    says="writable | permission",
    never=f"{BELOW} | ollama pull",
)
def grafana_not_writable(box: Box) -> None:
    crashes(
        box,
        "kube-prometheus-stack-grafana",
        "GF_PATHS_DATA='/var/lib/grafana' is not writable.\nYou may have issues with file permissions, more information here: http://docs.grafana.org/installation/docker/#migrate-to-v51-or-later\nmkdir: can't create directory '/var/lib/grafana/plugins': Permission denied",
    )


@situation(
    CPU,
    "Alertmanager's configuration names a receiver that it lacks",
    "telemetry",
    says="receiver | config",
    never=f"{BELOW} | nvidia",
)
def manager_receiver(box: Box) -> None:
    crashes(
        box,
        "alertmanager-kube",
        'time=2026-06-15T11:55:36.814Z level=ERROR source=coordinator.go:117 msg="Loading configuration file failed" component=configuration file=/etc/alertmanager/config_out/alertmanager.env.yaml err="undefined receiver \\"team-x\\" used in route"',
    )


@situation(A100, "The engine of a model that is loaded on demand refused a request that was too long")
def request_too_long(box: Box) -> None:
    box.logs(
        "ollama",
        'time=2026-06-15T11:58:20.001Z level=ERROR source=routes.go:1180 msg="input length exceeds the context length"',
        ASKED.format("58:20", 400, "embed"),
        ASKED.format("58:50", 200, "chat"),
    )


@situation(
    OPERATOR,
    "The embedding model is missing, and nothing else",
    "model",
    says="nomic-embed-text",
    never=BELOW,
)
def embedding_missing(box: Box) -> None:
    models = box.reads["http:ollama:/api/tags"]["body"]["models"]
    models[:] = [each for each in models if not each["name"].startswith("nomic")]
    box.reads["http:ollama:/api/show nomic-embed-text:latest"] = {
        "status": 404,
        "body": {"error": "model 'nomic-embed-text:latest' not found"},
        "error": None,
    }


@situation(
    LIGHT,
    "Ollama's API is refused to the tool by a service mesh",
    "serving",
    outcome="unknown",
    says="403 | forbidden | refus | rbac",
    never=f"{BELOW} | ollama pull",
)
def mesh_refuses(box: Box) -> None:
    for key in box.reads:
        if key.startswith("http:ollama:"):
            box.reads[key] = {"status": 403, "body": "RBAC: access denied", "error": None}


@situation(CPU, "Ollama is a bare pod that somebody made by hand, and it serves")
def bare_pod(box: Box) -> None:
    pod = box.pods("ollama")[0]
    pod["metadata"].pop("ownerReferences")
    box.take(DEPLOYMENTS, "ollama")
    box.take(REPLICASETS, "ollama")
