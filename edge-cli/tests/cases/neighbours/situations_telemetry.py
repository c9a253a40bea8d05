"""Neighbours of the telemetry rung: Prometheus, its targets, the GPU series, rules and alerts."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from box import (
    CLAIMS,
    DAEMONSETS,
    DEPLOYMENTS,
    EVENTS,
    MONITORS,
    PODS,
    PROMETHEUSES,
    REPLICASETS,
    RULES,
    SERVICES,
    SLICES,
    TARGETS,
    Box,
    situation,
)

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
UP = "http:prometheus:/api/v1/query?query=up"
MANAGERS = "http:prometheus:/api/v1/alertmanagers"
CRDS = "api:/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FB_USED = "http:prometheus:/api/v1/query?query=DCGM_FI_DEV_FB_USED"


def _waiting(reason: str, message: str = "") -> dict:
    return {"waiting": {"reason": reason, "message": message}}


def _last(reason: str, code: int, message: str = "") -> dict:
    return {
        "terminated": {
            "reason": reason,
            "exitCode": code,
            "message": message,
            "startedAt": "2026-06-15T11:55:00Z",
            "finishedAt": "2026-06-15T11:56:00Z",
        }
    }


@situation(
    OPERATOR,
    "Prometheus' volume is full: it panics at its start",
    "telemetry",
    says="space | disk | volume",
    never=f"{BELOW} | servicemonitor",
)
def prometheus_disk_full(box: Box) -> None:
    said = "opening storage failed: open /prometheus/wal/00000451: no space left on device"
    box.state(PROM, _waiting("CrashLoopBackOff", "back-off 5m0s"), last=_last("Error", 1, said), restarts=30)


@situation(
    OPERATOR,
    "Prometheus is OOMKilled while it replays its log",
    "telemetry",
    says="memory",
    never=f"{BELOW} | servicemonitor",
)
def prometheus_oom(box: Box) -> None:
    box.pods(PROM)[0]["spec"]["containers"][0]["resources"] = {"limits": {"memory": "1Gi"}}
    box.state(PROM, _waiting("CrashLoopBackOff", "back-off 5m0s"), last=_last("OOMKilled", 137), restarts=12)


@situation(
    CPU,
    "Prometheus replays its write-ahead log for ten minutes",
    "telemetry",
    says="replay | wait | ready",
    never=f"{BELOW} | nvidia",
)
def prometheus_replays(box: Box) -> None:
    box.state(PROM, {"running": {"startedAt": "2026-06-15T11:50:00Z"}})
    box.event(
        "Pod",
        "monitoring",
        box.pods(PROM)[0]["metadata"]["name"],
        "Unhealthy",
        "Startup probe failed: HTTP probe failed with statuscode: 503",
    )
    for key in box.reads:
        if key.startswith("http:prometheus:"):
            box.reads[key] = {"status": 503, "body": "Service Unavailable", "error": None}


@situation(OPERATOR, "Prometheus waits for a volume", "telemetry", says="volume | claim", never=BELOW)
def prometheus_without_volume(box: Box) -> None:
    claim = box.item(CLAIMS, "prometheus-db-0")
    claim["spec"] |= {"storageClassName": "fast-nvme"}
    claim["spec"].pop("volumeName", None)
    claim["status"] = {"phase": "Pending"}
    box.event(
        "PersistentVolumeClaim",
        "monitoring",
        "prometheus-db-0",
        "ProvisioningFailed",
        'storageclass.storage.k8s.io "fast-nvme" not found',
    )
    box.pending(PROM, "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")


@situation(
    OPERATOR,
    "The operator was removed with its custom resources: no Prometheus",
    "telemetry",
    says="prometheus | crd | custom",
    never=BELOW,
)
def monitoring_removed(box: Box) -> None:
    box.take_pod(PROM)
    box.take_pod("kube-prometheus-stack-operator")
    for key in (DEPLOYMENTS, REPLICASETS):
        box.take(key, "kube-prometheus-stack-operator")
    box.items(CRDS)[:] = [
        each for each in box.items(CRDS) if "monitoring.coreos.com" not in each["metadata"]["name"]
    ]
    for key in (MONITORS, PROMETHEUSES):
        box.reads[key] = {"status": 404, "body": "404 page not found\n", "error": None}


@situation(
    OPERATOR,
    "The operator is down, and the monitor that was added since is not applied",
    "telemetry",
    says="operator",
    never=BELOW,
)
def operator_down(box: Box) -> None:
    box.state(
        "kube-prometheus-stack-operator", _waiting("CrashLoopBackOff"), last=_last("Error", 1), restarts=9
    )
    box.untargeted("edge-exporter")


@situation(
    OPERATOR,
    "The monitor asks for a port name that the Service does not have",
    "telemetry",
    says="port",
    never=BELOW,
)
def monitor_port(box: Box) -> None:
    box.item(MONITORS, "edge-exporter")["spec"]["endpoints"][0]["port"] = "http"
    box.untargeted("edge-exporter")


@situation(
    LIGHT,
    "The monitor of the GPU exporter looks for labels that its Service lost",
    "telemetry",
    says="label | service",
    never=BELOW,
)
def monitor_matches_nothing(box: Box) -> None:
    box.item(SERVICES, "dcgm-exporter")["metadata"]["labels"] = {"app": "gpu-metrics"}
    box.untargeted("dcgm-exporter")
    box.without_series("DCGM_")


@situation(
    OPERATOR,
    "Scraping the GPU exporter takes longer than it may",
    "telemetry",
    says="timed out | deadline | slow",
    never=BELOW,
)
def gpu_scrape_timeout(box: Box) -> None:
    box.target_down("nvidia-dcgm-exporter", 'Get "http://10.42.0.17:9400/metrics": context deadline exceeded')
    box.target("nvidia-dcgm-exporter")["lastScrapeDuration"] = 10.0
    box.without_series("DCGM_")


@situation(
    OPERATOR,
    "The exporter's target refuses: a proxy in front of it wants a token",
    "telemetry",
    says="401 | refus | credential",
    never=BELOW,
)
def target_401(box: Box) -> None:
    box.target_down("edge-exporter", "server returned HTTP status 401 Unauthorized")


@situation(
    CPU,
    "The exporter's pod is gone with its image",
    "telemetry",
    says="image | exporter",
    never=f"{BELOW} | nvidia",
)
def exporter_image(box: Box) -> None:
    box.state("edge-exporter", _waiting("ImagePullBackOff", "Back-off pulling image"))
    box.event(
        "Pod",
        "llm",
        box.pods("edge-exporter")[0]["metadata"]["name"],
        "Failed",
        'Failed to pull image "ghcr.io/example/edge-exporter:0.1.0": not found',
    )


@situation(
    OPERATOR,
    "The GPU exporter is OOMKilled at its default limit",
    "telemetry",
    says="memory",
    never=f"{BELOW} | servicemonitor",
)
def gpu_exporter_oom(box: Box) -> None:
    box.pods("nvidia-dcgm-exporter")[0]["spec"]["containers"][0]["resources"] = {
        "limits": {"memory": "128Mi"}
    }
    box.state("nvidia-dcgm-exporter", _waiting("CrashLoopBackOff"), last=_last("OOMKilled", 137), restarts=15)
    box.item(DAEMONSETS, "nvidia-dcgm-exporter")["status"] |= {
        "numberReady": 0,
        "numberAvailable": 0,
        "numberUnavailable": 1,
    }


@situation(
    LIGHT,
    "The GPU exporter's own probe kills it before DCGM is ready",
    "telemetry",
    says="probe | exporter",
    never=BELOW,
)
def gpu_exporter_probe(box: Box) -> None:
    name = box.pods("dcgm-exporter")[0]["metadata"]["name"]
    box.state("dcgm-exporter", _waiting("CrashLoopBackOff"), last=_last("Completed", 0), restarts=46)
    box.event(
        "Pod",
        "monitoring",
        name,
        "Unhealthy",
        "Liveness probe failed: HTTP probe failed with statuscode: 503",
    )
    box.event(
        "Pod", "monitoring", name, "Killing", "Container exporter failed liveness probe, will be restarted"
    )
    box.item(DAEMONSETS, "dcgm-exporter")["status"] |= {
        "numberReady": 0,
        "numberAvailable": 0,
        "numberUnavailable": 1,
    }


@situation(
    LIGHT,
    "The GPU exporter does not tolerate the taint that the node was given",
    "telemetry",
    "gpu",
    says="taint | tolerat | node",
    never=DRIVER,
)
def gpu_exporter_taint(box: Box) -> None:
    node = box.item("api:/api/v1/nodes", "edge-1")
    node["spec"]["taints"] = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    daemonset = box.item(DAEMONSETS, "dcgm-exporter")
    daemonset["spec"]["template"]["spec"]["tolerations"] = []
    daemonset["status"] |= {
        "desiredNumberScheduled": 0,
        "currentNumberScheduled": 0,
        "numberReady": 0,
        "numberAvailable": 0,
    }
    box.take_pod("dcgm-exporter")


@situation(
    OPERATOR,
    "The GPU exporter's counters file lacks the memory fields",
    "telemetry",
    says="fb_ | series | counter",
    never=BELOW,
)
def counters_lack_memory(box: Box) -> None:
    box.without_series("_FB_")


@situation(DUAL, "The GPU exporter speaks of one of two cards", "telemetry", says="GPU-", never=BELOW)
def one_card_silent(box: Box) -> None:
    for key, read in box.reads.items():
        if "DCGM_" in key:
            del read["body"]["data"]["result"][1:]


@situation(
    OPERATOR,
    "The GPU series still name the pod of before the rollout, for minutes",
    "telemetry",
    says="pod",
    never=BELOW,
)
def old_pod_named(box: Box) -> None:
    for key, read in box.reads.items():
        if "DCGM_" in key:
            for each in read["body"]["data"]["result"]:
                each["metric"]["exported_pod"] = "ollama-77777777-old"


@situation(
    OPERATOR,
    "The rollout is two minutes old: the series will name the new pod at the next look",
    outcome="unknown",
    says="pod | wait | yet",
    never=BELOW,
)
def old_pod_named_yet(box: Box) -> None:
    old_pod_named(box)
    pod = box.pods("ollama")[0]
    pod["metadata"]["creationTimestamp"] = "2026-06-15T11:58:20Z"
    pod["status"]["startTime"] = "2026-06-15T11:58:20Z"
    pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] = "2026-06-15T11:58:25Z"


@situation(
    OPERATOR,
    "A rule of our group cannot be evaluated: two series match where one may",
    "telemetry",
    says="rule",
    never=f"{BELOW} | servicemonitor",
)
def rule_fails(box: Box) -> None:
    rule = box.reads[RULES]["body"]["data"]["groups"][0]["rules"][2]
    rule |= {
        "health": "err",
        "lastError": "found duplicate series for the match group on the right hand-side of the operation",
    }


@situation(OPERATOR, "Somebody else's rule group has a broken rule; ours is well")
def foreign_rule_fails(box: Box) -> None:
    box.reads[RULES]["body"]["data"]["groups"][1]["rules"][0] |= {"health": "err", "lastError": "bad"}


@situation(
    OPERATOR, "Alertmanager crash-loops on its configuration", "telemetry", says="alertmanager", never=BELOW
)
def alertmanager_crash(box: Box) -> None:
    box.state(
        "alertmanager-kube",
        _waiting("CrashLoopBackOff"),
        last=_last("Error", 1, 'Loading configuration file failed: undefined receiver "pager" used in route'),
        restarts=9,
    )


@situation(
    OPERATOR,
    "Prometheus is told of an Alertmanager by a port name that changed",
    "telemetry",
    says="port | alertmanager",
    never=BELOW,
)
def alertmanager_port(box: Box) -> None:
    box.item(PROMETHEUSES, "kube")["spec"]["alerting"]["alertmanagers"][0]["port"] = "web"
    box.reads[MANAGERS]["body"]["data"]["activeAlertmanagers"] = []


@situation(
    OPERATOR,
    "What fires does not arrive: an old NetworkPolicy stands between",
    "telemetry",
    says="alert",
    never=f"{BELOW} | servicemonitor",
)
def alerts_lost(box: Box) -> None:
    box.reads["http:alertmanager:/api/v2/alerts"]["body"] = []


@situation(OPERATOR, "An alert of the stack fires and has arrived: that is what it is for")
def alert_fires(box: Box) -> None:
    rule = box.reads[RULES]["body"]["data"]["groups"][0]["rules"][3]
    labels = {"alertname": "GpuHot", "severity": "warning"}
    rule |= {
        "state": "firing",
        "alerts": [
            {
                "labels": labels,
                "annotations": {},
                "state": "firing",
                "activeAt": "2026-06-15T11:40:00Z",
                "value": "9e+01",
            }
        ],
    }
    box.reads["http:prometheus:/api/v1/query?query=ALERTS%7Balertstate%3D%22firing%22%7D"]["body"]["data"][
        "result"
    ].append(
        {"metric": {"__name__": "ALERTS", "alertstate": "firing", **labels}, "value": [1781524800.0, "1"]}
    )
    alerts = box.reads["http:alertmanager:/api/v2/alerts"]["body"]
    more = copy.deepcopy(alerts[0])
    more["labels"] = labels
    alerts.append(more)


@situation(
    OPERATOR,
    "Prometheus stores nothing any more although its targets are green",
    "telemetry",
    says="store | sample | series | old",
    never=BELOW,
)
def store_stands(box: Box) -> None:
    for key, read in box.reads.items():
        if key.startswith("http:prometheus:/api/v1/query"):
            for each in read["body"]["data"]["result"]:
                each["value"][0] -= 3600


@situation(
    OPERATOR,
    "Prometheus says that its volume is full beside every target",
    "telemetry",
    says="space | disk | volume",
    never=f"{BELOW} | servicemonitor",
)
def targets_say_disk_full(box: Box) -> None:
    for target in box.reads[TARGETS]["body"]["data"]["activeTargets"]:
        target |= {
            "health": "down",
            "lastError": "write to WAL: log samples: write /prometheus/wal/00000451: no space left on device",
        }
    for each in box.reads[UP]["body"]["data"]["result"]:
        each["value"][1] = "0"


@situation(
    OPERATOR,
    "Grafana is not installed though the profile promises it",
    "telemetry",
    says="grafana",
    never=BELOW,
)
def grafana_missing(box: Box) -> None:
    box.take_pod("kube-prometheus-stack-grafana")
    for key in (DEPLOYMENTS, REPLICASETS, SERVICES, SLICES):
        box.take(key, "kube-prometheus-stack-grafana")


@situation(CPU, "Grafana is not installed on a CPU box")
def grafana_not_promised(box: Box) -> None:
    grafana_missing(box)


@situation(
    OPERATOR,
    "Prometheus answers 401: it wants a sign-on",
    "telemetry",
    outcome="unknown",
    says="401 | right | credential | sign",
    never=f"{BELOW} | servicemonitor",
)
def prometheus_401(box: Box) -> None:
    for key in box.reads:
        if key.startswith("http:prometheus:"):
            box.reads[key] = {"status": 401, "body": "Unauthorized\n", "error": None}


@situation(
    OPERATOR,
    "Only Alertmanager's answers could not be got",
    "telemetry",
    outcome="unknown",
    says="alertmanager",
    never=BELOW,
)
def alertmanager_unreached(box: Box) -> None:
    box.unanswered("http:alertmanager:", "timeout")


@situation(
    OPERATOR,
    "ServiceMonitors may not be read; their targets are there and up",
    "telemetry",
    outcome="unknown",
    says="403 | forbidden",
    never=BELOW,
)
def monitors_forbidden(box: Box) -> None:
    box.refuse(MONITORS)


@situation(
    OPERATOR,
    "Events may not be read; everything else is seen",
    outcome="unknown",
    says="403 | forbidden",
    never=BELOW,
)
def events_forbidden(box: Box) -> None:
    box.refuse(EVENTS)


@situation(
    LIGHT, "node-exporter is down: its port is taken on the host", "telemetry", says="node", never=BELOW
)
def node_exporter_down(box: Box) -> None:
    box.state(
        "kube-prometheus-stack-prometheus-node-exporter",
        _waiting("CrashLoopBackOff"),
        last=_last("Error", 1, "listen tcp :9100: bind: address already in use"),
        restarts=20,
    )


@situation(OPERATOR, "A dropped target of somebody else and one that is down, neither promised")
def foreign_targets(box: Box) -> None:
    data = box.reads[TARGETS]["body"]["data"]
    other = copy.deepcopy(data["activeTargets"][1])
    other["labels"] |= {
        "job": "someones-app",
        "service": "someones-app",
        "pod": "app-1",
        "container": "app",
        "instance": "10.42.0.77:8000",
    }
    other["discoveredLabels"]["__meta_kubernetes_service_name"] = "someones-app"
    other |= {
        "scrapePool": "serviceMonitor/x/someones-app/0",
        "health": "down",
        "lastError": "connection refused",
    }
    data["activeTargets"].append(other)


@situation(OPERATOR, "DCGM says no Xid at all, the last value being 0: a healthy card")
def xid_zero(box: Box) -> None:
    for each in box.reads["http:prometheus:/api/v1/query?query=DCGM_FI_DEV_XID_ERRORS"]["body"]["data"][
        "result"
    ]:
        each["value"][1] = "0"


@situation(OPERATOR, "DCGM still shows Xid 31 of an application two days ago")
def xid_sticky(box: Box) -> None:
    for each in box.reads["http:prometheus:/api/v1/query?query=DCGM_FI_DEV_XID_ERRORS"]["body"]["data"][
        "result"
    ]:
        each["value"][1] = "31"
    box.kernel(
        "2026-06-13T08:00:00,000000+00:00 NVRM: Xid (PCI:0000:01:00): 31, pid=4711, name=python3, Ch 00000008, intr 00000000. MMU Fault"
    )


@situation(
    OPERATOR,
    "The GPU exporter is blind because the driver is mismatched: the host's fault",
    "host",
    says="mismatch",
    never="servicemonitor | restart the device plugin | reinstall dcgm",
)
def exporter_blind_by_host(box: Box) -> None:
    box.reads["command:nvidia-smi -q -x"] = {
        "rc": 18,
        "stdout": "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.211\n",
        "stderr": "",
        "error": None,
        "took_s": 0.1,
    }
    box.state("nvidia-dcgm-exporter", _waiting("CrashLoopBackOff"), last=_last("Error", 1), restarts=7)
    box.logs(
        "nvidia-dcgm-exporter", "Failed to initialize NVML: Driver/library version mismatch", replace=True
    )


@situation(
    OPERATOR,
    "Two of the stack's parts broke independently: the model is missing, Grafana crashes",
    "model",
    says="qwen2.5:7b",
    never="restart ollama | runtimeclass",
    also="telemetry",
)
def model_and_grafana(box: Box) -> None:
    box.unloaded()
    box.reads["http:ollama:/api/tags"]["body"]["models"].pop(0)
    box.state(
        "kube-prometheus-stack-grafana", _waiting("CrashLoopBackOff"), last=_last("Error", 1), restarts=9
    )


@situation(
    OPERATOR,
    "Open WebUI is down and the rules are gone: two faults",
    "serving",
    says="webui | web ui",
    never=BELOW,
    also="telemetry",
)
def webui_and_rules(box: Box) -> None:
    box.state("open-webui", _waiting("CrashLoopBackOff"), last=_last("Error", 1), restarts=9)
    groups = box.reads[RULES]["body"]["data"]["groups"]
    groups[:] = [each for each in groups if each["name"] != "edge-llm"]


@situation(LIGHT, "A finished scrape job of Prometheus' own upgrade lies beside, Completed")
def completed_job(box: Box) -> None:
    pod = copy.deepcopy(box.pods("edge-exporter")[0])
    pod["metadata"] |= {
        "name": "kube-prometheus-stack-admission-create-x",
        "uid": "88888888-8888-4888-8888-888888888888",
        "labels": {},
        "ownerReferences": [{"kind": "Job", "name": "x", "uid": "9"}],
    }
    pod["status"] = {
        "phase": "Succeeded",
        "conditions": [{"type": "Ready", "status": "False", "reason": "PodCompleted"}],
    }
    box.items(PODS).append(pod)
