"""The GPU exporter, targets, samples and GPU series: the judges on a healthy box with one thing changed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests import Outcome
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.testing import answer, command, judge, recording_of
from llm_observability_stack.telemetry import LAYER, TelemetrySpec

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
PODS = "api:/api/v1/pods"
NODES = "api:/api/v1/nodes"
EVENTS = "api:/api/v1/events"
DAEMONSETS = "api:/apis/apps/v1/daemonsets"
TARGETS = "http:prometheus:/api/v1/targets?state=any"
UP = "http:prometheus:/api/v1/query?query=up"
SMI = "command:nvidia-smi -q -x"
XID = "DCGM_FI_DEV_XID_ERRORS"
GPU = TelemetrySpec(gpu_exporter=True)
CPU = TelemetrySpec()
CRASH = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}
PASS = (Outcome.PASS, None)
Reads = dict[str, Any]


def box(name: str = "rtx-4090-k3s") -> Reads:
    reads: Reads = json.loads((BASES / f"{name}.json").read_text())["reads"]
    return reads


def items(reads: Reads, key: str) -> list[Any]:
    found: list[Any] = reads[key]["body"]["items"]
    return found


def item(reads: Reads, key: str, part: str) -> Any:
    return next(each for each in items(reads, key) if part in each["metadata"]["name"])


def drop(reads: Reads, key: str, part: str) -> None:
    reads[key]["body"]["items"] = [each for each in items(reads, key) if part not in each["metadata"]["name"]]


def container(reads: Reads, part: str, state: dict[str, Any], **more: Any) -> Any:
    pod = item(reads, PODS, part)
    pod["status"]["containerStatuses"][0] |= {"state": state, "ready": False, **more}
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition["status"] = "False"
    return pod


def log(reads: Reads, part: str, text: str) -> None:
    pod = item(reads, PODS, part)["metadata"]
    for key in reads:
        if f"/pods/{pod['name']}/log" in key:
            reads[key] = answer(text)


def event(reads: Reads, kind: str, name: str, message: str) -> None:
    items(reads, EVENTS).append(
        {
            "metadata": {"name": f"e-{name}", "namespace": "gpu-operator"},
            "involvedObject": {"kind": kind, "namespace": "gpu-operator", "name": name},
            "type": "Warning",
            "message": message,
            "lastTimestamp": "2026-06-15T11:59:00Z",
        }
    )


def active(reads: Reads) -> list[Any]:
    found: list[Any] = reads[TARGETS]["body"]["data"]["activeTargets"]
    return found


def target(reads: Reads, part: str) -> Any:
    return next(each for each in active(reads) if part in each["labels"]["job"])


def untarget(reads: Reads, part: str) -> None:
    reads[TARGETS]["body"]["data"]["activeTargets"] = [
        each for each in active(reads) if part not in each["labels"]["job"]
    ]


def series(reads: Reads, name: str) -> list[Any]:
    found: list[Any] = reads[f"http:prometheus:/api/v1/query?query={name}"]["body"]["data"]["result"]
    return found


def every_sample(reads: Reads) -> list[Any]:
    return [sample for name in GPU.gpu_series for sample in series(reads, name)]


def no_series(reads: Reads, *names: str) -> None:
    for name in names or GPU.gpu_series:
        series(reads, name).clear()


def findings(reads: Reads, spec: TelemetrySpec = GPU) -> dict[str, Finding]:
    return judge(LAYER, spec, recording_of(reads))


def verdict(reads: Reads, contract: str, spec: TelemetrySpec = GPU) -> tuple[Outcome, str | None]:
    found = findings(reads, spec)[contract]
    return found.outcome, found.result.reason


def just_started(reads: Reads) -> None:
    for status in item(reads, PODS, "prometheus-0")["status"]["containerStatuses"]:
        status["state"] = {"running": {"startedAt": "2026-06-15T11:59:30Z"}}


# ---- GPU exporter


NO_NVML = 'time=x level=ERROR msg="Cannot init NVML library; err: ERROR_LIBRARY_NOT_FOUND"\n'
NO_SO = "Failed to initialize NVML: libnvidia-ml.so.1: cannot open shared object file\n"


@pytest.mark.parametrize("text", [NO_NVML, NO_SO, "could not load NVML library\n"])
def test_an_exporter_without_runtime_class_and_library_has_a_fault_of_its_own(text: str) -> None:
    reads = box("rtx-4090-light-k3s")
    pod = container(reads, "dcgm", CRASH, restartCount=8, lastState={"terminated": {"exitCode": 1}})
    del pod["spec"]["runtimeClassName"]
    log(reads, "dcgm", text)
    found = findings(reads)["telemetry.gpu-exporter"]
    assert (found.result.reason, found.result.independent) == ("NoRuntimeClass", True)
    assert found.result.about["workload"] == "dcgm-exporter"
    assert "edge-1" in found.result.message


def test_an_exporter_with_its_runtime_class_and_no_library_stands_on_the_layers_below() -> None:
    reads = box()
    container(reads, "dcgm", CRASH, restartCount=8, lastState={"terminated": {"exitCode": 1}})
    log(reads, "dcgm", NO_NVML)
    found = findings(reads)["telemetry.gpu-exporter"]
    assert (found.result.reason, found.result.independent) == ("GpuLibraryMissing", False)


def test_an_exporter_that_gets_the_card_by_cdi_needs_no_runtime_class() -> None:
    reads = box()
    pod = item(reads, PODS, "dcgm")
    del pod["spec"]["runtimeClassName"]
    assert verdict(reads, "telemetry.gpu-exporter") == PASS
    pod["metadata"]["annotations"] = {"cdi.k8s.io/exporter": "nvidia.com/gpu=all"}
    container(reads, "dcgm", CRASH, restartCount=8)
    log(reads, "dcgm", NO_NVML)
    assert verdict(reads, "telemetry.gpu-exporter") == (Outcome.FAIL, "GpuLibraryMissing")


def test_an_exporter_that_runs_blind() -> None:
    reads = box()
    log(reads, "dcgm", 'msg="Starting dcgm-exporter"\n' + NO_NVML)
    assert verdict(reads, "telemetry.gpu-exporter") == (Outcome.FAIL, "GpuLibraryMissing")


def test_the_complaint_of_an_earlier_run_is_history() -> None:
    reads = box()
    log(reads, "dcgm", NO_NVML + 'msg="Starting webserver"\n')
    assert verdict(reads, "telemetry.gpu-exporter") == PASS


@pytest.mark.parametrize(
    "said",
    [
        'error mounting "/usr/lib/libnvidia-ml.so.570.195.03" to rootfs: no such file or directory',
        "failed to fulfil mount request: open /usr/lib/libcuda.so.570.195.03: no such file or directory",
    ],
)
def test_a_specification_that_names_files_of_another_driver(said: str) -> None:
    reads = box()
    pod = container(reads, "dcgm", CRASH, restartCount=8)
    event(reads, "Pod", pod["metadata"]["name"], said)
    found = findings(reads)["telemetry.gpu-exporter"]
    assert found.result.reason == "CdiSpecStale"
    assert "570.195.03" in found.result.message
    assert "loaded driver is" in found.result.message
    del reads["file:/proc/driver/nvidia/version"]
    assert "which is not there" in findings(reads)["telemetry.gpu-exporter"].result.message


def killed(reads: Reads) -> None:
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-06-15T11:55:00Z"}}
    container(reads, "dcgm", CRASH, restartCount=4, lastState=ended)


def image(reads: Reads) -> None:
    container(reads, "dcgm", {"waiting": {"reason": "ErrImagePull"}})


def no_sandbox(reads: Reads) -> None:
    pod = container(reads, "dcgm", {"waiting": {"reason": "ContainerCreating"}})
    pod["status"]["startTime"] = "2026-06-15T11:00:00Z"
    event(reads, "Pod", pod["metadata"]["name"], 'no runtime for "nvidia" is configured')


def waits_for_toolkit(reads: Reads) -> None:
    pod = item(reads, PODS, "dcgm")
    pod["spec"]["initContainers"] = [{"name": "toolkit-validation", "image": "gpu-operator:v26.7.0"}]
    pod["status"]["initContainerStatuses"] = [
        {"name": "toolkit-validation", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
    ]
    container(reads, "dcgm", {"waiting": {"reason": "PodInitializing"}})


@pytest.mark.parametrize(
    ("change", "reason", "word"),
    [
        (killed, "GpuExporterOutOfMemory", "killed for its memory"),
        (image, "GpuExporterImageUnavailable", "ErrImagePull"),
        (no_sandbox, "GpuExporterDown", "no runtime"),
        (waits_for_toolkit, "GpuExporterDown", "toolkit-validation"),
    ],
)
def test_an_exporter_that_does_not_run(change: Callable[[Reads], None], reason: str, word: str) -> None:
    reads = box()
    change(reads)
    found = findings(reads)["telemetry.gpu-exporter"]
    assert (found.outcome, found.result.reason) == (Outcome.FAIL, reason)
    assert word in found.result.message


def test_an_exporter_that_has_just_been_started() -> None:
    reads = box()
    pod = container(reads, "dcgm", {"waiting": {"reason": "ContainerCreating"}})
    pod["status"]["startTime"] = "2026-06-15T11:59:40Z"
    assert verdict(reads, "telemetry.gpu-exporter") == (Outcome.UNKNOWN, "GpuExporterStarting")


def test_no_exporter_at_all() -> None:
    reads = box()
    drop(reads, PODS, "dcgm")
    untarget(reads, "dcgm")
    found = findings(reads)["telemetry.gpu-exporter"]
    assert found.result.reason == "GpuExporterNotScheduled"
    event(
        reads, "DaemonSet", "nvidia-dcgm-exporter", 'pods "x" is forbidden: RuntimeClass "nvidia" not found'
    )
    assert "RuntimeClass" in findings(reads)["telemetry.gpu-exporter"].result.message
    drop(reads, DAEMONSETS, "dcgm")
    assert verdict(reads, "telemetry.gpu-exporter") == (Outcome.FAIL, "GpuExporterMissing")


def test_an_exporter_outside_the_cluster_counts_by_its_target() -> None:
    reads = box()
    drop(reads, PODS, "dcgm")
    drop(reads, DAEMONSETS, "dcgm")
    target(reads, "dcgm")["labels"] = {"job": "gpu", "instance": "192.0.2.10:9400"}
    target(reads, "gpu")["scrapePool"] = "gpu"
    assert verdict(reads, "telemetry.gpu-exporter") == PASS
    assert verdict(reads, "telemetry.gpu-target") == PASS


def second_node(reads: Reads) -> None:
    node = json.loads(json.dumps(items(reads, NODES)[0]))
    node["metadata"]["name"] = "edge-2"
    items(reads, NODES).append(node)


def test_a_node_with_a_card_and_without_an_exporter_is_named() -> None:
    reads = box()
    second_node(reads)
    found = findings(reads)["telemetry.gpu-exporter"]
    assert found.result.reason == "GpuExporterNotScheduled"
    assert "edge-2" in found.result.message


@pytest.mark.parametrize("capacity", [{"cpu": "4"}, {"nvidia.com/gpu": "0"}])
def test_a_node_without_a_card_needs_no_exporter(capacity: dict[str, str]) -> None:
    reads = box()
    second_node(reads)
    items(reads, NODES)[1]["status"]["capacity"] = capacity
    assert verdict(reads, "telemetry.gpu-exporter") == PASS


def test_one_exporter_of_two_fails_and_is_named_with_its_node() -> None:
    reads = box()
    second_node(reads)
    pod = json.loads(json.dumps(item(reads, PODS, "dcgm")))
    pod["metadata"]["name"] = "nvidia-dcgm-exporter-other"
    pod["spec"]["nodeName"] = "edge-2"
    items(reads, PODS).append(pod)
    assert verdict(reads, "telemetry.gpu-exporter") == PASS
    container(reads, "dcgm-exporter-other", CRASH, restartCount=3)
    found = findings(reads)["telemetry.gpu-exporter"]
    assert found.result.reason == "GpuExporterDown"
    assert "edge-2" in found.result.message


def test_a_ghost_of_an_exporter_is_not_the_exporter() -> None:
    reads = box()
    ghost = json.loads(json.dumps(item(reads, PODS, "dcgm")))
    ghost["metadata"]["name"] = "nvidia-dcgm-exporter-ghost"
    ghost["status"] = {"phase": "Failed", "reason": "UnexpectedAdmissionError"}
    items(reads, PODS).append(ghost)
    assert verdict(reads, "telemetry.gpu-exporter") == PASS


# ---- targets


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ('Get "http://x": dial tcp: connect: connection refused', "TargetDown"),
        ('Get "http://x": EOF', "TargetDown"),
        ('Get "http://x": dial tcp: lookup edge-exporter: no such host', "TargetDown"),
        ('Get "http://x": context deadline exceeded', "TargetTimedOut"),
        ('Get "http://x": dial tcp 10.42.0.22:9467: i/o timeout', "TargetTimedOut"),
        ("server returned HTTP status 404 Not Found", "TargetRefuses"),
        ("server returned HTTP status 401 Unauthorized", "TargetRefuses"),
        ("tls: failed to verify certificate: x509: unknown authority", "TargetRefuses"),
        ("expected a valid start token, got '<'", "TargetUnreadable"),
        ("sample_limit exceeded", "TargetUnreadable"),
        ("", "TargetDown"),
    ],
)
def test_a_target_that_is_down(error: str, reason: str) -> None:
    reads = box()
    target(reads, "edge-exporter").update(health="down", lastError=error)
    found = findings(reads)
    assert (found["telemetry.targets"].outcome, found["telemetry.targets"].result.reason) == (
        Outcome.FAIL,
        reason,
    )
    assert found["telemetry.gpu-target"].outcome is Outcome.PASS


def test_a_target_that_is_down_brings_the_word_of_its_pod() -> None:
    reads = box()
    target(reads, "edge-exporter").update(health="down", lastError="connection refused")
    container(reads, "edge-exporter", CRASH, restartCount=7, lastState={"terminated": {"exitCode": 2}})
    assert "7 restarts, last exit code 2" in findings(reads)["telemetry.targets"].result.message
    drop(reads, PODS, "edge-exporter")
    assert "no pod of the edge-exporter" in findings(reads)["telemetry.targets"].result.message
    del reads[PODS]
    assert verdict(reads, "telemetry.targets") == (Outcome.FAIL, "TargetDown")


def test_a_companion_counts_where_it_is_scraped() -> None:
    reads = box()
    untarget(reads, "node-exporter")
    assert verdict(reads, "telemetry.targets") == PASS
    target(reads, "kube-state-metrics").update(health="down", lastError="connection refused")
    assert verdict(reads, "telemetry.targets") == (Outcome.FAIL, "TargetDown")


def test_the_target_of_a_stranger_breaks_no_promise() -> None:
    reads = box()
    stranger = json.loads(json.dumps(target(reads, "edge-exporter")))
    stranger |= {
        "health": "down",
        "lastError": "refused",
        "scrapePool": "feeds",
        "scrapeUrl": "http://x:9090/m",
    }
    stranger["labels"] = {"job": "feed-reader", "instance": "x:9090"}
    active(reads).append(stranger)
    assert verdict(reads, "telemetry.targets") == PASS


def test_a_target_that_is_absent_and_what_relabelling_dropped() -> None:
    reads = box("cpu-k3s")
    untarget(reads, "edge-exporter")
    reads[TARGETS]["body"]["data"]["droppedTargets"] = [
        {"discoveredLabels": {"job": "serviceMonitor/llm/edge-exporter/0"}},
        {"discoveredLabels": {}, "scrapePool": "serviceMonitor/llm/edge-exporter/0"},
    ]
    found = findings(reads, CPU)["telemetry.targets"]
    assert (found.outcome, found.result.reason) == (Outcome.FAIL, "TargetMissing")
    assert "relabelling dropped 2 of serviceMonitor/llm/edge-exporter/0" in found.result.message


def test_no_targets_of_a_prometheus_that_has_just_started() -> None:
    reads = box()
    active(reads).clear()
    assert verdict(reads, "telemetry.targets")[0] is Outcome.FAIL
    just_started(reads)
    assert verdict(reads, "telemetry.targets") == (Outcome.UNKNOWN, "NotYetScraped")
    assert "nothing" not in findings(reads)["telemetry.targets"].result.message


def test_a_target_that_is_down_outweighs_one_that_is_not_scraped_yet() -> None:
    reads = box()
    target(reads, "stack-prometheus").update(health="unknown", lastScrape="0001-01-01T00:00:00Z")
    assert verdict(reads, "telemetry.targets") == (Outcome.UNKNOWN, "NotYetScraped")
    target(reads, "edge-exporter").update(health="down", lastError="refused")
    assert verdict(reads, "telemetry.targets") == (Outcome.FAIL, "TargetDown")


@pytest.mark.parametrize(
    ("took_s", "expected"),
    [(0.5, PASS), (9.0, PASS), (9.8, (Outcome.FAIL, "TargetSlow")), (14.0, (Outcome.FAIL, "TargetSlow"))],
)
def test_a_scrape_in_time(took_s: float, expected: tuple[Outcome, str | None]) -> None:
    reads = box()
    target(reads, "edge-exporter")["lastScrapeDuration"] = took_s
    assert verdict(reads, "telemetry.targets") == expected


def test_a_scrape_that_stalled() -> None:
    reads = box()
    target(reads, "edge-exporter")["lastScrape"] = "2026-06-15T11:40:00Z"
    found = findings(reads)["telemetry.targets"]
    assert (found.outcome, found.result.reason) == (Outcome.FAIL, "ScrapeStalled")
    assert "20 min ago" in found.result.message


def test_all_scrapes_as_old_as_one_another_may_be_a_wrong_clock() -> None:
    reads = box()
    for each in active(reads):
        each["lastScrape"] = "2026-06-15T11:00:00Z"
    assert verdict(reads, "telemetry.targets") == (Outcome.UNKNOWN, "ScrapeStalled")


def test_a_long_interval_has_its_patience() -> None:
    reads = box()
    target(reads, "edge-exporter").update(lastScrape="2026-06-15T11:50:00Z", scrapeInterval="2m30s")
    assert verdict(reads, "telemetry.targets") == PASS


def test_no_promised_target_compares_nothing() -> None:
    reads = box("cpu-k3s")
    active(reads).clear()
    assert verdict(reads, "telemetry.targets", TelemetrySpec(targets=()))[0] is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("health", "fine"),
        ("lastScrape", "yesterday"),
        ("scrapeInterval", "often"),
        ("labels", ["x"]),
        ("lastScrapeDuration", "1"),
    ],
)
def test_a_damaged_target_is_not_a_healthy_one(key: str, value: Any) -> None:
    reads = box()
    target(reads, "edge-exporter")[key] = value
    assert verdict(reads, "telemetry.targets") == (Outcome.UNKNOWN, "Malformed")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>sign on</html>",
        {"status": "error", "error": "query timed out"},
        {"status": "success"},
        {"status": "success", "data": {}},
        {"status": "success", "data": {"other": 1}},
        [],
    ],
)
def test_an_answer_that_is_none(body: Any) -> None:
    reads = box()
    reads[TARGETS] = answer(body)
    assert verdict(reads, "telemetry.targets") == (Outcome.UNKNOWN, "Malformed")


# ---- samples


def test_scraped_and_not_stored() -> None:
    reads = box()
    stored = reads[UP]["body"]["data"]["result"]
    reads[UP]["body"]["data"]["result"] = [
        each for each in stored if each["metric"]["job"] != "edge-exporter"
    ]
    found = findings(reads)["telemetry.samples"]
    assert found.result.reason == "SamplesMissing"
    assert "edge-exporter" in found.result.message
    reads[UP]["body"]["data"]["result"] = []
    assert verdict(reads, "telemetry.samples") == (Outcome.FAIL, "SamplesMissing")
    just_started(reads)
    assert verdict(reads, "telemetry.samples") == (Outcome.UNKNOWN, "SamplesMissing")


def test_old_samples() -> None:
    reads = box()
    for each in reads[UP]["body"]["data"]["result"]:
        each["value"][0] = 1781524800.0 - 3600
    assert verdict(reads, "telemetry.samples") == (Outcome.FAIL, "SamplesOld")
    for each in active(reads):
        each["lastScrape"] = "2026-06-15T11:00:00Z"
    assert verdict(reads, "telemetry.samples") == (Outcome.BLOCKED, "SamplesOld")  # by the stalled targets


@pytest.mark.parametrize(
    "value", [None, [], [1781524800.0], ["x", "1"], [1e300, "1"], [1781524800.0, "one"], [None, "1"]]
)
def test_a_damaged_sample(value: Any) -> None:
    reads = box()
    reads[UP]["body"]["data"]["result"][0]["value"] = value
    assert verdict(reads, "telemetry.samples") == (Outcome.UNKNOWN, "Malformed")


def test_a_matrix_is_no_vector() -> None:
    reads = box()
    reads[UP]["body"]["data"]["resultType"] = "matrix"
    assert verdict(reads, "telemetry.samples") == (Outcome.UNKNOWN, "Malformed")


# ---- GPU series


def test_some_series_are_absent_while_others_are_there() -> None:
    reads = box()
    no_series(reads, XID)
    found = findings(reads)["telemetry.series"]
    assert (found.result.reason, found.result.independent) == ("SeriesMissing", True)
    assert XID in found.result.message


def test_all_series_are_absent() -> None:
    reads = box()
    no_series(reads)
    found = findings(reads)["telemetry.series"]
    assert (found.outcome, found.result.reason, found.result.independent) == (
        Outcome.FAIL,
        "NoSeries",
        False,
    )
    just_started(reads)
    assert verdict(reads, "telemetry.series") == (Outcome.UNKNOWN, "NotYetScraped")


def test_a_board_that_shares_its_memory_has_no_series_of_it() -> None:
    reads = box()
    no_series(reads, "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE")
    assert verdict(reads, "telemetry.series") == (Outcome.FAIL, "SeriesMissing")
    told = reads[SMI]["stdout"]
    start = told.index("<fb_memory_usage>")
    end = told.index("</fb_memory_usage>")
    shared = "<fb_memory_usage>\n\t\t\t<total>Not Supported</total>\n"
    reads[SMI]["stdout"] = told[:start] + shared + told[end:]
    assert verdict(reads, "telemetry.series") == PASS


def test_a_sliced_card_has_no_utilisation_of_its_own() -> None:
    reads = box("a100-k3s")
    no_series(reads, "DCGM_FI_DEV_GPU_UTIL")
    assert verdict(reads, "telemetry.series") == (Outcome.FAIL, "SeriesMissing")
    reads[SMI] = command(reads[SMI]["stdout"].replace("<current_mig>Disabled", "<current_mig>Enabled"))
    assert verdict(reads, "telemetry.series") == PASS


def test_series_that_do_not_move() -> None:
    reads = box()
    for sample in every_sample(reads):
        sample["value"][0] = 1781524800.0 - 1800
    found = findings(reads)["telemetry.series"]
    assert found.result.reason == "SeriesOld"
    assert "30 min" in found.result.message


def test_one_of_two_cards_has_no_series() -> None:
    reads = box("dual-4090-k3s")
    silent = sorted({sample["metric"]["UUID"] for sample in every_sample(reads)})[1]
    for name in GPU.gpu_series:
        kept = [sample for sample in series(reads, name) if sample["metric"]["UUID"] != silent]
        series(reads, name)[:] = kept
    found = findings(reads)["telemetry.series"]
    assert found.result.reason == "CardWithoutSeries"
    assert silent in found.result.message


def test_cards_that_are_named_another_way_are_not_missing() -> None:
    reads = box()
    for sample in every_sample(reads):
        sample["metric"]["UUID"] = "0"
    assert verdict(reads, "telemetry.series") == PASS


def test_the_host_need_not_be_seen() -> None:
    reads = box()
    reads[SMI] = command(error="permission-denied")
    assert verdict(reads, "telemetry.series") == PASS


@pytest.mark.parametrize("label", ["pod", "pod_name", "exported_pod"])
def test_the_holder_may_be_named_by_any_of_the_usual_labels(label: str) -> None:
    reads = box()
    for sample in every_sample(reads):
        sample["metric"][label] = sample["metric"].pop("exported_pod")
    assert verdict(reads, "telemetry.series") == PASS


def test_no_series_names_a_pod() -> None:
    reads = box()
    for sample in every_sample(reads):
        del sample["metric"]["exported_pod"]
    found = findings(reads)["telemetry.series"]
    assert found.result.reason == "PodNotNamed"
    assert "exported_pod" in found.result.message
    assert verdict(reads, "telemetry.series", TelemetrySpec(gpu_exporter=True, gpu_pod_named=False)) == PASS
    item(reads, PODS, "ollama")["status"]["startTime"] = "2026-06-15T11:59:00Z"
    assert verdict(reads, "telemetry.series") == (Outcome.UNKNOWN, "PodNotNamedYet")


def test_the_series_name_a_pod_that_is_gone() -> None:
    reads = box()
    for sample in every_sample(reads):
        sample["metric"]["exported_pod"] = "ollama-of-last-week"
    assert verdict(reads, "telemetry.series") == (Outcome.FAIL, "OtherPodNamed")
    item(reads, PODS, "ollama")["status"]["startTime"] = "2026-06-15T11:59:00Z"
    assert verdict(reads, "telemetry.series") == (Outcome.UNKNOWN, "PodNotNamedYet")


def test_a_target_is_dark_because_its_exporter_does_not_run() -> None:
    reads = box()
    container(reads, "edge-exporter", CRASH)
    for target in reads[TARGETS]["body"]["data"]["activeTargets"]:
        if target["labels"]["job"] == "edge-exporter":
            target |= {"health": "down", "lastError": "connection refused"}
    found = findings(reads)["telemetry.targets"]
    assert (found.result.reason, found.result.about["namespace"]) == ("ExporterNotRunning", "llm")
    assert "CrashLoopBackOff" in found.result.message


def test_a_dead_alertmanager_is_told_of_once() -> None:
    reads = box()
    container(reads, "alertmanager-kube", CRASH)
    for target in reads[TARGETS]["body"]["data"]["activeTargets"]:
        if target["labels"]["job"] == "kube-prometheus-stack-alertmanager":
            target |= {"health": "down", "lastError": "connection refused"}
    assert verdict(reads, "telemetry.targets") == PASS
    del reads[PODS]
    assert verdict(reads, "telemetry.targets") == (Outcome.FAIL, "TargetDown")


def test_where_nobody_holds_a_card_nobody_is_to_be_named() -> None:
    reads = box()
    for sample in every_sample(reads):
        del sample["metric"]["exported_pod"]
    item(reads, PODS, "ollama")["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "0"
    assert verdict(reads, "telemetry.series") == PASS


@pytest.mark.parametrize("resource", ["nvidia.com/mig-3g.20gb", "nvidia.com/gpu.shared"])
def test_a_holder_of_a_part_of_a_card_is_a_holder(resource: str) -> None:
    reads = box()
    for sample in every_sample(reads):
        del sample["metric"]["exported_pod"]
    limits = item(reads, PODS, "ollama")["spec"]["containers"][0]["resources"]["limits"]
    limits[resource] = limits.pop("nvidia.com/gpu")
    assert verdict(reads, "telemetry.series") == (Outcome.FAIL, "PodNotNamed")


def test_a_limit_that_is_no_count_is_damage() -> None:
    reads = box()
    item(reads, PODS, "ollama")["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "all"
    assert verdict(reads, "telemetry.gpu-exporter") == (Outcome.UNKNOWN, "Malformed")


def test_a_prometheus_that_discovers_nothing_has_one_fault() -> None:
    reads = box()
    reads[TARGETS]["body"]["data"]["activeTargets"] = []
    found = judge(LAYER, GPU, recording_of(reads))
    for contract, outcome in (("telemetry.targets", Outcome.FAIL), ("telemetry.gpu-target", Outcome.UNKNOWN)):
        assert (found[contract].outcome, found[contract].result.reason) == (outcome, "NothingDiscovered")


def test_a_companion_of_another_team_is_not_ours() -> None:
    reads = box()
    active = reads[TARGETS]["body"]["data"]["activeTargets"]
    ours = next(each for each in active if each["labels"]["job"] == "kube-state-metrics")
    theirs = json.loads(json.dumps(ours))
    theirs["labels"] |= {"namespace": "team-a", "instance": "10.42.0.99:8080"}
    theirs |= {"health": "down", "lastError": "connection refused"}
    active.append(theirs)
    assert judge(LAYER, GPU, recording_of(reads))["telemetry.targets"].outcome is Outcome.PASS
    ours |= {"health": "down", "lastError": "connection refused"}
    assert judge(LAYER, GPU, recording_of(reads))["telemetry.targets"].result.reason == "TargetDown"
    active.remove(ours)  # then theirs is the one that there is
    assert judge(LAYER, GPU, recording_of(reads))["telemetry.targets"].result.reason == "TargetDown"
