"""What stands around the sandbox in tests of telemetry: a receiver, a node-exporter, a SIMULATED card.

The card is SIMULATED: our exporter runs with a stand-in `nvidia-smi` and `dmesg`, and a stand-in for DCGM's
exporter has what only that publishes.
"""

import contextlib
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

ROOT = Path(__file__).parents[3]
EDGE = Path(sys.executable).with_name("edge")
RECORDED = ROOT / "edge-cli/tests/cases/base/a100-k3s.json"
NAMESPACE = "llm-observability"
MODEL, COPY = "smollm2:135m", "copy:1"
HOST_IP = "10.199.0.1"  # this end of the node's cable
HOOK, NODE_EXPORTER, GPU_EXPORTER, DCGM_EXPORTER = 19095, 19100, 19835, 19400
DIVIDED_BY = 40
PATIENCE_S = 150.0  # an hour of the rules is a minute and a half

VALUES: dict[str, Any] = {
    "rules": {"divideTimesBy": DIVIDED_BY},
    "scrape": {
        "intervalSeconds": 2,
        "timeoutSeconds": 2,
        "extra": [
            {"job": "node-exporter", "targets": [f"{HOST_IP}:{NODE_EXPORTER}"]},
            {"job": "simulated-card", "targets": [f"{HOST_IP}:{GPU_EXPORTER}"]},
            {
                "job": "dcgm-exporter",
                "targets": [f"{HOST_IP}:{DCGM_EXPORTER}"],
                "intervalSeconds": 8,
                "timeoutSeconds": 7,
            },
        ],
    },
    "alertmanager": {
        "groupWait": "1s",
        "groupInterval": "2s",
        "receivers": {
            name: {"webhookUrl": f"http://{HOST_IP}:{HOOK}/{name}"} for name in ("default", "critical")
        },
    },
    "exporter": {
        "intervalSeconds": 3,
        "maxModels": 2,
        # the sandbox serves on the CPU: an exporter that is told of a GPU finds the promise broken
        "profileDocument": "extends: sandbox\nspec: {profile: {processor: gpu}}\n",
        "volumes": {"metrics": "prometheus-data", "models": "ollama-models", "scratch": "scratch"},
    },
}
SCRATCH = [
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "scratch"},
        "spec": {
            "capacity": {"storage": "8Mi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "by-hand",
            "hostPath": {"path": "/var/lib/edge-scratch"},
        },
    },
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "scratch", "namespace": NAMESPACE},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "by-hand",
            "volumeName": "scratch",
            "resources": {"requests": {"storage": "8Mi"}},
        },
    },
]


def _wait(what: str, done: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    until_s = time.monotonic() + patience_s
    while not (result := done()):
        assert time.monotonic() < until_s, f"not within {patience_s:g} s: {what}"
        time.sleep(0.25)
    return result


def _ask(url: str, body: Any = None, method: str = "") -> Any:
    host, _, path = url.removeprefix("http://").partition("/")
    connection = HTTPConnection(host, timeout=30)
    try:
        connection.request(
            method or ("GET" if body is None else "POST"),
            f"/{path}",
            None if body is None else json.dumps(body),
            {"Content-Type": "application/json"},
        )
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status < 300, content
    finally:
        connection.close()
    return json.loads(content) if content.strip() else None


class Server:
    """A port of the host's end, answered by a function of method, path and body."""

    def __init__(self, port: int, answer: Callable[[str, bytes], bytes]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = answer(self.path, self.rfile.read(length))
                with contextlib.suppress(OSError):  # who asked may have given up
                    self.send_response(200)
                    self.send_header("Content-Type", "text/plain; version=0.0.4")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            do_POST = do_GET  # noqa: N815 - the name is that of http.server

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - signature of http.server
                """Quiet."""

        self._server = ThreadingHTTPServer((HOST_IP, port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@dataclass
class Receiver:
    """What Alertmanager told, in order: name, status and labels of each alert, and the receiver's name."""

    told: list[tuple[str, str, Mapping[str, str], str]] = field(default_factory=list)

    def take(self, path: str, body: bytes) -> bytes:
        """A notification; it comes to a path of the receiver's name."""
        document = json.loads(body)
        assert document["receiver"].rpartition("/")[2] == path.removeprefix("/")
        for alert in document["alerts"]:
            known = (alert["labels"]["alertname"], alert["status"], alert["labels"], document["receiver"])
            self.told.append(known)
        return b""

    def has(self, name: str, status: str, **labels: str) -> bool:
        return any(
            (name, status) == each[:2] and labels.items() <= each[2].items() for each in list(self.told)
        )


@dataclass
class Dcgm:
    """A SIMULATED exporter of DCGM's: NVLink's counters, which ours does not have; slow when told."""

    recoveries: int = 0
    slow_s: float = 0.0

    def answer(self, _path: str, _body: bytes) -> bytes:
        time.sleep(self.slow_s)
        labels = 'gpu="0",UUID="GPU-SIMULATED",device="nvidia0",modelName="SIMULATED",hostname="simulated"'
        name = "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"
        return (
            f"# HELP {name} SIMULATED\n# TYPE {name} counter\n{name}{{{labels}}} {self.recoveries}\n".encode()
        )


@dataclass
class Card:
    """A SIMULATED card: programs in a folder that is first on the PATH say what is written beside them."""

    folder: Path
    report: str = field(init=False)

    def __post_init__(self) -> None:
        recorded = json.loads(RECORDED.read_text())["reads"]["command:nvidia-smi -q -x"]["stdout"]
        self.report = recorded.replace("NVIDIA A100-PCIE-40GB", "SIMULATED GPU")
        for program in ("nvidia-smi", "dmesg"):
            stand_in = self.folder / program
            stand_in.write_text(f'#!/bin/sh\n# SIMULATED\ncat "{self.folder}/{program}.out"\n')
            stand_in.chmod(0o755)
        self.heal()

    def heal(self) -> None:
        self.say("nvidia-smi", self.report)
        self.log()

    def say(self, program: str, text: str) -> None:
        fresh = self.folder / f"{program}.new"
        fresh.write_text(text)
        fresh.replace(self.folder / f"{program}.out")

    def log(self, *xids: int) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S,%f+00:00")
        lines = [f"{now} NVRM: Xid (PCI:0000:17:00): {xid}, pid=1, SIMULATED\n" for xid in xids]
        self.say("dmesg", "".join([f"{now} SIMULATED kernel log\n", *lines]))

    def wear_out(self) -> None:
        text = self.report
        for before, after in (
            ("<remapped_row_pending>No", "<remapped_row_pending>Yes"),
            ("<remapped_row_failure>No", "<remapped_row_failure>Yes"),
            ("<replay_counter>0", "<replay_counter>5000"),
            ("<dram_uncorrectable>0", "<dram_uncorrectable>3"),
            ("hw_thermal_slowdown>Not Active", "hw_thermal_slowdown>Active"),
            ("hw_power_brake_slowdown>Not Active", "hw_power_brake_slowdown>Active"),
        ):
            assert before in text
            text = text.replace(before, after)
        self.say("nvidia-smi", text)
        self.log(79)


@dataclass
class Box:
    """The sandbox of these tests, in a state directory of its own, and what stands around it."""

    folder: Path
    receiver: Receiver
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("EDGE_", "KUBECONFIG"))
        }
        self.environment |= {
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "NO_COLOR": "1",
        }

    def edge(self, *argv: str | Path, text: str = "", timeout_s: float = 600) -> str:
        done = subprocess.run(
            [EDGE, *map(str, argv)],
            env=self.environment,
            cwd=ROOT,
            input=text,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode == 0, f"edge {shlex.join(map(str, argv))}: {done.stderr}{done.stdout}"
        return done.stdout

    def inside(self, *argv: str, text: str = "") -> str:
        return self.edge("sandbox", "shell", "--", *argv, text=text)

    def kubectl(self, *argv: str, text: str = "") -> str:
        return self.inside("kubectl", *argv, text=text)

    def get(self, kind: str, name: str, namespace: str = NAMESPACE) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("-n", namespace, "get", kind, name, "-o", "json"))
        return found

    def up(self, values: Mapping[str, Any], spec: Mapping[str, Any] | None = None) -> None:
        """All layers by the profile `sandbox`, with values (and promises) of telemetry of the test's own."""
        profile = {
            "extends": "sandbox",
            "spec": {"telemetry": spec or {}},
            "values": {"telemetry": {**VALUES, **values}},
        }
        (self.folder / "profile.yaml").write_text(yaml.safe_dump(profile))
        self.edge("up", "--sandbox", "--yes", "--profile", self.folder / "profile.yaml")

    def sick(self, name: str, script: str, node: str = "") -> None:
        """A pod that seems to be one of this project's Layer 2."""
        self.apply(_sick_pod(name, script, node))

    def apply(self, *objects: Mapping[str, Any]) -> None:
        self.kubectl(
            "apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        )

    def put(self, file: Path, *argv: str) -> None:
        """A program inside the node with the file as its input."""
        with file.open("rb") as content:
            subprocess.run(
                [EDGE, "sandbox", "shell", "--", *argv],
                env=self.environment,
                stdin=content,
                stdout=subprocess.DEVNULL,
                timeout=120,
                check=True,
            )

    def diagnose(self, *argv: str | Path) -> str:
        """The verdict as JSON, whatever it is."""
        done = subprocess.run(
            [EDGE, "diagnose", "--sandbox", "-o", "json", *map(str, argv)],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout, done.stderr
        return done.stdout

    def url(self, service: str, namespace: str = NAMESPACE) -> str:
        """Where a Service answers; a headless one at its first pod."""
        spec = self.get("service", service, namespace)["spec"]
        address = spec["clusterIP"]
        if address == "None":
            [subset] = self.get("endpoints", service, namespace)["subsets"]
            address = subset["addresses"][0]["ip"]
        [port, *_] = [each for each in spec["ports"] if "web" in each.get("name", "")] or spec["ports"]
        return f"http://{address}:{port['port']}"

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of telemetry that these tests begin with."""
        return VALUES

    def edit(self, configmap: str, data: Mapping[str, str]) -> None:
        """Edit a ConfigMap of Prometheus's, as somebody in a hurry does; nothing is restarted."""
        self.kubectl(
            "-n", NAMESPACE, "patch", "configmap", configmap, "--type=merge", "-p", json.dumps({"data": data})
        )
        self.nudge()

    def nudge(self, namespace: str = NAMESPACE) -> None:
        """Let the kubelet look at the pods now: at changed ones it does at once, at others every minute."""
        mark = f"edge.internal/looked-at={time.time()}"
        self.kubectl("-n", namespace, "annotate", "pods", "--all", "--overwrite", mark)

    def scrape(self) -> tuple[dict[str, float], float]:
        """What the exporter publishes, and how many seconds it took."""
        began_s = time.monotonic()
        connection = HTTPConnection(self.exporter.removeprefix("http://"), timeout=30)
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        samples = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
        return {series: float(value) for series, _, value in samples}, time.monotonic() - began_s

    @cached_property
    def exporter(self) -> str:
        """Where the exporter answers."""
        return self.url("edge-exporter")

    def states(self) -> dict[str, list[tuple[Mapping[str, str], str]]]:
        """Alertmanager's word: for each alert its labels and `active` or `suppressed`."""
        found: dict[str, list[tuple[Mapping[str, str], str]]] = {}
        for alert in _ask(f"{self.url('alertmanager')}/api/v2/alerts"):
            found.setdefault(alert["labels"]["alertname"], []).append(
                (alert["labels"], alert["status"]["state"])
            )
        return found

    def wait(self, what: str, done: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
        """What `done` comes to, once it comes to something."""
        return _wait(what, done, patience_s)

    def ask(self, url: str, body: Any = None, method: str = "") -> Any:
        """The JSON that is answered."""
        return _ask(url, body, method)

    def query(self, expression: str, prometheus: str = "") -> list[Any]:
        """Prometheus's word."""
        found = _ask(f"{prometheus or self.url('prometheus')}/api/v1/query?query={quote(expression)}")
        result: list[Any] = found["data"]["result"]
        return result

    def fires(self, *names: str, status: str = "firing", **labels: str) -> None:
        for name in names:
            _wait(
                f"{name} {status} {labels or ''}", lambda name=name: self.receiver.has(name, status, **labels)
            )

    def resolves(self, *names: str) -> None:
        self.fires(*names, status="resolved")


def _program(name: str, component: str) -> Path:
    from k3s_nvidia_edge.sandbox.build import build

    return build([component]).outputs[component] / name


@contextlib.contextmanager
def _running(argv: Sequence[str], **environment: str) -> Iterator[None]:
    process = subprocess.Popen(
        argv,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait(10)


@dataclass
class Machine:
    """The control machine as a real node-exporter sees it, with a small disk of its own."""

    disk: Path
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        # in namespaces of its own: no other program sees the disk, and it looks at the mounts of process 1
        script = f'mount -t tmpfs -o size=4m small "{self.disk}" && exec "$@"'
        exporter = _program("node_exporter", "node-exporter")
        listen = f"--web.listen-address={HOST_IP}:{NODE_EXPORTER}"
        namespaces = ("--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
        self.process = subprocess.Popen(
            ["unshare", *namespaces, "sh", "-c", script, "sh", exporter, listen],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)

    @property
    def file(self) -> Path:
        """A file on the disk, as it is seen from outside."""
        assert self.process is not None
        pid = self.process.pid
        [child] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return Path(f"/proc/{child}/root{self.disk}/much")

    def fill(self) -> None:
        self.file.write_bytes(bytes(3_900_000))

    def empty(self) -> None:
        self.file.unlink()


def _sick_pod(name: str, script: str, node: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {
                "app.kubernetes.io/part-of": "edge",
                "edge.internal/layer": "serving",
                "edge.internal/owner": "llm-observability-stack",
            },
        },
        "spec": {
            "terminationGracePeriodSeconds": 0,
            **({"nodeName": node} if node else {}),
            "tolerations": [{"operator": "Exists"}],
            "containers": [
                {
                    "name": "c",
                    "image": "localhost/edge/base:bookworm",
                    "imagePullPolicy": "Never",
                    "command": ["sh", "-c", script],
                    "resources": {"limits": {"memory": "24Mi"}},
                }
            ],
        },
    }


# The node and what stands around it are shared by this folder, and gone before any other test begins.
_STACK = pytest.StashKey[contextlib.ExitStack]()


@pytest.fixture(scope="session")
def around(request: pytest.FixtureRequest) -> Iterator[contextlib.ExitStack]:
    """What is ended, in reverse order, after the last test of this folder."""
    stack = request.session.stash.setdefault(_STACK, contextlib.ExitStack())
    yield stack
    stack.close()  # where the run is interrupted, no test is torn down


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        item.session.stash.get(_STACK, contextlib.ExitStack()).close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("alerts")


@pytest.fixture(scope="session")
def node(folder: Path, around: contextlib.ExitStack) -> Box:
    """The bare node, with a receiver beside it."""
    made = Box(folder, Receiver())
    around.callback(made.edge, "sandbox", "down", "--purge")
    made.edge("sandbox", "up")
    around.callback(Server(HOOK, made.receiver.take).close)
    return made


@pytest.fixture(scope="session")
def card(node: Box, folder: Path, around: contextlib.ExitStack) -> Card:
    for name in ("card", "watched"):
        (folder / name).mkdir()
    made = Card(folder / "card")
    ports = {"--port": GPU_EXPORTER, "--health-port": GPU_EXPORTER + 1}
    options = {"--profile": "sandbox", "--address": HOST_IP, **ports, "--interval": 1}
    argv = [sys.executable, "-m", "llm_observability_stack.exporter", "--gpu", "--kernel-log"]
    for option, value in {**options, "--volumes": f"watched={folder / 'watched'}"}.items():
        argv += [option, str(value)]
    around.enter_context(_running(argv, PATH=f"{folder / 'card'}:{os.environ['PATH']}"))
    return made


@pytest.fixture(scope="session")
def dcgm(node: Box, around: contextlib.ExitStack) -> Dcgm:
    made = Dcgm()
    around.callback(Server(DCGM_EXPORTER, made.answer).close)
    return made


@pytest.fixture(scope="session")
def machine(node: Box, folder: Path, around: contextlib.ExitStack) -> Machine:
    (folder / "disk").mkdir()
    made = Machine(folder / "disk")
    around.callback(made.stop)
    made.start()
    return made


@pytest.fixture(scope="session")
def box(node: Box, card: Card, dcgm: Dcgm, machine: Machine) -> Box:
    """All layers up, beside a node-exporter and the SIMULATED card."""
    scratch = "/var/lib/edge-scratch"
    node.inside("sh", "-c", f"mkdir -p {scratch} && mount -t tmpfs -o size=8m scratch {scratch}")
    node.apply(*SCRATCH)
    node.up({})
    return node
