"""Reaching Ollama and Open WebUI: the judges on a healthy box with one thing changed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.testing import answer, judge, recording_of
from llm_observability_stack.serving import LAYER, ServingSpec
from llm_observability_stack.serving.web_ui import in_cluster, misspelt

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
PODS = "api:/api/v1/pods"
SERVICES = "api:/api/v1/services"
SLICES = "api:/apis/discovery.k8s.io/v1/endpointslices"
DEPLOYMENTS = "api:/apis/apps/v1/deployments"
VERSION = "http:ollama:/api/version"
HEALTH = "http:open-webui:/health"
LOG = "api:/api/v1/namespaces/llm/pods/ollama-5f7c96b8d4-tz8hk/log?container=ollama&tailLines=200"
SPEC = ServingSpec(web_ui=True)
Reads = dict[str, Any]
PASS = ("pass", None)


def box() -> Reads:
    reads: Reads = json.loads((BASES / "cpu-k3s.json").read_text())["reads"]
    return reads


def item(reads: Reads, key: str, start: str = "ollama") -> Any:
    return next(each for each in reads[key]["body"]["items"] if each["metadata"]["name"].startswith(start))


def drop(reads: Reads, key: str, start: str = "ollama") -> None:
    reads[key]["body"]["items"].remove(item(reads, key, start))


def finding(reads: Reads, contract: str) -> Finding:
    return judge(LAYER, SPEC, recording_of(reads))[contract]


def verdict(reads: Reads, contract: str) -> tuple[str, str | None]:
    found = finding(reads, contract)
    return found.outcome.value, found.result.reason


def unready(reads: Reads, start: str = "ollama", **status: Any) -> Any:
    pod = item(reads, PODS, start)
    pod["metadata"]["creationTimestamp"] = pod["status"]["startTime"] = "2026-06-15T11:00:00Z"
    pod["status"]["containerStatuses"][0] |= {"ready": False, **status}
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition |= {"status": "False", "lastTransitionTime": "2026-06-15T11:00:00Z"}
    return pod


def no_service(reads: Reads) -> None:
    drop(reads, SERVICES)


def other_selector(reads: Reads) -> None:
    item(reads, SERVICES)["spec"]["selector"] = {"app": "ollama"}
    item(reads, SLICES)["endpoints"] = []


def other_port(reads: Reads) -> None:
    item(reads, SLICES)["ports"] = [{"name": "http", "port": 8080}]


def endpoints_lag(reads: Reads) -> None:
    item(reads, SLICES)["endpoints"] = []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (no_service, "NoService"),
        (other_selector, "SelectorMismatch"),
        (other_port, "WrongTargetPort"),
        (endpoints_lag, "NoReadyEndpoint"),
    ],
)
def test_a_service_that_does_not_lead_to_ollama(change: Callable[[Reads], None], reason: str) -> None:
    reads = box()
    change(reads)
    assert verdict(reads, "serving.endpoints") == ("fail", reason)


def test_a_service_of_another_name_and_port_that_selects_the_pod_is_as_good() -> None:
    reads = box()
    service = item(reads, SERVICES)
    service["metadata"]["name"] = "llm-backend"
    service["spec"]["ports"] = [{"name": "http", "port": 80, "targetPort": 11434}]
    item(reads, SLICES)["metadata"]["labels"]["kubernetes.io/service-name"] = "llm-backend"
    assert verdict(reads, "serving.endpoints") == PASS
    address = LAYER.services(SPEC, recording_of(reads))["ollama"]
    assert (address.name, address.port) == ("llm-backend", "80")


def test_an_unready_pod_is_judged_at_its_own_contract() -> None:
    reads = box()
    unready(reads)
    item(reads, SLICES)["endpoints"][0]["conditions"]["ready"] = False
    found = finding(reads, "serving.endpoints")
    assert (found.result.reason, found.blocked_by) == ("NothingReady", "serving.running")


@pytest.mark.parametrize("key", [SERVICES, SLICES])
def test_services_that_may_not_be_listed_leave_the_endpoints_unknown(key: str) -> None:
    reads = box()
    reads[key] = answer({"message": "forbidden"}, status=403)
    assert verdict(reads, "serving.endpoints") == ("unknown", "Forbidden")


NO_ENDPOINTS = {"message": 'no endpoints available for service "ollama:http"'}
REFUSED = {"message": "error trying to reach service: dial tcp 10.42.0.20:11434: connect: connection refused"}


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (answer({"version": "0.33.0"}), PASS),
        (answer('{"version": "0.33.0"}'), PASS),
        (answer(NO_ENDPOINTS, status=503), ("fail", "NoEndpoints")),
        (answer(REFUSED, status=502), ("fail", "RefusesConnections")),
        (answer("<html><title>Sign in</title></html>"), ("unknown", "Malformed")),
        (answer(""), ("unknown", "Malformed")),
        (answer({}), ("unknown", "Malformed")),
        (answer({"version": 33}), ("unknown", "Malformed")),
        (answer([]), ("unknown", "Malformed")),
        (answer({"message": "internal"}, status=500), ("unknown", "Unavailable")),
        (answer("404 page not found", status=404), ("unknown", "Unavailable")),
        (answer({"message": "no"}, status=403), ("unknown", "Forbidden")),
        (answer("login", status=401), ("unknown", "Unauthorised")),
        (answer(None, status=None, error="unreachable"), ("unknown", "Unreachable")),
        (answer(None, status=None, error="timeout"), ("unknown", "TimedOut")),
        (answer(None, status=None, error="dns"), ("unknown", "NameNotResolved")),
        (answer(None, status=None, error="tls"), ("unknown", "NotTrusted")),
        (None, ("unknown", "NotObserved")),
    ],
)
def test_an_answer_counts_only_as_ollamas_own(
    read: dict[str, Any] | None, expected: tuple[str, str | None]
) -> None:
    reads = box()
    if read is None:
        del reads[VERSION]
    else:
        reads[VERSION] = read
    assert verdict(reads, "serving.answers") == expected


def test_an_ollama_that_listens_to_itself_alone_is_at_fault() -> None:
    reads = box()
    reads[VERSION] = answer(None, status=None, error="unreachable")
    reads[LOG]["body"] = reads[LOG]["body"].replace("Listening on [::]:11434", "Listening on 127.0.0.1:11434")
    assert verdict(reads, "serving.answers") == ("fail", "ListensOnLoopback")
    del reads[LOG]
    for each in item(reads, PODS)["spec"]["containers"][0]["env"]:
        if each["name"] == "OLLAMA_HOST":
            each["value"] = "localhost:11434"
    assert verdict(reads, "serving.answers") == ("fail", "ListensOnLoopback")


CRASH = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 58}


def web_ui_gone(reads: Reads) -> None:
    drop(reads, PODS, "open-webui")
    drop(reads, DEPLOYMENTS, "open-webui")


def web_ui_scaled_down(reads: Reads) -> None:
    drop(reads, PODS, "open-webui")
    item(reads, DEPLOYMENTS, "open-webui")["spec"]["replicas"] = 0


def web_ui_without_pod(reads: Reads) -> None:
    drop(reads, PODS, "open-webui")


def web_ui_crashes(reads: Reads) -> None:
    unready(reads, "open-webui", **CRASH)


def web_ui_unready(reads: Reads) -> None:
    unready(reads, "open-webui")


def backend(url: str, name: str = "OLLAMA_BASE_URL") -> Callable[[Reads], None]:
    def change(reads: Reads) -> None:
        pod = item(reads, PODS, "open-webui")
        pod["spec"]["containers"][0]["env"] = [{"name": name, "value": url}]

    return change


def health(read: dict[str, Any]) -> Callable[[Reads], None]:
    def change(reads: Reads) -> None:
        reads[HEALTH] = read

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (web_ui_gone, ("fail", "WebUiNotInstalled")),
        (web_ui_scaled_down, ("fail", "WebUiScaledToZero")),
        (web_ui_without_pod, ("fail", "WebUiNotRunning")),
        (web_ui_crashes, ("fail", "WebUiNotRunning")),
        (web_ui_unready, ("fail", "WebUiNotRunning")),
        (backend("http://ollama.llm:11434"), PASS),
        (backend("http://ollama:11434/"), PASS),
        (backend("http://ollama.llm.svc.cluster.local:11434"), PASS),
        (backend("ollama:11434"), PASS),
        (backend("http://ollama.llm:8080"), ("fail", "WrongBackend")),
        (backend("http://ollama.default:11434"), ("fail", "WrongBackend")),
        (backend("http://olama:11434"), ("fail", "WrongBackend")),
        (backend("http://gone:11434;http://ollama:11434", "OLLAMA_BASE_URLS"), PASS),
        (backend("http://localhost:11434"), ("fail", "WrongBackend")),
        (backend("127.0.0.1:11434"), ("fail", "WrongBackend")),
        (backend("http://host.docker.internal:11434"), ("fail", "WrongBackend")),
        (backend("http://localhost:11434;http://ollama:11434", "OLLAMA_BASE_URLS"), PASS),
        (backend("http://192.0.2.7:11434"), PASS),
        (backend("https://llm.example.com"), PASS),
        (backend("http://[broken"), PASS),
        (backend("https://ollama:11434"), ("fail", "WrongBackend")),
        (backend("http://ollama:11434/api"), ("fail", "WrongBackend")),
        (backend("http://ollama:11434/api/", "OLLAMA_API_BASE_URL"), PASS),
        (backend("False", "ENABLE_OLLAMA_API"), ("fail", "WrongBackend")),
        (backend("True", "ENABLE_OLLAMA_API"), PASS),
        (health(answer({"status": False})), ("fail", "WebUiDoesNotAnswer")),
        (health(answer("<html>")), ("unknown", "Malformed")),
        (health(answer(None, status=None, error="timeout")), ("unknown", "TimedOut")),
    ],
)
def test_open_webui(change: Callable[[Reads], None], expected: tuple[str, str | None]) -> None:
    reads = box()
    change(reads)
    assert verdict(reads, "serving.webui") == expected


def test_open_webui_is_given_its_time() -> None:
    reads = box()
    pod = unready(reads, "open-webui")
    pod["metadata"]["creationTimestamp"] = pod["status"]["startTime"] = "2026-06-15T11:58:30Z"
    assert verdict(reads, "serving.webui") == ("unknown", "WebUiStarting")


def test_an_open_webui_with_an_ollama_of_its_own_may_ask_itself() -> None:
    reads = box()
    backend("http://localhost:11434")(reads)
    container = item(reads, PODS, "open-webui")["spec"]["containers"][0]
    container["image"] = "ghcr.io/open-webui/open-webui:ollama"
    assert verdict(reads, "serving.webui") == PASS
    container["image"] = "ghcr.io/open-webui/open-webui:0.9.2"
    item(reads, PODS, "open-webui")["spec"]["containers"].append({"name": "o", "image": "ollama/ollama"})
    assert verdict(reads, "serving.webui") == PASS


def test_a_missing_service_is_not_blamed_on_open_webui() -> None:
    reads = box()
    no_service(reads)
    found = finding(reads, "serving.webui")
    assert (found.result.reason, found.blocked_by) == ("WrongBackend", "serving.endpoints")


def test_an_open_webui_that_waits_for_a_node_is_not_called_its_own_fault() -> None:
    reads = box()
    pod = unready(reads, "open-webui")
    pod["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "message": "untolerated taint(s)"}],
    }
    found = finding(reads, "serving.webui")
    assert (found.result.reason, found.result.independent) == ("WebUiNotRunning", False)
    pod["spec"].pop("nodeName")
    found = finding(reads, "serving.webui")
    assert (found.result.reason, found.result.independent) == ("WebUiNotScheduled", False)
    assert "untolerated" in found.result.message
    del pod["status"]["conditions"]
    assert finding(reads, "serving.webui").result.message.endswith("has no node")


def web_ui_state(state: dict[str, Any], **more: Any) -> Callable[[Reads], None]:
    def change(reads: Reads) -> None:
        unready(reads, "open-webui")["status"]["containerStatuses"][0] |= {"state": state, **more}

    return change


def web_ui_unreached(reads: Reads) -> None:
    item(reads, SLICES, "open-webui")["endpoints"] = []


def web_ui_unwell(reads: Reads) -> None:
    reads[HEALTH] = {"status": 500, "body": "Internal Server Error", "error": None}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (web_ui_state({"terminated": {"reason": "OOMKilled", "exitCode": 137}}), "WebUiOutOfMemory"),
        (web_ui_state({"waiting": {"reason": "ImagePullBackOff"}}), "WebUiImageUnavailable"),
        (web_ui_unreached, "WebUiNoEndpoint"),
        (web_ui_unwell, "WebUiDoesNotAnswer"),
    ],
)
def test_what_keeps_open_webui_is_told_apart(change: Callable[[Reads], None], reason: str) -> None:
    reads = box()
    change(reads)
    assert verdict(reads, "serving.webui") == ("fail", reason)


def test_a_gateway_on_the_way_proves_nothing_against_open_webui() -> None:
    reads = box()
    reads[HEALTH] = {"status": 502, "body": "Bad Gateway", "error": None}
    assert verdict(reads, "serving.webui") == ("unknown", "Unavailable")


def test_an_unseen_deployment_list_does_not_make_open_webui_absent() -> None:
    reads = box()
    web_ui_gone(reads)
    del reads[DEPLOYMENTS]
    assert verdict(reads, "serving.webui") == (
        "blocked",
        "NotObserved",
    )  # by serving.workload, for the same read


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:11434", ("localhost", "", 11434)),
        ("http://[broken", None),
        ("http://ollama.llm.svc:80", ("ollama", "llm", 80)),
        ("https://ollama.llm", ("ollama", "llm", 443)),
        ("", None),
    ],
)
def test_urls_in_the_cluster(url: str, expected: tuple[str, str, int] | None) -> None:
    assert in_cluster(url) == expected


def test_an_open_webui_that_asks_by_the_openai_api_alone_asks_this_ollama() -> None:
    reads = box()
    env = item(reads, PODS, "open-webui")["spec"]["containers"][0]
    switch = {"name": "ENABLE_OLLAMA_API", "value": "false"}
    env["env"] = [switch, {"name": "OPENAI_API_BASE_URL", "value": "http://ollama.llm:11434/v1"}]
    assert verdict(reads, "serving.webui") == PASS
    env["env"] = [switch, {"name": "OPENAI_API_BASE_URLS", "value": "https://api.example.com/v1;http://[x"}]
    found = finding(reads, "serving.webui")
    assert (found.outcome.value, found.result.reason) == ("fail", "WrongBackend")
    assert "ENABLE_OLLAMA_API=false" in found.result.message


def test_https_to_a_port_for_https_is_right() -> None:
    for port, name in ((443, "web"), (8443, "https")):
        reads = box()
        item(reads, SERVICES)["spec"]["ports"].append({"name": name, "port": port, "targetPort": 8443})
        backend(f"https://ollama.llm:{port}")(reads)
        assert verdict(reads, "serving.webui") == PASS


@pytest.mark.parametrize(
    ("url", "word"),
    [("http://x:11434", ""), ("https://x:11434", "https"), ("x:11434/api", "/api"), ("http://[broken", "")],
)
def test_the_form_of_a_backend(url: str, word: str) -> None:
    assert word in misspelt(url)
    assert bool(misspelt(url)) == bool(word)


@pytest.mark.parametrize(
    "image",
    [
        "registry.local:5000/mirror/open-webui@sha256:" + "d0" * 32,
        "registry.local:5000/open-webui",
        "open-webui",
        "ghcr.io/open-webui/open-webui:main-slim",
    ],
)
def test_open_webui_is_known_by_its_image_whatever_the_registry(image: str) -> None:
    reads = box()
    item(reads, PODS, "open-webui")["spec"]["containers"][0]["image"] = image
    drop(reads, DEPLOYMENTS, "open-webui")
    assert verdict(reads, "serving.webui") == PASS
