"""Neighbours across rungs: the owner is not where the symptom is, odd is not broken, not seen is not absent."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy
from typing import Any

from box import (
    CLAIMS,
    DEPLOYMENTS,
    MIB,
    NODES,
    PROMETHEUSES,
    REPLICASETS,
    SERVICES,
    SLICES,
    SMI,
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
PLUGIN = "restart the device plugin | reinstall the device plugin"
BELOW = f"{DRIVER} | {PLUGIN} | runtimeclass"
TAGS = "http:ollama:/api/tags"
PS = "http:ollama:/api/ps"
UP = "http:prometheus:/api/v1/query?query=up"
ERROR = 'time=2026-06-15T11:58:20.001Z level=ERROR source=sched.go:520 msg="error loading llama server" error="{}"'


def _crash(code: int = 1, reason: str = "Error", message: str = "") -> dict[str, Any]:
    return {
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
        "last": {
            "terminated": {
                "reason": reason,
                "exitCode": code,
                "message": message,
                "startedAt": "2026-06-15T11:55:00Z",
                "finishedAt": "2026-06-15T11:56:00Z",
            }
        },
        "restarts": 9,
    }


@situation(
    OPERATOR,
    "The image of the other vendor's cards: no CUDA in it, so the CPU",
    "serving",
    "profile",
    says="rocm | image",
    never=f"{BELOW} | ollama pull | num_ctx | smaller model",
)
def image_of_other_vendor(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["containers"][0]["image"] = "docker.io/ollama/ollama:0.33.0-rocm"
    box.pods("ollama")[0]["status"]["containerStatuses"][0]["image"] = "docker.io/ollama/ollama:0.33.0-rocm"
    key = box.log_key(box.pods("ollama")[0])
    lines = [
        line for line in box.reads[key]["body"].splitlines() if "CUDA" not in line and "offload" not in line
    ]
    box.logs(
        "ollama",
        *lines,
        'time=2026-06-15T08:11:01.120Z level=INFO source=types.go:60 msg="inference compute" id=cpu library=cpu compute="" name=cpu description=cpu libdirs=ollama driver="" pci_id="" type="" total="62.7 GiB" available="58.8 GiB"',
        replace=True,
    )
    box.loaded(size_vram=0)
    box.empty_card()


@situation(
    OPERATOR,
    "Two replicas of Ollama and one GPU: the second waits for ever",
    "serving",
    says="replica",
    never=f"{BELOW} | end or move",
)
def more_replicas_than_gpus(box: Box) -> None:
    for key in (DEPLOYMENTS, REPLICASETS):
        box.item(key, "ollama")["spec"]["replicas"] = 2
        box.item(key, "ollama")["status"]["replicas"] = 2
    said = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    pod = box.clone_pod("ollama", "zzzzz")
    pod["metadata"]["creationTimestamp"] = "2026-06-15T10:00:00Z"
    pod["spec"].pop("nodeName")
    pod["status"] = {
        "phase": "Pending",
        "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
        ],
    }
    box.event("Pod", "llm", pod["metadata"]["name"], "FailedScheduling", said)


@situation(
    CPU, "A host port that another pod of the node has", "serving", says="port", never="nvidia | driver"
)
def host_port_taken(box: Box) -> None:
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    )


@situation(
    CPU,
    "An anti-affinity that a single node cannot satisfy",
    "serving",
    says="affinity",
    never="nvidia | driver",
)
def anti_affinity(box: Box) -> None:
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    )


@situation(
    OPERATOR,
    "The host ran out of memory and took Ollama's container: its limit was never reached",
    "host",
    says="memory",
    never=f"{DRIVER} | free vram",
)
def host_oom_takes_ollama(box: Box) -> None:
    box.state("ollama", **_crash(137, "OOMKilled"))
    box.kernel(
        "2026-06-15T11:56:00,100000+00:00 oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=x,mems_allowed=0,global_oom,task_memcg=/kubepods/x,task=ollama,pid=50100,uid=0",
        "2026-06-15T11:56:00,100100+00:00 Out of memory: Killed process 50100 (ollama) total-vm:40000000kB, anon-rss:5000000kB",
    )


@situation(
    OPERATOR,
    "The volume of the models changed its owner: Ollama may not read it",
    "model",
    says="read | permission",
    never=f"{BELOW} | ollama pull",
)
def store_not_readable(box: Box) -> None:
    box.reads[TAGS] = {
        "status": 500,
        "body": {"error": "open /root/.ollama/models/manifests: permission denied"},
        "error": None,
    }
    box.unloaded()


@situation(
    LIGHT,
    "The mount of the models' volume hangs: the share does not answer",
    "serving",
    says="volume | mount",
    never=f"{DRIVER} | ollama pull",
)
def volume_not_mounted(box: Box) -> None:
    box.state("ollama", {"waiting": {"reason": "ContainerCreating"}})
    box.event(
        "Pod",
        "llm",
        box.pods("ollama")[0]["metadata"]["name"],
        "FailedMount",
        'MountVolume.SetUp failed for volume "pvc-1": mount failed: exit status 32: mount.nfs: Connection timed out',
    )


@situation(LIGHT, "A Service of type LoadBalancer that no balancer serves: inside the cluster it works")
def load_balancer_pending(box: Box) -> None:
    box.item(SERVICES, "open-webui")["spec"]["type"] = "LoadBalancer"


@situation(OPERATOR, "The same weights under two names, the other one loaded")
def loaded_by_another_name(box: Box) -> None:
    more = copy.deepcopy(box.reads[TAGS]["body"]["models"][0])
    more |= {"name": "qwen2.5:7b-instruct-q4_K_M", "model": "qwen2.5:7b-instruct-q4_K_M"}
    box.reads[TAGS]["body"]["models"].append(more)
    box.loaded(name=more["name"], model=more["name"])


@situation(
    OPERATOR,
    "The model is just being loaded: no expiry, nothing on the card yet",
    "model",
    "profile",
    outcome="unknown",
    says="load | wait",
    never=f"{BELOW} | ollama pull | num_ctx",
)
def being_loaded(box: Box) -> None:
    box.loaded(expires_at="0001-01-01T00:00:00Z", size_vram=0)
    box.logs(
        "ollama",
        'time=2026-06-15T11:59:52.000Z level=INFO source=server.go:438 msg="starting llama-server" cmd="/usr/lib/ollama/llama-server --model /root/.ollama/models/blobs/sha256-2bad --ctx-size 8192 --port 40000"',
    )
    box.card_used(310)


@situation(
    OPERATOR, "A day of keep-alive is not for ever", "model", says="keep", never=f"{BELOW} | ollama pull"
)
def one_day_keep_alive(box: Box) -> None:
    box.loaded(expires_at="2026-06-16T11:59:41Z")


@situation(OPERATOR, "A cloud model stands in the list, without weights of its own")
def cloud_model_listed(box: Box) -> None:
    more = copy.deepcopy(box.reads[TAGS]["body"]["models"][0])
    more |= {
        "name": "gpt-oss:120b-cloud",
        "model": "gpt-oss:120b-cloud",
        "size": 384,
        "digest": "11" * 32,
        "remote_model": "gpt-oss:120b",
    }
    box.reads[TAGS]["body"]["models"].append(more)


@situation(OPERATOR, "/api/show was not asked, as Ollama is reached by a proxy that only reads")
def show_not_asked(box: Box) -> None:
    for key in [key for key in box.reads if "/api/show" in key]:
        del box.reads[key]


@situation(OPERATOR, "nvidia-smi lists no process of any container, and the memory is in use")
def no_process_listed(box: Box) -> None:
    out = box.reads[SMI]["stdout"]
    start, end = out.index("<process_info>"), out.rindex("</process_info>") + len("</process_info>")
    box.reads[SMI]["stdout"] = out[:start] + out[end:]


@situation(
    OPERATOR,
    "CUDA says that the driver is too old for the engine",
    "host",
    "model",
    "serving",
    says="driver",
    never=f"ollama pull | runtimeclass | num_ctx | {PLUGIN}",
)
def driver_insufficient(box: Box) -> None:
    box.unloaded()
    box.logs(
        "ollama",
        "ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version",
        ERROR.format(
            "llama-server process exited: CUDA driver version is insufficient for CUDA runtime version"
        ),
    )


@situation(
    OPERATOR,
    "The plugin crashed after a month: the node offers nothing, the model still serves",
    "gpu",
    says="allocatable | device plugin | nvidia.com/gpu",
    never=f"{DRIVER} | restart ollama | ollama pull",
)
def plugin_gone_model_serves(box: Box) -> None:
    for part in ("capacity", "allocatable"):
        box.items(NODES)[0]["status"][part]["nvidia.com/gpu"] = "0"
    box.state("nvidia-device-plugin", **_crash(1))
    box.item("api:/apis/apps/v1/daemonsets", "nvidia-device-plugin")["status"] |= {
        "numberReady": 0,
        "numberAvailable": 0,
        "numberUnavailable": 1,
    }


@situation(
    OPERATOR,
    "CoreDNS is down: nobody finds anybody by name",
    "gpu",
    says="dns",
    never=f"{DRIVER} | ollama pull | restart ollama",
)
def cluster_dns_down(box: Box) -> None:
    box.state("coredns", **_crash(1))
    for each in box.items(SLICES):
        if each["metadata"]["name"].startswith("kube-dns"):
            for endpoint in each["endpoints"]:
                endpoint["conditions"] |= {"ready": False, "serving": False}


@situation(
    OPERATOR,
    "The clock of Prometheus' node is an hour behind: everything looks old alike",
    "telemetry",
    "host",
    outcome="unknown",
    says="clock",
    never=f"{BELOW} | servicemonitor",
)
def clock_behind(box: Box) -> None:
    for target in box.reads[TARGETS]["body"]["data"]["activeTargets"]:
        target["lastScrape"] = target["lastScrape"].replace("T11:", "T10:")
    for key, read in box.reads.items():
        if key.startswith("http:prometheus:/api/v1/query"):
            for each in read["body"]["data"]["result"]:
                each["value"][0] -= 3600


@situation(
    OPERATOR,
    "Prometheus answers a query with an error of its own",
    "telemetry",
    outcome="unknown",
    says="query | error | 503 | unavailable",
    never=f"{BELOW} | servicemonitor",
)
def query_fails(box: Box) -> None:
    box.reads[UP] = {
        "status": 503,
        "body": {
            "status": "error",
            "errorType": "timeout",
            "error": "query timed out in expression evaluation",
        },
        "error": None,
    }


@situation(
    OPERATOR,
    "Only the queries of the GPU series ran into a timeout",
    "telemetry",
    outcome="unknown",
    says="timeout | timed",
    never=f"{BELOW} | servicemonitor",
)
def gpu_queries_time_out(box: Box) -> None:
    box.unanswered("http:prometheus:/api/v1/query?query=DCGM", "timeout")


@situation(
    OPERATOR,
    "The GPU exporter is scraped and publishes nothing of a card",
    "telemetry",
    says="series",
    never=f"{BELOW} | servicemonitor is",
)
def exporter_publishes_nothing(box: Box) -> None:
    box.without_series("DCGM_")
    box.logs(
        "nvidia-dcgm-exporter",
        'time=2026-06-15T09:02:14.602Z level=ERROR msg="Failed to collect metrics" error="Host engine connection invalid/disconnected"',
    )


@situation(LIGHT, "A second GPU exporter of another chart runs beside the first")
def two_gpu_exporters(box: Box) -> None:
    pod = box.clone_pod("dcgm-exporter", "other")
    pod["metadata"]["namespace"] = "gpu-metrics"


@situation(OPERATOR, "The Watchdog is silenced in Alertmanager: it has arrived all the same")
def watchdog_silenced(box: Box) -> None:
    alert = box.reads["http:alertmanager:/api/v2/alerts"]["body"][0]
    alert["status"] = {"state": "suppressed", "silencedBy": ["x"], "inhibitedBy": [], "mutedBy": []}


@situation(OPERATOR, "The size cap of Prometheus is nearly its volume: advice, and no failure")
def cap_near_volume(box: Box) -> None:
    box.item(PROMETHEUSES, "kube")["spec"]["retentionSize"] = "24GB"


@situation(OPERATOR, "A quota refuses Prometheus' pod", "telemetry", says="quota | created", never=BELOW)
def prometheus_quota(box: Box) -> None:
    box.take_pod("prometheus-kube")
    box.event(
        "StatefulSet",
        "monitoring",
        "prometheus-kube-prometheus-stack-prometheus",
        "FailedCreate",
        "create Pod prometheus-kube-prometheus-stack-prometheus-0 failed: pods is forbidden: exceeded quota: mem, requested: requests.memory=2Gi",
    )


@situation(OPERATOR, "Ghosts of an evicted Prometheus and Grafana lie beside their successors")
def ghosts_of_monitoring(box: Box) -> None:
    for name in ("prometheus-kube", "kube-prometheus-stack-grafana"):
        pod = box.clone_pod(name, "ghost")
        pod["status"] = {
            "phase": "Failed",
            "reason": "Evicted",
            "message": "The node was low on resource: memory.",
        }


@situation(
    OPERATOR,
    "Deployments may not be read; their pods are, and whether they are all that is wanted is not known",
    "serving",
    outcome="unknown",
    says="deployments",
    never=DRIVER,
)
def deployments_forbidden(box: Box) -> None:
    box.refuse(DEPLOYMENTS)


@situation(
    OPERATOR,
    "EndpointSlices were not read at all",
    outcome="unknown",
    says="not made | not read | missing | no such read | not observed | not in",
    never=f"{DRIVER} | ollama pull",
)
def slices_missing(box: Box) -> None:
    del box.reads[SLICES]


@situation(
    OPERATOR,
    "Services of the cluster may not be read",
    outcome="unknown",
    says="403 | forbidden",
    never=f"{DRIVER} | ollama pull",
)
def services_forbidden(box: Box) -> None:
    box.refuse(SERVICES)


@situation(
    OPERATOR,
    "Volume claims may not be read; every pod has its volume",
    outcome="unknown",
    says="403 | forbidden",
    never=f"{DRIVER} | ollama pull",
)
def claims_forbidden(box: Box) -> None:
    box.refuse(CLAIMS)


@situation(
    OPERATOR,
    "Open WebUI's page does not answer the tool in time; its pod is Ready",
    "serving",
    outcome="unknown",
    says="timeout | timed",
    never=f"{DRIVER} | ollama pull",
)
def webui_timeout(box: Box) -> None:
    box.unanswered("http:open-webui:", "timeout")


@situation(
    CPU,
    "Ollama stands behind a certificate that the tool does not trust",
    "serving",
    outcome="unknown",
    says="tls | trust | certificate",
    never="nvidia | ollama pull",
)
def ollama_tls(box: Box) -> None:
    box.unanswered("http:ollama:", "tls")


@situation(
    CPU,
    "A gateway in front of Ollama answers 502 while the pod is Ready",
    "serving",
    outcome="unknown",
    says="502",
    never="nvidia | ollama pull",
)
def ollama_bad_gateway(box: Box) -> None:
    for key in box.reads:
        if key.startswith("http:ollama:"):
            box.reads[key] = {"status": 502, "body": "<html>Bad Gateway</html>", "error": None}


@situation(
    OPERATOR,
    "Ollama is restarted this moment: twenty seconds old, nothing loaded",
    "serving",
    "model",
    outcome="unknown",
    says="start | wait",
    never=f"{BELOW} | ollama pull",
)
def just_restarted(box: Box) -> None:
    pod = box.pods("ollama")[0]
    pod["metadata"]["creationTimestamp"] = "2026-06-15T11:59:40Z"
    box.state("ollama", {"running": {"startedAt": "2026-06-15T11:59:45Z"}})
    pod["status"]["startTime"] = "2026-06-15T11:59:41Z"


@situation(
    OPERATOR,
    "Restarted a minute ago and Ready: the resident model comes in a moment",
    "model",
    outcome="unknown",
    says="start | wait | load",
    never=f"{BELOW} | ollama pull",
)
def restarted_and_ready(box: Box) -> None:
    pod = box.pods("ollama")[0]
    pod["metadata"]["creationTimestamp"] = "2026-06-15T11:59:00Z"
    pod["status"]["startTime"] = "2026-06-15T11:59:01Z"
    pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] = "2026-06-15T11:59:05Z"
    key = box.log_key(pod)
    lines = [
        line.replace("2026-06-01T09:02:2", "2026-06-15T11:59:1")
        for line in box.reads[key]["body"].splitlines()[:6]
    ]
    box.logs("ollama", *lines, replace=True)
    box.unloaded()
    for read in box.reads:
        if "DCGM_" in read:
            for each in box.reads[read]["body"]["data"]["result"]:
                each["metric"].pop("exported_pod", None)


@situation(DUAL, "Another pod holds the second card of two: nothing is short")
def second_card_in_use(box: Box) -> None:
    pod = box.clone_pod("ollama", "train")
    pod["metadata"] |= {
        "name": "train-0",
        "namespace": "lab",
        "labels": {"app": "train"},
        "ownerReferences": [],
    }
    pod["spec"]["containers"][0] |= {"name": "train", "image": "docker.io/pytorch/pytorch:2.9", "ports": []}


@situation(
    A100,
    "A larger context than the model was trained for cannot be promised by a value alone",
    "profile",
    says="context | trained",
    never=f"{BELOW} | ollama pull",
)
def trained_context(box: Box) -> None:
    info = box.reads["http:ollama:/api/show qwen2.5:7b"]["body"]["model_info"]
    for key in info:
        if key.endswith(".context_length"):
            info[key] = 4096
    box.loaded(context_length=4096)


@situation(
    OPERATOR,
    "A third of the model is on the CPU after a desktop program took memory at load time",
    "profile",
    says="card | cpu",
    never=f"{BELOW} | ollama pull",
)
def partly_on_cpu(box: Box) -> None:
    box.loaded(size_vram=4000 * MIB)


@situation(
    OPERATOR,
    "Ollama's pod has a side container that is not ready: no endpoint",
    "serving",
    says="proxy | ready",
    never=f"{DRIVER} | ollama pull",
)
def side_container_not_ready(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["containers"].append(
            {"name": "mesh-proxy", "image": "docker.io/example/proxy:1", "resources": {}}
        )
    pod = box.pods("ollama")[0]
    pod["status"]["containerStatuses"].append(
        {
            "name": "mesh-proxy",
            "image": "docker.io/example/proxy:1",
            "ready": False,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-06-15T09:00:00Z"}},
            "lastState": {},
        }
    )
    box.state("ollama", {"running": {"startedAt": "2026-06-01T09:02:10Z"}}, container=1)
    box.event(
        "Pod",
        "llm",
        pod["metadata"]["name"],
        "Unhealthy",
        "Readiness probe failed: HTTP probe failed with statuscode: 503",
    )


@situation(
    CPU,
    "A bare Ollama pod that ran to its end is not replaced by anybody",
    "serving",
    says="pod",
    never="nvidia | ollama pull",
)
def bare_pod_ended(box: Box) -> None:
    box.take(DEPLOYMENTS, "ollama")
    box.take(REPLICASETS, "ollama")
    pod = box.pods("ollama")[0]
    pod["metadata"]["ownerReferences"] = []
    box.dark("ollama")
    pod["status"] = {
        "phase": "Succeeded",
        "conditions": [{"type": "Ready", "status": "False", "reason": "PodCompleted"}],
    }
    for each in box.items(SLICES):
        if each["metadata"]["name"].startswith("ollama"):
            each["endpoints"] = []


@situation(
    OPERATOR,
    "The API refuses the pod: its service account is missing",
    "serving",
    says="service account | serviceaccount | refuse",
    never=BELOW,
)
def service_account_missing(box: Box) -> None:
    box.take_pod("ollama")
    said = 'pods "ollama-5f7c96b8d4-" is forbidden: error looking up service account llm/ollama: serviceaccount "ollama" not found'
    box.event("ReplicaSet", "llm", "ollama-5f7c96b8d4", "FailedCreate", said)


@situation(
    OPERATOR,
    "An admission webhook that nobody serves blocks every new pod",
    "serving",
    "gpu",
    says="webhook",
    never=BELOW,
)
def webhook_down(box: Box) -> None:
    box.take_pod("ollama")
    said = 'Internal error occurred: failed calling webhook "vpod.kb.io": failed to call webhook: Post "https://webhook.policy.svc:443/pods": no endpoints available for service "webhook"'
    box.event("ReplicaSet", "llm", "ollama-5f7c96b8d4", "FailedCreate", said)


@situation(
    CPU,
    "A pull through a proxy that opens the encryption with its own certificate",
    "model",
    says="certificate | registry | proxy",
    never="nvidia",
)
def pull_x509(box: Box) -> None:
    box.reads[TAGS]["body"]["models"] = []
    box.reads[PS]["body"]["models"] = []
    box.logs(
        "ollama",
        'time=2026-06-15T11:50:00.000Z level=ERROR source=images.go:900 msg="pull model manifest: Get \\"https://registry.ollama.ai/v2/library/qwen2.5/manifests/0.5b\\": tls: failed to verify certificate: x509: certificate signed by unknown authority"',
    )


@situation(CPU, "A model name with a typing error in its tag", "model", says="name", never="nvidia")
def model_name_wrong(box: Box) -> None:
    box.reads[TAGS]["body"]["models"] = []
    box.reads[PS]["body"]["models"] = []
    box.logs(
        "ollama",
        'time=2026-06-15T11:50:00.000Z level=ERROR source=images.go:900 msg="pull model manifest: file does not exist"',
    )
