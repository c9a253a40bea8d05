"""Ollama's container, its image and its end: the judges on a healthy box with one thing changed."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.testing import answer, judge, recording_of
from llm_observability_stack.serving import LAYER, ServingSpec

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
PODS = "api:/api/v1/pods"
EVENTS = "api:/api/v1/events"
DMESG = "command:dmesg --time-format iso"
LOG = "api:/api/v1/namespaces/llm/pods/ollama-5f7c96b8d4-tz8hk/log?container=ollama&tailLines=200"
NAME = "ollama-5f7c96b8d4-tz8hk"
SPEC = ServingSpec()
Reads = dict[str, Any]
PASS = ("pass", None)


def box() -> Reads:
    reads: Reads = json.loads((BASES / "cpu-k3s.json").read_text())["reads"]
    return reads


def pod_of(reads: Reads) -> Any:
    return next(each for each in reads[PODS]["body"]["items"] if each["metadata"]["name"] == NAME)


def event(reads: Reads, reason: str, message: str, **more: Any) -> None:
    reads[EVENTS]["body"]["items"].append(
        {
            "metadata": {"name": f"{NAME}.{reason}", "namespace": "llm"},
            "involvedObject": {"kind": "Pod", "namespace": "llm", "name": NAME},
            "reason": reason,
            "message": message,
            "type": "Warning",
            "lastTimestamp": "2026-06-15T11:59:00Z",
            **more,
        }
    )


def state(reads: Reads, state_now: dict[str, Any], *, age: str = "2026-06-15T11:00:00Z", **more: Any) -> Any:
    """Put the container into a state, and the pod out of readiness."""
    pod = pod_of(reads)
    pod["metadata"]["creationTimestamp"] = pod["status"]["startTime"] = age
    pod["status"]["containerStatuses"][0] |= {"state": state_now, "ready": False, **more}
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition |= {"status": "False", "lastTransitionTime": age}
    return pod


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def ended(reason: str, code: int, finished: str, message: str = "") -> dict[str, Any]:
    return {"terminated": {"reason": reason, "exitCode": code, "finishedAt": finished, "message": message}}


def finding(reads: Reads, contract: str) -> Finding:
    return judge(LAYER, SPEC, recording_of(reads))[contract]


def verdict(reads: Reads, contract: str) -> tuple[str, str | None]:
    found = finding(reads, contract)
    return found.outcome.value, found.result.reason


@pytest.mark.parametrize(
    ("reason", "message", "expected"),
    [
        ("ImagePullBackOff", 'manifest unknown: "x" not found', "ImageNotFound"),
        (
            "ErrImagePull",
            "pull access denied, repository does not exist or may require authorization",
            "ImageNotFound",
        ),
        ("ErrImagePull", "401 Unauthorized: authentication required", "PullDenied"),
        ("ImagePullBackOff", "toomanyrequests: You have reached your pull rate limit", "PullRateLimited"),
        ("ErrImagePull", "429 Too Many Requests", "PullRateLimited"),
        ("ImagePullBackOff", "dial tcp: lookup registry-1.docker.io: no such host", "RegistryUnreachable"),
        ("ErrImagePull", "x509: certificate signed by unknown authority", "RegistryUnreachable"),
        ("ErrImagePull", "failed to extract layer: no space left on device", "NoSpaceForImage"),
        ("ErrImagePull", "no match for platform in manifest: not found", "OtherPlatform"),
        ("ErrImageNeverPull", "", "ImageNotPreloaded"),
        ("InvalidImageName", "", "InvalidImageName"),
        ("ImagePullBackOff", "something new", "PullFailed"),
    ],
)
def test_a_pull_that_fails_says_why(reason: str, message: str, expected: str) -> None:
    reads = box()
    state(reads, waiting(reason, message))
    assert verdict(reads, "serving.image") == ("fail", expected)


def test_the_event_tells_more_than_the_back_off() -> None:
    reads = box()
    state(reads, waiting("ImagePullBackOff", 'Back-off pulling image "docker.io/ollama/ollama:0.33.0"'))
    event(reads, "Failed", "Failed to pull image: dial tcp 1.2.3.4:443: i/o timeout")
    assert verdict(reads, "serving.image") == ("fail", "RegistryUnreachable")


def test_a_pull_under_way_is_no_failure() -> None:
    reads = box()
    state(reads, waiting("ContainerCreating"))
    event(reads, "Pulling", 'Pulling image "docker.io/ollama/ollama:0.33.0"')
    assert verdict(reads, "serving.image") == ("unknown", "StillPulling")
    assert finding(reads, "serving.running").result.reason == "Starting"


RUNNING = {"running": {"startedAt": "2026-06-15T11:31:09Z"}}


@pytest.mark.parametrize(
    ("restarts", "finished", "expected"),
    [
        (9, "2026-06-15T11:31:07Z", ("fail", "OomKilled")),  # half an hour ago
        (1, "2026-06-14T20:00:00Z", ("fail", "OomKilled")),  # within the day
        (1, "2026-06-13T10:00:00Z", PASS),  # once, two days ago
        (9, "2026-06-13T10:00:00Z", ("fail", "OomKilled")),  # every day and a half
        (20, "2026-06-03T10:00:00Z", PASS),  # often, and quiet for twelve days
    ],
)
def test_a_kill_for_memory_stays_news_as_long_as_its_rhythm(
    restarts: int, finished: str, expected: tuple[str, str | None]
) -> None:
    reads = box()
    pod_of(reads)["status"]["containerStatuses"][0] |= {
        "state": RUNNING,
        "lastState": ended("OOMKilled", 137, finished),
        "restartCount": restarts,
    }
    assert verdict(reads, "serving.running") == expected


def test_a_kill_for_memory_in_a_crash_loop_is_told_as_one() -> None:
    reads = box()
    last = ended("OOMKilled", 137, "2026-06-15T11:57:00Z")
    state(reads, waiting("CrashLoopBackOff"), lastState=last, restartCount=23)
    found = finding(reads, "serving.running")
    assert found.result.reason == "OomKilled"
    assert found.result.independent
    assert "24Gi" in found.result.message


KILL = (
    "{at} oom-kill:constraint={constraint},nodemask=(null),cpuset=x,oom_memcg=/kubepods-pod{uid}.slice,"
    "task_memcg=/kubepods-pod{uid}.slice,task=llama-server,pid=4711,uid=0\n"
)


@pytest.mark.parametrize(
    ("at", "constraint", "uid", "expected"),
    [
        ("2026-06-15T11:20:06,120420+00:00", "CONSTRAINT_MEMCG", "", ("fail", "OomKilled")),
        ("2026-06-15T11:20:06,120420+00:00", "CONSTRAINT_NONE", "", PASS),
        ("2026-06-15T11:20:06,120420+00:00", "CONSTRAINT_MEMCG", "another", PASS),
        ("2026-06-03T11:20:06,120420+00:00", "CONSTRAINT_MEMCG", "", PASS),
        ("[ 1234.5678]", "CONSTRAINT_MEMCG", "", PASS),
    ],
)
def test_a_killed_runner_inside_a_living_container_is_seen_in_the_kernel_log(
    at: str, constraint: str, uid: str, expected: tuple[str, str | None]
) -> None:
    reads = box()
    uid = uid or pod_of(reads)["metadata"]["uid"].replace("-", "_")
    reads[DMESG]["stdout"] += KILL.format(at=at, constraint=constraint, uid=uid)
    assert verdict(reads, "serving.running") == expected


@pytest.mark.parametrize(
    ("now", "last", "happened", "expected"),
    [
        (waiting("CrashLoopBackOff"), ended("Error", 1, "2026-06-15T11:57:00Z"), None, "CrashLoop"),
        (waiting("CrashLoopBackOff"), ended("Completed", 0, "2026-06-15T11:57:00Z"), None, "Ended"),
        (ended("Completed", 0, "2026-06-15T11:57:00Z"), {}, None, "Ended"),
        (ended("Error", 2, "2026-06-15T11:57:00Z"), {}, None, "CrashLoop"),
        (
            waiting("CrashLoopBackOff"),
            ended("Error", 137, "2026-06-15T11:57:00Z"),
            ("Killing", "Container ollama failed liveness probe, will be restarted"),
            "ProbeKilled",
        ),
        (
            waiting("CrashLoopBackOff"),
            ended("Completed", 0, "2026-06-15T11:57:00Z"),
            ("SandboxChanged", "Pod sandbox changed, it will be killed and re-created."),
            "SandboxFailed",
        ),
        (waiting("PostStartHookError", "pull failed"), {}, None, "HookFailed"),
        (
            waiting("CrashLoopBackOff"),
            ended("Error", 137, "2026-06-15T11:57:00Z"),
            ("FailedPostStartHook", "Exec lifecycle hook failed: pull model manifest: no such host"),
            "HookFailed",
        ),
        (waiting("CreateContainerConfigError", 'configmap "x" not found'), {}, None, "ConfigMissing"),
        (waiting("RunContainerError", "nvidia-container-cli: driver error"), {}, None, "CannotStart"),
        (waiting("CrashLoopBackOff"), ended("StartError", 128, "2026-06-15T11:57:00Z"), None, "CannotStart"),
        (
            waiting("ContainerCreating"),
            {},
            ("FailedCreatePodSandBox", 'no runtime for "nvidia" is configured'),
            "SandboxFailed",
        ),
        (waiting("ContainerCreating"), {}, ("FailedMount", 'secret "x" not found'), "VolumeNotMounted"),
        (waiting("ContainerCreating"), {}, ("FailedAttachVolume", "Multi-Attach error"), "VolumeNotMounted"),
        (waiting("ContainerCreating"), {}, None, "NotStarted"),
        (RUNNING, {}, None, "NotReady"),
    ],
)
def test_a_container_that_does_not_run_says_why(
    now: dict[str, Any], last: dict[str, Any], happened: tuple[str, str] | None, expected: str
) -> None:
    reads = box()
    state(reads, now, lastState=last, restartCount=5)
    if happened:
        event(reads, *happened)
    assert verdict(reads, "serving.running") == ("fail", expected)


def test_the_last_words_of_a_crash_are_quoted() -> None:
    reads = box()
    state(reads, waiting("CrashLoopBackOff"), lastState=ended("Error", 1, "2026-06-15T11:57:00Z"))
    reads[LOG + "&previous=true"] = answer("start\nError: listen tcp 0.0.0.0:11434: address already in use\n")
    assert "address already in use" in finding(reads, "serving.running").result.message


@pytest.mark.parametrize(
    "now", [waiting("ContainerCreating"), {"running": {"startedAt": "2026-06-15T11:59:30Z"}}]
)
def test_a_pod_that_has_just_begun_is_given_its_time(now: dict[str, Any]) -> None:
    reads = box()
    state(reads, now, age="2026-06-15T11:59:20Z")
    assert verdict(reads, "serving.running") == ("unknown", "Starting")


INIT = {"name": "fetch", "image": "docker.io/library/busybox:1"}


@pytest.mark.parametrize(
    ("status", "ready", "expected"),
    [
        ({"state": ended("Completed", 0, "2026-06-15T09:00:00Z"), "ready": True}, True, PASS),
        ({"state": ended("Error", 1, "2026-06-15T09:00:00Z")}, False, ("fail", "InitFailed")),
        ({"state": waiting("CrashLoopBackOff")}, False, ("fail", "InitFailed")),
        ({"state": {"running": {}}}, False, ("unknown", "Starting")),
        ({"state": waiting("PodInitializing")}, False, ("fail", "NotStarted")),
        ({}, True, PASS),
    ],
)
def test_init_containers_are_part_of_running(
    status: dict[str, Any], ready: bool, expected: tuple[str, str | None]
) -> None:
    reads = box()
    pod = pod_of(reads) if ready else state(reads, waiting("PodInitializing"))
    pod["spec"]["initContainers"] = [dict(INIT)]
    pod["status"]["initContainerStatuses"] = [{"name": "fetch", **status}]
    assert verdict(reads, "serving.running") == expected


def test_a_sidecar_of_the_init_kind_runs_on() -> None:
    reads = box()
    pod = pod_of(reads)
    pod["spec"]["initContainers"] = [{**INIT, "restartPolicy": "Always"}]
    pod["status"]["initContainerStatuses"] = [{"name": "fetch", "state": {"running": {}}, "ready": False}]
    assert verdict(reads, "serving.running") == PASS


def test_one_eviction_after_another_is_told_with_what_the_node_lacks() -> None:
    reads = box()
    state(reads, waiting("ContainerCreating"), age="2026-06-15T11:59:30Z")
    for number in range(3):
        old = copy.deepcopy(pod_of(reads))
        old["metadata"] |= {
            "name": f"ollama-5f7c96b8d4-old{number}",
            "uid": f"old{number}",
            "creationTimestamp": f"2026-06-15T11:{20 + number}:00Z",
        }
        old["status"] = {
            "phase": "Failed",
            "reason": "Evicted",
            "message": "low on resource: ephemeral-storage",
        }
        reads[PODS]["body"]["items"].append(old)
    found = finding(reads, "serving.running")
    assert found.result.reason == "Evicted"
    assert "ephemeral-storage" in found.result.message


def test_evictions_of_other_days_are_past() -> None:
    reads = box()
    for number in range(3):
        old = copy.deepcopy(pod_of(reads))
        old["metadata"] |= {"name": f"ollama-old{number}", "creationTimestamp": "2026-06-12T11:20:00Z"}
        old["status"] = {"phase": "Failed", "reason": "Evicted"}
        reads[PODS]["body"]["items"].append(old)
    assert verdict(reads, "serving.running") == PASS


def test_an_older_event_is_no_evidence() -> None:
    reads = box()
    state(reads, waiting("ContainerCreating"))
    event(reads, "FailedMount", "timed out", lastTimestamp="2026-06-15T09:00:00Z")
    assert verdict(reads, "serving.running") == ("fail", "NotStarted")


def test_a_new_pod_that_crashes_beside_an_old_one_that_serves_is_told() -> None:
    reads = box()
    new = copy.deepcopy(pod_of(reads))
    new["metadata"] |= {
        "name": "ollama-75d9f6c4b8-new",
        "uid": "new",
        "creationTimestamp": "2026-06-15T11:00:00Z",
    }
    new["status"]["containerStatuses"][0] |= {
        "state": waiting("CrashLoopBackOff"),
        "lastState": ended("Error", 1, "2026-06-15T11:57:00Z"),
        "ready": False,
    }
    reads[PODS]["body"]["items"].append(new)
    found = finding(reads, "serving.running")
    assert found.result.reason == "CrashLoop"
    assert found.result.about["pod"] == "ollama-75d9f6c4b8-new"


@pytest.mark.parametrize("now", [waiting("CrashLoopBackOff"), RUNNING])
def test_probes_that_fail_on_a_loopback_are_not_given_more_time(now: dict[str, Any]) -> None:
    reads = box()
    pod_of(reads)["spec"]["containers"][0]["env"].append(
        {"name": "OLLAMA_HOST", "value": "http://127.0.0.1:11434"}
    )
    state(reads, now, lastState=ended("Error", 2, "2026-06-15T11:57:00Z"))
    event(reads, "Killing", "Container ollama failed liveness probe, will be restarted")
    assert verdict(reads, "serving.running") == ("fail", "ListensOnLoopback")


def test_an_image_of_another_architecture_is_told_from_a_crash() -> None:
    reads = box()
    said = ended("Error", 255, "2026-06-15T11:57:00Z", "exec /bin/ollama: exec format error")
    state(reads, waiting("CrashLoopBackOff"), lastState=said)
    assert verdict(reads, "serving.running") == ("fail", "OtherPlatform")


@pytest.mark.parametrize(
    ("line", "independent"),
    [
        ("2026-06-15T11:57:01,000000+00:00 oom-kill:constraint=CONSTRAINT_NONE,global_oom\n", False),
        ("2026-06-15T09:57:01,000000+00:00 oom-kill:constraint=CONSTRAINT_NONE,global_oom\n", True),
        ("no time oom-kill:constraint=CONSTRAINT_NONE,global_oom\n", True),
        ("", True),
    ],
)
def test_a_kill_for_the_whole_machine_is_the_machines(line: str, independent: bool) -> None:
    reads = box()
    reads[DMESG]["stdout"] += line
    state(reads, waiting("CrashLoopBackOff"), lastState=ended("OOMKilled", 137, "2026-06-15T11:57:00Z"))
    found = finding(reads, "serving.running")
    assert (found.result.reason, found.result.independent) == ("OomKilled", independent)


OWN_LIMIT = "Pod ephemeral local storage usage exceeds the total limit of containers 4Gi. "


def ghost(reads: Reads, suffix: str, message: str, *, at: str = "2026-06-15T11:40:00Z") -> None:
    pod = copy.deepcopy(pod_of(reads))
    pod["metadata"] |= {"name": f"{NAME[:-5]}{suffix}", "uid": suffix, "creationTimestamp": at}
    pod["status"] = {"phase": "Failed", "reason": "Evicted", "message": message, "startTime": at}
    reads[PODS]["body"]["items"].append(pod)


def test_evictions_at_a_limit_of_its_own_do_not_end_with_the_next_pod() -> None:
    reads = box()
    ghost(reads, "aaaaa", OWN_LIMIT)
    assert verdict(reads, "serving.running") == PASS  # once
    ghost(reads, "bbbbb", 'Usage of EmptyDir volume "models" exceeds the limit "4Gi". ')
    found = finding(reads, "serving.running")
    assert (found.outcome.value, found.result.reason) == ("fail", "LocalStorageLimit")
    assert "EmptyDir" in found.result.message


def test_evictions_of_yesterday_and_those_of_a_node_that_let_it_come_back_are_over() -> None:
    for message, at in (
        (OWN_LIMIT, "2026-06-14T09:00:00Z"),
        ("The node was low on resource: memory", "2026-06-15T11:40:00Z"),
    ):
        reads = box()
        for suffix in ("aaaaa", "bbbbb"):
            ghost(reads, suffix, message, at=at)
        assert verdict(reads, "serving.running") == PASS


def test_one_eviction_told_twice_is_one() -> None:
    reads = box()
    ghost(reads, "aaaaa", OWN_LIMIT)
    event(reads, "Evicted", OWN_LIMIT)
    reads[EVENTS]["body"]["items"][-1]["involvedObject"]["name"] = f"{NAME[:-5]}aaaaa"
    assert verdict(reads, "serving.running") == PASS


@pytest.mark.parametrize(
    ("code", "restarts", "finished", "expected"),
    [
        (2, 112, "2026-06-15T11:55:00Z", ("fail", "CrashLoop")),
        (139, 40, "2026-06-15T11:30:00Z", ("fail", "CrashLoop")),
        (2, 2, "2026-06-15T11:55:00Z", PASS),  # twice is no habit
        (2, 112, "2026-06-15T09:55:00Z", PASS),  # quiet for two hours
        (2, 5, "2026-06-15T11:55:00Z", PASS),  # every third day
        (255, 40, "2026-06-15T11:55:00Z", PASS),  # lost with its machine
        (1, 40, None, PASS),  # nobody knows when
        (0, 40, "2026-06-15T11:55:00Z", PASS),  # stopped in order
    ],
)
def test_what_serves_now_and_crashes_in_between(
    code: int, restarts: int, finished: str | None, expected: tuple[str, str | None]
) -> None:
    reads = box()
    last = ended("Error", code, finished or "", "panic: index out of range")
    if finished is None:
        del last["terminated"]["finishedAt"]
    pod_of(reads)["status"]["containerStatuses"][0] |= {"lastState": last, "restartCount": restarts}
    assert verdict(reads, "serving.running") == expected


def test_crashes_of_the_installation_are_over_when_it_runs_for_longer_than_they_took() -> None:
    reads = box()
    pod = pod_of(reads)
    pod["metadata"]["creationTimestamp"] = pod["status"]["startTime"] = "2026-06-15T11:50:00Z"
    status = pod["status"]["containerStatuses"][0]
    status |= {"restartCount": 3, "lastState": ended("Error", 1, "2026-06-15T11:51:00Z")}
    assert verdict(reads, "serving.running") == PASS
    status["lastState"] = ended("Error", 1, "2026-06-15T11:59:30Z")
    assert verdict(reads, "serving.running") == ("fail", "CrashLoop")


def test_a_probe_that_kills_again_and_again_is_told_though_the_pod_is_ready() -> None:
    reads = box()
    pod_of(reads)["status"]["containerStatuses"][0] |= {
        "lastState": ended("Completed", 0, "2026-06-15T11:55:00Z"),
        "restartCount": 14,
    }
    event(reads, "Unhealthy", "Liveness probe failed: context deadline exceeded")
    assert verdict(reads, "serving.running") == PASS  # it failed, and killed nothing
    event(reads, "Killing", "Container ollama failed liveness probe, will be restarted")
    found = finding(reads, "serving.running")
    assert (found.outcome.value, found.result.reason) == ("fail", "ProbeKilled")
    assert "deadline" in found.result.message


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ('secret "x" not found', "ConfigMissing"),
        ("container has runAsNonRoot and image will run as root", "ConfigRefused"),
        ('failed to prepare subPath for volumeMount "models" of container "ollama"', "ConfigRefused"),
    ],
)
def test_what_is_missing_and_what_cannot_be_carried_out(message: str, reason: str) -> None:
    reads = box()
    state(reads, waiting("CreateContainerConfigError", message))
    assert verdict(reads, "serving.running") == ("fail", reason)
