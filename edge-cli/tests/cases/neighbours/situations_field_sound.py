"""Reports of the field on what is odd, old or somebody else's and breaks no promise; and faults that stack."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy
from typing import Any

from box import (
    CLAIMS,
    DEPLOYMENTS,
    DMESG,
    PODS,
    PROMETHEUSES,
    REPLICASETS,
    RULES,
    SERVICES,
    SLICES,
    SMI,
    TARGETS,
    Box,
    situation,
)
from situations_field_model import absent, pull_job
from situations_field_serving import as_statefulset, crashes, ended, waiting

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
OLD = "2026-06-12T11:00:00Z"
UP = "http:prometheus:/api/v1/query?query=up"
FIRING = "http:prometheus:/api/v1/query?query=ALERTS%7Balertstate%3D%22firing%22%7D"


def beside(box: Box, workload: str, name: str, namespace: str, **metadata: Any) -> dict[str, Any]:
    """A pod like one of ours, of somebody else."""
    pod = copy.deepcopy(box.pods(workload)[0])
    pod["metadata"] |= {
        "name": name,
        "namespace": namespace,
        "uid": f"00000000-0000-4000-8000-{abs(hash(name)) % 10**12:012d}",
        "ownerReferences": [],
        **metadata,
    }
    box.items(PODS).append(pod)
    return pod


# otwld/ollama-helm: templates/tests/test-connection.yaml
@situation(OPERATOR, "The chart's own test pod failed at the install, and carries Ollama's labels")
def test_pod_of_the_chart(box: Box) -> None:
    pod = beside(box, "ollama", "ollama-test-connection", "llm")
    pod["metadata"]["annotations"] = {"helm.sh/hook": "test"}
    pod["spec"] |= {"restartPolicy": "Never", "volumes": []}
    pod["spec"].pop("runtimeClassName", None)
    pod["spec"]["containers"] = [
        {
            "name": "wget",
            "image": "docker.io/library/busybox:1.37.0",
            "command": ["wget"],
            "args": ["ollama:11434"],
            "resources": {},
        }
    ]
    pod["status"] |= {"phase": "Failed", "conditions": []}
    pod["status"]["containerStatuses"] = [
        {
            "name": "wget",
            "image": "busybox:1.37.0",
            "ready": False,
            "restartCount": 0,
            "lastState": {},
            "state": {
                "terminated": {
                    "reason": "Error",
                    "exitCode": 1,
                    "startedAt": "2026-06-01T09:00:10Z",
                    "finishedAt": "2026-06-01T09:00:12Z",
                }
            },
        }
    ]


@situation(OPERATOR, "Ghosts of a restart and of a shutdown of the node lie beside the pods that serve")
def ghosts_of_a_restart(box: Box) -> None:
    for workload, suffix, reason, said in (
        (
            "ollama",
            "gh0s1",
            "NodeAffinity",
            "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        (
            "ollama",
            "gh0s2",
            "OutOfnvidia.com/gpu",
            "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu, requested: 1, used: 1, capacity: 1",
        ),
        ("open-webui", "gh0s3", "Terminated", "Pod was terminated in response to imminent node shutdown."),
        ("edge-exporter", "gh0s4", "NodeShutdown", "Pod was rejected as the node is shutting down."),
    ):
        ghost = box.clone_pod(workload, suffix)
        ghost["metadata"]["creationTimestamp"] = "2026-05-30T09:00:00Z"
        ghost["status"] = {
            "phase": "Failed",
            "reason": reason,
            "message": said,
            "startTime": "2026-05-30T09:00:00Z",
        }


@situation(OPERATOR, "Somebody else's Ollama crash-loops in a namespace of its own")
def other_ollama_crashes(box: Box) -> None:
    pod = beside(box, "ollama", "ollama-6c8d7f9b5-zz9yx", "dev-anna")
    pod["spec"].pop("runtimeClassName", None)
    pod["spec"]["containers"][0]["resources"] = {"limits": {"memory": "2Gi"}}
    pod["status"]["containerStatuses"][0] |= {
        "state": waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=ollama"),
        "lastState": ended(137, "OOMKilled"),
        "ready": False,
        "restartCount": 204,
    }
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition |= {"status": "False", "reason": "ContainersNotReady"}
    deployment = copy.deepcopy(box.item(DEPLOYMENTS, "ollama"))
    deployment["metadata"] |= {"namespace": "dev-anna", "uid": "00000000-0000-4000-8000-0000000000d1"}
    deployment["status"] |= {"readyReplicas": 0, "availableReplicas": 0}
    box.items(DEPLOYMENTS).append(deployment)


@situation(LIGHT, "Another team's Prometheus and Grafana are broken in their own namespace")
def other_monitoring_broken(box: Box) -> None:
    for workload, name in (
        ("prometheus-kube", "prometheus-team-a-0"),
        ("kube-prometheus-stack-grafana", "team-a-grafana-5d8c7b9f64-aaaaa"),
    ):
        pod = beside(box, workload, name, "team-a")
        pod["status"]["containerStatuses"][0] |= {
            "state": waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"),
            "lastState": ended(1),
            "ready": False,
            "restartCount": 77,
        }
        for condition in pod["status"]["conditions"]:
            if condition["type"] in ("Ready", "ContainersReady"):
                condition |= {"status": "False", "reason": "ContainersNotReady"}


# prometheus-community/helm-charts#1704, #1554
@situation(
    OPERATOR, "The control plane's targets of a k3s are down, as they always are, and their alerts fire"
)
def control_plane_of_k3s(box: Box) -> None:
    model = box.target("node-exporter")
    for job, port in (
        ("kube-controller-manager", 10257),
        ("kube-scheduler", 10259),
        ("kube-proxy", 10249),
        ("kube-etcd", 2381),
    ):
        target = copy.deepcopy(model)
        labels = {
            "job": job,
            "instance": f"192.0.2.10:{port}",
            "namespace": "kube-system",
            "service": f"kube-prometheus-stack-{job}",
        }
        target |= {
            "labels": labels,
            "scrapePool": f"serviceMonitor/monitoring/kube-prometheus-stack-{job}/0",
            "scrapeUrl": f"http://192.0.2.10:{port}/metrics",
            "lastError": f'Get "http://192.0.2.10:{port}/metrics": dial tcp 192.0.2.10:{port}: connect: connection refused',
            "health": "down",
        }
        box.reads[TARGETS]["body"]["data"]["activeTargets"].append(target)
        box.reads[UP]["body"]["data"]["result"].append(
            {"metric": {"__name__": "up", **labels}, "value": [1781524800.0, "0"]}
        )
    for name in (
        "KubeControllerManagerDown",
        "KubeSchedulerDown",
        "KubeProxyDown",
        "TargetDown",
        "CPUThrottlingHigh",
    ):
        labels = {"alertname": name, "severity": "critical"}
        box.reads[FIRING]["body"]["data"]["result"].append(
            {"metric": {"__name__": "ALERTS", "alertstate": "firing", **labels}, "value": [1781524800.0, "1"]}
        )
        box.reads["http:alertmanager:/api/v2/alerts"]["body"].append(
            {
                **copy.deepcopy(box.reads["http:alertmanager:/api/v2/alerts"]["body"][0]),
                "labels": labels,
                "annotations": {"summary": name},
                "fingerprint": f"{abs(hash(name)):016x}"[:16],
            }
        )


@situation(OPERATOR, "Warnings of days ago are still told of pods that are well")
def old_warnings(box: Box) -> None:
    ollama = box.pods("ollama")[0]["metadata"]["name"]
    prometheus = box.pods("prometheus-kube")[0]["metadata"]["name"]
    box.event(
        "Pod",
        "llm",
        ollama,
        "FailedScheduling",
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
        at="2026-06-01T09:00:30Z",
    )
    box.event("Pod", "llm", ollama, "BackOff", "Back-off restarting failed container ollama in pod", at=OLD)
    box.event(
        "Pod",
        "llm",
        ollama,
        "Failed",
        'Failed to pull image "docker.io/ollama/ollama:0.33.0": toomanyrequests',
        at="2026-06-01T09:01:00Z",
    )
    box.event(
        "Pod",
        "monitoring",
        prometheus,
        "Unhealthy",
        "Startup probe failed: HTTP probe failed with statuscode: 503",
        at="2026-06-01T09:03:00Z",
    )
    box.event(
        "PersistentVolumeClaim",
        "llm",
        "ollama",
        "ProvisioningFailed",
        'failed to provision volume with StorageClass "local-path": create process timeout after 120 seconds',
        at="2026-06-01T08:59:00Z",
    )
    name = box.item(REPLICASETS, "ollama")["metadata"]["name"]
    box.event(
        "ReplicaSet",
        "llm",
        name,
        "FailedCreate",
        'pods "ollama-" is forbidden: exceeded quota: llm',
        at="2026-06-01T08:58:00Z",
    )


@situation(A100, "One readiness probe was missed twenty minutes ago while a model loaded")
def one_probe_missed(box: Box) -> None:
    box.event(
        "Pod",
        "llm",
        box.pods("ollama")[0]["metadata"]["name"],
        "Unhealthy",
        'Readiness probe failed: Get "http://10.42.0.20:11434/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
        at="2026-06-15T11:40:00Z",
    )


@situation(OPERATOR, "Ollama's log is full of what it always says")
def chatty_log(box: Box) -> None:
    box.logs(
        "ollama",
        'time=2026-06-15T11:20:00.000Z level=WARN source=runner.go:187 msg="truncating input prompt" limit=8192 prompt=12045 keep=4 new=8192',
        'time=2026-06-15T11:21:00.000Z level=WARN source=sched.go:688 msg="gpu VRAM usage didn\'t recover within timeout" seconds=5.184 runner.size="5.5 GiB" runner.vram="5.5 GiB" runner.parallel=1 runner.pid=211 runner.model='
        "/root/.ollama/models/blobs/sha256-970aa74c0a90",
        'time=2026-06-15T11:22:00.000Z level=WARN source=types.go:807 msg="invalid option provided" option=tfs_z',
        'time=2026-06-15T11:23:00.000Z level=INFO source=server.go:1289 msg="waiting for llama runner to start responding"',
        'time=2026-06-15T11:23:02.000Z level=WARN source=server.go:1276 msg="client connection closed before server finished loading, aborting load"',
        '[GIN] 2026/06/15 - 11:24:00 | 404 |     331.549µs |      10.42.0.21 | POST     "/api/show"',
        '[GIN] 2026/06/15 - 11:24:10 | 400 |     331.549µs |      10.42.0.21 | POST     "/api/chat"',
        '[GIN] 2026/06/15 - 11:59:50 | 200 |   1.33154902s |      10.42.0.21 | POST     "/api/chat"',
    )


@situation(CPU, "The Job that pulls failed once and its second try succeeded")
def second_pull_succeeded(box: Box) -> None:
    pull_job(
        box,
        'Error: pull model manifest: Get "https://registry.ollama.ai/v2/library/qwen2.5/manifests/0.5b": EOF',
    )
    box.pods("ollama-pull")[0]["metadata"]["creationTimestamp"] = "2026-06-01T09:05:00Z"
    done = copy.deepcopy(box.pods("ollama-pull")[0])
    done["metadata"] |= {
        "name": "ollama-pull-q2w3e",
        "uid": "00000000-0000-4000-8000-0000000000a2",
        "creationTimestamp": "2026-06-01T09:08:00Z",
    }
    done["status"]["phase"] = "Succeeded"
    done["status"]["containerStatuses"][0]["state"] = {
        "terminated": {"reason": "Completed", "exitCode": 0, "finishedAt": "2026-06-01T09:14:00Z"}
    }
    box.items(PODS).append(done)


@situation(LIGHT, "A claim beside Ollama's waits for its first consumer")
def claim_without_consumer(box: Box) -> None:
    claim = copy.deepcopy(box.item(CLAIMS, "ollama"))
    claim["metadata"] |= {"name": "ollama-backup", "uid": "00000000-0000-4000-8000-0000000000e1"}
    claim["spec"].pop("volumeName")
    claim["status"] = {"phase": "Pending"}
    box.items(CLAIMS).append(claim)
    box.event(
        "PersistentVolumeClaim",
        "llm",
        "ollama-backup",
        "WaitForFirstConsumer",
        "waiting for first consumer to be created before binding",
    )


@situation(CPU, "Somebody else's claim asks local-path for what it does not do")
def claim_of_another(box: Box) -> None:
    for name, phase in (("shared-data", "Pending"), ("old-data", "Lost")):
        claim = copy.deepcopy(box.item(CLAIMS, "ollama"))
        claim["metadata"] |= {
            "name": name,
            "namespace": "team-a",
            "uid": f"00000000-0000-4000-8000-{len(name):012d}",
        }
        claim["spec"] |= {"accessModes": ["ReadWriteMany"]}
        claim["spec"].pop("volumeName")
        claim["status"] = {"phase": phase}
        box.items(CLAIMS).append(claim)
    box.event(
        "PersistentVolumeClaim",
        "team-a",
        "shared-data",
        "ProvisioningFailed",
        'failed to provision volume with StorageClass "local-path": NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes',
    )


@situation(CPU, "Ollama as a StatefulSet, as Open WebUI's manifests bring it")
def statefulset_serves(box: Box) -> None:
    as_statefulset(box)


@situation(OPERATOR, "Ollama as a StatefulSet on a card")
def statefulset_on_a_card(box: Box) -> None:
    as_statefulset(box)


@situation(OPERATOR, "Ollama on the host's network, reached by the node's address")
def on_host_network(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["hostNetwork"] = True
        spec["containers"][0]["ports"][0]["hostPort"] = 11434
    box.pods("ollama")[0]["status"]["podIP"] = "192.0.2.10"
    for each in box.items(SLICES):
        if each["metadata"]["labels"].get("kubernetes.io/service-name") == "ollama":
            each["endpoints"][0]["addresses"] = ["192.0.2.10"]


@situation(A100, "Ollama's init container needed four tries two weeks ago")
def init_took_four_tries(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["initContainers"] = [{"name": "wait-for-gpu", "image": "docker.io/library/busybox:1.37.0"}]
    box.pods("ollama")[0]["status"]["initContainerStatuses"] = [
        {
            "name": "wait-for-gpu",
            "ready": True,
            "restartCount": 4,
            "state": {
                "terminated": {"reason": "Completed", "exitCode": 0, "finishedAt": "2026-06-01T09:02:00Z"}
            },
            "lastState": {
                "terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "2026-06-01T09:01:30Z"}
            },
        }
    ]


@situation(
    OPERATOR, "The parts of the stack restarted at the boot of two weeks ago, until the driver was there"
)
def restarts_of_the_boot(box: Box) -> None:
    for workload in (
        "nvidia-dcgm-exporter",
        "prometheus-kube",
        "kube-prometheus-stack-grafana",
        "open-webui",
        "edge-exporter",
    ):
        status = box.pods(workload)[0]["status"]["containerStatuses"][0]
        status |= {
            "restartCount": 6,
            "lastState": {
                "terminated": {
                    "reason": "Error",
                    "exitCode": 1,
                    "startedAt": "2026-06-01T09:01:00Z",
                    "finishedAt": "2026-06-01T09:01:40Z",
                }
            },
        }


@situation(
    LIGHT, "The hook of the operator's admission webhook is left over with an image that does not come"
)
def admission_hook_left_over(box: Box) -> None:
    pod = beside(
        box,
        "kube-prometheus-stack-operator",
        "kube-prometheus-stack-admission-patch-7x2kd",
        "monitoring",
        labels={
            "app": "kube-prometheus-stack-admission-patch",
            "job-name": "kube-prometheus-stack-admission-patch",
        },
    )
    pod["spec"]["containers"][0] |= {"name": "patch", "image": "ghcr.io/jkroepke/kube-webhook-certgen:1.7.4"}
    pod["status"]["phase"] = "Pending"
    pod["status"]["containerStatuses"][0] |= {
        "name": "patch",
        "ready": False,
        "state": waiting("ImagePullBackOff", "Back-off pulling image"),
    }
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition |= {"status": "False", "reason": "ContainersNotReady"}


@situation(
    OPERATOR,
    "Old ReplicaSets of Ollama lie at no replica, one of them with the quota of before in its conditions",
)
def old_replica_sets(box: Box) -> None:
    old = copy.deepcopy(box.item(REPLICASETS, "ollama"))
    old["metadata"] |= {
        "name": "ollama-6b4d8f7c9",
        "uid": "00000000-0000-4000-8000-0000000000f1",
        "creationTimestamp": "2026-05-20T09:00:00Z",
    }
    old["spec"]["replicas"] = 0
    old["status"] = {
        "replicas": 0,
        "observedGeneration": 4,
        "conditions": [
            {
                "type": "ReplicaFailure",
                "status": "True",
                "reason": "FailedCreate",
                "message": 'pods "ollama-6b4d8f7c9-" is forbidden: exceeded quota: llm',
                "lastTransitionTime": "2026-05-20T09:00:00Z",
            }
        ],
    }
    box.items(REPLICASETS).append(old)


@situation(OPERATOR, "A second Service of an older release leads nowhere; the one in use is well")
def dead_second_service(box: Box) -> None:
    service = copy.deepcopy(box.item(SERVICES, "ollama"))
    service["metadata"] |= {"name": "ollama-legacy", "uid": "00000000-0000-4000-8000-0000000000f2"}
    service["spec"]["selector"] = {"app": "ollama-legacy"}
    box.items(SERVICES).append(service)


@situation(
    OPERATOR,
    "Nothing was pulled for want of a way out, and Grafana has two default data sources",
    "model",
    says="registry | network | pull",
    never=DRIVER,
    also="telemetry",
)
def no_model_and_no_dashboards(box: Box) -> None:
    absent(box, "qwen2.5:7b", "nomic-embed-text:latest")
    pull_job(
        box,
        'Error: pull model manifest: Get "https://registry.ollama.ai/v2/library/qwen2.5/manifests/7b": dial tcp 172.67.182.229:443: i/o timeout',
    )
    box.state(
        "kube-prometheus-stack-grafana",
        waiting("CrashLoopBackOff", "back-off 5m0s"),
        last=ended(
            1,
            "Error",
            "Error: ✗ Datasource provisioning error: datasource.yaml config is invalid. Only one datasource per organization can be marked as default",
        ),
        restarts=30,
    )


@situation(
    OPERATOR,
    "Open WebUI asks a wrong port, and Prometheus does not select our rules",
    "serving",
    says="port | ollama_base_url",
    never=DRIVER,
    also="telemetry",
)
def webui_port_and_rules(box: Box) -> None:
    box.env("open-webui", OLLAMA_BASE_URL="http://ollama.llm:80")
    box.items(PROMETHEUSES)[0]["spec"]["ruleSelector"] = {"matchLabels": {"release": "kube-prometheus-stack"}}
    groups = box.reads[RULES]["body"]["data"]["groups"]
    groups[:] = [each for each in groups if each["name"] != "edge-llm"]


@situation(
    LIGHT,
    "The driver was updated under a running machine, and a monitor lost its label besides",
    "host",
    says="mismatch | reboot",
    never="restart the device plugin | ollama pull",
    also="telemetry",
)
def mismatch_and_monitor(box: Box) -> None:
    box.reads[SMI] = {
        "rc": 18,
        "stdout": "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.126\n",
        "stderr": "",
        "error": None,
        "took_s": 0.05,
    }
    box.reads["command:modinfo -F version nvidia"]["stdout"] = "580.126.20\n"
    box.reads[DMESG]["stdout"] += (
        "2026-06-15T11:59:00,000000+00:00 NVRM: API mismatch: the client has the version 580.126.20, but\n2026-06-15T11:59:00,000001+00:00 NVRM: this kernel module has the version 570.195.03.  Please\n"
    )
    box.items(PROMETHEUSES)[0]["spec"]["serviceMonitorSelector"] = {"matchLabels": {"team": "platform"}}
    box.untargeted("edge-exporter")


@situation(
    OPERATOR,
    "Ollama is killed at its limit in a loop: what asks it is silent, and no fault of its own",
    "serving",
    says="memory | limit",
    never=f"{DRIVER} | ollama pull",
)
def killed_and_its_consequences(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["containers"][0]["resources"]["limits"]["memory"] = "2Gi"
    crashes(
        box,
        "ollama",
        'time=2026-06-15T11:54:50.000Z level=INFO source=routes.go:1895 msg="Listening on [::]:11434 (version 0.33.0)"',
        code=137,
    )
    for pod in box.pods("ollama"):
        pod["status"]["containerStatuses"][0]["lastState"] = ended(137, "OOMKilled")
    box.reads["http:open-webui:/health"] = {"status": 200, "body": {"status": True}, "error": None}
    firing = {"alertname": "OllamaDown", "severity": "critical"}
    box.reads[FIRING]["body"]["data"]["result"].append(
        {"metric": {"__name__": "ALERTS", "alertstate": "firing", **firing}, "value": [1781524800.0, "1"]}
    )
    box.reads["http:alertmanager:/api/v2/alerts"]["body"].append(
        {
            **copy.deepcopy(box.reads["http:alertmanager:/api/v2/alerts"]["body"][0]),
            "labels": firing,
            "fingerprint": "aa00aa00aa00aa00",
        }
    )


@situation(
    OPERATOR,
    "The context is too short, and Prometheus does not start: two faults",
    "telemetry",
    "profile",
    says="permission | context",
    never=f"{DRIVER} | ollama pull",
    also="profile",
)
def short_context_and_prometheus(box: Box) -> None:
    box.loaded(context_length=4096)
    box.state(
        "prometheus-kube",
        waiting("CrashLoopBackOff", "back-off 5m0s"),
        last=ended(
            2,
            "Error",
            "open /prometheus/queries.active: permission denied\npanic: Unable to create mmap-ed active query log",
        ),
        restarts=12,
    )
