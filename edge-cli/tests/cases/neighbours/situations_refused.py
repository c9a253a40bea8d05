"""Neighbours: pods that the API server refuses, workloads that want none, images and ports."""
# ruff: noqa: E501 - what events and logs say stays one line, as it comes

import copy

from box import DAEMONSETS, DEPLOYMENTS, REPLICASETS, Box, situation

OPERATOR, LIGHT, DUAL, CPU = "rtx-4090-k3s", "rtx-4090-light-k3s", "dual-4090-k3s", "cpu-k3s"
DRIVER = "reinstall the driver | install the driver"
QUOTA = "exceeded quota: compute, requested: limits.memory=4Gi, used: limits.memory=30Gi, limited: limits.memory=32Gi"


def _refused(box: Box, workload: str, said: str) -> None:
    """No pod of a Deployment, for its ReplicaSet may make none; it says so in its condition and an event."""
    namespace = box.pods(workload)[0]["metadata"]["namespace"]
    replicaset = box.item(REPLICASETS, workload)
    name = replicaset["metadata"]["name"]
    box.take_pod(workload)
    told = f'pods "{name}-x7k2p" is forbidden: {said}'
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": told}
    replicaset["status"].setdefault("conditions", []).append(condition)
    box.item(DEPLOYMENTS, workload)["status"].setdefault("conditions", []).append(copy.deepcopy(condition))
    box.event("ReplicaSet", namespace, name, "FailedCreate", f"Error creating: {told}")


@situation(OPERATOR, "A quota refuses Open WebUI's pod", "serving", says="quota", never=DRIVER)
def webui_quota(box: Box) -> None:
    _refused(box, "open-webui", QUOTA)


@situation(
    LIGHT,
    "PodSecurity refuses Open WebUI's pod, for it runs as root",
    "serving",
    says="podsecurity",
    never=DRIVER,
)
def webui_pod_security(box: Box) -> None:
    _refused(box, "open-webui", 'violates PodSecurity "restricted:latest": runAsNonRoot != true')


@situation(
    OPERATOR,
    "The service account of Open WebUI was deleted",
    "serving",
    says="serviceaccount | service account",
    never=DRIVER,
)
def webui_service_account(box: Box) -> None:
    _refused(
        box,
        "open-webui",
        'error looking up service account llm/open-webui: serviceaccount "open-webui" not found',
    )


@situation(
    OPERATOR,
    "A LimitRange refuses Open WebUI's pod",
    "serving",
    says="maximum memory usage | limitrange",
    never=DRIVER,
)
def webui_limit_range(box: Box) -> None:
    _refused(box, "open-webui", "maximum memory usage per Container is 1Gi, but limit is 4Gi")


@situation(
    OPERATOR,
    "The volume claim of Open WebUI was deleted",
    "serving",
    says="open-webui | claim",
    never=f"{DRIVER} | ollama pull",
)
def webui_claim_missing(box: Box) -> None:
    box.pending(
        "open-webui",
        '0/1 nodes are available: persistentvolumeclaim "open-webui" not found. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
    )


@situation(
    OPERATOR,
    "A quota refuses Ollama's pod an hour and more ago: no event is left, the ReplicaSet still says it",
    "serving",
    says="quota",
    never=DRIVER,
)
def quota_without_event(box: Box) -> None:
    _refused(box, "ollama", QUOTA)
    box.reads["api:/api/v1/events"]["body"]["items"].clear()


@situation(OPERATOR, "A quota refuses the exporter of this platform", "telemetry", says="quota", never=DRIVER)
def edge_exporter_quota(box: Box) -> None:
    _refused(box, "edge-exporter", QUOTA)


@situation(OPERATOR, "A quota refuses Grafana", "telemetry", says="quota", never=DRIVER)
def grafana_quota(box: Box) -> None:
    _refused(box, "kube-prometheus-stack-grafana", QUOTA)


@situation(OPERATOR, "A quota refuses Alertmanager's pod", "telemetry", says="quota", never=DRIVER)
def alertmanager_quota(box: Box) -> None:
    box.take_pod("alertmanager-")
    box.event(
        "StatefulSet",
        "monitoring",
        "alertmanager-kube-prometheus-stack-alertmanager",
        "FailedCreate",
        f"create Pod alertmanager-kube-prometheus-stack-alertmanager-0 in StatefulSet alertmanager-kube-prometheus-stack-alertmanager failed error: pods is forbidden: {QUOTA}",
    )


def _as_daemonset(box: Box, *, selector: dict[str, str] | None = None) -> None:
    """Ollama as a DaemonSet in place of its Deployment."""
    deployment = copy.deepcopy(box.item(DEPLOYMENTS, "ollama"))
    deployment["spec"].pop("replicas")
    deployment["spec"].pop("strategy")
    deployment["status"] = {"desiredNumberScheduled": 1, "currentNumberScheduled": 1, "numberReady": 1}
    box.items(DAEMONSETS).append(deployment)
    box.take(DEPLOYMENTS, "ollama")
    box.take(REPLICASETS, "ollama")
    for pod in box.pods("ollama"):
        pod["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "ollama", "controller": True}
        ]
    if selector:
        deployment["spec"]["template"]["spec"]["nodeSelector"] = selector
        deployment["status"] = {"desiredNumberScheduled": 0, "currentNumberScheduled": 0, "numberReady": 0}


@situation(CPU, "Ollama as a DaemonSet: all is well")
def ollama_daemonset(box: Box) -> None:
    _as_daemonset(box)


@situation(
    CPU,
    "Ollama as a DaemonSet whose node selector no node meets",
    "serving",
    says="no node | selector | label",
    never=f"{DRIVER} | scale | replicas",
)
def daemonset_without_node(box: Box) -> None:
    _as_daemonset(box, selector={"disktype": "nvme"})
    box.take_pod("ollama")


@situation(
    CPU,
    "Ollama as a StatefulSet that was scaled to zero: its Service and its claim are there, and no pod",
    "serving",
    says="statefulset | scaled | no pod",
    never=f"{DRIVER} | edge up",
)
def statefulset_scaled_to_zero(box: Box) -> None:
    box.take_pod("ollama")
    box.take(DEPLOYMENTS, "ollama")
    box.take(REPLICASETS, "ollama")
    claim = box.item("api:/api/v1/persistentvolumeclaims", "ollama")
    claim["metadata"]["name"] = "ollama-data-ollama-0"


@situation(
    OPERATOR,
    "A second replica of Ollama is refused by a quota, the first one serves",
    "serving",
    says="quota",
    never=DRIVER,
)
def second_replica_refused(box: Box) -> None:
    name = box.item(REPLICASETS, "ollama")["metadata"]["name"]
    told = f'pods "{name}-x7k2p" is forbidden: {QUOTA}'
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": told}
    for key in (DEPLOYMENTS, REPLICASETS):
        each = box.item(key, "ollama")
        each["spec"]["replicas"] = 2
        each["status"].setdefault("conditions", []).append(dict(condition))
    box.event("ReplicaSet", "llm", name, "FailedCreate", f"Error creating: {told}")


@situation(LIGHT, "ReplicaSets were not read", "serving", outcome="unknown", says="replicasets", never=DRIVER)
def replicasets_unread(box: Box) -> None:
    del box.reads[REPLICASETS]


@situation(
    CPU,
    "Ollama's port is taken in its network: another engine runs on the host network",
    "serving",
    says="address already in use | port",
    never=f"{DRIVER} | memory limit",
)
def port_taken(box: Box) -> None:
    box.state(
        "ollama",
        {
            "waiting": {
                "reason": "CrashLoopBackOff",
                "message": "back-off 5m0s restarting failed container=ollama",
            }
        },
        last={"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "2026-06-15T11:56:00Z"}},
        restarts=9,
    )
    box.logs("ollama", "Error: listen tcp 0.0.0.0:11434: bind: address already in use", replace=True)
    box.logs(
        "ollama", "Error: listen tcp 0.0.0.0:11434: bind: address already in use", replace=True, previous=True
    )


@situation(
    LIGHT,
    "The image of Ollama does not come: the disk of the node is full",
    "serving",
    "gpu",
    says="no space",
    never=DRIVER,
)
def image_no_space(box: Box) -> None:
    box.state(
        "ollama",
        {
            "waiting": {
                "reason": "ErrImagePull",
                "message": 'failed to pull and unpack image "docker.io/ollama/ollama:0.33.0": failed to extract layer sha256:12: write /var/lib/rancher/k3s/agent/containerd/x: no space left on device',
            }
        },
    )
    box.event(
        "Pod",
        "llm",
        box.pods("ollama")[0]["metadata"]["name"],
        "Failed",
        'Failed to pull image "docker.io/ollama/ollama:0.33.0": write /var/lib/rancher/k3s/agent/containerd/x: no space left on device',
    )


@situation(
    OPERATOR,
    "The volume of the models is full: Ollama cannot write its manifest, what is loaded serves",
    "model",
    "serving",
    says="no space",
    never=DRIVER,
)
def model_volume_full(box: Box) -> None:
    box.unloaded()
    box.reads["http:ollama:/api/tags"]["body"]["models"] = [
        each
        for each in box.reads["http:ollama:/api/tags"]["body"]["models"]
        if not each["name"].startswith("qwen")
    ]
    box.logs(
        "ollama",
        'time=2026-06-15T11:50:00.000Z level=INFO source=download.go:180 msg="downloading 2bada8a74506 in 16 part(s)"',
        'time=2026-06-15T11:51:00.000Z level=ERROR source=images.go:700 msg="pull failed: write /root/.ollama/models/blobs/sha256-2bada8a74506-partial: no space left on device"',
    )


@situation(LIGHT, "A stranger's ReplicaSet is refused by a quota")
def stranger_refused(box: Box) -> None:
    box.event(
        "ReplicaSet",
        "ci",
        "runner-6c9d",
        "FailedCreate",
        'Error creating: pods "runner-6c9d-" is forbidden: exceeded quota: ci',
    )
