"""The served model against its profile: the judges on a healthy box with one thing changed."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests import Outcome
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.testing import answer, command, judge, recording_of
from gguf_observability.profile import LAYER, ProfileSpec

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
PODS = "api:/api/v1/pods"
NODES = "api:/api/v1/nodes"
PS = "http:ollama:/api/ps"
SHOW = "http:ollama:/api/show qwen2.5:7b"
SMI = "command:nvidia-smi -q -x"
FB_USED = "http:prometheus:/api/v1/query?query=DCGM_FI_DEV_FB_USED"
LOG = "api:/api/v1/namespaces/llm/pods/ollama-5f7c96b8d4-tz8hk/log?container=ollama&tailLines=200"
MIB = 1024 * 1024
GPU = ProfileSpec(model="qwen2.5:7b", processor="gpu", context_length=8192)
CPU = ProfileSpec(model="qwen2.5:0.5b", processor="cpu")
Reads = dict[str, Any]
Change = Callable[[Reads], None]
PASS = ("pass", None)


def box(name: str = "rtx-4090-k3s") -> Reads:
    reads: Reads = json.loads((BASES / f"{name}.json").read_text())["reads"]
    return reads


def findings(reads: Reads, spec: ProfileSpec = GPU) -> dict[str, Finding]:
    return judge(LAYER, spec, recording_of(reads))


def verdict(reads: Reads, contract: str, spec: ProfileSpec = GPU) -> tuple[str, str | None]:
    found = findings(reads, spec)[contract]
    return found.outcome.value, found.result.reason


def loaded(reads: Reads, **fields: Any) -> None:
    reads[PS]["body"]["models"][0] |= fields


def unloaded(reads: Reads) -> None:
    reads[PS]["body"]["models"].clear()


def env(reads: Reads, **values: str) -> None:
    pod = next(each for each in reads[PODS]["body"]["items"] if each["metadata"]["name"].startswith("ollama"))
    container = pod["spec"]["containers"][0]
    container["env"] = [each for each in container["env"] if each["name"] not in values]
    container["env"] += [{"name": name, "value": value} for name, value in values.items()]


def process(pid: int, name: str, memory: str) -> str:
    return (
        f"<process_info><pid>{pid}</pid><type>C</type><process_name>{name}</process_name>"
        f"<used_memory>{memory}</used_memory></process_info>"
    )


ENGINE = "/usr/lib/ollama/llama-server"
PYTHON = "/opt/comfyui/venv/bin/python3"


def card(reads: Reads, *processes: str, used: str = "2 MiB", total: str = "24564 MiB") -> None:
    """What the card shows: memory in use and who holds it."""
    text = reads[SMI]["stdout"]
    text = re.sub(
        r"<processes>.*?</processes>", f"<processes>{''.join(processes)}</processes>", text, flags=re.DOTALL
    )
    memory = f"<fb_memory_usage><total>{total}</total><used>{used}</used><free>N/A</free></fb_memory_usage>"
    reads[SMI]["stdout"] = re.sub(r"<fb_memory_usage>.*?</fb_memory_usage>", memory, text, flags=re.DOTALL)
    reads[FB_USED] = answer({"status": "success", "data": {"result": []}})


def field(reads: Reads, **values: str) -> None:
    for name, value in values.items():
        reads[SMI]["stdout"] = re.sub(
            rf"<{name}>[^<]*</{name}>", f"<{name}>{value}</{name}>", reads[SMI]["stdout"]
        )


def log(reads: Reads, *lines: str) -> None:
    reads[LOG]["body"] += "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("base", ["rtx-4090-k3s", "rtx-4090-light-k3s", "a100-k3s", "dual-4090-k3s"])
def test_a_healthy_gpu_box_keeps_every_promise(base: str) -> None:
    assert {key: each.outcome for key, each in findings(box(base)).items()} == {
        each.id: Outcome.PASS for each in LAYER.contracts
    }


def test_a_healthy_cpu_box_keeps_every_promise_it_makes() -> None:
    found = findings(box("cpu-k3s"), CPU)
    assert {each.outcome for each in found.values()} == {Outcome.PASS}
    assert {"profile.context", "profile.vram", "profile.clocks"}.isdisjoint(found)


def on_cpu(reads: Reads) -> None:
    loaded(reads, size_vram=0)
    card(reads)


def crowded_out(reads: Reads) -> None:
    loaded(reads, size_vram=0)
    card(reads, process(31877, PYTHON, "23560 MiB"), used="23562 MiB")


def crowded_partly(reads: Reads) -> None:
    loaded(reads, size=7004 * MIB, size_vram=5099 * MIB)
    card(reads, process(1, PYTHON, "18060 MiB"), process(2, ENGINE, "5099 MiB"), used="23161 MiB")


def asks_too_much(reads: Reads) -> None:
    loaded(reads, size=34432 * MIB, size_vram=22137 * MIB, context_length=32768)
    env(reads, OLLAMA_NUM_PARALLEL="16")
    card(reads, process(2, ENGINE, "22137 MiB"), used="22139 MiB")


def layers_limited(reads: Reads) -> None:
    loaded(reads, size_vram=1000 * MIB)
    reads[SHOW]["body"]["parameters"] = "num_gpu                        5\nstop    x"
    card(reads, process(2, ENGINE, "1000 MiB"), used="1002 MiB")


def engine_without_gpu(reads: Reads) -> None:
    on_cpu(reads)
    reads[LOG]["body"] = (
        'time=2026-06-15T09:00:00Z level=INFO source=t.go:1 msg="inference compute" id=cpu library=cpu\n'
    )


def card_kept_free(reads: Reads) -> None:
    partly(reads)
    env(reads, OLLAMA_GPU_OVERHEAD="22032385536")


def little_kept_free(reads: Reads) -> None:
    partly(reads)
    env(reads, OLLAMA_GPU_OVERHEAD="1048576")


def other_model_on_card(reads: Reads) -> None:
    loaded(reads, size_vram=2000 * MIB)
    other = {
        **reads[PS]["body"]["models"][0],
        "name": "llama3.3:70b",
        "model": "llama3.3:70b",
        "digest": "00ff",
    }
    reads[PS]["body"]["models"].append(other | {"size": 21000 * MIB, "size_vram": 21000 * MIB})
    card(reads, process(2, ENGINE, "2000 MiB"), process(3, ENGINE, "21000 MiB"), used="23002 MiB")


def partly(reads: Reads) -> None:
    loaded(reads, size_vram=3000 * MIB)
    card(reads, process(2, ENGINE, "3000 MiB"), used="3002 MiB")


def claimed(reads: Reads) -> None:
    card(reads)


def claimed_beside_another(reads: Reads) -> None:
    card(reads, process(1, PYTHON, "12000 MiB"), used="12002 MiB")


def implausible(reads: Reads) -> None:
    loaded(reads, size_vram=9000 * MIB)


@pytest.mark.parametrize(
    ("change", "outcome", "reason"),
    [
        (on_cpu, "fail", "OnCpu"),
        (crowded_out, "fail", "CardHeldByOthers"),
        (crowded_partly, "fail", "CardHeldByOthers"),
        (asks_too_much, "fail", "AsksTooMuch"),
        (layers_limited, "fail", "LayersLimited"),
        (engine_without_gpu, "fail", "NoGpuInContainer"),
        (card_kept_free, "fail", "CardKeptFree"),
        (little_kept_free, "fail", "PartlyOnCpu"),
        (other_model_on_card, "fail", "CardHeldByOtherModels"),
        (partly, "fail", "PartlyOnCpu"),
        (claimed, "fail", "ClaimedNotOnCard"),
        (claimed_beside_another, "fail", "ClaimedNotOnCard"),
        (implausible, "unknown", "ImplausibleAccount"),
        (lambda reads: loaded(reads, size=0), "unknown", "ImplausibleAccount"),
        (unloaded, "pass", None),  # its last load put every layer on the card
    ],
)
def test_the_promised_processor(change: Change, outcome: str, reason: str | None) -> None:
    reads = box()
    change(reads)
    assert verdict(reads, "profile.processor") == (outcome, reason)


def test_the_same_weights_by_another_name_are_the_same_model() -> None:
    reads = box()
    loaded(reads, name="chat:latest", model="chat:latest", context_length=4096)
    assert verdict(reads, "profile.context")[0] == "fail"


def test_who_holds_the_card_is_named() -> None:
    reads = box()
    crowded_out(reads)
    found = findings(reads)["profile.processor"].result
    assert "comfyui" in found.message
    assert "31877" in found.message
    assert found.about["pid"] == "31877"


def test_what_was_asked_for_is_named() -> None:
    reads = box()
    asks_too_much(reads)
    env(reads, OLLAMA_FLASH_ATTENTION="0")
    reads[SHOW]["body"]["parameters"] = "num_gpu                        99"
    message = findings(reads)["profile.processor"].result.message
    for word in ("32768", "16 parallel", "num_gpu 99", "flash attention off"):
        assert word in message


def test_a_share_of_the_model_may_be_all_that_is_promised() -> None:
    reads = box()
    partly(reads)
    spec = ProfileSpec(model="qwen2.5:7b", processor="gpu", gpu_share=0.5)
    assert verdict(reads, "profile.processor", spec) == PASS


def test_a_board_whose_memory_is_the_systems_proves_it_by_its_processes_or_its_engine() -> None:
    reads = box()
    card(reads, process(2, ENGINE, "5659 MiB"), used="N/A", total="Not Supported")
    assert verdict(reads, "profile.processor") == PASS
    card(reads, used="N/A", total="N/A")
    assert verdict(reads, "profile.processor") == PASS
    reads[LOG]["body"] = ""
    assert verdict(reads, "profile.processor") == ("unknown", "NotProven")


def test_the_exporter_is_a_second_witness_and_another_node_an_excuse() -> None:
    reads = box()
    card(reads)
    reads[FB_USED] = box()[FB_USED]
    assert verdict(reads, "profile.processor") == PASS
    del reads[SMI]
    assert verdict(reads, "profile.processor") == PASS
    del reads[FB_USED]
    assert verdict(reads, "profile.processor") == ("unknown", "NotObserved")
    reads = box()
    card(reads)
    node = json.loads(json.dumps(reads[NODES]["body"]["items"][0]))
    node["metadata"]["name"] = "edge-2"
    reads[NODES]["body"]["items"].append(node)
    assert verdict(reads, "profile.processor") == ("unknown", "NotProven")


def test_the_cpu_is_a_promise_too() -> None:
    reads = box("cpu-k3s")
    loaded(reads, size_vram=MIB)
    assert verdict(reads, "profile.processor", CPU) == ("fail", "OnGpu")


def test_an_idle_cpu_box_is_judged_by_what_its_engine_can_use() -> None:
    reads = box("cpu-k3s")
    unloaded(reads)
    assert verdict(reads, "profile.processor", CPU) == PASS
    reads[LOG]["body"] = "[GIN] a line\n"
    assert verdict(reads, "profile.processor", CPU) == PASS  # Ollama asks for no GPU
    pod = next(each for each in reads[PODS]["body"]["items"] if each["metadata"]["name"].startswith("ollama"))
    pod["spec"]["runtimeClassName"] = "nvidia"
    assert verdict(reads, "profile.processor", CPU) == ("unknown", "NothingLoaded")
    reads[LOG]["body"] = "load_tensors: offloaded 0/25 layers to GPU\nllama runner started in 1 seconds\n"
    assert verdict(reads, "profile.processor", CPU) == PASS


def test_an_idle_gpu_box_without_a_trace_of_a_load_is_unknown() -> None:
    reads = box()
    unloaded(reads)
    reads[LOG]["body"] = ""
    assert verdict(reads, "profile.processor") == ("unknown", "NothingLoaded")
    assert verdict(reads, "profile.context") == ("unknown", "NothingLoaded")


def test_a_host_without_nvidia_smi_is_judged_by_the_other_witnesses() -> None:
    reads = box()
    reads[SMI] = command(error="not-found")
    found = findings(reads)
    assert {key for key, each in found.items() if each.outcome is not Outcome.PASS} == {"profile.clocks"}
    assert found["profile.clocks"].outcome is Outcome.UNKNOWN
    assert "no process" in found["profile.vram"].result.message
    reads[FB_USED] = answer({"data": {"result": []}})
    assert verdict(reads, "profile.processor") == PASS  # the engine found its GPU


def alternating(reads: Reads) -> None:
    loaded(reads, context_length=2048)
    for minute, size in enumerate((2048, 8192, 2048, 8192), 51):
        at = f"time=2026-06-15T11:{minute}"
        log(
            reads,
            f'{at}:04Z level=INFO source=s.go:1 msg="reloading runner: options changed" num_ctx={size}',
            f'{at}:07Z level=INFO source=s.go:1 msg="llama runner started in 2 seconds"',
        )


def trained_shorter(reads: Reads) -> None:
    loaded(reads, context_length=2048)
    reads[SHOW]["body"]["model_info"]["qwen2.context_length"] = 2048


def own_parameter(reads: Reads) -> None:
    loaded(reads, context_length=4096)
    reads[SHOW]["body"]["parameters"] = "num_ctx                        4096"


def server_default(reads: Reads) -> None:
    loaded(reads, context_length=4096)
    env(reads, OLLAMA_CONTEXT_LENGTH="4096")


@pytest.mark.parametrize(
    ("change", "outcome", "reason"),
    [
        (alternating, "fail", "ContextAlternates"),
        (trained_shorter, "fail", "ContextOfModel"),
        (own_parameter, "fail", "ContextOfModel"),
        (server_default, "fail", "ContextOfServer"),
        (lambda reads: loaded(reads, context_length=4096), "fail", "ContextShort"),
        (lambda reads: loaded(reads, context_length=0), "unknown", "ContextUntold"),
        (lambda reads: loaded(reads, context_length=32768), "pass", None),
        (lambda reads: loaded(reads, context_length="8k"), "unknown", "Malformed"),
    ],
)
def test_the_promised_context(change: Change, outcome: str, reason: str | None) -> None:
    reads = box()
    change(reads)
    assert verdict(reads, "profile.context") == (outcome, reason)


def test_a_context_is_judged_without_what_the_model_says_of_itself() -> None:
    reads = box()
    loaded(reads, context_length=4096)
    reads[SHOW] = answer({"error": "model not found"}, status=404)
    assert verdict(reads, "profile.context")[0] == "fail"
    reads[SHOW] = answer("<html>")
    assert verdict(reads, "profile.context")[0] == "fail"


OUT_OF_MEMORY = (
    "time=2026-06-15T11:58:20Z level=ERROR source=s.go:1 msg=x error="
    '"llama runner process has terminated: CUDA error: out of memory"'
)


def no_room(*processes: str, used: str = "2 MiB") -> Change:
    def change(reads: Reads) -> None:
        unloaded(reads)
        card(reads, *processes, used=used)
        log(reads, OUT_OF_MEMORY)

    return change


def leaked(reads: Reads) -> None:
    card(reads, process(2, ENGINE, "5659 MiB"), used="14000 MiB")


def unlisted(reads: Reads) -> None:
    card(reads, used="5661 MiB")


def untold(reads: Reads) -> None:
    card(reads, process(2, ENGINE, "N/A"), used="14000 MiB")


def shared(reads: Reads) -> None:
    card(reads, process(1, PYTHON, "9000 MiB"), process(2, ENGINE, "5659 MiB"), used="14661 MiB")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (no_room(), "OutOfMemory"),
        (no_room(process(71200, "python3", "23640 MiB"), used="23642 MiB"), "CardHeldByOthers"),
        (no_room(process(7, "/usr/lib/xorg/Xorg", "200 MiB"), used="202 MiB"), "OutOfMemory"),
        (leaked, "Unaccounted"),
        (unlisted, None),  # WSL2 and vGPU list no process
        (untold, None),
        (shared, None),  # odd, named, and it fits
    ],
)
def test_room_on_the_card(change: Change, reason: str | None) -> None:
    reads = box()
    change(reads)
    assert findings(reads)["profile.vram"].result.reason == reason


def test_others_on_the_card_are_named_even_where_all_fits() -> None:
    reads = box()
    shared(reads)
    assert "comfyui" in findings(reads)["profile.vram"].result.message


def test_an_unseen_card_is_not_called_accounted_for() -> None:
    reads = box()
    reads[SMI] = command(error="timeout")
    assert verdict(reads, "profile.vram") == ("unknown", "TimedOut")
    unloaded(reads)
    log(reads, OUT_OF_MEMORY)
    assert findings(reads)["profile.vram"].result.reason == "OutOfMemory"


@pytest.mark.parametrize(("ceiling", "expected"), [(900, ("fail", "OverCeiling")), (6000, PASS)])
def test_the_ceiling(ceiling: int, expected: tuple[str, str | None]) -> None:
    spec = ProfileSpec(model="qwen2.5:7b", processor="gpu", vram_ceiling_mib=ceiling)
    assert verdict(box(), "profile.vram", spec) == expected


def loads_of(*models: str, minutes: float = 1.0) -> Change:
    def change(reads: Reads) -> None:
        for number, model in enumerate(models):
            second = 59 * 60 - int(number * minutes * 60)
            at = f"2026-06-15T11:{second // 60:02}:{second % 60:02}Z"
            name = f" model={model}" if model else ""
            log(
                reads,
                f'time={at} level=INFO source=s.go:1 msg="starting llama-server"{name} cmd="x -c 8192"',
                f'time={at} level=INFO source=s.go:1 msg="llama runner started in 2.4 seconds"',
            )

    return change


def twice(reads: Reads) -> None:
    reads[PS]["body"]["models"].append(dict(reads[PS]["body"]["models"][0]))


def two_engines(reads: Reads) -> None:
    card(reads, process(2, ENGINE, "5659 MiB"), process(3, ENGINE, "5659 MiB"), used="11320 MiB")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda reads: loaded(reads, expires_at="2026-06-15T11:43:09Z"), "StuckStopping"),
        (lambda reads: loaded(reads, expires_at="2026-06-15T11:59:30Z"), None),
        (twice, "Doubled"),
        (two_engines, "Doubled"),
        (alternating, "Reloading"),
        (loads_of("a", "b", "a", "b"), "Swapping"),
        (loads_of("a", "b", "c", "d"), None),  # somebody tries models
        (loads_of("", "", "", "", "", ""), "ReloadsOften"),
        (loads_of("", "", "", ""), None),
        (loads_of("a", "b", "a", "b", minutes=8), None),
    ],
)
def test_a_steady_model(change: Change, reason: str | None) -> None:
    reads = box()
    change(reads)
    assert findings(reads)["profile.stable"].result.reason == reason


def test_a_log_that_was_not_read_shows_no_steadiness() -> None:
    reads = box()
    del reads[LOG]
    assert verdict(reads, "profile.stable") == ("unknown", "NotObserved")
    assert verdict(reads, "profile.requests") == ("unknown", "NotObserved")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"clocks_event_reason_hw_thermal_slowdown": "Active"}, ("fail", "Throttled")),
        ({"clocks_event_reason_sw_thermal_slowdown": "Active"}, ("fail", "Throttled")),
        ({"clocks_event_reason_hw_power_brake_slowdown": "Active"}, ("fail", "Throttled")),
        ({"clocks_event_reason_sw_power_cap": "Active"}, PASS),
        ({}, PASS),
    ],
)
def test_a_slowed_card(fields: dict[str, str], expected: tuple[str, str | None]) -> None:
    reads = box()
    field(reads, gpu_util="99 %", gpu_temp="91 C", **fields)
    assert verdict(reads, "profile.clocks") == expected


def test_a_slowdown_that_costs_nothing_is_no_fault() -> None:
    reads = box()
    field(reads, clocks_event_reason_hw_thermal_slowdown="Active")
    assert verdict(reads, "profile.clocks") == PASS  # idle
    field(reads, gpu_util="99 %", sm_clock="2900 MHz")
    assert verdict(reads, "profile.clocks") == PASS


def answers(*statuses: int, minute: int = 59) -> tuple[str, ...]:
    return tuple(
        f'[GIN] 2026/06/15 - 11:{minute}:{number:02} | {status} |  1.2ms |  10.42.0.1 | POST     "/api/chat"'
        for number, status in enumerate(statuses)
    )


@pytest.mark.parametrize(
    ("statuses", "minute", "reason"),
    [
        ((503, 503, 503, 200), 59, "Refused"),
        ((503, 200, 200, 200), 59, None),
        ((503, 503, 503, *([200] * 40)), 59, None),
        ((503, 503, 503), 30, None),
        ((500, 500, 500, 200), 59, "Failing"),
        ((500, *([200] * 9)), 59, None),
        ((404, 404, 404, 404), 59, None),
    ],
)
def test_requests_refused_in_numbers(statuses: tuple[int, ...], minute: int, reason: str | None) -> None:
    reads = box()
    log(reads, *answers(*statuses, minute=minute))
    assert findings(reads)["profile.requests"].result.reason == reason


def test_results_say_where_ollama_is() -> None:
    reads = box()
    on_cpu(reads)
    about = findings(reads)["profile.processor"].result.about
    assert (about["namespace"], about["workload"]) == ("llm", "deployment/ollama")
    assert about["model"] == "qwen2.5:7b"
    del reads[PODS]
    assert "workload" not in findings(reads)["profile.processor"].result.about


def test_a_model_that_is_being_loaded_is_not_judged_by_where_it_is() -> None:
    reads = box()
    loaded(reads, size_vram=0, expires_at="0001-01-01T00:00:00Z")
    assert verdict(reads, "profile.processor") == ("unknown", "StillLoading")
