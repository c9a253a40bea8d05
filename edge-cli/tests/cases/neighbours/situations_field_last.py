"""Limits, sidecars and engines of before: what the last reports of the field added."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from box import DEPLOYMENTS, REPLICASETS, Box, situation
from situations_field_serving import ended, waiting
from situations_field_telemetry import last

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
BELOW = f"{DRIVER} | restart the device plugin | reinstall the device plugin | ollama pull"
PROM, MANAGER, GRAFANA = "prometheus-kube", "alertmanager-kube", "kube-prometheus-stack-grafana"


def container_beside(box: Box, workload: str, name: str, image: str) -> int:
    """A container beside the first; its number."""
    pod = box.pods(workload)[0]
    pod["spec"]["containers"].append({"name": name, "image": image, "resources": {}})
    statuses = pod["status"]["containerStatuses"]
    statuses.append({**copy.deepcopy(statuses[0]), "name": name, "image": image})
    return len(statuses) - 1


# NVIDIA/dcgm-exporter#385
@situation(
    OPERATOR,
    "The GPU exporter runs and is never Ready: it answers its probe with 503",
    "telemetry",
    says="503 | ready",
    never=f"{BELOW} | runtimeclass",
)
def gpu_exporter_503(box: Box) -> None:
    box.state("nvidia-dcgm-exporter", {"running": {"startedAt": "2026-06-15T11:10:00Z"}})
    box.event(
        "Pod",
        "gpu-operator",
        box.pods("nvidia-dcgm-exporter")[0]["metadata"]["name"],
        "Unhealthy",
        "Readiness probe failed: HTTP probe failed with statuscode: 503",
    )
    box.target_down("nvidia-dcgm-exporter", "server returned HTTP status 503 Service Unavailable")


# prometheus-operator/prometheus-operator#1406
@situation(
    LIGHT,
    "The reloader of Prometheus does not know a flag that it is given",
    "telemetry",
    says="config-reloader | flag",
    never=f"{BELOW} | retention",
)
def reloader_flag(box: Box) -> None:
    box.state(
        PROM,
        waiting("CrashLoopBackOff", "back-off 5m0s"),
        last=last(1, "unknown short flag '-r'"),
        restarts=12,
        container=1,
    )


@situation(
    OPERATOR,
    "The init container of Prometheus' configuration fails",
    "telemetry",
    says="init-config-reloader",
    never=f"{BELOW} | retention",
)
def init_reloader(box: Box) -> None:
    box.state(PROM, waiting("PodInitializing"))
    pod = box.pods(PROM)[0]
    pod["spec"]["initContainers"] = [
        {
            "name": "init-config-reloader",
            "image": "quay.io/prometheus-operator/prometheus-config-reloader:v0.92.1",
        }
    ]
    pod["status"] |= {
        "phase": "Pending",
        "initContainerStatuses": [
            {
                "name": "init-config-reloader",
                "image": "quay.io/prometheus-operator/prometheus-config-reloader:v0.92.1",
                "ready": False,
                "restartCount": 9,
                "state": waiting("CrashLoopBackOff", "back-off 5m0s"),
                "lastState": last(
                    1, "expand environment variables: found reference to unset environment variable"
                ),
            }
        ],
    }


@situation(
    A100,
    "The Thanos sidecar of Prometheus crash-loops: the pod is not Ready",
    "telemetry",
    says="thanos",
    never=f"{BELOW} | retention",
)
def thanos_sidecar(box: Box) -> None:
    number = container_beside(box, PROM, "thanos-sidecar", "quay.io/thanos/thanos:v0.39.0")
    said = last(1, "create bucket client: no such bucket")
    box.state(PROM, waiting("CrashLoopBackOff", "back-off 5m0s"), last=said, restarts=21, container=number)


@situation(
    OPERATOR,
    "The reloader of Alertmanager crash-loops: Prometheus finds no Alertmanager that is Ready",
    "telemetry",
    says="config-reloader | alertmanager",
    never=BELOW,
)
def manager_reloader(box: Box) -> None:
    box.state(MANAGER, waiting("CrashLoopBackOff", "back-off 5m0s"), last=last(1), restarts=12, container=1)


@situation(
    CPU,
    "kube-state-metrics waits for its image",
    "telemetry",
    says="kube-state-metrics",
    never=f"{BELOW} | nvidia",
)
def state_metrics_image(box: Box) -> None:
    box.state(
        "kube-prometheus-stack-kube-state-metrics", waiting("ImagePullBackOff", "Back-off pulling image")
    )
    box.target_down(
        "kube-state-metrics",
        'Get "http://10.42.0.27:8080/metrics": dial tcp 10.42.0.27:8080: connect: connection refused',
    )


@situation(OPERATOR, "The limit of memory is the pod's, not the container's")
def limit_of_the_pod(box: Box) -> None:
    for spec in box.templates("ollama"):
        limits = spec["containers"][0]["resources"]["limits"]
        spec["resources"] = {"limits": {"memory": limits.pop("memory")}}


@situation(
    CPU, "The limit of memory comes from the namespace's LimitRange: the pod has it, its template does not"
)
def limit_of_the_range(box: Box) -> None:
    for key in (DEPLOYMENTS, REPLICASETS):
        box.item(key, "ollama")["spec"]["template"]["spec"]["containers"][0]["resources"].pop("limits")


@situation(OPERATOR, "An engine of before speaks of its card in its own words")
def engine_of_before(box: Box) -> None:
    box.logs(
        "ollama",
        '2026/06/01 09:02:21 routes.go:1186: INFO server config env="map[CUDA_VISIBLE_DEVICES: OLLAMA_CONTEXT_LENGTH:8192 OLLAMA_KEEP_ALIVE:2562047h47m16.854775807s OLLAMA_NUM_PARALLEL:1]"',
        'time=2026-06-01T09:02:21.504Z level=INFO source=gpu.go:217 msg="looking for compatible GPUs"',
        'time=2026-06-01T09:02:22.410Z level=INFO source=types.go:130 msg="inference compute" id=GPU-3f0f5f2e-7a0d-4c1b-9c55-1d2e3f405162 library=cuda variant=v12 compute=8.9 driver=12.8 name="NVIDIA GeForce RTX 4090" total="23.6 GiB" available="23.2 GiB"',
        "llm_load_tensors: offloaded 29/29 layers to GPU",
        'time=2026-06-15T08:11:04.220Z level=INFO source=server.go:596 msg="llama runner started in 2.41 seconds"',
        '[GIN] 2026/06/15 - 11:59:41 | 200 |  1.912371221s |      10.42.0.21 | POST     "/api/chat"',
        replace=True,
    )


@situation(
    LIGHT,
    "An engine of before found no compatible GPU at its start",
    "profile",
    "serving",
    "gpu",
    says="gpu",
    never=f"{BELOW} | smaller model",
)
def engine_of_before_without_gpu(box: Box) -> None:
    box.loaded(size_vram=0)
    box.empty_card()
    box.logs(
        "ollama",
        'time=2026-06-15T08:02:21.504Z level=INFO source=gpu.go:217 msg="looking for compatible GPUs"',
        'time=2026-06-15T08:02:22.410Z level=INFO source=gpu.go:377 msg="no compatible GPUs were discovered"',
        'time=2026-06-15T08:02:22.411Z level=INFO source=types.go:130 msg="inference compute" id=0 library=cpu variant="" compute="" driver=0.0 name="" total="62.7 GiB" available="45.1 GiB"',
        'time=2026-06-15T08:11:04.220Z level=INFO source=server.go:596 msg="llama runner started in 2.41 seconds"',
        replace=True,
    )


@situation(OPERATOR, "The sidecar of Grafana was started again many times last week, and is well")
def grafana_sidecar_before(box: Box) -> None:
    status = box.pods(GRAFANA)[0]["status"]["containerStatuses"]
    status.append(
        {
            **copy.deepcopy(status[0]),
            "name": "grafana-sc-dashboard",
            "restartCount": 88,
            "lastState": ended(1) | {},
        }
    )
    status[-1]["lastState"]["terminated"]["finishedAt"] = "2026-06-08T11:55:00Z"


@situation(A100, "Grafana was killed for its memory once, ten days ago")
def grafana_killed_before(box: Box) -> None:
    status = box.pods(GRAFANA)[0]["status"]["containerStatuses"][0]
    status |= {
        "restartCount": 1,
        "lastState": {
            "terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-06-05T11:55:00Z"}
        },
    }


@situation(CPU, "Ollama ended three times while it was installed, and runs since")
def ended_while_installed(box: Box) -> None:
    pod = box.pods("ollama")[0]
    pod["metadata"]["creationTimestamp"] = pod["status"]["startTime"] = "2026-06-15T11:40:00Z"
    status = pod["status"]["containerStatuses"][0]
    status |= {"restartCount": 3, "lastState": ended(1)}
    status["lastState"]["terminated"]["finishedAt"] = "2026-06-15T11:42:00Z"
    status["state"]["running"]["startedAt"] = "2026-06-15T11:42:30Z"


@situation(
    OPERATOR,
    "The driver is too old for the engine, and the card is named by an index that is right",
    "host",
    "serving",
    says="driver",
    never="ollama pull | restart the device plugin | smaller model",
)
def old_driver_and_index(box: Box) -> None:
    for key in (
        "command:nvidia-smi -q -x",
        "command:modinfo -F version nvidia",
        "file:/proc/driver/nvidia/version",
        "command:dmesg --time-format iso",
    ):
        for part in ("stdout", "text"):
            if part in box.reads[key]:
                box.reads[key][part] = (
                    box.reads[key][part].replace("570.195.03", "535.309.01").replace(">12.8<", ">12.2<")
                )
    box.env("ollama", CUDA_VISIBLE_DEVICES="0")
    box.loaded(size_vram=0)
    box.empty_card()
    box.logs(
        "ollama",
        'time=2026-06-15T08:02:21.504Z level=INFO source=runner.go:67 msg="discovering available GPUs..."',
        'time=2026-06-15T08:02:22.410Z level=INFO source=types.go:60 msg="inference compute" id=cpu library=cpu compute="" name=cpu description=cpu total="62.7 GiB" available="45.1 GiB"',
        'time=2026-06-15T08:11:04.220Z level=INFO source=llama_server.go:610 msg="llama runner started in 2.41 seconds"',
        replace=True,
    )
