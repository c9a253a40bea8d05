"""A healthy recording that a situation is done to: each change shows in every read that would show it."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

BASES = Path(__file__).parents[1] / "base"
PODS = "api:/api/v1/pods"
EVENTS = "api:/api/v1/events"
SERVICES = "api:/api/v1/services"
CLAIMS = "api:/api/v1/persistentvolumeclaims"
NODES = "api:/api/v1/nodes"
DEPLOYMENTS = "api:/apis/apps/v1/deployments"
REPLICASETS = "api:/apis/apps/v1/replicasets"
DAEMONSETS = "api:/apis/apps/v1/daemonsets"
SLICES = "api:/apis/discovery.k8s.io/v1/endpointslices"
MONITORS = "api:/apis/monitoring.coreos.com/v1/servicemonitors"
PROMETHEUSES = "api:/apis/monitoring.coreos.com/v1/prometheuses"
SMI = "command:nvidia-smi -q -x"
DMESG = "command:dmesg --time-format iso"
TARGETS = "http:prometheus:/api/v1/targets?state=any"
RULES = "http:prometheus:/api/v1/rules"
NOW = "2026-06-15T12:00:00Z"
LATELY = "2026-06-15T11:57:30Z"
MIB = 1 << 20
_JOBS = {
    "edge-exporter": "edge-exporter",
    "alertmanager-": "kube-prometheus-stack-alertmanager",
    "dcgm-exporter": "dcgm-exporter",
    "nvidia-dcgm-exporter": "nvidia-dcgm-exporter",
    "kube-prometheus-stack-prometheus-node-exporter": "node-exporter",
}
"""Scrape jobs by the beginning of the names of their pods."""
_SERVICES = {
    "ollama": "ollama",
    "open-webui": "open-webui",
    "prometheus-": "prometheus",
    "alertmanager-": "alertmanager",
}
"""Services that are asked, the same way."""


@dataclass(frozen=True)
class Expect:
    """What a diagnosis of the situation must come to; the first of `rungs` is the best."""

    outcome: str = "fail"
    rungs: tuple[str, ...] = ()
    message_any: tuple[str, ...] = ()
    remedy_not: tuple[str, ...] = ()
    also_rungs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Situation:
    """One neighbour of the field cases."""

    name: str
    base: str
    title: str
    change: Callable[["Box"], None]
    expect: Expect


SITUATIONS: list[Situation] = []


def situation(
    base: str, title: str, *rungs: str, outcome: str = "", says: str = "", never: str = "", also: str = ""
) -> Callable[[Callable[["Box"], None]], Callable[["Box"], None]]:
    """Register a change of a base as a situation; `says` and `never` are separated by `|`."""
    came_to = outcome or ("fail" if rungs else "pass")

    def register(change: Callable[["Box"], None]) -> Callable[["Box"], None]:
        expect = Expect(came_to, rungs, _words(says), _words(never), _words(also))
        SITUATIONS.append(Situation(change.__name__, base, title, change, expect))
        return change

    return register


def _words(said: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in said.split("|") if word.strip())


@cache
def _text(base: str) -> str:
    return (BASES / f"{base}.json").read_text()


@dataclass
class Box:
    """The recording of a healthy machine, and hands to break it with."""

    whole: dict[str, Any]
    _serial: int = field(default=0)

    @classmethod
    def of(cls, base: str) -> "Box":
        """A box of its own, to be changed at will."""
        return cls(json.loads(_text(base)))

    @property
    def reads(self) -> dict[str, Any]:
        """All reads by their keys."""
        reads: dict[str, Any] = self.whole["reads"]
        return reads

    def items(self, key: str) -> list[dict[str, Any]]:
        """The objects of a list."""
        found: list[dict[str, Any]] = self.reads[key]["body"]["items"]
        return found

    def item(self, key: str, name: str) -> dict[str, Any]:
        """The first object of a list whose name begins so."""
        return next(each for each in self.items(key) if each["metadata"]["name"].startswith(name))

    def take(self, key: str, name: str) -> None:
        """Take the objects out of a list whose names begin so."""
        self.items(key)[:] = [
            each for each in self.items(key) if not each["metadata"]["name"].startswith(name)
        ]

    def refuse(self, key: str, status: int = 403) -> None:
        """Let a read be refused."""
        self.reads[key] = {"status": status, "body": {"kind": "Status", "code": status}, "error": None}

    def unanswered(self, prefix: str, error: str = "unreachable") -> None:
        """Let every read whose key begins so fail for want of an answer."""
        for key in self.reads:
            if key.startswith(prefix):
                self.reads[key] = {"status": None, "body": None, "error": error}

    def event(
        self, kind: str, namespace: str, name: str, reason: str, message: str, *, at: str = LATELY
    ) -> None:
        """Tell a warning about an object."""
        self._serial += 1
        self.items(EVENTS).append(
            {
                "metadata": {"name": f"{name}.{self._serial:016x}", "namespace": namespace},
                "involvedObject": {"kind": kind, "namespace": namespace, "name": name},
                "reason": reason,
                "message": message,
                "type": "Normal" if reason in ("Pulling", "Pulled", "Killing", "Created") else "Warning",
                "count": 9,
                "firstTimestamp": "2026-06-15T11:30:00Z",
                "lastTimestamp": at,
                "source": {"component": "kubelet", "host": "edge-1"},
            }
        )

    def templates(self, workload: str, key: str = DEPLOYMENTS) -> list[dict[str, Any]]:
        """Pod specs of a workload, wherever they are written: workload, replica set, pods."""
        found = [self.item(key, workload)["spec"]["template"]["spec"]]
        if key == DEPLOYMENTS:
            found.append(self.item(REPLICASETS, workload)["spec"]["template"]["spec"])
        return [*found, *(pod["spec"] for pod in self.pods(workload))]

    def pods(self, workload: str) -> list[dict[str, Any]]:
        """Pods whose names begin so."""
        return [pod for pod in self.items(PODS) if pod["metadata"]["name"].startswith(workload)]

    def log_key(self, pod: dict[str, Any], container: str = "", *, previous: bool = False) -> str:
        """Key of the log of a pod's container."""
        meta = pod["metadata"]
        container = container or pod["spec"]["containers"][0]["name"]
        more = "&previous=true" if previous else ""
        return (
            f"api:/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/log"
            f"?container={container}&tailLines=200{more}"
        )

    def logs(self, workload: str, *lines: str, replace: bool = False, previous: bool = False) -> None:
        """Add lines to the log of a workload's pod, or write it anew."""
        key = self.log_key(self.pods(workload)[0], previous=previous)
        before = "" if replace or key not in self.reads else self.reads[key]["body"]
        self.reads[key] = {"status": 200, "body": before + "\n".join(lines) + "\n", "error": None}

    def env(self, workload: str, **values: str) -> None:
        """Set environment values of a workload's first container."""
        for spec in self.templates(workload):
            container = spec["containers"][0]
            kept = [each for each in container.get("env", []) if each["name"] not in values]
            container["env"] = kept + [{"name": name, "value": value} for name, value in values.items()]

    def state(
        self,
        workload: str,
        state: dict[str, Any],
        *,
        last: dict[str, Any] | None = None,
        restarts: int = 0,
        container: int = 0,
    ) -> None:
        """Put a container of a workload's pods into a state that is not ready, with all that follows."""
        for pod in self.pods(workload):
            status = pod["status"]
            each = status["containerStatuses"][container]
            each |= {"state": state, "lastState": last or {}, "ready": False, "restartCount": restarts}
            each["started"] = "running" in state
            if "waiting" in state and state["waiting"].get("reason") in ("ContainerCreating", "ErrImagePull"):
                status["phase"] = "Pending"
            self._unready(pod)
        self.dark(workload)

    @staticmethod
    def _unready(pod: dict[str, Any]) -> None:
        for condition in pod["status"]["conditions"]:
            if condition["type"] in ("Ready", "ContainersReady"):
                condition |= {
                    "status": "False",
                    "reason": "ContainersNotReady",
                    "message": "containers with unready status",
                    "lastTransitionTime": "2026-06-15T11:30:00Z",
                }

    def dark(self, workload: str) -> None:
        """What follows where no pod of a workload is ready: counts, endpoints, its service's silence."""
        for each in (*self.items(DEPLOYMENTS), *self.items(REPLICASETS)):
            if each["metadata"]["name"].startswith(workload):
                each["status"] |= {"readyReplicas": 0, "availableReplicas": 0}
                for condition in each["status"].get("conditions", []):
                    if condition["type"] == "Available":
                        condition |= {"status": "False", "reason": "MinimumReplicasUnavailable"}
        for endpoint in (one for each in self.items(SLICES) for one in each["endpoints"] or []):
            if endpoint["targetRef"]["name"].startswith(workload):
                endpoint["conditions"] |= {"ready": False, "serving": False}
        self._silence(workload)

    def _silence(self, workload: str) -> None:
        for word, service in _SERVICES.items():
            if workload.startswith(word):
                self.unanswered(f"http:{service}:")
        for word, job in _JOBS.items():
            if workload.startswith(word):
                self.target_down(job, "dial tcp: connect: connection refused")
        if workload.startswith("ollama"):
            self.empty_card()
        if workload.startswith("alertmanager"):
            self.reads["http:prometheus:/api/v1/alertmanagers"]["body"]["data"]["activeAlertmanagers"] = []
        if "dcgm-exporter" in workload:
            self.without_series("DCGM_")

    def untargeted(self, job: str) -> None:
        """A job that Prometheus no longer has a target of."""
        if TARGETS not in self.reads or self.reads[TARGETS]["body"] is None:
            return
        active = self.reads[TARGETS]["body"]["data"]["activeTargets"]
        active[:] = [each for each in active if each["labels"]["job"] != job]
        result = self.reads["http:prometheus:/api/v1/query?query=up"]["body"]["data"]["result"]
        result[:] = [each for each in result if each["metric"]["job"] != job]

    def target(self, job: str) -> dict[str, Any]:
        """The target of a job."""
        active: list[dict[str, Any]] = self.reads[TARGETS]["body"]["data"]["activeTargets"]
        return next(each for each in active if each["labels"]["job"] == job)

    def target_down(self, job: str, error: str) -> None:
        """A target that cannot be scraped: its health, and its `up` of 0."""
        if self.reads[TARGETS]["body"] is None:
            return
        self.target(job).update(health="down", lastError=error)
        for each in self.reads["http:prometheus:/api/v1/query?query=up"]["body"]["data"]["result"]:
            if each["metric"]["job"] == job:
                each["value"][1] = "0"

    def without_series(self, word: str) -> None:
        """Queries that find nothing."""
        for key, read in self.reads.items():
            if key.startswith("http:prometheus:/api/v1/query") and word in key and read["body"]:
                read["body"]["data"]["result"] = []

    def take_pod(self, workload: str) -> None:
        """No pod at all: out of the list, and what follows."""
        keys = [self.log_key(pod) for pod in self.pods(workload)]
        self.dark(workload)
        self.untargeted(next((job for word, job in _JOBS.items() if workload.startswith(word)), ""))
        self.take(PODS, workload)
        for key in keys:
            self.reads.pop(key, None)
        for each in self.items(SLICES):
            each["endpoints"] = [
                one for one in each["endpoints"] if not one["targetRef"]["name"].startswith(workload)
            ]
        for key in (DEPLOYMENTS, REPLICASETS):
            for each in self.items(key):
                if each["metadata"]["name"].startswith(workload):
                    each["status"] |= {"replicas": 0}

    def pending(self, workload: str, said: str) -> None:
        """A pod without a node, in the scheduler's words."""
        for pod in self.pods(workload):
            pod["spec"].pop("nodeName", None)
            pod["metadata"]["creationTimestamp"] = "2026-06-15T11:00:00Z"
            pod["status"] = {
                "phase": "Pending",
                "qosClass": "Burstable",
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": said,
                        "lastTransitionTime": "2026-06-15T11:00:00Z",
                    }
                ],
            }
            self.event("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"], "FailedScheduling", said)
            self.reads[self.log_key(pod)] = {
                "status": 400,
                "body": {"kind": "Status", "status": "Failure", "code": 400},
                "error": None,
            }
        self.dark(workload)

    def loaded(self, **values: Any) -> None:
        """Change what `ollama ps` says of the first loaded model; what is on the card changes with it."""
        self.reads["http:ollama:/api/ps"]["body"]["models"][0] |= values
        if "size_vram" in values and SMI in self.reads:
            self.card_used(values["size_vram"] // MIB + 24)

    def unloaded(self) -> None:
        """Nothing is loaded, and nothing on the card."""
        self.reads["http:ollama:/api/ps"]["body"]["models"] = []
        self.empty_card()

    def empty_card(self) -> None:
        """No process on the first card."""
        out = self.reads.get(SMI, {}).get("stdout", "")
        if "<process_info>" not in out:
            return
        start, end = out.index("<process_info>"), out.rindex("</process_info>") + len("</process_info>")
        self.reads[SMI]["stdout"] = out[:start] + out[end:]
        self.card_used(2)

    def card_used(self, mib: int) -> None:
        """Memory of the first card in use, in nvidia-smi and in the series."""
        out = self.reads[SMI]["stdout"]
        if "<fb_memory_usage>" not in out:
            return
        head, tail = out.split("<fb_memory_usage>", 1)
        block, rest = tail.split("</fb_memory_usage>", 1)
        whole = int(block.split("<total>")[1].split()[0])
        kept = int(block.split("<reserved>")[1].split()[0])
        used = block.split("<used>")[1].split("<")[0]
        free = block.split("<free>")[1].split("<")[0]
        block = block.replace(f"<used>{used}<", f"<used>{mib} MiB<")
        block = block.replace(f"<free>{free}<", f"<free>{whole - kept - mib} MiB<")
        held = rest.split("<used_memory>")
        if len(held) > 1:
            held[1] = f"{max(mib - 24, 0)} MiB" + held[1][held[1].index("<") :]
        rest = "<used_memory>".join(held)
        self.reads[SMI]["stdout"] = head + "<fb_memory_usage>" + block + "</fb_memory_usage>" + rest
        for name, value in (("USED", mib), ("FREE", whole - kept - mib)):
            read = self.reads.get(f"http:prometheus:/api/v1/query?query=DCGM_FI_DEV_FB_{name}", {})
            for each in ((read.get("body") or {}).get("data") or {}).get("result", [])[:1]:
                each["value"][1] = str(value)

    def process(self, pid: int, name: str, mib: int) -> None:
        """One more process on the first card."""
        out = self.reads[SMI]["stdout"]
        entry = (
            f"<process_info><pid>{pid}</pid><type>C</type><process_name>{name}</process_name>"
            f"<used_memory>{mib} MiB</used_memory></process_info>\n"
        )
        self.reads[SMI]["stdout"] = out.replace("</processes>", f"{entry}</processes>", 1)
        block = out.split("<fb_memory_usage>")[1]
        used = int(block.split("<used>")[1].split()[0])
        held = self.reads[SMI]["stdout"]
        whole = int(block.split("<total>")[1].split()[0])
        kept = int(block.split("<reserved>")[1].split()[0])
        free = int(block.split("<free>")[1].split()[0])
        held = held.replace(f"<used>{used} MiB<", f"<used>{used + mib} MiB<", 1)
        self.reads[SMI]["stdout"] = held.replace(
            f"<free>{free} MiB<", f"<free>{max(whole - kept - used - mib, 0)} MiB<", 1
        )

    def kernel(self, *lines: str) -> None:
        """Add lines to the kernel's log."""
        self.reads[DMESG]["stdout"] += "\n".join(lines) + "\n"

    def clone_pod(self, workload: str, suffix: str) -> dict[str, Any]:
        """A second pod like the first, with a name of its own."""
        pod = copy.deepcopy(self.pods(workload)[0])
        pod["metadata"]["name"] = pod["metadata"]["name"].rpartition("-")[0] + f"-{suffix}"
        pod["metadata"]["uid"] = f"00000000-0000-4000-8000-{suffix:0>12}"
        self.items(PODS).append(pod)
        return pod
