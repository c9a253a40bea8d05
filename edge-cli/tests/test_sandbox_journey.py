"""The whole journey on a real cluster with a SIMULATED card: up, used, broken, routed, healed, down again.

One node serves all tests of this file, in their order. Every command is the one a user types.
"""

import base64
import gzip
import http.client
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
EDGE = Path(sys.executable).with_name("edge")
SERVING = "llm-observability"
MODEL = "smollm2:135m"
READER = "system:serviceaccount:gpu-operator:edge-contract-reader"
SETTLE_S = 90.0  # for a broken or healed part to show: the kubelet, probes and scrapes have their own pace

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox needs root"),
]


@dataclass(frozen=True)
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str
    took_s: float

    @property
    def json(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.out)
        return parsed


@dataclass
class Box:
    """The sandbox of these tests, in a state directory of its own."""

    state_home: Path
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("EDGE_", "KUBECONFIG"))
        }
        self.environment |= {
            "XDG_STATE_HOME": str(self.state_home),
            "XDG_CONFIG_HOME": str(self.state_home / "config"),
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }

    def run(self, *argv: str | Path, timeout_s: float = 300) -> Said:
        began_s = time.monotonic()
        done = subprocess.run(
            [str(each) for each in argv],
            env=self.environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr, time.monotonic() - began_s)

    def edge(self, *argv: str | Path, timeout_s: float = 1500) -> Said:
        return self.run(EDGE, *argv, timeout_s=timeout_s)

    def start(self, *argv: str) -> subprocess.Popen[str]:
        # a test run in the background ignores SIGINT, and so would what it starts
        return subprocess.Popen(
            ["env", "--default-signal=INT", str(EDGE), *argv],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def inside(self, *argv: str) -> str:
        """A program inside the node, where kubectl and helm are."""
        said = self.edge("sandbox", "shell", "--", *argv)
        assert said.code == 0, f"{shlex.join(argv)}: {said.err}{said.out}"
        return said.out

    def kubectl(self, *argv: str) -> str:
        return self.inside("kubectl", *argv)

    def releases(self) -> dict[str, tuple[str, str]]:
        """Release to its revision and status, of all namespaces."""
        listed = json.loads(self.inside("helm", "list", "-A", "-o", "json"))
        return {each["name"]: (each["revision"], each["status"]) for each in listed}

    def address(self, service: str) -> str:
        found = json.loads(self.kubectl("-n", SERVING, "get", "service", service, "-o", "json"))
        return f"http://{found['spec']['clusterIP']}:{found['spec']['ports'][0]['port']}"

    def verdict(self, *argv: str | Path) -> dict[str, Any]:
        said = self.edge("diagnose", *argv, "-o", "json")
        assert said.out, said.err
        return said.json

    def until(self, wanted: Callable[[dict[str, Any]], bool], *argv: str | Path) -> dict[str, Any]:
        """The first verdict that is as wanted, or the last one."""
        until_s = time.monotonic() + SETTLE_S
        while True:
            verdict = self.verdict(*argv)
            if wanted(verdict) or time.monotonic() > until_s:
                return verdict
            time.sleep(1)


def ask(url: str, body: Any = None, method: str | None = None, timeout_s: float = 60) -> Any:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=timeout_s)
    try:
        connection.request(
            method or ("GET" if body is None else "POST"),
            f"{parts.path}?{parts.query}",
            None if body is None else json.dumps(body),
            {"Content-Type": "application/json"},
        )
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == http.client.OK, content
    finally:
        connection.close()
    return json.loads(content) if content.strip() else None


def routed(verdict: dict[str, Any]) -> tuple[str, str] | None:
    route = verdict["route"]
    return (route["rung"], route["owner"]) if route else None


def green(verdict: dict[str, Any]) -> bool:
    return bool(verdict["outcome"] == "pass")


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    box = Box(tmp_path_factory.mktemp("state"))
    yield box
    left = box.edge("sandbox", "down", "--purge")
    assert left.code == 0, left.err


@pytest.fixture(scope="module")
def first(box: Box) -> Said:
    """`edge up --sandbox` on a fresh state: node and all layers."""
    return box.edge("up", "--sandbox", "--yes", timeout_s=1700)


def test_one_command_brings_every_layer_up(box: Box, first: Said) -> None:
    assert first.code == 0, first.err + first.out
    assert {status for _, status in box.releases().values()} == {"deployed"}
    verdict = box.verdict()
    assert green(verdict)
    assert verdict["simulated"] is True
    assert {finding["layer"] for finding in verdict["findings"]} == {0, 1, 2, 3, "validation"}
    for finding in verdict["findings"]:
        assert finding["contract"] in first.out


def test_the_model_answers_to_the_command_that_up_prints(first: Said) -> None:
    line = next(line.strip() for line in first.out.splitlines() if line.strip().startswith("curl "))
    words = shlex.split(line)
    url = next(word for word in words if word.startswith("http"))
    answer = ask(url, json.loads(words[-1]) | {"options": {"num_predict": 16}})
    assert answer["done"] is True
    assert answer["model"] == MODEL
    assert len(answer["response"].strip()) > 3
    assert answer["eval_count"] > 1


def test_prometheus_has_the_series_of_the_exporter(box: Box, first: Said) -> None:
    prometheus = box.address("prometheus")

    def series(expression: str) -> list[Any]:
        found = ask(f"{prometheus}/api/v1/query?query={quote(expression)}")
        values: list[Any] = found["data"]["result"]
        return values

    until_s = time.monotonic() + SETTLE_S
    passing = 'edge_contract_outcome{contract="model.resident",outcome="pass"} == 1'
    while not series(passing) and time.monotonic() < until_s:
        time.sleep(1)
    assert series(passing)
    assert series(f'edge_ollama_model_loaded{{model="{MODEL}"}} == 1')
    assert series('up{job="edge-exporter"} == 1')
    assert not series('ALERTS{alertstate="firing",severity="critical"}')


def test_a_second_run_changes_nothing_and_takes_seconds(box: Box, first: Said) -> None:
    before = box.releases()
    again = box.edge("up", "--sandbox")
    assert again.code == 0, again.err
    assert "Nothing had to be changed." in again.out
    assert box.releases() == before
    assert again.took_s <= 5


def test_a_plan_of_what_is_there_is_empty(box: Box, first: Said) -> None:
    planned = box.edge("plan", "--sandbox")
    assert planned.code == 0, planned.err
    assert planned.out.count("unchanged, revision 1") == len(box.releases())


def test_the_suite_is_green_on_the_healthy_box(box: Box, first: Said) -> None:
    suite = box.run(
        sys.executable, "-m", "pytest", "edge-llm-tests", "--sandbox", "-q", "-p", "no:cacheprovider"
    )
    assert suite.code == 0, suite.out
    assert " passed" in suite.out


def test_diagnosis_and_suite_only_read(box: Box, first: Said) -> None:
    log = box.state_home / "edge" / "sandbox" / "log" / "audit.log"
    before = log.stat().st_size
    assert box.edge("diagnose").code == 0
    assert box.run(sys.executable, "-m", "pytest", "-q", "edge-llm-tests", "--sandbox").code == 0
    time.sleep(1)  # the API server writes its log in the background
    with log.open("rb") as lines:
        lines.seek(before)
        entries = [json.loads(line) for line in lines.read().splitlines()]
    read = [each for each in entries if each.get("impersonatedUser", {}).get("username") == READER]
    assert len(read) > 20
    assert {each["verb"] for each in read} <= {"get", "list", "watch"}
    assert not [each for each in read if each.get("objectRef", {}).get("resource") == "secrets"]
    assert not [each for each in read if each["responseStatus"]["code"] == http.client.FORBIDDEN]
    ours = [each for each in entries if each.get("userAgent") == "edge-contract-reader"]
    assert {each["verb"] for each in ours} == {"get", "list"}


@pytest.mark.parametrize(
    "attempt",
    [
        "create configmap planted --from-literal=a=b",
        "patch deployment ollama -p {}",
        "delete pod -l app.kubernetes.io/name=ollama",
        "exec deployment/ollama -c ollama -- true",
        "port-forward service/ollama 18123:11434",
        "get secrets",
        "scale deployment ollama --replicas=1",
    ],
)
def test_the_reader_is_refused_a_write(box: Box, first: Said, attempt: str) -> None:
    argv = ["kubectl", "--as", READER, "-n", SERVING, *attempt.split(" ")]
    said = box.edge("sandbox", "shell", "--", "timeout", "20", *argv)
    assert said.code not in (0, 124), said.out
    assert "forbidden" in (said.err + said.out).lower()


@dataclass(frozen=True)
class Fault:
    """A way to break the box, where that is routed, and how it is healed."""

    rung: str
    owner: str
    break_: Callable[[Box], object]
    heal: Callable[[Box], object]
    profile: str = ""


def _sandbox(verb: str, fault: str) -> Callable[[Box], object]:
    return lambda box: box.run(sys.executable, "-m", "k3s_nvidia_edge.sandbox", verb, fault)


def _patch(namespace: str, kind: str, name: str, patch: str) -> Callable[[Box], object]:
    return lambda box: box.kubectl("-n", namespace, "patch", kind, name, "--type", "merge", "-p", patch)


def _scale(replicas: int) -> Callable[[Box], object]:
    return lambda box: box.kubectl("-n", SERVING, "scale", "deployment/ollama", f"--replicas={replicas}")


THIEF = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "thief", "namespace": "default"},
    "spec": {
        "terminationGracePeriodSeconds": 0,
        "runtimeClassName": "nvidia",
        "containers": [
            {
                "name": "c",
                "image": "registry.k8s.io/pause:3.10.1",
                "resources": {"limits": {"nvidia.com/gpu": "1"}},
            }
        ],
    },
}


def _steal(box: Box) -> None:
    """A second pod takes the only GPU while Ollama's is away."""
    _scale(0)(box)
    box.kubectl(
        "-n", SERVING, "wait", "pod", "-l", "app.kubernetes.io/name=ollama", "--for=delete", "--timeout=60s"
    )
    box.inside("sh", "-c", f"echo {shlex.quote(json.dumps(THIEF))} | kubectl apply -f -")
    box.kubectl("wait", "pod", "thief", "--for=condition=Ready", "--timeout=60s")
    _scale(1)(box)


def _lose_target(box: Box) -> None:
    """Prometheus's scrape configuration without the exporter, loaded."""
    config = json.loads(box.kubectl("-n", SERVING, "get", "configmap", "prometheus-config", "-o", "json"))
    text = config["data"]["prometheus.yml"]
    lost = text.replace("job_name: edge-exporter", "job_name: something-else").replace(
        "edge-exporter:9835", "localhost:9090"
    )
    assert lost != text
    _patch(SERVING, "configmap", "prometheus-config", json.dumps({"data": {"prometheus.yml": lost}}))(box)
    _restart_prometheus(box)


def _restart_prometheus(box: Box) -> None:
    box.kubectl("-n", SERVING, "rollout", "restart", "deployment/prometheus")
    box.kubectl("-n", SERVING, "rollout", "status", "deployment/prometheus", "--timeout=120s")


def _find_target_again(box: Box) -> None:
    # the release is unchanged: `edge up` puts back what somebody edited, and a restart loads it
    box.edge("up", "--sandbox", "--timeout", "20s")
    _restart_prometheus(box)


def _up(box: Box) -> None:
    said = box.edge("up", "--sandbox")
    assert said.code == 0, said.err + said.out


FAULTS = {
    "driver-mismatch": Fault(
        "host", "host-admin", _sandbox("break", "driver-mismatch"), _sandbox("heal", "driver-mismatch")
    ),
    "device-plugin-stopped": Fault(
        "gpu",
        "k3s-nvidia-edge",
        lambda box: box.kubectl("-n", "gpu-operator", "delete", "daemonset", "simulated-device-plugin"),
        _up,
    ),
    "no-such-handler": Fault(
        "gpu",
        "k3s-nvidia-edge",
        _sandbox("break", "runtime-handler-missing"),
        _sandbox("heal", "runtime-handler-missing"),
    ),
    "gpu-taken": Fault(
        "serving",
        "llm-observability-stack",
        _steal,
        lambda box: box.kubectl("delete", "pod", "thief", "--wait"),
    ),
    "scaled-to-zero": Fault("serving", "llm-observability-stack", _scale(0), _up),
    "model-deleted": Fault(
        "model",
        "llm-observability-stack",
        lambda box: ask(f"{box.address('ollama')}/api/delete", {"model": MODEL}, "DELETE"),
        _up,
    ),
    "target-lost": Fault("telemetry", "llm-observability-stack", _lose_target, _find_target_again),
    "promises-gpu": Fault(
        "profile",
        "gguf-observability",
        lambda _box: None,
        lambda _box: None,
        profile="extends: sandbox\nspec: {profile: {processor: gpu}}\n",
    ),
}


OF_THE_HOST = {
    "driver-hang": "FirmwareHangs",
    "driver-not-loaded": "ModuleNotLoaded",
    "driver-not-installed": "DriverNotInstalled",
    "no-devices": "InitialisationFailed",
    "no-card": "NoCardOnBus",
}
OF_THE_CLUSTER = {
    "runtime-binary-missing": "RuntimeBinaryMissing",
    "api-server-stopped": "ServiceStarting",
    "kubelet-stopped": "NodeSilent",
}


@pytest.mark.parametrize("name", [*OF_THE_HOST, *OF_THE_CLUSTER])
def test_every_other_state_of_the_node_is_judged_live_as_replayed(
    box: Box, first: Said, tmp_path: Path, name: str
) -> None:
    owner = "host-admin" if name in OF_THE_HOST else "k3s-nvidia-edge"
    expected = ("host" if name in OF_THE_HOST else "gpu", owner, (OF_THE_HOST | OF_THE_CLUSTER)[name])

    def whose(verdict: dict[str, Any]) -> tuple[str, str, str] | None:
        route = verdict["route"]
        return (route["rung"], route["owner"], route["reason"]) if route else None

    _sandbox("break", name)(box)
    try:
        live = box.until(lambda verdict: whose(verdict) == expected, "--sandbox")
        assert whose(live) == expected, live["route"]
        evidence = tmp_path / "evidence.json"
        box.edge("evidence", "record", "--sandbox", "-o", evidence)
        replayed = box.verdict("--from", evidence)
        assert whose(replayed) == expected
        assert replayed["outcome"] == live["outcome"]
    finally:
        _sandbox("heal", name)(box)
    healed = box.until(green)
    assert green(healed), healed["route"]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_routed_recorded_replayed_and_healed(
    box: Box, first: Said, tmp_path: Path, name: str
) -> None:
    fault = FAULTS[name]
    options: list[str | Path] = ["--sandbox"]
    if fault.profile:
        (tmp_path / "profile.yaml").write_text(fault.profile)
        options += ["--profile", tmp_path / "profile.yaml"]
    assert green(box.until(green)), "the box is healthy before it is broken"
    fault.break_(box)
    try:
        expected = (fault.rung, fault.owner)
        live = box.until(
            lambda verdict: verdict["outcome"] == "fail" and routed(verdict) == expected, *options
        )
        assert routed(live) == expected, live["route"]
        assert live["outcome"] == "fail"
        evidence = tmp_path / "evidence.json"
        recorded = box.edge("evidence", "record", *options, "-o", evidence)
        assert recorded.code == 0, recorded.err
        replayed = box.verdict("--from", evidence, *options[1:])
        assert routed(replayed) == routed(live)
        assert replayed["route"]["reason"] == live["route"]["reason"]
        _consequences_are_blocked(replayed)
        _the_suite_says_the_same(box, evidence, replayed, options[1:])
    finally:
        fault.heal(box)
    healed = box.until(green)
    assert green(healed), healed["route"]


def _consequences_are_blocked(verdict: dict[str, Any]) -> None:
    """Of what is required, only the routed fault and those listed as independent fail."""
    failing = {
        each["contract"] for each in verdict["findings"] if each["required"] and each["outcome"] == "fail"
    }
    named = {verdict["route"]["contract"]} | {each["contract"] for each in verdict["also"]}
    assert failing == named
    for finding in verdict["findings"]:
        if finding["outcome"] == "blocked":
            assert finding["blocked_by"]


def _the_suite_says_the_same(
    box: Box, evidence: Path, verdict: dict[str, Any], options: list[str | Path]
) -> None:
    suite = box.run(
        sys.executable,
        "-m",
        "pytest",
        "edge-llm-tests",
        "--evidence",
        evidence,
        *options,
        "-q",
        "-p",
        "no:cacheprovider",
    )
    assert suite.code == 1, suite.out
    said = suite.out.partition("contracts that do not hold")[2]
    lines = [line.split() for line in said.splitlines()]
    broken = {line[1] for line in lines if line[:1] in (["fail"], ["unknown"])}
    assert broken == {
        each["contract"]
        for each in verdict["findings"]
        if each["required"] and each["outcome"] in ("fail", "unknown")
    }


def test_two_installers_are_kept_apart(box: Box, first: Said) -> None:
    box.kubectl("-n", SERVING, "scale", "deployment/ollama", "--replicas=0")
    one = box.start("up", "--sandbox")
    try:
        until_s = time.monotonic() + 30
        while "edge-installer" not in box.kubectl("-n", "kube-system", "get", "leases", "-o", "name"):
            assert time.monotonic() < until_s
        two = box.edge("up", "--sandbox")
        assert two.code == 1
        assert f"process {one.pid} on" in two.err
    finally:
        said, _ = one.communicate(timeout=300)
    assert one.returncode == 0, said
    assert green(box.until(green))


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 130), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_an_interrupted_run_is_gone_on_with(box: Box, first: Said, number: signal.Signals, code: int) -> None:
    box.kubectl("-n", SERVING, "scale", "deployment/ollama", "--replicas=0")
    one = box.start("up", "--sandbox")
    until_s = time.monotonic() + 60
    while "serving" not in box.inside("helm", "list", "-A") or "edge-installer" not in box.kubectl(
        "-n", "kube-system", "get", "leases", "-o", "name"
    ):
        assert time.monotonic() < until_s
    one.send_signal(number)
    said, _ = one.communicate(timeout=30)
    assert one.returncode == code, said
    _up(box)
    assert "edge-installer" not in box.kubectl("-n", "kube-system", "get", "leases", "-o", "name")


def test_an_unknown_value_of_the_profile_is_refused_by_the_chart(
    box: Box, first: Said, tmp_path: Path
) -> None:
    mistaken = tmp_path / "profile.yaml"
    mistaken.write_text("extends: sandbox\nvalues: {serving: {olama: {}}}\n")
    said = box.edge("up", "--sandbox", "--profile", mistaken)
    assert said.code == 2
    assert "olama" in said.err
    assert "values.serving" in said.err
    assert said.err.strip().splitlines()[-1].startswith("edge: ")
    _up(box)


def test_an_upgrade_that_breaks_a_contract_is_rolled_back(box: Box, first: Said, tmp_path: Path) -> None:
    """An image of Ollama that the node does not have and nobody can pull: waiting does not mend it."""
    before = box.releases()
    worse = tmp_path / "worse.yaml"
    worse.write_text("extends: sandbox\nvalues: {serving: {ollama: {image: {tag: 9.9.9}}}}\n")
    said = box.edge("up", "--sandbox", "--profile", worse, "--rollback")
    assert said.code == 3, said.err + said.out
    assert "serving.image" in said.out
    assert "rolled back serving" in said.out
    assert "the contracts of layer serving hold again" in said.out
    revision, status = box.releases()["serving"]
    assert status == "deployed"
    assert int(revision) == int(before["serving"][0]) + 2
    assert green(box.until(green))
    again = box.edge("up", "--sandbox")
    assert again.code == 0, again.err + again.out
    assert "Nothing had to be changed." in again.out, (
        "the revision that was gone back to is known by its content"
    )


def _leave_pending(box: Box, release: str, revision: int, status: str = "pending-upgrade") -> None:
    """Helm's record of a release as a helm that was killed in the middle of an operation leaves it."""
    name = f"sh.helm.release.v1.{release}.v{revision}"
    secret = json.loads(box.kubectl("-n", SERVING, "get", "secret", name, "-o", "json"))
    record = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
    record["info"]["status"] = status
    content = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(record).encode()))).decode()
    box.kubectl("-n", SERVING, "label", "secret", name, f"status={status}", "--overwrite")
    _patch(SERVING, "secret", name, json.dumps({"data": {"release": content}}))(box)


def test_a_pending_release_is_reported_and_healed_when_asked(box: Box, first: Said) -> None:
    revision = int(box.releases()["serving"][0])
    _leave_pending(box, "serving", revision)
    reported = box.edge("up", "--sandbox")
    assert reported.code == 1
    assert "pending-upgrade" in reported.err
    assert "--recover" in reported.err
    assert box.releases()["serving"] == (str(revision), "pending-upgrade")
    healed = box.edge("up", "--sandbox", "--recover")
    assert healed.code == 0, healed.err + healed.out
    assert box.releases()["serving"][1] == "deployed"


def test_an_install_that_never_ended_is_healed_when_asked(box: Box, first: Said) -> None:
    """A release that hangs in its first revision has nothing to go back to: it is made anew."""
    assert box.edge("down", "--kubeconfig", _kubeconfig(box), "--yes").code == 0
    _up(box)
    assert box.releases()["telemetry"] == ("1", "deployed")
    _leave_pending(box, "telemetry", 1, "pending-install")
    planned = box.edge("plan", "--sandbox", "--brief")
    assert "telemetry in llm-observability: is pending-install" in planned.out, planned.out
    reported = box.edge("up", "--sandbox")
    assert reported.code == 1
    assert "pending-install" in reported.err
    healed = box.edge("up", "--sandbox", "--recover")
    assert healed.code == 0, healed.err + healed.out
    assert box.releases()["telemetry"] == ("1", "deployed")


def test_down_keeps_volumes_and_up_finds_the_model_in_its_volume(box: Box, first: Said) -> None:
    refused = box.edge("down", "--kubeconfig", _kubeconfig(box))
    assert refused.code == 2
    assert "--yes" in refused.err
    box.inside("sh", "-c", f"echo {shlex.quote(_ORPHANS)} | kubectl apply -f -")
    down = box.edge("down", "--kubeconfig", _kubeconfig(box), "--yes")
    assert down.code == 0, down.err
    assert box.releases() == {}
    assert "kept     volume" in down.out
    hook = "left     validatingwebhookconfiguration orphan: its service llm-observability/gone is gone"
    assert hook in down.out, down.out
    assert "left     crd orphans.edge.test: there is no object of it" in down.out, down.out
    for left in (("validatingwebhookconfiguration", "orphan"), ("crd", "orphans.edge.test")):
        box.kubectl("delete", *left)  # it is there: naming is all that was done
    again = box.edge("up", "--sandbox")
    assert again.code == 0, again.err + again.out


def test_a_gate_closes_while_the_device_plugin_cannot_register(box: Box, first: Said) -> None:
    assert box.edge("down", "--kubeconfig", _kubeconfig(box), "--yes").code == 0
    box.inside("sh", "-c", "mkdir -p /run/edge/faults && echo no-devices >/run/edge/faults/device-plugin")
    try:
        stopped = box.edge("up", "--sandbox")
        assert stopped.code == 3, stopped.err + stopped.out
        assert "gpu (layer 1), owner k3s-nvidia-edge" in stopped.out
        assert "gpu.device-plugin" in stopped.out
        assert "not installed: serving" in stopped.out
        assert set(box.releases()) == {"gpu"}
    finally:
        box.inside("rm", "-f", "/run/edge/faults/device-plugin")
    assert box.edge("down", "--kubeconfig", _kubeconfig(box), "--yes", "--purge-volumes").code == 0
    gone_on = box.edge("up", "--sandbox")
    assert gone_on.code == 0, gone_on.err + gone_on.out


_ORPHANS = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: orphan}
webhooks:
  - name: orphan.edge.test
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    clientConfig: {service: {namespace: llm-observability, name: gone}}
    rules: [{apiGroups: [edge.test], apiVersions: [v1], operations: [CREATE], resources: [orphans]}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: orphans.edge.test
  annotations: {meta.helm.sh/release-name: serving, meta.helm.sh/release-namespace: llm-observability}
spec:
  group: edge.test
  scope: Namespaced
  names: {plural: orphans, singular: orphan, kind: Orphan}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""


def _kubeconfig(box: Box) -> Path:
    return box.state_home / "edge" / "sandbox" / "kubeconfig" / "admin.conf"


def test_the_node_goes_and_leaves_nothing(box: Box, first: Said) -> None:
    down = box.edge("sandbox", "down")
    assert down.code == 0, down.err
    assert down.took_s <= 4
    assert box.edge("sandbox", "status").out.startswith("state       down")
    unreachable = box.edge("diagnose", "--sandbox")
    assert unreachable.code == 2
    assert "edge up --sandbox" in unreachable.err
