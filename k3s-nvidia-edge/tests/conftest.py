"""A recording of a healthy machine to break in one place, for the tests of the host and gpu layers."""

import copy
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests import Recording, evaluate
from edge_llm_tests.evaluate import Finding
from edge_llm_tests.profile import Profile
from k3s_nvidia_edge import gpu, host
from k3s_nvidia_edge.gpu import GpuSpec
from k3s_nvidia_edge.host import HostSpec

BASES = Path(__file__).parents[2] / "edge-cli" / "tests" / "cases" / "base"
SMI = "command:nvidia-smi -q -x"
DMESG = "command:dmesg --time-format iso"
LSPCI = "command:lspci -Dnnk -d 10de:"
MODINFO = "command:modinfo -F version nvidia"
SYSTEMCTL = (
    "command:systemctl show k3s k3s-agent containerd docker "
    "--property=Id,LoadState,ActiveState,SubState,ActiveEnterTimestamp"
)
CONTAINERD = "file:/var/lib/rancher/k3s/agent/etc/containerd/config.toml"


@functools.cache
def _base(name: str) -> dict[str, Any]:
    reads: dict[str, Any] = json.loads((BASES / f"{name}.json").read_text())["reads"]
    return reads


class World:
    """The reads of one machine, with the ways of changing them that the tests need."""

    def __init__(self, base: str = "rtx-4090-k3s") -> None:
        self.reads = copy.deepcopy(_base(base))
        self.host_spec = HostSpec(gpus=2 if base.startswith("dual") else 0 if base.startswith("cpu") else 1)
        self.gpu_spec = GpuSpec(gpus=self.host_spec.gpus)
        self.now = "2026-06-15T12:00:00Z"

    def command(
        self,
        key: str,
        stdout: str = "",
        *,
        rc: int | None = 0,
        error: str | None = None,
        stderr: str = "",
    ) -> None:
        self.reads[key] = {"rc": rc, "stdout": stdout, "stderr": stderr, "error": error, "took_s": 10.0}

    def smi(self, stdout: str = "", *, rc: int | None = 0, error: str | None = None) -> None:
        self.command(SMI, stdout, rc=rc, error=error)

    def edit(self, key: str, *pairs: tuple[str, str]) -> None:
        entry = self.reads[key]
        field = next(name for name in ("stdout", "text", "body") if isinstance(entry.get(name), str))
        for old, new in pairs:
            assert old in entry[field], old
            entry[field] = entry[field].replace(old, new)

    def kernel(self, *lines: str, at: str = "2026-06-15T11:00:00") -> None:
        self.reads[DMESG]["stdout"] += "".join(f"{at},000000+00:00 {line}\n" for line in lines)

    def unload(self) -> None:
        """No module: what the driver's commands and files then say."""
        self.smi(
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
            " Make sure that the latest NVIDIA driver is installed and running.\n",
            rc=9,
        )
        self.file("/proc/driver/nvidia/version", None, error="not-found")
        text = self.reads["file:/proc/modules"]["text"]
        kept = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("nvidia"))
        self.file("/proc/modules", kept)
        self.reads["glob:/dev/nvidia*"] = {"paths": []}
        if "Kernel driver in use: nvidia" in self.reads[LSPCI]["stdout"]:
            self.edit(LSPCI, ("\tKernel driver in use: nvidia\n", ""))

    def file(self, path: str, text: str | None, *, error: str | None = None) -> None:
        self.reads[f"file:{path}"] = {"text": text, "mtime": None, "error": error}

    def drop(self, *prefixes: str) -> None:
        for key in [key for key in self.reads if key.startswith(prefixes)]:
            del self.reads[key]

    def api(self, path: str, **entry: Any) -> None:
        self.reads[f"api:{path}"] = {"status": None, "body": None, "error": None, **entry}

    def every_api(self, **entry: Any) -> None:
        for key in self.reads:
            if key.startswith("api:"):
                self.reads[key] = {"status": None, "body": None, "error": None, **entry}

    def items(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.reads[f"api:{path}"]["body"]["items"]
        return found

    def node(self) -> dict[str, Any]:
        return self.items("/api/v1/nodes")[0]

    def offer(self, capacity: dict[str, str], allocatable: dict[str, str] | None = None) -> None:
        """The NVIDIA resources of the node, instead of those it has."""
        status = self.node()["status"]
        for name, given in (("capacity", capacity), ("allocatable", allocatable or capacity)):
            kept = {key: value for key, value in status[name].items() if not key.startswith("nvidia.com/")}
            status[name] = {**kept, **given}

    def condition(self, name: str, status: str, reason: str = "Because", message: str = "") -> None:
        for each in self.node()["status"]["conditions"]:
            if each["type"] == name:
                each.update(status=status, reason=reason, message=message)
                return
        self.node()["status"]["conditions"].append(
            {"type": name, "status": status, "reason": reason, "message": message}
        )

    def pod(self, start: str) -> dict[str, Any]:
        return next(each for each in self.items("/api/v1/pods") if each["metadata"]["name"].startswith(start))

    def remove_pod(self, start: str) -> None:
        self.items("/api/v1/pods").remove(self.pod(start))

    def daemonset(self, start: str) -> dict[str, Any]:
        return next(
            each
            for each in self.items("/apis/apps/v1/daemonsets")
            if each["metadata"]["name"].startswith(start)
        )

    def unready(
        self,
        start: str,
        waiting: str = "",
        *,
        message: str = "",
        last: str = "",
        init: bool = False,
        restarts: int = 7,
    ) -> dict[str, Any]:
        """A pod whose first (init) container waits, after an end that said `last`."""
        pod = self.pod(start)
        status = pod["status"]
        for each in status["conditions"]:
            if each["type"] in ("Ready", "ContainersReady"):
                each["status"] = "False"
        container = status["initContainerStatuses" if init else "containerStatuses"][0]
        state = {"waiting": {"reason": waiting, "message": message}} if waiting else {"running": {}}
        container.update(ready=False, restartCount=restarts, state=state, lastState={})
        if last:
            container["lastState"] = {"terminated": {"exitCode": 1, "reason": "Error", "message": last}}
        if init:
            status["phase"] = "Pending"
        return pod

    def event(
        self,
        reason: str,
        message: str,
        *,
        pod: str = "",
        node: str = "",
        count: int = 1,
        at: str = "2026-06-15T11:58:00Z",
        warning: bool = True,
    ) -> None:
        about = {"kind": "Node", "name": node}
        if pod:
            meta = self.pod(pod)["metadata"]
            about = {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"]}
        self.items("/api/v1/events").append(
            {
                "metadata": {"name": f"event-{len(self.items('/api/v1/events'))}"},
                "type": "Warning" if warning else "Normal",
                "reason": reason,
                "message": message,
                "count": count,
                "lastTimestamp": at,
                "involvedObject": about,
            }
        )

    def log(self, start: str, body: str, *, previous: bool = False) -> None:
        pod = self.pod(start)
        container = pod["spec"]["containers"][0]["name"]
        query = f"container={container}&tailLines=200" + ("&previous=true" if previous else "")
        meta = pod["metadata"]
        self.api(
            f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/log?{query}", status=200, body=body
        )

    @property
    def recording(self) -> Recording:
        return Recording(reads=self.reads, recorded_at=self.now)

    def judge(self) -> dict[str, Finding]:
        """The findings of both layers by contract id."""
        profile = Profile("test", specs={"host": self.host_spec, "gpu": self.gpu_spec})
        evaluation = evaluate((host.LAYER, gpu.LAYER), profile, self.recording)
        return {finding.contract.id: finding for finding in evaluation.findings}

    def first(self) -> tuple[str, str | None]:
        """Contract and reason of the route: the first required fail, else the first required unknown."""
        required = [finding for finding in self.judge().values() if finding.contract.required]
        for outcome in ("fail", "unknown"):
            for finding in required:
                if finding.outcome == outcome:
                    return finding.contract.id, finding.result.reason
        return "", None


@pytest.fixture
def world() -> Callable[..., World]:
    return World
