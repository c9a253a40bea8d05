"""The models on disk and in memory: the judges on a healthy box with one thing changed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.testing import answer, judge, recording_of
from llm_observability_stack.serving import LAYER, ServingSpec
from llm_observability_stack.serving.spec import GpuPromise, ModelPromise

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
PODS = "api:/api/v1/pods"
TAGS = "http:ollama:/api/tags"
PS = "http:ollama:/api/ps"
SHOW = "http:ollama:/api/show qwen2.5:7b"
LOG = "api:/api/v1/namespaces/llm/pods/ollama-5f7c96b8d4-tz8hk/log?container=ollama&tailLines=200"
DIGEST = "845dbda0ea48ed749caafd9e6037047aa19acfcfd82e704d7ca97d631a0b697e"
SPEC = ServingSpec(
    gpu=GpuPromise(count=1),
    models=(ModelPromise("qwen2.5:7b", DIGEST, resident=True), ModelPromise("nomic-embed-text")),
)
ON_DEMAND = ServingSpec(models=(ModelPromise("qwen2.5:7b"),))
Reads = dict[str, Any]
Change = Callable[[Reads], None]
PASS = ("pass", None)


def box() -> Reads:
    reads: Reads = json.loads((BASES / "rtx-4090-k3s.json").read_text())["reads"]
    return reads


def finding(reads: Reads, contract: str, spec: ServingSpec = SPEC) -> Finding:
    return judge(LAYER, spec, recording_of(reads))[contract]


def verdict(reads: Reads, contract: str, spec: ServingSpec = SPEC) -> tuple[str, str | None]:
    found = finding(reads, contract, spec)
    return found.outcome.value, found.result.reason


def models(reads: Reads, key: str = TAGS) -> list[Any]:
    found: list[Any] = reads[key]["body"]["models"]
    return found


def absent(reads: Reads) -> None:
    models(reads).pop(0)
    models(reads, PS).clear()


def deleted(reads: Reads) -> None:
    models(reads).pop(0)


def renamed(name: str, digest: str) -> Change:
    def change(reads: Reads) -> None:
        models(reads)[0] |= {"name": name, "model": name, "digest": digest}
        models(reads, PS).clear()

    return change


def altered(**fields: Any) -> Change:
    def change(reads: Reads) -> None:
        models(reads)[0] |= fields

    return change


def pulled_by(status: dict[str, Any], **more: Any) -> Change:
    """A Job's pod that is to bring the model, named in its command, and no model."""

    def change(reads: Reads) -> None:
        absent(reads)
        reads[PODS]["body"]["items"].append(
            {
                "metadata": {
                    "name": "pull-x8v2m",
                    "namespace": "llm",
                    "uid": "pull",
                    "creationTimestamp": "2026-06-15T11:00:00Z",
                    "ownerReferences": [{"kind": "Job", "name": "pull", "controller": True}],
                    **more.pop("metadata", {}),
                },
                "spec": {
                    "nodeName": "edge-1",
                    "containers": [
                        {
                            "name": "pull",
                            "image": "docker.io/ollama/ollama:0.33.0",
                            "command": ["ollama", "pull", "qwen2.5:7b"],
                        }
                    ],
                },
                "status": {"phase": "Running", "containerStatuses": [{"name": "pull", **status}], **more},
            }
        )

    return change


def said(line: str) -> Change:
    def change(reads: Reads) -> None:
        absent(reads)
        reads[LOG]["body"] += f"time=2026-06-15T11:40:00Z level=ERROR source=x.go:1 msg={line}\n"

    return change


def ends(message: str) -> dict[str, Any]:
    return {"state": {"terminated": {"reason": "Error", "exitCode": 1, "message": message}}}


@pytest.mark.parametrize(
    ("change", "outcome", "reason"),
    [
        (absent, "fail", "Absent"),
        (deleted, "fail", "DeletedButLoaded"),
        (renamed("qwen2.5:latest", DIGEST), "fail", "OtherTag"),
        (renamed("qwen2.5:14b", "00ff"), "fail", "OtherTag"),
        (renamed("llama3.2:1b", "00ff"), "fail", "Absent"),
        (altered(digest="00ff"), "fail", "WrongDigest"),
        (altered(digest=f"sha256:{DIGEST}"), "pass", None),
        (altered(size=0), "fail", "EmptyModel"),
        (altered(name="registry.ollama.ai/library/qwen2.5:7b"), "pass", None),
        (pulled_by({"state": {"running": {"startedAt": "2026-06-15T11:30:00Z"}}}), "unknown", "StillPulling"),
        (pulled_by(ends("Error: digest mismatch, file must be downloaded again")), "fail", "PullCorrupted"),
        (pulled_by(ends("dial tcp: lookup registry.ollama.ai: no such host")), "fail", "PullUnreachable"),
        (pulled_by(ends("write /root/.ollama: no space left on device")), "fail", "NoSpaceForModel"),
        (pulled_by(ends("pull model manifest: file does not exist")), "fail", "NoSuchModel"),
        (
            pulled_by(ends("412: The model requires a newer version of Ollama.")),
            "fail",
            "PullNeedsNewerEngine",
        ),
        (pulled_by(ends("Error: max retries exceeded: EOF")), "fail", "PullUnreachable"),
        (pulled_by(ends("read: connection reset by peer")), "fail", "PullUnreachable"),
        (
            pulled_by(ends("open /root/.ollama/models/x-partial: read-only file system")),
            "fail",
            "StoreReadOnly",
        ),
        (pulled_by(ends("")), "fail", "PullFails"),
        (
            pulled_by(
                {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ends("eh")["state"]}
            ),
            "fail",
            "PullFails",
        ),
        (pulled_by({"state": {"waiting": {"reason": "ContainerCreating"}}}), "fail", "Absent"),
        (said('"request failed" error="Get registry.ollama.ai: x509: unknown"'), "fail", "PullUnreachable"),
        (said('"download stalled; retrying"'), "fail", "Absent"),
    ],
)
def test_a_promised_model_on_disk(change: Change, outcome: str, reason: str | None) -> None:
    reads = box()
    change(reads)
    assert verdict(reads, "model.present") == (outcome, reason)


def test_our_own_job_is_known_by_its_label() -> None:
    reads = box()
    pulled_by(
        ends("FAILED: digest mismatch"), metadata={"labels": {"app.kubernetes.io/name": "ollama-models"}}
    )(reads)
    reads[PODS]["body"]["items"][-1]["spec"]["containers"][0]["command"] = ["bash", "/opt/edge/provision.sh"]
    assert verdict(reads, "model.present") == ("fail", "PullCorrupted")


def test_an_attempt_that_failed_before_one_that_succeeded_is_past() -> None:
    reads = box()
    pulled_by(ends("no such host"), metadata={"name": "pull-1", "creationTimestamp": "2026-06-14T11:00:00Z"})(
        reads
    )
    pulled_by({"state": {"terminated": {"exitCode": 0}}}, phase="Succeeded")(box_ := box())
    reads[PODS]["body"]["items"].append(box_[PODS]["body"]["items"][-1])
    assert verdict(reads, "model.present") == ("fail", "Absent")


def test_a_pod_that_names_another_model_brings_nothing_here() -> None:
    reads = box()
    pulled_by(ends("no such host"))(reads)
    reads[PODS]["body"]["items"][-1]["spec"]["containers"][0]["command"] = ["ollama", "pull", "qwen2.5:7b-q8"]
    assert verdict(reads, "model.present") == ("fail", "Absent")


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (answer({"models": None}), ("fail", "DeletedButLoaded")),
        (answer({"models": []}), ("fail", "DeletedButLoaded")),
        (answer({}), ("unknown", "Malformed")),
        (answer({"error": "x"}), ("unknown", "Malformed")),
        (answer({"models": [{}]}), ("unknown", "Malformed")),
        (answer({"models": "none"}), ("unknown", "Malformed")),
        (answer(""), ("unknown", "Malformed")),
        (answer({"error": "open manifests: permission denied"}, status=500), ("fail", "StoreUnreadable")),
        (answer({"error": "input/output error"}, status=500), ("fail", "StoreUnreadable")),
        (answer({"error": "something"}, status=500), ("unknown", "Unavailable")),
        (answer(None, status=None, error="timeout"), ("unknown", "TimedOut")),
        (None, ("unknown", "NotObserved")),
    ],
)
def test_a_list_of_models_counts_only_as_a_list(
    read: dict[str, Any] | None, expected: tuple[str, str | None]
) -> None:
    reads = box()
    if read is None:
        del reads[TAGS]
    else:
        reads[TAGS] = read
    assert verdict(reads, "model.present") == expected


def failing(*lines: str) -> Change:
    def change(reads: Reads) -> None:
        models(reads, PS).clear()
        reads[LOG]["body"] += "".join(f"{line}\n" for line in lines)

    return change


ERROR = (
    "time=2026-06-15T11:58:20.001Z level=ERROR source=sched.go:520 "
    'msg="error loading llama server" error="{}"'
)


@pytest.mark.parametrize(
    ("words", "outcome", "reason"),
    [
        ("error loading model: unknown model architecture: 'qwen4'", "fail", "EngineTooOld"),
        (
            "this model is not supported by your version of Ollama. You may need to upgrade",
            "fail",
            "EngineTooOld",
        ),
        ("unsupported architecture", "fail", "EngineTooOld"),
        ("tensor 'blk.0.x' has invalid ggml type 39", "fail", "EngineTooOld"),
        ("GGUFv1 is no longer supported. please use a more up-to-date version", "fail", "EngineTooNew"),
        (
            "model requires more system memory (12.9 GiB) than is available (10.3 GiB)",
            "fail",
            "NotEnoughSystemMemory",
        ),
        ("llama runner process has terminated: CUDA error: out of memory", "unknown", "CardMemory"),
        ("invalid file magic", "fail", "CorruptModel"),
        (
            "tensor data is not within the file bounds, model is corrupted or incomplete",
            "fail",
            "CorruptModel",
        ),
        ("open /models/blobs/sha256-00: no such file or directory", "fail", "StoreUnreadable"),
        ("timed out waiting for llama runner to start - progress 0.43 - ", "fail", "LoadTimeout"),
        ("llama runner process has terminated: signal: killed", "fail", "RunnerKilled"),
        ("llama runner process has terminated: exit status 2", "fail", "RunnerCrashed"),
        ("V cache quantization requires flash_attn", "fail", "CacheNeedsFlashAttention"),
        (
            "quantized V cache was requested, but this requires Flash Attention",
            "fail",
            "CacheNeedsFlashAttention",
        ),
    ],
)
def test_a_load_that_failed_and_stands(words: str, outcome: str, reason: str) -> None:
    reads = box()
    failing(ERROR.format(words))(reads)
    assert verdict(reads, "model.loadable") == (outcome, reason)


def test_the_most_telling_line_of_a_failure_counts() -> None:
    reads = box()
    failing(
        "llama_model_load: error loading model: unknown model architecture: 'qwen4'",
        "llama_model_load_from_file_impl: failed to load model",
        ERROR.format("llama runner process has terminated: exit status 2"),
    )(reads)
    assert verdict(reads, "model.loadable") == ("fail", "EngineTooOld")


def test_a_later_load_or_answer_disproves_a_failure() -> None:
    for proof in (
        'time=2026-06-15T11:59:00Z level=INFO source=s.go:1 msg="llama runner started in 2.41 seconds"',
        '[GIN] 2026/06/15 - 11:59:41 | 200 |  1.91s |      10.42.0.21 | POST     "/api/chat"',
    ):
        reads = box()
        failing(ERROR.format("exit status 2"), proof)(reads)
        assert verdict(reads, "model.loadable") == PASS


def test_somebody_elses_giant_model_does_not_matter_while_the_promised_one_is_loaded() -> None:
    reads = box()
    reads[LOG]["body"] += ERROR.format("CUDA error: out of memory") + "\n"
    assert verdict(reads, "model.loadable") == PASS
    assert verdict(reads, "model.resident") == PASS


def test_a_failed_load_counts_for_a_model_that_is_loaded_on_demand() -> None:
    reads = box()
    failing(ERROR.format("invalid file magic"))(reads)
    assert verdict(reads, "model.loadable", ON_DEMAND) == ("fail", "CorruptModel")


def test_a_model_that_asks_for_a_newer_engine() -> None:
    reads = box()
    models(reads, PS).clear()
    reads[SHOW]["body"]["requires"] = "0.35.0"
    assert verdict(reads, "model.loadable") == ("fail", "EngineTooOld")
    reads[SHOW]["body"]["requires"] = "0.9.0"
    assert verdict(reads, "model.loadable") == PASS


def test_what_nothing_tells_of_is_not_called_loadable() -> None:
    reads = box()
    models(reads, PS).clear()
    for key in [key for key in reads if key.startswith("http:ollama:/api/show")] + [LOG]:
        del reads[key]
    assert verdict(reads, "model.loadable") == ("unknown", "NothingSeen")
    del reads[PS]
    assert verdict(reads, "model.loadable") == ("unknown", "NotObserved")


@pytest.mark.parametrize(
    ("expires", "expected"),
    [
        ("2318-09-25T11:46:57Z", PASS),
        ("2026-06-15T12:00:31.204118Z", ("fail", "KeepAliveShort")),
        ("2026-06-16T12:00:00Z", ("fail", "KeepAliveShort")),
        ("2026-06-15T11:43:09Z", PASS),  # a running request holds it: profile.stable
        ("0001-01-01T00:00:00Z", PASS),  # being loaded
        ("1970-01-01T00:00:00Z", PASS),
        ("soon", ("blocked", "Malformed")),
    ],
)
def test_resident_means_for_ever(expires: str, expected: tuple[str, str | None]) -> None:
    reads = box()
    models(reads, PS)[0]["expires_at"] = expires
    assert verdict(reads, "model.resident") == expected


def test_an_unloaded_model_and_one_that_is_being_loaded_differ() -> None:
    reads = box()
    models(reads, PS).clear()
    assert verdict(reads, "model.resident") == ("fail", "NotResident")
    reads[LOG]["body"] += (
        'time=2026-06-15T11:59:58Z level=INFO source=s.go:1 msg="reloading runner" num_ctx=2048\n'
    )
    assert verdict(reads, "model.resident") == ("unknown", "Reloading")


def test_a_load_that_began_long_ago_is_no_excuse() -> None:
    reads = box()
    models(reads, PS).clear()
    reads[LOG]["body"] += (
        'time=2026-06-15T11:30:00Z level=INFO source=s.go:1 msg="reloading runner" num_ctx=2048\n'
    )
    assert verdict(reads, "model.resident") == ("fail", "NotResident")


def test_no_memory_on_the_card_is_left_to_the_profile() -> None:
    reads = box()
    failing(ERROR.format("cudaMalloc failed: out of memory"))(reads)
    found = finding(reads, "model.resident")
    assert (found.result.reason, found.blocked_by) == ("CardMemory", "model.loadable")


def test_the_same_weights_by_another_name_are_resident_too() -> None:
    reads = box()
    models(reads, PS)[0]["name"] = models(reads, PS)[0]["model"] = "chat:latest"
    assert verdict(reads, "model.resident") == PASS


def test_weights_in_memory_that_are_no_longer_those_on_disk() -> None:
    reads = box()
    models(reads, PS)[0]["digest"] = "00ff"
    assert verdict(reads, "model.resident") == ("fail", "OtherWeightsLoaded")


def test_an_absent_model_blocks_what_stands_on_it() -> None:
    reads = box()
    absent(reads)
    for contract in ("model.loadable", "model.resident"):
        found = finding(reads, contract)
        assert found.outcome.value in ("pass", "blocked")
    assert finding(reads, "model.resident").blocked_by == "model.present"


def test_every_result_says_where_ollama_is() -> None:
    reads = box()
    absent(reads)
    about = finding(reads, "model.present").result.about
    assert about == {"namespace": "llm", "workload": "deployment/ollama", "model": "qwen2.5:7b"}


def test_a_model_that_is_still_brought_is_waited_for_and_not_called_unloaded() -> None:
    reads = box()
    absent(reads)
    assert verdict(reads, "model.resident") == ("blocked", "AwaitsModel")


def test_a_model_of_an_ollama_that_has_just_started_is_waited_for() -> None:
    reads = box()
    models(reads, PS).clear()
    reads[LOG]["body"] = ""
    pod = next(each for each in reads[PODS]["body"]["items"] if each["metadata"]["name"].startswith("ollama"))
    pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] = "2026-06-15T11:59:10Z"
    assert verdict(reads, "model.resident") == ("unknown", "JustStarted")
    pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] = "2026-06-15T11:50:10Z"
    assert verdict(reads, "model.resident") == ("fail", "NotResident")
    del pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    assert verdict(reads, "model.resident") == ("fail", "NotResident")


def test_an_engine_that_ends_is_quoted_with_its_last_complaint() -> None:
    reads = box()
    failing(
        "SIGILL: illegal instruction",
        ERROR.format("llama runner process has terminated: exit status 2"),
    )(reads)
    found = finding(reads, "model.loadable")
    assert found.result.reason == "RunnerCrashed"
    assert "SIGILL: illegal instruction / " in found.result.message


def container_of(reads: Reads) -> Any:
    pods = reads[PODS]["body"]["items"]
    return next(each for each in pods if each["metadata"]["name"].startswith("ollama"))["spec"]


def set_env(reads: Reads, **values: str) -> None:
    container = container_of(reads)["containers"][0]
    container["env"] = [each for each in container["env"] if each["name"] not in values]
    container["env"] += [{"name": name, "value": value} for name, value in values.items() if value]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("5m", "ServerKeepAliveShort"),
        ("0", "ServerKeepAliveShort"),
        ("1h30m", "ServerKeepAliveShort"),
        ("300", "ServerKeepAliveShort"),
        ("-1", "NotResident"),
        ("9999h", "NotResident"),
        ("soon", "NotResident"),
    ],
)
def test_the_servers_own_keep_alive_is_told_from_a_clients(given: str, expected: str) -> None:
    reads = box()
    set_env(reads, OLLAMA_KEEP_ALIVE=given)
    models(reads, PS).clear()
    assert verdict(reads, "model.resident") == ("fail", expected)
    if expected == "ServerKeepAliveShort":
        reads = box()
        set_env(reads, OLLAMA_KEEP_ALIVE=given)
        models(reads, PS)[0]["expires_at"] = "2026-06-15T12:04:00Z"
        assert verdict(reads, "model.resident") == ("fail", expected)


def test_a_keep_alive_that_is_not_set_is_what_the_engine_said_at_its_start() -> None:
    reads = box()
    set_env(reads, OLLAMA_KEEP_ALIVE="")
    models(reads, PS).clear()
    assert verdict(reads, "model.resident") == ("fail", "NotResident")  # the log says for ever
    reads[LOG]["body"] = reads[LOG]["body"].replace("2562047h47m16.854775807s", "5m0s")
    found = finding(reads, "model.resident")
    assert (found.result.reason, "OLLAMA_KEEP_ALIVE=5m0s" in found.result.message) == (
        "ServerKeepAliveShort",
        True,
    )


def test_a_model_that_another_one_pushed_out() -> None:
    reads = box()
    models(reads, PS)[0] |= {"name": "nomic-embed-text:latest", "digest": "00ff"}
    assert verdict(reads, "model.resident") == ("fail", "PushedOut")
    set_env(reads, OLLAMA_MAX_LOADED_MODELS="3")
    assert verdict(reads, "model.resident") == ("fail", "NotResident")


@pytest.mark.parametrize(
    ("volume", "mounts", "env", "expected"),
    [
        ({"emptyDir": {}}, "/root/.ollama", "", "StoreNotKept"),
        ({"emptyDir": None}, "/root/.ollama", "", "StoreNotKept"),
        ({"persistentVolumeClaim": {"claimName": "ollama"}}, "/root/.ollama", "", "Absent"),
        ({"hostPath": {"path": "/srv/models"}}, "/root/.ollama/models", "", "Absent"),
        ({"persistentVolumeClaim": {"claimName": "ollama"}}, "/root/.ollama", "/models", "StoreNotKept"),
        ({"persistentVolumeClaim": {"claimName": "ollama"}}, "/models", "/models", "Absent"),
        ({"persistentVolumeClaim": {"claimName": "ollama"}}, "/root/.oll", "", "StoreNotKept"),
    ],
)
def test_a_store_that_goes_with_the_pod(volume: dict[str, Any], mounts: str, env: str, expected: str) -> None:
    reads = box()
    models(reads).clear()
    models(reads, PS).clear()
    spec = container_of(reads)
    spec["volumes"] = [{"name": "data", **volume}]
    spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": mounts}]
    set_env(reads, OLLAMA_MODELS=env)
    assert verdict(reads, "model.present") == ("fail", expected)


def test_a_store_on_no_volume_at_all_under_a_home_of_its_own() -> None:
    reads = box()
    models(reads).clear()
    models(reads, PS).clear()
    container_of(reads)["containers"][0].pop("volumeMounts")
    set_env(reads, HOME="/home/ollama")
    found = finding(reads, "model.present")
    assert found.result.reason == "StoreNotKept"
    assert "/home/ollama/.ollama/models is on no volume (mounted: none)" in found.result.message


def test_a_pull_that_lacks_names_or_a_disk_waits_for_what_is_below() -> None:
    for words, own in (
        ("dial tcp: lookup registry.ollama.ai on 10.43.0.10:53: i/o timeout", False),
        ("open /root/.ollama/models/blobs/x-partial: read-only file system", False),
        ("dial tcp 172.67.182.229:443: i/o timeout", True),
    ):
        reads = box()
        pulled_by(ends(words))(reads)
        assert finding(reads, "model.present").result.independent is own
