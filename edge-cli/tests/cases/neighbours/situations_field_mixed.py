"""Faults in installations of other names, several faults at once, reads that were not made, logs that tell little."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy
from typing import Any

from box import DEPLOYMENTS, PODS, REPLICASETS, RULES, SERVICES, SLICES, TARGETS, Box, situation
from situations_field_model import absent, pull_job
from situations_field_odd import by_digest, other_namespace, other_release
from situations_field_serving import as_statefulset, ended, waiting
from situations_field_telemetry import crashes, plain_prometheus, without_our_rules

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
BELOW = f"{DRIVER} | restart the device plugin | reinstall the device plugin"
GRAFANA = "kube-prometheus-stack-grafana"
FIRING = "http:prometheus:/api/v1/query?query=ALERTS%7Balertstate%3D%22firing%22%7D"


def grafana_crashes(box: Box) -> None:
    """Grafana ends over its data sources."""
    crashes(
        box,
        GRAFANA,
        "Error: ✗ Datasource provisioning error: datasource.yaml config is invalid. Only one datasource per organization can be marked as default",
    )


def beside(box: Box, name: str, **container: Any) -> dict[str, Any]:
    """A second pod much like Ollama's, of a Deployment of its own."""
    pod = copy.deepcopy(box.pods("ollama")[0])
    pod["metadata"] |= {
        "name": f"{name}-6b9c7d5f4-hh2kk",
        "uid": "00000000-0000-4000-8000-0000000000ba",
        "labels": {"app.kubernetes.io/name": name},
        "creationTimestamp": "2026-05-20T09:00:00Z",
    }
    pod["metadata"]["ownerReferences"][0]["name"] = f"{name}-6b9c7d5f4"
    pod["spec"].pop("runtimeClassName", None)
    pod["spec"]["containers"][0] |= container
    box.items(PODS).append(pod)
    for key, label in ((DEPLOYMENTS, name), (REPLICASETS, f"{name}-6b9c7d5f4")):
        each = copy.deepcopy(box.item(key, "ollama"))
        each["metadata"] |= {
            "name": label,
            "uid": f"00000000-0000-4000-8000-{len(label):012d}",
            "labels": {"app.kubernetes.io/name": name},
        }
        if key == REPLICASETS:
            each["metadata"]["ownerReferences"][0]["name"] = name
        each["spec"]["selector"] = {"matchLabels": {"app.kubernetes.io/name": name}}
        each["spec"]["template"]["metadata"]["labels"] = {"app.kubernetes.io/name": name}
        each["spec"]["template"]["spec"]["containers"][0] |= container
        each["spec"]["template"]["spec"].pop("runtimeClassName", None)
        box.items(key).append(each)
    return pod


@situation(
    LIGHT,
    "Prometheus of a release of another name may not write its volume",
    "telemetry",
    says="permission",
    never=f"{BELOW} | ollama pull",
)
def other_release_denied(box: Box) -> None:
    other_release(box)
    crashes(box, "prometheus-prometheus-kube", 'err="open /prometheus/queries.active: permission denied"')


@situation(OPERATOR, "The model is missing in the namespace `ai`", "model", says="qwen2.5:7b", never=BELOW)
def other_namespace_without_model(box: Box) -> None:
    other_namespace(box)
    absent(box, "qwen2.5:7b")


@situation(
    A100,
    "Ollama of a mirrored image is killed at its limit",
    "serving",
    says="memory",
    never=f"{BELOW} | ollama pull",
)
def by_digest_killed(box: Box) -> None:
    by_digest(box)
    box.state(
        "ollama", waiting("CrashLoopBackOff", "back-off 5m0s"), last=ended(137, "OOMKilled"), restarts=9
    )


@situation(
    CPU,
    "Prometheus of a plain Deployment waits for its image",
    "telemetry",
    says="image",
    never=f"{BELOW} | nvidia",
)
def plain_prometheus_image(box: Box) -> None:
    plain_prometheus(box)
    box.state("prometheus-server", waiting("ImagePullBackOff", "Back-off pulling image"))


@situation(
    CPU, "A StatefulSet's Ollama waits for its image", "serving", says="image", never=f"{BELOW} | nvidia"
)
def statefulset_image(box: Box) -> None:
    as_statefulset(box)
    box.state("ollama", waiting("ImagePullBackOff", "Back-off pulling image"))


@situation(
    OPERATOR,
    "Open WebUI was moved with Ollama to `ai` and still asks `llm`",
    "serving",
    says="ollama.llm | ollama_base_url",
    never=BELOW,
)
def other_namespace_old_url(box: Box) -> None:
    other_namespace(box)
    box.env("open-webui", OLLAMA_BASE_URL="http://ollama.llm.svc.cluster.local:11434")


@situation(
    OPERATOR, "A second Ollama for embeddings, on the CPU and without a limit, beside the one of the platform"
)
def embeddings_beside(box: Box) -> None:
    beside(box, "ollama-embed", resources={})


@situation(LIGHT, "A headless Service beside the one that is asked, and addresses of both families")
def headless_and_dual(box: Box) -> None:
    service = copy.deepcopy(box.item(SERVICES, "ollama"))
    service["metadata"] |= {"name": "ollama-headless", "uid": "00000000-0000-4000-8000-0000000000bc"}
    service["spec"] |= {"clusterIP": "None", "clusterIPs": ["None"]}
    box.items(SERVICES).append(service)
    for suffix, family, address in (("6aaaa", "IPv6", "fd00:42::20"), ("7bbbb", "IPv6", "")):
        each = copy.deepcopy(
            next(one for one in box.items(SLICES) if one["metadata"]["name"].startswith("ollama"))
        )
        each["metadata"]["name"] = f"ollama-{suffix}"
        each["addressType"] = family
        each["endpoints"] = each["endpoints"] if address else None
        if address:
            each["endpoints"][0]["addresses"] = [address]
        box.items(SLICES).append(each)


@situation(OPERATOR, "The last two hundred lines of Ollama's log are requests alone")
def requests_alone(box: Box) -> None:
    box.logs(
        "ollama",
        *[
            f'[GIN] 2026/06/15 - 11:59:{second} | 200 |  1.912371221s |      10.42.0.21 | POST     "/api/chat"'
            for second in range(10, 50)
        ],
        replace=True,
    )


@situation(A100, "Ollama's log was just rotated: nothing is in it")
def log_empty(box: Box) -> None:
    key = box.log_key(box.pods("ollama")[0])
    box.reads[key]["body"] = ""


@situation(LIGHT, "Ollama tells everything, as it was told to debug")
def debug_log(box: Box) -> None:
    box.logs(
        "ollama",
        'time=2026-06-15T11:40:00.000Z level=DEBUG source=gpu.go:517 msg="Unable to load nvcuda" library=/usr/lib/libcuda.so.1 error="Unable to load /usr/lib/libcuda.so.1 library to query for Nvidia GPUs: no such file or directory"',
        'time=2026-06-15T11:40:00.100Z level=DEBUG source=amd_linux.go:421 msg="amdgpu driver not detected /sys/module/amdgpu"',
        'time=2026-06-15T11:40:00.200Z level=DEBUG source=ggml.go:208 msg="key with type not found" key=qwen2.rope.scaling.factor default=1',
        'time=2026-06-15T11:40:00.300Z level=DEBUG source=sched.go:490 msg="context for request finished"',
        'time=2026-06-15T11:40:00.400Z level=DEBUG source=sched.go:288 msg="resetting model to expire immediately to make room" runner.name=registry.ollama.ai/library/nomic-embed-text:latest',
    )


@situation(OPERATOR, "The expiry is told in another zone")
def expiry_in_zone(box: Box) -> None:
    box.loaded(expires_at="2318-09-25T13:46:57.123456789+02:00")


@situation(CPU, "No alert fires, not even one that always should: the rule was taken out")
def no_watchdog(box: Box) -> None:
    for group in box.reads[RULES]["body"]["data"]["groups"]:
        group["rules"] = [rule for rule in group["rules"] if rule["name"] != "Watchdog"]
    box.reads[FIRING]["body"]["data"]["result"] = []
    box.reads["http:alertmanager:/api/v2/alerts"]["body"] = []


@situation(OPERATOR, "A target of somebody's was found this second")
def target_this_second(box: Box) -> None:
    target = copy.deepcopy(box.target("kube-state-metrics"))
    target["labels"] = {"job": "shop", "instance": "10.42.0.77:8080", "namespace": "shop"}
    target |= {
        "scrapePool": "serviceMonitor/shop/shop/0",
        "scrapeUrl": "http://10.42.0.77:8080/metrics",
        "health": "unknown",
        "lastScrape": "0001-01-01T00:00:00Z",
        "lastScrapeDuration": 0,
        "lastError": "",
    }
    box.reads[TARGETS]["body"]["data"]["activeTargets"].append(target)


@situation(OPERATOR, "Only some of the GPU's series name the pod")
def some_named(box: Box) -> None:
    for key, read in box.reads.items():
        if "query=DCGM_FI_DEV_XID" in key or "query=DCGM_FI_DEV_GPU_TEMP" in key:
            for each in read["body"]["data"]["result"]:
                for label in ("exported_pod", "exported_namespace", "exported_container"):
                    each["metric"].pop(label, None)


@situation(
    OPERATOR,
    "Somebody holds the GPU, and Grafana has two default data sources",
    "serving",
    says="held | research",
    never=BELOW,
    also="telemetry",
)
def gpu_held_and_grafana(box: Box) -> None:
    other = copy.deepcopy(box.pods("ollama")[0])
    other["metadata"] |= {
        "name": "notebook-0",
        "namespace": "research",
        "uid": "33333333-3333-4333-8333-333333333388",
        "labels": {},
        "ownerReferences": [],
    }
    other["spec"]["containers"][0] |= {
        "name": "notebook",
        "image": "quay.io/jupyter/pytorch-notebook:2026",
        "ports": [],
    }
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    )
    box.items(PODS).append(other)
    for key, read in box.reads.items():
        if "DCGM" in key:
            for each in read["body"]["data"]["result"]:
                each["metric"] |= {"exported_pod": "notebook-0", "exported_namespace": "research"}
    grafana_crashes(box)


@situation(
    OPERATOR,
    "Open WebUI crash-loops, and the embedding model is missing",
    "serving",
    says="open webui | open-webui",
    never=BELOW,
    also="model",
)
def webui_and_embedding(box: Box) -> None:
    box.state("open-webui", waiting("CrashLoopBackOff", "back-off 5m0s"), last=ended(1), restarts=31)
    models = box.reads["http:ollama:/api/tags"]["body"]["models"]
    models[:] = [each for each in models if not each["name"].startswith("nomic")]


@situation(
    A100,
    "No limit of memory, and a model that a client unloaded",
    "serving",
    says="limit",
    never=BELOW,
    also="model",
)
def no_limit_and_unloaded(box: Box) -> None:
    for spec in box.templates("ollama"):
        spec["containers"][0]["resources"]["limits"].pop("memory")
    box.unloaded()


@situation(
    LIGHT,
    "Ollama's Service was deleted, and our rules are not loaded",
    "serving",
    says="service",
    never=BELOW,
    also="telemetry",
)
def no_service_and_no_rules(box: Box) -> None:
    box.take(SERVICES, "ollama")
    box.take(SLICES, "ollama")
    box.unanswered("http:ollama:")
    without_our_rules(box)


@situation(
    OPERATOR,
    "The pull fails for want of space, Prometheus was refused its volume, Grafana crashes: three",
    "model",
    says="space",
    never=BELOW,
    also="telemetry",
)
def three_at_once(box: Box) -> None:
    absent(box, "qwen2.5:7b")
    pull_job(box, "Error: write /root/.ollama/models/blobs/sha256-2bada8a7-partial: no space left on device")
    crashes(box, "prometheus-kube", 'err="open /prometheus/queries.active: permission denied"')
    grafana_crashes(box)


@situation(
    OPERATOR, "`ollama ps` was not asked", "model", "profile", outcome="unknown", says="/api/ps", never=BELOW
)
def ps_missing(box: Box) -> None:
    del box.reads["http:ollama:/api/ps"]


@situation(
    LIGHT, "The rules of Prometheus were not read", "telemetry", outcome="unknown", says="rules", never=BELOW
)
def rules_missing(box: Box) -> None:
    del box.reads[RULES]


@situation(
    CPU,
    "Alertmanager was not asked at all",
    "telemetry",
    outcome="unknown",
    says="alertmanager",
    never=f"{BELOW} | nvidia",
)
def manager_missing(box: Box) -> None:
    for key in [key for key in box.reads if key.startswith("http:alertmanager:")]:
        del box.reads[key]


@situation(
    OPERATOR,
    "Open WebUI's page was not asked for",
    "serving",
    outcome="unknown",
    says="open-webui | open webui",
    never=BELOW,
)
def webui_health_missing(box: Box) -> None:
    del box.reads["http:open-webui:/health"]


@situation(
    A100,
    "One series of the card was not asked for",
    "telemetry",
    outcome="unknown",
    says="fb_used",
    never=BELOW,
)
def series_missing(box: Box) -> None:
    del box.reads["http:prometheus:/api/v1/query?query=DCGM_FI_DEV_FB_USED"]


@situation(CPU, "Nothing is loaded, which an engine of before tells as null")
def null_loaded(box: Box) -> None:
    box.reads["http:ollama:/api/ps"]["body"] = {"models": None}


@situation(
    OPERATOR,
    "Ollama answers its list of models with an error of its own",
    "model",
    "serving",
    outcome="unknown",
    says="500 | answer | tags",
    never=f"{BELOW} | ollama pull",
)
def tags_500(box: Box) -> None:
    box.reads["http:ollama:/api/tags"] = {"status": 500, "body": {"error": "internal"}, "error": None}


@situation(
    OPERATOR,
    "The exporter was started again and again by a probe that is too strict, and is up now",
    "telemetry",
    says="edge-exporter",
    never=BELOW,
)
def exporter_flaps(box: Box) -> None:
    crashes(box, "edge-exporter", "")
    box.event(
        "Pod",
        "llm",
        box.pods("edge-exporter")[0]["metadata"]["name"],
        "Unhealthy",
        'Liveness probe failed: Get "http://10.42.0.22:9467/metrics": context deadline exceeded',
    )
