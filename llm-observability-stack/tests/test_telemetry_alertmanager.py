"""Alertmanager as the chart configures it: amtool checks who is told, a running one shows what hides what."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

CHART = Path(str(files("llm_observability_stack") / "charts" / "edge-telemetry"))
TOLD = {
    "receivers": {"default": {"mailTo": "box@example.org"}, "critical": {"webhookUrl": "http://hook:8080/x"}}
}
MAIL = {"smtp": {"smarthost": "mail:587", "from": "edge@example.org"}}
DEADLINE_S = 20
EVERY = ("--active", "--inhibited", "--unprocessed")

pytestmark = pytest.mark.rules

Labels = Mapping[str, str]


@cache
def program(name: str, artefact: str) -> str:
    """The program, from PATH or as the sandbox builds it."""
    found = shutil.which(name)
    if found is None:
        from k3s_nvidia_edge.sandbox.build import build

        found = str(build([artefact]).bin_dir / name)
    return found


def amtool(*argv: str) -> str:
    done = subprocess.run(
        [program("amtool", "alertmanager"), "--no-version-check", *argv],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env={**os.environ},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def config(values: Mapping[str, Any], folder: Path) -> Path:
    """alertmanager.yml of the chart with the values, as a file."""
    done = subprocess.run(
        [program("helm", "helm"), "template", "telemetry", str(CHART), "--values", "-"],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found = [
        each["data"]["alertmanager.yml"]
        for each in yaml.safe_load_all(done.stdout)
        if each and each["metadata"]["name"] == "alertmanager-config"
    ]
    path = folder / "alertmanager.yml"
    path.write_text(found[0])
    return path


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return config({}, tmp_path_factory.mktemp("quiet"))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return config({"alertmanager": {**TOLD, **MAIL}}, tmp_path_factory.mktemp("told"))


def test_amtool_accepts_the_configuration(quiet: Path, told: Path) -> None:
    for path in (quiet, told):
        assert "SUCCESS" in amtool("check-config", str(path))


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ({"alertname": "Watchdog", "severity": "none"}, "null"),
        ({"alertname": "OllamaDown", "severity": "critical"}, "critical"),
        ({"alertname": "ScrapeSlow", "severity": "warning"}, "default"),
        ({"alertname": "AdvisoryFailing", "severity": "info"}, "default"),
        ({"alertname": "OfSomebodyElse"}, "default"),
    ],
)
def test_who_is_told_where_receivers_are_filled_in(told: Path, labels: Labels, receiver: str) -> None:
    said = amtool(
        "config",
        "routes",
        "test",
        f"--config.file={told}",
        *(f"{key}={value}" for key, value in labels.items()),
    )
    assert said.split() == [receiver]


def test_the_default_is_nobody(quiet: Path) -> None:
    argv = ("config", "routes", "test", f"--config.file={quiet}")
    assert amtool(*argv, "alertname=ScrapeSlow", "severity=warning").split() == ["null"]
    named = {each["name"]: each.keys() for each in yaml.safe_load(quiet.read_text())["receivers"]}
    assert named["critical"] == {"name"}


@pytest.fixture(scope="module")
def alertmanager(quiet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an Alertmanager of the test's own, on loopback, with the chart's configuration."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = subprocess.Popen(
        [
            program("alertmanager", "alertmanager"),
            f"--config.file={quiet}",
            f"--storage.path={tmp_path_factory.mktemp('data')}",
            f"--web.listen-address={address}",
            "--cluster.listen-address=",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + DEADLINE_S
        host, port = address.split(":")
        while True:
            try:
                socket.create_connection((host, int(port)), 1).close()
                break
            except OSError:
                assert time.monotonic() < until, "Alertmanager does not listen"
                assert process.poll() is None, "Alertmanager ended"
                time.sleep(0.1)
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(10)


def send(alertmanager: str, case: str, labels: Labels, *flags: str) -> None:
    given = [f"{key}={value}" for key, value in {**labels, "case": case}.items()]
    amtool(f"--alertmanager.url={alertmanager}", "alert", "add", *flags, *given)


def states(alertmanager: str, case: str) -> dict[str, str]:
    """What the running Alertmanager says of each alert of the case: `active`, `suppressed`, `unprocessed`."""
    url = f"--alertmanager.url={alertmanager}"
    told = json.loads(amtool(url, "--output=json", "alert", "query", *EVERY, f'case="{case}"'))
    return {
        key({k: v for k, v in each["labels"].items() if k != "case"}): each["status"]["state"]
        for each in told
    }


def wait_for(
    alertmanager: str, case: str, active: Sequence[Labels] = (), suppressed: Sequence[Labels] = ()
) -> None:
    wanted = {**{key(each): "active" for each in active}, **{key(each): "suppressed" for each in suppressed}}
    until = time.monotonic() + DEADLINE_S
    while (said := states(alertmanager, case)) != wanted:
        assert time.monotonic() < until, said
        time.sleep(0.2)


def key(labels: Labels) -> str:
    return json.dumps(dict(labels), sort_keys=True)


CONTRACT = {"alertname": "ContractFailing", "severity": "critical"}
NODE_DOWN = {"alertname": "NodeDown", "severity": "critical", "layer": "1", "rung": "gpu", "node": "a"}
REPLICA = {
    "alertname": "PodNotReady",
    "severity": "warning",
    "layer": "2",
    "rung": "serving",
    "pod": "ollama-1",
}
OLLAMA = {"alertname": "OllamaDown", "severity": "critical", "layer": "2", "rung": "serving"}
MODEL = {"alertname": "ModelMissing", "severity": "critical", "layer": "2", "rung": "model", "model": "m"}
ON_CPU = {
    "alertname": "ModelOnCpu",
    "severity": "critical",
    "layer": "profile",
    "rung": "profile",
    "model": "m",
}
HOST = {**CONTRACT, "layer": "0", "rung": "host", "contract": "host.driver-answers"}
OFFER = {**CONTRACT, "layer": "1", "rung": "gpu", "contract": "gpu.allocatable"}
ANSWERS = {**CONTRACT, "layer": "2", "rung": "serving", "contract": "serving.answers"}
SCRAPE = {"alertname": "ScrapeFailing", "severity": "critical", "layer": "3", "rung": "telemetry", "job": "j"}
XID = {"alertname": "GpuXid", "severity": "critical", "layer": "0", "rung": "host", "xid": "79"}
WORN = {"alertname": "GpuRowRemapFailed", "severity": "critical", "layer": "0", "rung": "host", "gpu": "g"}
NODE_READY = {**CONTRACT, "layer": "1", "rung": "gpu", "contract": "gpu.node-ready"}
FULL = {"alertname": "VolumeFilling", "layer": "3", "rung": "telemetry"}
DISK = {"alertname": "HostDiskFilling", "layer": "0", "rung": "host", "instance": "m:9100", "device": "a"}
OUT_OF_MEMORY = {**REPLICA, "alertname": "ContainerOutOfMemory", "container": "ollama", "node": "a"}
RESTARTING = {**OUT_OF_MEMORY, "alertname": "ContainerRestarting"}
OF_TELEMETRY = {**REPLICA, "layer": "3", "rung": "telemetry", "pod": "prometheus-0", "node": "a"}
WATCHDOG = {"alertname": "Watchdog", "severity": "none", "layer": "3", "rung": "telemetry"}


@pytest.mark.parametrize(
    ("source", "hidden", "shown"),
    [
        pytest.param(
            NODE_DOWN,
            [{**REPLICA, "node": "a"}, {**WORN, "node": "a"}],
            [{**REPLICA, "node": "b"}, OLLAMA, SCRAPE, WATCHDOG],
            id="a dead node hides what ran on it, not what runs on others",
        ),
        pytest.param(NODE_DOWN, [NODE_READY], [OFFER, SCRAPE], id="a dead node is told once"),
        pytest.param(
            HOST,
            [OLLAMA, MODEL, {**REPLICA, "node": "a"}, RESTARTING],
            [SCRAPE, WORN, {**NODE_DOWN, "node": "c"}, OUT_OF_MEMORY, OF_TELEMETRY],
            id="a broken host hides pods on a node, no dead node and no pod with a cause of its own",
        ),
        pytest.param(HOST, [OLLAMA, MODEL], [SCRAPE, WORN], id="the host hides what stands on it"),
        pytest.param(
            OFFER,
            [{**REPLICA, "node": "a"}, {**REPLICA, "node": "b"}, RESTARTING],
            [OUT_OF_MEMORY, OF_TELEMETRY],
            id="the offer hides pods that cannot start, on whichever node",
        ),
        pytest.param(
            {**XID, "node": "b"},
            [{**REPLICA, "node": "b"}],
            [{**REPLICA, "node": "a"}, OLLAMA],
            id="a broken card of one node hides nothing of another",
        ),
        pytest.param(XID, [OFFER], [SCRAPE, WORN], id="a broken card hides what stands on it"),
        pytest.param(WORN, [], [OLLAMA, MODEL, SCRAPE], id="a worn card that works hides nothing"),
        pytest.param(OFFER, [MODEL, ON_CPU], [SCRAPE, WORN], id="the offer hides what stands on it"),
        pytest.param(OLLAMA, [ANSWERS], [SCRAPE, WORN, MODEL], id="Ollama down is told once"),
        pytest.param(OLLAMA, [ON_CPU], [MODEL], id="Ollama down hides the speed of its models"),
        pytest.param(ANSWERS, [ON_CPU], [SCRAPE, MODEL], id="serving hides the speed of its models"),
        pytest.param(MODEL, [], [ON_CPU, SCRAPE], id="a missing model hides no other"),
        pytest.param(SCRAPE, [], [OLLAMA, MODEL], id="telemetry hides nothing"),
        pytest.param(
            {**FULL, "severity": "critical", "volume": "metrics"},
            [{**FULL, "severity": "warning", "volume": "metrics"}],
            [{**FULL, "severity": "warning", "volume": "models"}],
            id="critical hides the warning of the same thing",
        ),
        pytest.param(
            {**DISK, "severity": "critical", "mountpoint": "/"},
            [{**DISK, "severity": "warning", "mountpoint": "/"}],
            [
                {**DISK, "severity": "warning", "mountpoint": "/srv"},
                {**DISK, "severity": "warning", "mountpoint": "/", "instance": "n:9100"},
            ],
            id="critical hides the warning of no other disk and of no other machine",
        ),
    ],
)
def test_what_hides_what(
    alertmanager: str,
    source: Labels,
    hidden: list[Labels],
    shown: list[Labels],
    request: pytest.FixtureRequest,
) -> None:
    case = str(request.node.callspec.id)
    others = [*hidden, *shown]
    try:
        for labels in others:
            send(alertmanager, case, labels)
        wait_for(alertmanager, case, active=others)  # it is the source that makes the difference
        send(alertmanager, case, source)
        wait_for(alertmanager, case, active=[source, *shown], suppressed=hidden)
    finally:
        # the next case has Alertmanager to itself
        for labels in [source, *others]:
            send(alertmanager, case, labels, "--start=2020-01-01T00:00:00Z", "--end=2020-01-01T00:01:00Z")
        wait_for(alertmanager, case)
