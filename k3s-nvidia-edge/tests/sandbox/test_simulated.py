"""The simulated host's scripts, run for real with their answers in a directory of the test's."""

import datetime as dt
import os
import subprocess
from importlib import resources
from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox.simulation import COMMANDS, Driver, world

SCRIPTS = resources.files("k3s_nvidia_edge.sandbox") / "simulated"
NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    text = (SCRIPTS / "answer").read_text().replace("/var/lib/edge/sandbox/simulate", str(tmp_path))
    assert str(tmp_path) in text
    for name in COMMANDS:
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    show(tmp_path, Driver.OK)
    return tmp_path


def show(host: Path, driver: Driver) -> None:
    for key, answer in world(driver, NOW, NOW).answers.items():
        for suffix, text in (("out", answer.out), ("err", answer.err), ("rc", f"{answer.rc}\n")):
            (host / f"{key}.{suffix}").write_text(text)


def run(host: Path, *argv: str, timeout: float = 10) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(host / argv[0]), *argv[1:]], capture_output=True, text=True, timeout=timeout, check=False
    )


def test_the_core_reads_are_answered(host: Path) -> None:
    smi = run(host, "nvidia-smi", "-q", "-x")
    assert smi.returncode == 0
    assert "<attached_gpus>1<" in smi.stdout
    stamp = smi.stdout.split("<timestamp>")[1].split("<")[0]
    assert abs((dt.datetime.now() - dt.datetime.strptime(stamp, "%a %b %d %H:%M:%S %Y")).total_seconds()) < 60  # noqa: DTZ005, DTZ007 - the real one prints local time without a zone
    assert run(host, "lspci", "-Dnnk", "-d", "10de:").stdout.startswith("0000:01:00.0 ")
    assert run(host, "modinfo", "-F", "version", "nvidia").stdout == "570.195.03\n"
    assert "NVRM: loading" in run(host, "dmesg", "--time-format", "iso").stdout
    assert "SIMULATED" in run(host, "nvidia-smi").stdout


def test_a_question_without_an_answer_is_refused_by_name(host: Path) -> None:
    refused = run(host, "nvidia-smi", "--query-gpu=name")
    assert refused.returncode == 2
    assert refused.stderr == "SIMULATED nvidia-smi: no answer to '--query-gpu=name' in the sandbox\n"


def test_exit_codes_and_streams_are_those_of_the_state(host: Path) -> None:
    show(host, Driver.VERSION_MISMATCH)
    failed = run(host, "nvidia-smi", "-q", "-x")
    assert (failed.returncode, failed.stderr) == (18, "")
    assert failed.stdout.startswith("Failed to initialize NVML: Driver/library version mismatch\n")
    show(host, Driver.NOT_INSTALLED)
    failed = run(host, "modinfo", "-F", "version", "nvidia")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "modinfo: ERROR: Module nvidia not found.\n"


def test_a_hang_hangs(host: Path) -> None:
    show(host, Driver.HANG)
    with pytest.raises(subprocess.TimeoutExpired):
        run(host, "nvidia-smi", "-q", "-x", timeout=0.5)
    assert run(host, "lspci", "-Dnnk", "-d", "10de:").returncode == 0


def test_the_runtime_hands_everything_to_runc(tmp_path: Path) -> None:
    runc = tmp_path / "runc"
    runc.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    runc.chmod(0o755)
    script = tmp_path / "nvidia-container-runtime"
    script.write_text(
        (SCRIPTS / "nvidia-container-runtime").read_text().replace("/opt/edge/bin/runc", str(runc))
    )
    script.chmod(0o755)
    assert run(tmp_path, script.name, "--root", "/a b", "create").stdout == "--root|/a b|create|"
    assert run(tmp_path, script.name, "--version").stdout == "SIMULATED nvidia-container-runtime\n--version|"


def systemctl(*argv: str) -> list[dict[str, str]]:
    done = subprocess.run(
        ["/bin/sh", str(SCRIPTS / "systemctl"), *argv], capture_output=True, text=True, check=True, timeout=10
    )
    return [
        dict(line.split("=", 1) for line in block.splitlines())
        for block in done.stdout.split("\n\n")
        if block
    ]


def test_systemctl_answers_in_systemds_format() -> None:
    wanted = "Id,LoadState,ActiveState,SubState,ActiveEnterTimestamp"
    units = systemctl("show", "k3s", "k3s-agent", "containerd", "docker", f"--property={wanted}")
    assert [one["Id"] for one in units] == [
        "k3s.service",
        "k3s-agent.service",
        "containerd.service",
        "docker.service",
    ]
    assert units[0]["LoadState"] == "loaded"
    assert "SIMULATED" in units[0]["Description"]
    for unit in units:
        assert set(wanted.split(",")) <= set(unit)
    for unit in units[1:]:
        assert (unit["LoadState"], unit["ActiveState"], unit["ActiveEnterTimestamp"]) == (
            "not-found",
            "inactive",
            "",
        )


def test_systemctl_changes_nothing() -> None:
    done = subprocess.run(
        ["/bin/sh", str(SCRIPTS / "systemctl"), "restart", "k3s"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "only 'show'" in done.stderr


def test_the_scripts_are_plain_shell() -> None:
    for name in ("answer", "systemctl", "nvidia-container-runtime"):
        subprocess.run(["/bin/sh", "-n", str(SCRIPTS / name)], check=True)
        assert "SIMULATED" in (SCRIPTS / name).read_text()
        assert os.linesep == "\n"
