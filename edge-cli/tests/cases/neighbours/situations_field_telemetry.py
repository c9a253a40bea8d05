"""Reports of the field on Prometheus, its operator, its targets, the GPU exporter and Grafana."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

from typing import Any

from box import DEPLOYMENTS, MONITORS, PODS, PROMETHEUSES, REPLICASETS, RULES, TARGETS, Box, situation

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
BELOW = f"{DRIVER} | restart the device plugin | reinstall the device plugin | ollama pull | restart ollama"
PROM = "prometheus-kube"
MANAGERS = "http:prometheus:/api/v1/alertmanagers"
ALERTS = "http:alertmanager:/api/v2/alerts"


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    """A container that waits."""
    return {"waiting": {"reason": reason, "message": message}}


def last(code: int, message: str = "", reason: str = "Error") -> dict[str, Any]:
    """How a container ended a minute ago."""
    return {
        "terminated": {
            "reason": reason,
            "exitCode": code,
            "message": message,
            "startedAt": "2026-06-15T11:55:00Z",
            "finishedAt": "2026-06-15T11:56:00Z",
        }
    }


def crashes(box: Box, workload: str, message: str, code: int = 1, container: int = 0) -> None:
    """A crash loop, with the last words of its container."""
    box.state(
        workload,
        waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"),
        last=last(code, message),
        restarts=17,
        container=container,
    )


def without_our_rules(box: Box) -> None:
    """Our group of rules is not loaded."""
    groups = box.reads[RULES]["body"]["data"]["groups"]
    groups[:] = [each for each in groups if each["name"] != "edge-llm"]


# prometheus-community/helm-charts#910, #1162
@situation(
    OPERATOR,
    "Prometheus may not write its own volume: it panics over its query log",
    "telemetry",
    says="permission | may not write | owner | fsgroup",
    never=f"{BELOW} | servicemonitor | retention",
)
def query_log_denied(box: Box) -> None:
    crashes(
        box,
        PROM,
        'time=2026-06-15T11:55:36.814Z level=ERROR source=query_logger.go:113 msg="Error opening query log file" component=activeQueryTracker file=/prometheus/queries.active err="open /prometheus/queries.active: permission denied"\npanic: Unable to create mmap-ed active query log\n\ngoroutine 1 [running]:',
        2,
    )


@situation(
    A100,
    "The segments of Prometheus' log are not in sequence",
    "telemetry",
    says="wal | write-ahead | segment",
    never=f"{BELOW} | servicemonitor",
)
def segments_not_sequential(box: Box) -> None:
    crashes(
        box,
        PROM,
        'time=2026-06-15T11:55:36.814Z level=ERROR source=main.go:1295 msg="Fatal error" err="opening storage failed: get segment range: segments are not sequential"',
    )


@situation(
    CPU,
    "A scrape configuration of the user's own has a job twice: Prometheus does not start",
    "telemetry",
    says="config | scrape",
    never=f"{BELOW} | nvidia | retention",
)
def job_named_twice(box: Box) -> None:
    crashes(
        box,
        PROM,
        'time=2026-06-15T11:55:36.814Z level=ERROR source=main.go:1190 msg="Fatal error" err="error loading config from \\"/etc/prometheus/config_out/prometheus.env.yaml\\": couldn\'t load configuration (--config.file=\\"/etc/prometheus/config_out/prometheus.env.yaml\\"): parsing YAML file /etc/prometheus/config_out/prometheus.env.yaml: found multiple scrape configs with job name \\"ollama\\""',
    )


@situation(
    LIGHT,
    "A flag that the new Prometheus has given up",
    "telemetry",
    says="flag | argument",
    never=f"{BELOW} | retention",
)
def flag_given_up(box: Box) -> None:
    crashes(
        box,
        PROM,
        "Error parsing command line arguments: unknown long flag '--storage.tsdb.allow-overlapping-blocks'\nprometheus: error: unknown long flag '--storage.tsdb.allow-overlapping-blocks'",
    )


@situation(
    OPERATOR,
    "The reloader beside Prometheus is killed at its memory limit: the pod is never Ready",
    "telemetry",
    says="config-reloader | memory",
    never=f"{BELOW} | servicemonitor | retention",
)
def reloader_killed(box: Box) -> None:
    box.state(
        PROM,
        waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=config-reloader"),
        last=last(137, "", "OOMKilled"),
        restarts=41,
        container=1,
    )
    box.pods(PROM)[0]["spec"]["containers"][1]["resources"] = {"limits": {"memory": "25Mi"}}


# prometheus-community/helm-charts#467, rancher/k3k#518
@situation(
    CPU,
    "The root of the host is no shared mount: the node exporter cannot be made",
    "telemetry",
    says="node-exporter | mount",
    never=f"{BELOW} | nvidia",
)
def root_not_shared(box: Box) -> None:
    said = 'failed to generate container "1467308f95dde169af86f03feffa85e62a16e1c9cefc5f5731301ab5c9b0c7af" spec: failed to generate spec: path "/" is mounted on "/" but it is not a shared or slave mount'
    box.state("kube-prometheus-stack-prometheus-node-exporter", waiting("CreateContainerError", said))
    pod = box.pods("kube-prometheus-stack-prometheus-node-exporter")[0]["metadata"]
    box.event("Pod", "monitoring", pod["name"], "Failed", f"Error: {said}")


@situation(
    OPERATOR,
    "kube-state-metrics may not list what it is told to watch, and ends",
    "telemetry",
    says="kube-state-metrics",
    never=BELOW,
)
def state_metrics_crash(box: Box) -> None:
    crashes(box, "kube-prometheus-stack-kube-state-metrics", "")
    box.target_down(
        "kube-state-metrics",
        'Get "http://10.42.0.27:8080/metrics": dial tcp 10.42.0.27:8080: connect: connection refused',
    )


# pretix/pretix#5133
@situation(
    OPERATOR,
    "A page stands where metrics should: Prometheus 3 takes no text/html",
    "telemetry",
    says="content-type | content type | page | text/html",
    never=BELOW,
)
def target_text_html(box: Box) -> None:
    box.target_down(
        "edge-exporter",
        'received unsupported Content-Type "text/html; charset=utf-8" and no fallback_scrape_protocol specified for target',
    )


# prometheus/prometheus#15485
@situation(
    CPU,
    "An exporter without a Content-Type: Prometheus 3 does not guess any more",
    "telemetry",
    says="content-type | content type | fallback",
    never=f"{BELOW} | nvidia",
)
def target_blank_type(box: Box) -> None:
    box.target_down(
        "edge-exporter",
        "non-compliant scrape target sending blank Content-Type and no fallback_scrape_protocol specified for target",
    )


@situation(
    OPERATOR,
    "Prometheus speaks https to an exporter that does not",
    "telemetry",
    says="https | scheme",
    never=BELOW,
)
def target_scheme(box: Box) -> None:
    box.item(MONITORS, "edge-exporter")["spec"]["endpoints"][0]["scheme"] = "https"
    box.target_down(
        "edge-exporter",
        'Get "https://10.42.0.22:9467/metrics": http: server gave HTTP response to HTTPS client',
    )


@situation(
    LIGHT,
    "The path of the metrics is not the one that the monitor asks for",
    "telemetry",
    says="404 | path",
    never=BELOW,
)
def target_path(box: Box) -> None:
    box.item(MONITORS, "edge-exporter")["spec"]["endpoints"][0]["path"] = "/probe"
    box.target_down("edge-exporter", "server returned HTTP status 404 Not Found")


@situation(
    A100,
    "The GPU exporter publishes more than the monitor's limit of samples",
    "telemetry",
    says="limit | sample",
    never=BELOW,
)
def target_sample_limit(box: Box) -> None:
    box.item(MONITORS, "nvidia-dcgm-exporter")["spec"]["sampleLimit"] = 20
    box.target_down("nvidia-dcgm-exporter", "sample limit exceeded")
    box.without_series("DCGM_")


@situation(
    OPERATOR,
    "The scrape of an exporter breaks off in the middle",
    "telemetry",
    says="edge-exporter | broke | closed | reset",
    never=BELOW,
)
def target_reset(box: Box) -> None:
    box.target_down(
        "edge-exporter",
        'Get "http://10.42.0.22:9467/metrics": read tcp 10.42.0.23:40112->10.42.0.22:9467: read: connection reset by peer',
    )


# prometheus-operator/prometheus-operator#3767
@situation(
    OPERATOR,
    "Prometheus selects rules by a label that ours do not have",
    "telemetry",
    says="ruleselector | selector | label",
    never=BELOW,
)
def rules_not_selected(box: Box) -> None:
    box.items(PROMETHEUSES)[0]["spec"]["ruleSelector"] = {"matchLabels": {"release": "kube-prometheus-stack"}}
    without_our_rules(box)


@situation(
    CPU,
    "Prometheus looks for rules in its own namespace only",
    "telemetry",
    says="rulenamespaceselector | selector | namespace",
    never=f"{BELOW} | nvidia",
)
def rules_of_other_namespace(box: Box) -> None:
    box.items(PROMETHEUSES)[0]["spec"].pop("ruleNamespaceSelector")
    without_our_rules(box)


@situation(
    OPERATOR,
    "The Prometheus object is paused: what was added since is not applied",
    "telemetry",
    says="paused",
    never=BELOW,
)
def operator_paused(box: Box) -> None:
    box.items(PROMETHEUSES)[0]["spec"]["paused"] = True
    without_our_rules(box)


@situation(
    OPERATOR,
    "The operator cannot make a configuration any more: one monitor of somebody is invalid",
    "telemetry",
    says="reconcil | operator | configuration",
    never=BELOW,
)
def not_reconciled(box: Box) -> None:
    for condition in box.items(PROMETHEUSES)[0]["status"]["conditions"]:
        if condition["type"] == "Reconciled":
            condition |= {
                "status": "False",
                "reason": "ReconciliationFailed",
                "message": "creating config failed: generating config failed: make additional scrape configs: unmarshal additional scrape configs failed: yaml: line 3: did not find expected '-' indicator",
                "lastTransitionTime": "2026-06-15T09:03:00Z",
            }
    box.untargeted("edge-exporter")


# NVIDIA/dcgm-exporter#126, #148
@situation(
    A100,
    "The profiling module of DCGM fails, and the exporter ends with it",
    "telemetry",
    says="profil | dcgm",
    never=f"{BELOW} | runtimeclass",
)
def profiling_module_fails(box: Box) -> None:
    said = 'time=2026-06-15T11:55:09.000Z level=ERROR msg="Failed to watch metrics: Error watching fields: The third-party Profiling module returned an unrecoverable error"'
    crashes(box, "nvidia-dcgm-exporter", "")
    box.logs(
        "nvidia-dcgm-exporter",
        'time=2026-06-15T11:55:08.000Z level=INFO msg="DCGM successfully initialized!"',
        'time=2026-06-15T11:55:08.500Z level=INFO msg="Collecting DCP Metrics"',
        said,
        replace=True,
    )
    box.logs("nvidia-dcgm-exporter", said, previous=True)


# NVIDIA/gpu-monitoring-tools#120, #141
@situation(
    LIGHT,
    "A field of the counters file needs a module that DCGM does not load on this card",
    "telemetry",
    says="dcgm | module | profil | field",
    never=f"{BELOW} | runtimeclass",
)
def field_without_module(box: Box) -> None:
    said = 'time=2026-06-15T11:55:09.000Z level=ERROR msg="Error watching fields: This request is serviced by a module of DCGM that is not currently loaded"'
    crashes(box, "dcgm-exporter", "")
    box.logs(
        "dcgm-exporter",
        'time=2026-06-15T11:55:08.000Z level=INFO msg="DCGM successfully initialized!"',
        said,
        replace=True,
    )
    box.logs("dcgm-exporter", said, previous=True)


# NVIDIA/dcgm-exporter#61
@situation(
    OPERATOR,
    "The exporter asks a host engine that nobody runs",
    "telemetry",
    says="host engine | hostengine | dcgm",
    never=f"{BELOW} | runtimeclass",
)
def host_engine_absent(box: Box) -> None:
    lines = (
        'time=2026-06-15T11:55:08.000Z level=INFO msg="Attempting to connect to remote hostengine at localhost:5555"',
        'time=2026-06-15T11:55:38.000Z level=ERROR msg="error connecting to nv-hostengine: Host engine connection invalid/disconnected"',
    )
    crashes(box, "nvidia-dcgm-exporter", "")
    box.logs("nvidia-dcgm-exporter", *lines, replace=True)
    box.logs("nvidia-dcgm-exporter", *lines, previous=True)


# NVIDIA/dcgm-exporter#362, #363
@situation(
    LIGHT,
    "The exporter has no socket of the kubelet: its series name no pod",
    "telemetry",
    says="socket | kubelet | pod-resources",
    never=f"{BELOW} | runtimeclass",
)
def kubelet_socket_missing(box: Box) -> None:
    for key, read in box.reads.items():
        if "query=DCGM" in key:
            for each in read["body"]["data"]["result"]:
                for label in ("exported_pod", "exported_namespace", "exported_container"):
                    each["metric"].pop(label, None)
    box.logs("dcgm-exporter", 'time=2026-06-01T09:02:15.000Z level=INFO msg="No Kubelet socket, ignoring"')


# awslabs/crossplane-on-eks#165, llm-d/llm-d#494
@situation(
    OPERATOR,
    "Two data sources of Grafana both want to be the default",
    "telemetry",
    says="datasource | data source",
    never=f"{BELOW} | persistentvolume",
)
def two_default_sources(box: Box) -> None:
    crashes(
        box,
        "kube-prometheus-stack-grafana",
        "Error: ✗ Datasource provisioning error: datasource.yaml config is invalid. Only one datasource per organization can be marked as default",
    )


# grafana/helm-charts#3699
@situation(
    LIGHT,
    "Grafana's init container may not change the owner of what Grafana wrote",
    "telemetry",
    says="init-chown-data | init container",
    never=BELOW,
)
def grafana_init_chown(box: Box) -> None:
    for spec in box.templates("kube-prometheus-stack-grafana"):
        spec["initContainers"] = [
            {
                "name": "init-chown-data",
                "image": "docker.io/library/busybox:1.37.0",
                "command": ["chown", "-R", "472:472", "/var/lib/grafana"],
            }
        ]
    box.state("kube-prometheus-stack-grafana", waiting("PodInitializing"))
    pod = box.pods("kube-prometheus-stack-grafana")[0]
    pod["status"] |= {
        "phase": "Pending",
        "initContainerStatuses": [
            {
                "name": "init-chown-data",
                "image": "docker.io/library/busybox:1.37.0",
                "ready": False,
                "restartCount": 9,
                "state": waiting(
                    "CrashLoopBackOff", "back-off 5m0s restarting failed container=init-chown-data"
                ),
                "lastState": last(1, "chown: /var/lib/grafana/png: Permission denied"),
            }
        ],
    }


@situation(
    OPERATOR,
    "The dashboards' sidecar of Grafana crash-loops; Grafana beside it is well",
    "telemetry",
    says="grafana-sc-dashboard | sidecar",
    never=BELOW,
)
def grafana_sidecar(box: Box) -> None:
    for spec in box.templates("kube-prometheus-stack-grafana"):
        spec["containers"].append(
            {"name": "grafana-sc-dashboard", "image": "quay.io/kiwigrid/k8s-sidecar:2.1.0", "resources": {}}
        )
    pod = box.pods("kube-prometheus-stack-grafana")[0]
    pod["status"]["containerStatuses"].append(
        {
            **pod["status"]["containerStatuses"][0],
            "name": "grafana-sc-dashboard",
            "image": "quay.io/kiwigrid/k8s-sidecar:2.1.0",
        }
    )
    crashes(
        box,
        "kube-prometheus-stack-grafana",
        "kubernetes.client.exceptions.ApiException: (403) Reason: Forbidden",
        1,
        1,
    )


# prometheus-community/helm-charts#4381
@situation(
    OPERATOR,
    "Prometheus speaks the API that Alertmanager gave up: nothing arrives",
    "telemetry",
    says="v1 | version | arrive",
    never=BELOW,
)
def alertmanager_api_v1(box: Box) -> None:
    box.items(PROMETHEUSES)[0]["spec"]["alerting"]["alertmanagers"][0]["apiVersion"] = "v1"
    box.reads[MANAGERS]["body"]["data"]["activeAlertmanagers"] = [
        {"url": "http://10.42.0.24:9093/api/v1/alerts"}
    ]
    box.reads[ALERTS]["body"] = []


@situation(
    LIGHT,
    "Prometheus sends alerts under a path that Alertmanager does not have",
    "telemetry",
    says="path | prefix | arrive",
    never=BELOW,
)
def alertmanager_path(box: Box) -> None:
    box.items(PROMETHEUSES)[0]["spec"]["alerting"]["alertmanagers"][0]["pathPrefix"] = "/alertmanager"
    box.reads[MANAGERS]["body"]["data"]["activeAlertmanagers"] = [
        {"url": "http://10.42.0.24:9093/alertmanager/api/v2/alerts"}
    ]
    box.reads[ALERTS]["body"] = []


# NVIDIA/dcgm-exporter#85
@situation(
    OPERATOR, "honorLabels: the series name the pod that holds the card as `pod` instead of `exported_pod`"
)
def labels_honoured(box: Box) -> None:
    box.item(MONITORS, "nvidia-dcgm-exporter")["spec"]["endpoints"][0]["honorLabels"] = True
    for key, read in box.reads.items():
        if "query=DCGM" in key:
            for each in read["body"]["data"]["result"]:
                for label in ("pod", "namespace", "container"):
                    each["metric"][label] = each["metric"].pop(f"exported_{label}")


@situation(
    OPERATOR,
    "The disk of the volumes, one of its own, is full: Prometheus cannot write",
    "telemetry",
    "host",
    says="disk | space | full",
    never=f"{BELOW} | servicemonitor",
)
def volume_disk_full(box: Box) -> None:
    df = box.reads["command:df -Pk"]
    df["stdout"] += (
        "/dev/sdb1                           102626232 102626232         0     100% /var/lib/rancher/k3s/storage\n"
    )
    crashes(
        box,
        PROM,
        'time=2026-06-15T11:55:36.814Z level=ERROR source=main.go:1295 msg="Fatal error" err="opening storage failed: open /prometheus/wal/00000451: no space left on device"',
    )


@situation(CPU, "Prometheus without any operator, by the chart that brings a Deployment")
def plain_prometheus(box: Box) -> None:
    box.reads["api:/apis/apiextensions.k8s.io/v1/customresourcedefinitions"]["body"]["items"] = []
    for key in (MONITORS, PROMETHEUSES):
        box.reads[key] = {"status": 404, "body": "404 page not found\n", "error": None}
    for key in (PODS, DEPLOYMENTS, REPLICASETS):
        box.take(key, "kube-prometheus-stack-operator")
    for target in box.reads[TARGETS]["body"]["data"]["activeTargets"]:
        target["scrapePool"] = target["discoveredLabels"]["job"] = "kubernetes-service-endpoints"
    pod = box.pods(PROM)[0]
    old = pod["metadata"]["name"]
    pod["metadata"] |= {
        "name": "prometheus-server-7d5b9c6f4-k2m8x",
        "labels": {"app.kubernetes.io/name": "prometheus", "app.kubernetes.io/component": "server"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "prometheus-server-7d5b9c6f4",
                "controller": True,
            }
        ],
    }
    for endpoint in (
        one
        for each in box.items("api:/apis/discovery.k8s.io/v1/endpointslices")
        for one in each["endpoints"] or []
    ):
        if endpoint["targetRef"]["name"] == old:
            endpoint["targetRef"]["name"] = pod["metadata"]["name"]
