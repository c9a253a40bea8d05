"""Where Ollama is and what it asks for: the judges on a healthy box with one thing changed."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests import Outcome
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.testing import answer, judge, recording_of
from llm_observability_stack.serving import LAYER, ServingSpec
from llm_observability_stack.serving.spec import GpuPromise, ModelPromise

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
PODS = "api:/api/v1/pods"
NODES = "api:/api/v1/nodes"
EVENTS = "api:/api/v1/events"
DEPLOYMENTS = "api:/apis/apps/v1/deployments"
SERVICES = "api:/api/v1/services"
REPLICASETS = "api:/apis/apps/v1/replicasets"
LOG = "api:/api/v1/namespaces/llm/pods/ollama-5f7c96b8d4-tz8hk/log?container=ollama&tailLines=200"
GPU = ServingSpec(
    gpu=GpuPromise(count=1),
    models=(ModelPromise("qwen2.5:7b", resident=True), ModelPromise("nomic-embed-text")),
    web_ui=True,
)
CPU = ServingSpec(models=(ModelPromise("qwen2.5:0.5b"),))
Reads = dict[str, Any]
Change = Callable[[Reads], None]


def box(name: str = "rtx-4090-k3s") -> Reads:
    reads: Reads = json.loads((BASES / f"{name}.json").read_text())["reads"]
    return reads


def item(reads: Reads, key: str, start: str = "ollama") -> Any:
    return next(each for each in reads[key]["body"]["items"] if each["metadata"]["name"].startswith(start))


def drop(reads: Reads, key: str, start: str = "ollama") -> Any:
    found = item(reads, key, start)
    reads[key]["body"]["items"].remove(found)
    return found


def event(reads: Reads, kind: str, name: str, reason: str, message: str, **more: Any) -> None:
    reads[EVENTS]["body"]["items"].append(
        {
            "metadata": {"name": f"{name}.{reason}", "namespace": "llm"},
            "involvedObject": {"kind": kind, "namespace": "llm", "name": name},
            "reason": reason,
            "message": message,
            "type": "Warning",
            "lastTimestamp": "2026-06-15T11:59:00Z",
            **more,
        }
    )


def findings(reads: Reads, spec: ServingSpec = GPU) -> dict[str, Finding]:
    return judge(LAYER, spec, recording_of(reads))


def verdict(reads: Reads, contract: str, spec: ServingSpec = GPU) -> tuple[str, str | None]:
    found = findings(reads, spec)[contract]
    return found.outcome.value, found.result.reason


def pending(reads: Reads, message: str, **status: Any) -> Any:
    """Ollama's pod, not scheduled for the scheduler's `message`."""
    pod = item(reads, PODS)
    pod["spec"].pop("nodeName")
    pod["metadata"]["creationTimestamp"] = "2026-06-15T11:00:00Z"
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    pod["status"] = {"phase": "Pending", "conditions": [condition], **status}
    return pod


PASS = ("pass", None)


@pytest.mark.parametrize("base", ["rtx-4090-k3s", "rtx-4090-light-k3s", "a100-k3s", "dual-4090-k3s"])
def test_a_healthy_gpu_box_keeps_every_promise(base: str) -> None:
    assert {key: found.outcome for key, found in findings(box(base)).items()} == {
        each.id: Outcome.PASS for each in LAYER.contracts
    }


def test_a_healthy_cpu_box_keeps_every_promise_it_makes() -> None:
    found = findings(box("cpu-k3s"), CPU)
    assert {each.outcome for each in found.values()} == {Outcome.PASS}
    assert {"serving.webui", "model.resident"}.isdisjoint(found)


def not_installed(reads: Reads) -> None:
    drop(reads, PODS)
    drop(reads, DEPLOYMENTS)
    drop(reads, SERVICES)


def workload_gone(reads: Reads) -> None:
    drop(reads, PODS)
    drop(reads, DEPLOYMENTS)


def scaled_to_zero(reads: Reads) -> None:
    drop(reads, PODS)
    item(reads, DEPLOYMENTS)["spec"]["replicas"] = 0


def refused(message: str) -> Change:
    def change(reads: Reads) -> None:
        drop(reads, PODS)
        event(reads, "ReplicaSet", "ollama-5f7c96b8d4", "FailedCreate", message)

    return change


def replica_failure(reads: Reads) -> None:
    drop(reads, PODS)
    item(reads, DEPLOYMENTS)["status"]["conditions"].append(
        {
            "type": "ReplicaFailure",
            "status": "True",
            "reason": "FailedCreate",
            "message": 'pods "ollama-x" is forbidden: exceeded quota: small, requested: limits.memory=24Gi',
        }
    )


def ghost(reads: Reads) -> None:
    drop(reads, DEPLOYMENTS)
    pod = item(reads, PODS)
    pod["metadata"].pop("ownerReferences")
    pod["status"] = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no healthy devices"}


def leaving(since: str) -> Change:
    def change(reads: Reads) -> None:
        item(reads, PODS)["metadata"]["deletionTimestamp"] = since

    return change


def vanished(reads: Reads) -> None:
    drop(reads, PODS)


@pytest.mark.parametrize(
    ("change", "outcome", "reason"),
    [
        (not_installed, "fail", "NotInstalled"),
        (workload_gone, "fail", "WorkloadGone"),
        (scaled_to_zero, "fail", "ScaledToZero"),
        (refused('pods "o" is forbidden: exceeded quota: gpus, requested: 1'), "fail", "QuotaExceeded"),
        (replica_failure, "fail", "QuotaExceeded"),
        (refused('pods "o" is forbidden: RuntimeClass "nvidia" not found'), "fail", "RuntimeClassMissing"),
        (
            refused('pods "o" is forbidden: violates PodSecurity "restricted:latest"'),
            "fail",
            "AdmissionRefused",
        ),
        (
            refused('error looking up service account llm/x: serviceaccount "x" not found'),
            "fail",
            "AdmissionRefused",
        ),
        (ghost, "fail", "OnlyFailedPods"),
        (leaving("2026-06-15T11:20:00Z"), "fail", "StuckTerminating"),
        (leaving("2026-06-15T11:59:50Z"), "unknown", "Replacing"),
        (vanished, "fail", "NoPod"),
    ],
)
def test_a_workload_without_a_pod_says_why(change: Change, outcome: str, reason: str) -> None:
    reads = box()
    change(reads)
    assert verdict(reads, "serving.workload") == (outcome, reason)


def test_an_absent_ollama_is_unknown_where_the_workloads_were_not_seen() -> None:
    reads = box()
    not_installed(reads)
    reads[DEPLOYMENTS] = answer(None, status=None, error="timeout")
    assert verdict(reads, "serving.workload") == ("unknown", "TimedOut")


def test_a_pod_of_an_unseen_workload_that_failed_is_not_called_ownerless() -> None:
    reads = box()
    item(reads, PODS)["status"] = {"phase": "Failed", "reason": "Evicted"}
    del reads[DEPLOYMENTS]
    assert verdict(reads, "serving.workload") == ("unknown", "NotObserved")


def test_ghosts_beside_a_running_pod_are_noise() -> None:
    reads = box()
    old = copy.deepcopy(item(reads, PODS))
    old["metadata"] |= {"name": "ollama-5f7c96b8d4-ghost", "uid": "ghost"}
    old["status"] = {"phase": "Failed", "reason": "UnexpectedAdmissionError"}
    reads[PODS]["body"]["items"].insert(0, old)
    assert {each.outcome for each in findings(reads).values()} == {Outcome.PASS}


def test_a_bare_pod_serves_as_well_as_a_deployment() -> None:
    reads = box()
    drop(reads, DEPLOYMENTS)
    item(reads, PODS)["metadata"].pop("ownerReferences")
    assert {each.outcome for each in findings(reads).values()} == {Outcome.PASS}


@pytest.mark.parametrize(
    "image",
    ["registry.local:5000/mirror/ollama:0.33.0", "ollama/ollama@sha256:00", "ghcr.io/x/ollama-cuda:1"],
)
def test_ollama_is_found_by_its_image_in_any_namespace(image: str) -> None:
    reads = box()
    pod = item(reads, PODS)
    pod["spec"]["containers"][0] |= {"image": image, "name": "llm"}
    pod["spec"]["containers"][0].pop("ports")
    assert verdict(reads, "serving.workload") == PASS


def test_a_second_ollama_of_somebody_else_is_not_the_one_that_is_judged() -> None:
    reads = box()
    other = copy.deepcopy(item(reads, DEPLOYMENTS))
    other["metadata"] |= {"namespace": "ai-lab", "name": "ollama-test"}
    other["spec"]["replicas"] = 0
    reads[DEPLOYMENTS]["body"]["items"].insert(0, other)
    assert verdict(reads, "serving.workload") == PASS


HELD = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available."


def hold_gpu(reads: Reads, *, namespace: str = "media", **labels: str) -> Any:
    pod = copy.deepcopy(item(box(), PODS))
    pod["metadata"] |= {"name": "holder-0", "namespace": namespace, "uid": "holder"}
    pod["metadata"]["labels"] = labels
    pod["metadata"]["ownerReferences"] = []
    pod["spec"]["containers"][0] |= {"image": "docker.io/example/trainer:1", "name": "trainer", "ports": []}
    reads[PODS]["body"]["items"].append(pod)
    return pod


def test_the_holder_of_the_gpu_is_named() -> None:
    reads = box()
    pending(reads, HELD)
    hold_gpu(reads)
    found = findings(reads)["serving.scheduled"]
    assert found.result.reason == "GpuHeld"
    assert "media/holder-0" in found.result.message
    assert found.result.about["holder"] == "holder-0"


def test_a_finished_holder_holds_nothing() -> None:
    reads = box()
    pending(reads, HELD)
    hold_gpu(reads)["status"]["phase"] = "Succeeded"
    assert verdict(reads, "serving.scheduled") == ("fail", "Unschedulable")


def test_replicas_beyond_the_gpus_are_no_rollout() -> None:
    reads = box()
    first = copy.deepcopy(item(reads, PODS))
    first["metadata"] |= {"name": "ollama-5f7c96b8d4-first", "uid": "first"}
    pending(reads, HELD)
    reads[PODS]["body"]["items"].append(first)
    found = findings(reads)["serving.scheduled"]
    assert found.result.reason == "MoreReplicasThanGpus"
    assert "its own replicas" in found.result.message


def test_a_rollout_that_waits_for_its_own_old_pod_is_a_deadlock() -> None:
    reads = box()
    old = copy.deepcopy(item(reads, PODS))
    old["metadata"] |= {"name": "ollama-75d9f6c4b8-old", "uid": "old"}
    old["metadata"]["ownerReferences"][0]["name"] = "ollama-75d9f6c4b8"
    pending(reads, HELD)
    reads[PODS]["body"]["items"].append(old)
    item(reads, DEPLOYMENTS)["spec"]["strategy"] = {"type": "RollingUpdate"}
    found = findings(reads)["serving.scheduled"]
    assert found.result.reason == "RolloutDeadlock"
    assert "RollingUpdate" in found.result.message


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("0/1 nodes are available: 1 Insufficient memory.", "InsufficientMemory"),
        ("0/1 nodes are available: 1 Insufficient cpu.", "InsufficientCpu"),
        ("0/1 nodes are available: 1 Insufficient ephemeral-storage.", "InsufficientStorage"),
        ("0/1 nodes are available: 1 Too many pods.", "TooManyPods"),
        ("0/1 nodes are available: 1 node(s) had untolerated taint {dedicated: vision}.", "UntoleratedTaint"),
        (
            "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }.",
            "NodeUnfit",
        ),
        ("0/1 nodes are available: 1 node(s) had untolerated taint(s).", "NodeUnfit"),
        ("0/1 nodes are available: 1 node(s) were unschedulable.", "NodeUnfit"),
        (
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
            "NoNodeMatches",
        ),
        (
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
            "VolumeNotBound",
        ),
        ('persistentvolumeclaim "ollama" not found', "VolumeMissing"),
        ("0/1 nodes are available: 1 node(s) had volume node affinity conflict.", "VolumeElsewhere"),
        ("0/1 nodes are available: something new.", "Unschedulable"),
    ],
)
def test_the_scheduler_is_understood(message: str, reason: str) -> None:
    reads = box()
    pending(reads, message)
    assert verdict(reads, "serving.scheduled") == ("fail", reason)


def test_a_claim_with_an_unknown_storage_class_is_told_from_a_slow_provisioner() -> None:
    reads = box()
    pending(reads, "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")
    event(
        reads,
        "PersistentVolumeClaim",
        "ollama",
        "ProvisioningFailed",
        'storageclass.storage.k8s.io "fast-nvme" not found',
    )
    assert verdict(reads, "serving.scheduled") == ("fail", "VolumeMissing")


def test_a_resource_of_another_name_is_told_from_a_held_one() -> None:
    reads = box()
    pending(reads, HELD)
    for amounts in ("capacity", "allocatable"):
        item(reads, NODES, "edge")["status"][amounts] |= {"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "4"}
    assert verdict(reads, "serving.scheduled")[1] in (None, "OtherResourceName")
    assert verdict(reads, "serving.gpu-request") == ("fail", "OtherResourceName")


def test_no_gpu_offered_at_all_is_left_to_the_layer_below() -> None:
    reads = box()
    pending(reads, HELD)
    for amounts in ("capacity", "allocatable"):
        item(reads, NODES, "edge")["status"][amounts].pop("nvidia.com/gpu")
    assert verdict(reads, "serving.gpu-request") == PASS
    found = findings(reads)["serving.scheduled"]
    assert (found.result.reason, found.result.independent) == ("NoGpuOffered", False)


def test_more_gpus_than_any_node_has_are_never_scheduled() -> None:
    reads = box()
    pod = pending(reads, HELD)
    pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "2"
    assert verdict(reads, "serving.scheduled") == ("fail", "TooFewGpusOnNode")


def test_a_gated_pod_and_a_new_pod_are_no_scheduling_failures() -> None:
    reads = box()
    pod = pending(reads, "")
    pod["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": ""}
    ]
    assert verdict(reads, "serving.scheduled") == ("fail", "SchedulingGated")
    pod["status"]["conditions"] = []
    assert verdict(reads, "serving.scheduled") == ("fail", "Unschedulable")
    pod["metadata"]["creationTimestamp"] = "2026-06-15T11:59:55Z"
    assert verdict(reads, "serving.scheduled") == ("unknown", "NotYetScheduled")


def test_an_event_speaks_where_the_condition_is_silent() -> None:
    reads = box()
    pod = pending(reads, "")
    event(reads, "Pod", pod["metadata"]["name"], "FailedScheduling", "0/1 nodes: 1 Insufficient memory.")
    assert verdict(reads, "serving.scheduled") == ("fail", "InsufficientMemory")


def test_who_holds_a_gpu_is_unknown_where_nodes_may_not_be_listed() -> None:
    reads = box()
    pending(reads, HELD)
    reads[NODES] = answer({"message": "forbidden"}, status=403)
    assert verdict(reads, "serving.scheduled") == ("unknown", "Forbidden")


def limits(reads: Reads, **changes: str | None) -> Any:
    pod = item(reads, PODS)
    resources = pod["spec"]["containers"][0]["resources"]
    for part in ("limits", "requests"):
        for name, value in changes.items():
            resources[part].pop(name.replace("gpu", "nvidia.com/gpu"), None)
            if value is not None:
                resources[part][name.replace("gpu", "nvidia.com/gpu")] = value
    return pod


def env(reads: Reads, name: str, value: str) -> None:
    item(reads, PODS)["spec"]["containers"][0]["env"].append({"name": name, "value": value})


def test_a_pod_without_a_gpu_limit_is_told_even_if_it_sees_the_card() -> None:
    reads = box()
    limits(reads, gpu=None)
    env(reads, "NVIDIA_VISIBLE_DEVICES", "all")
    found = findings(reads)["serving.gpu-request"]
    assert found.result.reason == "NoGpuRequest"
    assert "NVIDIA_VISIBLE_DEVICES=all" in found.result.message


def test_fewer_gpus_than_promised() -> None:
    spec = ServingSpec(gpu=GpuPromise(count=2))
    assert verdict(box("dual-4090-k3s"), "serving.gpu-request", spec) == ("fail", "TooFewGpus")


def test_a_resource_claim_and_a_mig_slice_are_requests() -> None:
    reads = box()
    limits(reads, gpu=None)["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "card"}]
    assert verdict(reads, "serving.gpu-request") == PASS
    reads = box("a100-k3s")
    limits(reads, gpu=None)["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-3g.20gb"] = "1"
    item(reads, NODES, "edge")["status"]["allocatable"] |= {
        "nvidia.com/gpu": "0",
        "nvidia.com/mig-3g.20gb": "2",
    }
    assert verdict(reads, "serving.gpu-request") == PASS


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("NVIDIA_DRIVER_CAPABILITIES", "utility", "NoComputeCapability"),
        ("NVIDIA_DRIVER_CAPABILITIES", "graphics,display", "NoComputeCapability"),
        ("NVIDIA_DRIVER_CAPABILITIES", "compute,utility", None),
        ("NVIDIA_DRIVER_CAPABILITIES", "all", None),
        ("CUDA_VISIBLE_DEVICES", "-1", "DevicesHidden"),
        ("CUDA_VISIBLE_DEVICES", "0", None),
        ("OLLAMA_LLM_LIBRARY", "cpu_avx2", "EngineForcedToCpu"),
        ("OLLAMA_LLM_LIBRARY", "cuda_v12", None),
    ],
)
def test_the_environment_may_take_the_gpu_away_again(name: str, value: str, reason: str | None) -> None:
    reads = box()
    env(reads, name, value)
    assert verdict(reads, "serving.gpu-request")[1] == reason


CPU_ONLY = 'level=INFO source=types.go:60 msg="inference compute" id=cpu library=cpu name=cpu\n'


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("CUDA_VISIBLE_DEVICES", "GPU-0a1b2c3d-aaaa-bbbb-cccc-0123456789ab", "DevicesHidden"),
        ("CUDA_VISIBLE_DEVICES", "1", "DevicesHidden"),
        ("NVIDIA_VISIBLE_DEVICES", "void", "DevicesHidden"),
        ("NVIDIA_VISIBLE_DEVICES", "none", "DevicesHidden"),
        ("NVIDIA_VISIBLE_DEVICES", "all", None),
        ("CUDA_VISIBLE_DEVICES", "0", None),  # the engine has another reason
        ("CUDA_VISIBLE_DEVICES", "GPU-3f0f5f2e", None),
        ("CUDA_VISIBLE_DEVICES", "5, GPU-3f0f5f2e-7a0d-4c1b-9c55-1d2e3f405162", None),
    ],
)
def test_a_card_that_is_hidden_by_name_is_told_where_the_engine_found_none(
    name: str, value: str, reason: str | None
) -> None:
    reads = box()
    env(reads, name, value)
    assert verdict(reads, "serving.gpu-request")[1] is None  # it found one all the same
    reads[LOG] = answer(f"time=2026-06-15T08:02:22Z {CPU_ONLY}")
    assert verdict(reads, "serving.gpu-request")[1] == reason


def without_class(reads: Reads, log: str | None) -> None:
    item(reads, PODS)["spec"].pop("runtimeClassName")
    if log is None:
        reads[LOG] = answer(None, status=None, error="timeout")
    else:
        reads[LOG]["body"] = log


NO_GPU_LOG = 'time=2026-06-15T09:00:00Z level=INFO source=t.go:1 msg="inference compute" id=cpu library=cpu\n'


def test_no_runtime_class_is_a_fault_only_where_nothing_else_brings_the_gpu() -> None:
    light, operator = box("rtx-4090-light-k3s"), box()
    without_class(light, NO_GPU_LOG)
    assert verdict(light, "serving.gpu-request") == ("fail", "NoRuntimeClass")
    without_class(operator, None)
    assert verdict(operator, "serving.gpu-request") == PASS  # CDI brings it
    without_class(light := box("rtx-4090-light-k3s"), None)
    assert verdict(light, "serving.gpu-request") == ("fail", "NoRuntimeClass")  # the plugin's strategy tells


def test_the_default_runtime_may_be_nvidia() -> None:
    reads = box("rtx-4090-light-k3s")
    without_class(reads, None)
    config = "file:/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
    reads[config]["text"] += '\n  default_runtime_name = "nvidia"\n'
    assert verdict(reads, "serving.gpu-request") == PASS


def test_a_gpu_that_the_engine_found_needs_no_explanation() -> None:
    reads = box("rtx-4090-light-k3s")
    log = reads[LOG]["body"]
    without_class(reads, log)
    assert verdict(reads, "serving.gpu-request") == PASS


def test_whether_cdi_brings_the_gpu_is_unknown_where_nothing_tells() -> None:
    reads = box("rtx-4090-light-k3s")
    without_class(reads, None)
    drop(reads, PODS, "nvdp")
    assert verdict(reads, "serving.gpu-request") == ("unknown", "RuntimeUndecided")


def test_a_machine_without_a_gpu_wants_no_request_for_one() -> None:
    reads = box("cpu-k3s")
    pod = item(reads, PODS)
    pod["spec"]["runtimeClassName"] = "nvidia"
    assert verdict(reads, "serving.gpu-request", CPU) == PASS  # odd, and it runs
    for condition in pod["status"]["conditions"]:
        condition["status"] = "False"
    assert verdict(reads, "serving.gpu-request", CPU) == ("fail", "ClassNotPromised")
    pod["spec"].pop("runtimeClassName")
    assert verdict(reads, "serving.gpu-request", CPU) == PASS
    pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "1"
    assert verdict(reads, "serving.gpu-request", CPU) == ("fail", "GpuNotPromised")


def test_what_a_scaled_down_ollama_asks_for_is_read_from_its_template() -> None:
    reads = box()
    scaled_to_zero(reads)
    assert findings(reads)["serving.gpu-request"].result.message.startswith("Deployment llm/ollama asks")
    item(reads, DEPLOYMENTS)["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"].pop("memory")
    assert verdict(reads, "serving.memory-limit") == ("fail", "NoMemoryLimit")


def test_a_missing_memory_limit_is_told() -> None:
    reads = box()
    limits(reads, memory=None)
    assert verdict(reads, "serving.memory-limit") == ("fail", "NoMemoryLimit")
    item(reads, PODS)["spec"]["resources"] = {"limits": {"memory": "24Gi"}}  # the pod's, for all it has
    assert verdict(reads, "serving.memory-limit") == PASS


def test_without_an_ollama_nothing_else_is_judged() -> None:
    reads = box()
    not_installed(reads)
    found = findings(reads)
    assert {
        found[key].outcome for key in ("serving.gpu-request", "serving.memory-limit", "serving.scheduled")
    } == {Outcome.BLOCKED}
    assert found["serving.gpu-request"].blocked_by == "serving.workload"
    assert {key: found[key].result.reason for key in found if key.startswith("serving.")} == {
        "serving.workload": "NotInstalled",
        "serving.gpu-request": "NothingAsks",
        "serving.scheduled": "NothingToSchedule",
        "serving.image": "NothingScheduled",
        "serving.running": "NothingScheduled",
        "serving.memory-limit": "NothingAsks",
        "serving.endpoints": "NothingToReach",
        "serving.answers": None,
        "serving.webui": None,
    }


def test_an_image_for_cards_of_another_vendor() -> None:
    reads = box()
    item(reads, PODS)["spec"]["containers"][0]["image"] = "docker.io/ollama/ollama:0.33.0-rocm"
    assert findings(reads)["serving.gpu-request"].result.reason == "EngineOfOtherVendor"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
            "HostPortTaken",
        ),
        ("0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.", "KeptApart"),
    ],
)
def test_what_keeps_pods_apart_is_named(said: str, reason: str) -> None:
    reads = box()
    pending(reads, said)
    assert findings(reads)["serving.scheduled"].result.reason == reason
