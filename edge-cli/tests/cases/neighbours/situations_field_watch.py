"""More reports of the field on what watches: Prometheus, Alertmanager, exporters and Grafana."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from box import (
    CLAIMS,
    DAEMONSETS,
    DEPLOYMENTS,
    MONITORS,
    PODS,
    REPLICASETS,
    RULES,
    SERVICES,
    SLICES,
    TARGETS,
    Box,
    situation,
)
from situations_field_telemetry import crashes, last, waiting

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
BELOW = f"{DRIVER} | restart the device plugin | reinstall the device plugin | ollama pull | restart ollama"
PROM, GRAFANA, MANAGER, NODES_OF = (
    "prometheus-kube",
    "kube-prometheus-stack-grafana",
    "alertmanager-kube",
    "kube-prometheus-stack-prometheus-node-exporter",
)


@situation(
    OPERATOR,
    "The volume of Prometheus is mounted read-only",
    "telemetry",
    says="read-only | volume",
    never=f"{BELOW} | servicemonitor | retention",
)
def prometheus_read_only(box: Box) -> None:
    crashes(
        box,
        PROM,
        'time=2026-06-15T11:55:36.814Z level=ERROR source=main.go:1295 msg="Fatal error" err="opening storage failed: lock DB directory: open /prometheus/lock: read-only file system"',
    )


@situation(
    CPU,
    "No memory is left on the node for Prometheus",
    "telemetry",
    says="memory",
    never=f"{BELOW} | nvidia | retention",
)
def prometheus_without_memory(box: Box) -> None:
    box.pending(
        PROM,
        "0/1 nodes are available: 1 Insufficient memory. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    )


@situation(
    OPERATOR,
    "Prometheus is killed for its memory several times a day, and answers in between",
    "telemetry",
    says="memory",
    never=f"{BELOW} | servicemonitor",
)
def prometheus_killed_between(box: Box) -> None:
    pod = box.pods(PROM)[0]
    pod["spec"]["containers"][0]["resources"] = {"limits": {"memory": "1Gi"}}
    pod["status"]["containerStatuses"][0] |= {"restartCount": 31, "lastState": last(137, "", "OOMKilled")}
    pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] = "2026-06-15T11:56:10Z"


@situation(
    LIGHT,
    "Alertmanager finds no private address to tell its peers, and ends",
    "telemetry",
    says="alertmanager | address",
    never=BELOW,
)
def manager_without_address(box: Box) -> None:
    crashes(
        box,
        MANAGER,
        'time=2026-06-15T11:55:36.814Z level=ERROR source=main.go:294 msg="unable to initialize gossip mesh" err="create memberlist: Failed to get final advertise address: No private IP address found, and explicit IP not provided"',
    )


@situation(
    OPERATOR,
    "Alertmanager waits for a volume of a class that is not there",
    "telemetry",
    says="alertmanager | volume | claim",
    never=BELOW,
)
def manager_without_volume(box: Box) -> None:
    claim = copy.deepcopy(box.item(CLAIMS, "prometheus-db-0"))
    claim["metadata"] |= {"name": "alertmanager-db-0", "uid": "00000000-0000-4000-8000-0000000000d3"}
    claim["spec"] |= {"storageClassName": "nfs-client"}
    claim["spec"].pop("volumeName")
    claim["status"] = {"phase": "Pending"}
    box.items(CLAIMS).append(claim)
    box.event(
        "PersistentVolumeClaim",
        "monitoring",
        "alertmanager-db-0",
        "ProvisioningFailed",
        'storageclass.storage.k8s.io "nfs-client" not found',
    )
    pod = box.pods(MANAGER)[0]
    pod["spec"]["volumes"] = [{"name": "db", "persistentVolumeClaim": {"claimName": "alertmanager-db-0"}}]
    box.pending(
        MANAGER,
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    )


@situation(
    OPERATOR,
    "The exporter of the platform is killed at its memory limit",
    "telemetry",
    says="memory",
    never=BELOW,
)
def exporter_killed(box: Box) -> None:
    for spec in box.templates("edge-exporter"):
        spec["containers"][0]["resources"] = {"limits": {"memory": "32Mi"}}
    box.state(
        "edge-exporter",
        waiting("CrashLoopBackOff", "back-off 5m0s"),
        last=last(137, "", "OOMKilled"),
        restarts=18,
    )


@situation(CPU, "A Secret of the exporter is missing", "telemetry", says="secret", never=f"{BELOW} | nvidia")
def exporter_secret(box: Box) -> None:
    box.state(
        "edge-exporter", waiting("CreateContainerConfigError", 'secret "edge-exporter-token" not found')
    )


@situation(
    OPERATOR, "Somebody scaled the exporter to zero", "telemetry", says="scaled | replica", never=BELOW
)
def exporter_parked(box: Box) -> None:
    box.take_pod("edge-exporter")
    for key in (DEPLOYMENTS, REPLICASETS):
        box.item(key, "edge-exporter")["spec"]["replicas"] = 0
    box.item(DEPLOYMENTS, "edge-exporter")["status"] = {"observedGeneration": 2}


@situation(LIGHT, "The Service of the exporter was deleted", "telemetry", says="service", never=BELOW)
def exporter_service_gone(box: Box) -> None:
    box.take(SERVICES, "edge-exporter")
    box.take(SLICES, "edge-exporter")
    box.untargeted("edge-exporter")


@situation(CPU, "The node exporter's DaemonSet wants no pod: no profile promises it by itself")
def node_exporter_unwanted(box: Box) -> None:
    daemonset = box.item(DAEMONSETS, NODES_OF)
    daemonset["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/arch": "arm64"}
    daemonset["status"] |= {
        "desiredNumberScheduled": 0,
        "currentNumberScheduled": 0,
        "numberReady": 0,
        "numberAvailable": 0,
    }
    box.take_pod(NODES_OF)


@situation(
    LIGHT,
    "The GPU exporter's port is taken by a service of the host",
    "telemetry",
    says="address already in use | port",
    never=f"{BELOW} | runtimeclass",
)
def gpu_exporter_port(box: Box) -> None:
    said = 'time=2026-06-15T11:55:09.000Z level=ERROR msg="Failed to Listen and Server HTTP server." error="listen tcp :9400: bind: address already in use"'
    crashes(box, "dcgm-exporter", "")
    box.logs(
        "dcgm-exporter",
        'time=2026-06-15T11:55:08.000Z level=INFO msg="DCGM successfully initialized!"',
        said,
        replace=True,
    )
    box.logs("dcgm-exporter", said, previous=True)


@situation(OPERATOR, "Grafana is killed for its memory", "telemetry", says="memory", never=BELOW)
def grafana_killed(box: Box) -> None:
    for spec in box.templates(GRAFANA):
        spec["containers"][0]["resources"] = {"limits": {"memory": "64Mi"}}
    box.state(
        GRAFANA, waiting("CrashLoopBackOff", "back-off 5m0s"), last=last(137, "", "OOMKilled"), restarts=44
    )


@situation(
    LIGHT,
    "Grafana fetches a plugin at its start, and there is no way out",
    "telemetry",
    says="plugin",
    never=BELOW,
)
def grafana_plugin(box: Box) -> None:
    crashes(
        box,
        GRAFANA,
        'Error: ✗ failed to install plugin grafana-piechart-panel: Get "https://grafana.com/api/plugins/repo/grafana-piechart-panel": dial tcp: lookup grafana.com on 10.43.0.10:53: no such host',
    )


@situation(OPERATOR, "The operator's image does not come after an upgrade; everything that it made works")
def operator_image(box: Box) -> None:
    box.state("kube-prometheus-stack-operator", waiting("ImagePullBackOff", "Back-off pulling image"))


@situation(A100, "An exporter that is asked every five minutes only")
def asked_seldom(box: Box) -> None:
    target = box.target("edge-exporter")
    target |= {"scrapeInterval": "5m", "scrapeTimeout": "30s", "lastScrape": "2026-06-15T11:55:40.102Z"}


@situation(OPERATOR, "A monitor names its job otherwise")
def job_renamed(box: Box) -> None:
    box.item(MONITORS, "edge-exporter")["spec"]["jobLabel"] = "app.kubernetes.io/part-of"
    box.target("edge-exporter")["labels"]["job"] = "edge"
    for each in box.reads["http:prometheus:/api/v1/query?query=up"]["body"]["data"]["result"]:
        if each["metric"]["job"] == "edge-exporter":
            each["metric"]["job"] = "edge"


@situation(CPU, "Rules that were loaded this moment are not evaluated yet")
def rules_unevaluated(box: Box) -> None:
    for group in box.reads[RULES]["body"]["data"]["groups"]:
        if group["name"] == "edge-llm":
            group["lastEvaluation"] = "0001-01-01T00:00:00Z"
            for rule in group["rules"]:
                rule |= {"health": "unknown", "lastEvaluation": "0001-01-01T00:00:00Z"}


@situation(
    OPERATOR,
    "Prometheus lives under a path of its own, where the tool does not ask",
    "telemetry",
    outcome="unknown",
    says="404 | path | prefix | prometheus",
    never=BELOW,
)
def prometheus_under_path(box: Box) -> None:
    for key in box.reads:
        if key.startswith("http:prometheus:"):
            box.reads[key] = {"status": 404, "body": "404 page not found\n", "error": None}


@situation(
    LIGHT,
    "Alertmanager wants a sign-on of the tool",
    "telemetry",
    outcome="unknown",
    says="401 | sign | credential | authori",
    never=BELOW,
)
def manager_401(box: Box) -> None:
    for key in box.reads:
        if key.startswith("http:alertmanager:"):
            box.reads[key] = {"status": 401, "body": "Unauthorized\n", "error": None}


@situation(A100, "DCGM cannot measure what needs more rights, and says so")
def exporter_says_more(box: Box) -> None:
    box.logs(
        "nvidia-dcgm-exporter",
        "time=2026-06-15T08:02:14.611Z level=WARN msg=\"Skipping line 20 ('DCGM_FI_PROF_GR_ENGINE_ACTIVE'): metric not enabled\"",
        'time=2026-06-15T08:02:14.612Z level=INFO msg="Not collecting GPU metrics; Error getting devices count: Cannot perform the requested operation because NVML doesn\'t exist on this system."'.replace(
            "Not collecting GPU metrics", "Not collecting NvSwitch metrics"
        ),
        'time=2026-06-15T08:02:14.613Z level=INFO msg="Not collecting CPU metrics; no fields to watch for device type: 7"',
    )


@situation(OPERATOR, "The GPU exporter does without the links and the CPUs that this board has not")
def exporter_does_without(box: Box) -> None:
    box.logs(
        "nvidia-dcgm-exporter",
        'time=2026-06-15T08:02:14.613Z level=INFO msg="Not collecting Link metrics; no switches to monitor"',
        'time=2026-06-15T08:02:14.614Z level=ERROR msg="Failed to get hpc job mapping" error="open /var/run/hpc: no such file or directory"',
    )


@situation(
    OPERATOR,
    "A firing alert tells of the fault that is diagnosed, and is no second one",
    "telemetry",
    says="edge-exporter",
    never=BELOW,
)
def alert_beside_fault(box: Box) -> None:
    crashes(box, "edge-exporter", "panic: cannot reach http://ollama.llm:11434")
    for rule in next(
        each for each in box.reads[RULES]["body"]["data"]["groups"] if each["name"] == "edge-llm"
    )["rules"][:1]:
        rule |= {
            "state": "firing",
            "alerts": [
                {
                    "labels": {"alertname": "OllamaDown", "severity": "critical"},
                    "annotations": {},
                    "state": "firing",
                    "activeAt": "2026-06-15T11:31:00Z",
                    "value": "0e+00",
                }
            ],
        }
    box.reads["http:prometheus:/api/v1/query?query=ALERTS%7Balertstate%3D%22firing%22%7D"]["body"]["data"][
        "result"
    ].append(
        {
            "metric": {
                "__name__": "ALERTS",
                "alertname": "OllamaDown",
                "alertstate": "firing",
                "severity": "critical",
            },
            "value": [1781524800.0, "1"],
        }
    )
    arrived = copy.deepcopy(box.reads["http:alertmanager:/api/v2/alerts"]["body"][0])
    arrived |= {
        "labels": {"alertname": "OllamaDown", "severity": "critical"},
        "fingerprint": "bb00bb00bb00bb00",
    }
    box.reads["http:alertmanager:/api/v2/alerts"]["body"].append(arrived)


@situation(
    OPERATOR,
    "The disk of the node is under pressure: Prometheus and Ollama were evicted, one cause",
    "gpu",
    "host",
    says="disk",
    never=f"{DRIVER} | ollama pull | servicemonitor",
)
def pressure_takes_both(box: Box) -> None:
    node = box.items("api:/api/v1/nodes")[0]
    for condition in node["status"]["conditions"]:
        if condition["type"] == "DiskPressure":
            condition |= {
                "status": "True",
                "reason": "KubeletHasDiskPressure",
                "message": "kubelet has disk pressure",
                "lastTransitionTime": "2026-06-15T11:40:00Z",
            }
    node["spec"]["taints"] = [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]
    waits = "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    for workload in ("ollama", PROM):
        ghost = box.clone_pod(workload, "gh0st")
        ghost["status"] = {
            "phase": "Failed",
            "reason": "Evicted",
            "message": "The node was low on resource: ephemeral-storage. Threshold quantity: 96030282200, available: 40128344Ki. ",
            "startTime": "2026-06-01T09:00:00Z",
        }
        box.items(PODS).remove(ghost)
        box.pending(workload, waits)
        box.items(PODS).append(ghost)
    box.unanswered("http:prometheus:")


@situation(
    LIGHT,
    "A scrape of half a minute ago is the newest, and the clock of the exporter's host runs a little ahead",
)
def a_little_ahead(box: Box) -> None:
    for target in box.reads[TARGETS]["body"]["data"]["activeTargets"]:
        target["lastScrape"] = "2026-06-15T12:00:03.102Z"


@situation(OPERATOR, "The GPU exporter names the card's holder with a container of its own and no namespace")
def holder_without_namespace(box: Box) -> None:
    for key, read in box.reads.items():
        if "query=DCGM" in key:
            for each in read["body"]["data"]["result"]:
                each["metric"].pop("exported_namespace", None)
