"""Reports of the field: what an operator's chain, an upgrade or a node's own layout shows."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

from typing import Any

from below import (
    A100,
    CONFIG,
    DF,
    DRIVER,
    LIGHT,
    LSPCI,
    MODINFO,
    OPERATOR,
    PLUGIN,
    UNITS,
    in_report,
    missing,
    offered,
    smi,
    waits,
    xid,
)
from box import DAEMONSETS, NODES, PODS, REPLICASETS, Box, situation


def init_fails(box: Box, workload: str, container: str, message: str, *, exit_code: int = 1) -> None:
    """An init container that ends again and again, while the app waits."""
    for pod in box.pods(workload):
        status = pod["status"]
        status["phase"] = "Pending"
        for each in status["initContainerStatuses"]:
            if each["name"] == container:
                each |= {
                    "ready": False,
                    "restartCount": 14,
                    "state": waits(
                        "CrashLoopBackOff", f"back-off 5m0s restarting failed container={container}"
                    ),
                    "lastState": {
                        "terminated": {
                            "reason": "Error",
                            "exitCode": exit_code,
                            "message": message,
                            "finishedAt": "2026-06-15T11:56:00Z",
                        }
                    },
                }
        _initialising(pod)


def _initialising(pod: dict[str, Any]) -> None:
    for each in pod["status"]["containerStatuses"]:
        each |= {"ready": False, "state": waits("PodInitializing")}
    for each in pod["status"]["conditions"]:
        if each["type"] in ("Ready", "ContainersReady", "Initialized"):
            each["status"] = "False"


@situation(
    OPERATOR,
    "The operator cannot make its links below /dev/char: its whole chain waits",
    "gpu",
    says="symlink | /dev/char | driver-validation",
    never="nouveau | reinstall the driver | secure boot",
)
def dev_char(box: Box) -> None:
    said = 'time="2026-06-15T11:56:00Z" level=info msg="Error: error validating driver installation: failed to create symlinks under /dev/char that point to all possible NVIDIA character devices: error creating symlink creator: failed to create NVIDIA device nodes: failed to create device node nvidiactl: failed to determine major: invalid device node. The existence of these symlinks is required to address the following bug: https://github.com/NVIDIA/gpu-operator/issues/430 This bug impacts container runtimes configured with systemd cgroup management enabled. To disable the symlink creation, set the following envvar in ClusterPolicy: DISABLE_DEV_CHAR_SYMLINK_CREATION"'
    init_fails(box, "nvidia-operator-validator", "driver-validation", said)
    init_fails(box, "nvidia-container-toolkit", "driver-validation", said)
    for name in ("nvidia-device-plugin", "gpu-feature-discovery", "nvidia-dcgm-exporter"):
        for pod in box.pods(name):
            pod["status"]["phase"] = "Pending"
            for each in pod["status"]["initContainerStatuses"]:
                each |= {"ready": False, "state": {"running": {"startedAt": "2026-06-15T11:00:00Z"}}}
            for each in pod["status"]["containerStatuses"]:
                each |= {"ready": False, "state": waits("PodInitializing")}
            for cond in pod["status"]["conditions"]:
                if cond["type"] in ("Ready", "ContainersReady", "Initialized"):
                    cond["status"] = "False"
    box.items("api:/apis/nvidia.com/v1/clusterpolicies")[0]["status"]["state"] = "notReady"
    box.dark("nvidia-dcgm-exporter")
    box.reads["glob:/run/nvidia/validations/*"]["paths"] = []
    offered(box, 0)


@situation(
    OPERATOR,
    "The toolkit's validation finds no nvidia-smi in its container",
    "gpu",
    says="toolkit",
    never="nouveau | reinstall the driver",
)
def toolkit_validation(box: Box) -> None:
    init_fails(
        box,
        "nvidia-operator-validator",
        "toolkit-validation",
        'toolkit is not ready: exec: "nvidia-smi": executable file not found in $PATH',
        exit_code=127,
    )
    init_fails(box, "nvidia-device-plugin", "toolkit-validation", "waiting for toolkit to be setup")
    box.reads["glob:/run/nvidia/validations/*"]["paths"] = ["/run/nvidia/validations/driver-ready"]
    box.items("api:/apis/nvidia.com/v1/clusterpolicies")[0]["status"]["state"] = "notReady"
    offered(box, 0)


@situation(
    LIGHT,
    "An upgrade without a reboot: nvidia-smi mismatches, and Ollama serves on as if nothing were",
    "host",
    says="mismatch | reboot",
    never="restart ollama | rollout restart | delete pod | restart the device plugin | reinstall the driver",
)
def mismatch_serving(box: Box) -> None:
    smi(
        box, 18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.211\n"
    )
    box.reads[MODINFO]["stdout"] = "570.211.01\n"
    box.kernel(
        "2026-06-15T06:30:11,000000+00:00 NVRM: API mismatch: the client has the version 570.211.01, but",
        "                NVRM: this kernel module has the version 570.195.03.  Please",
        "                NVRM: make sure that this kernel module and all NVIDIA driver",
        "                NVRM: components have the same version.",
    )


@situation(A100, "ECC was switched off by its owner")
def ecc_off(box: Box) -> None:
    in_report(
        box,
        ("<current_ecc>Enabled</current_ecc>", "<current_ecc>Disabled</current_ecc>"),
        ("<sram_correctable>0<", "<sram_correctable>N/A<"),
        ("<sram_uncorrectable_parity>0<", "<sram_uncorrectable_parity>N/A<"),
        ("<sram_uncorrectable_secded>0<", "<sram_uncorrectable_secded>N/A<"),
        ("<dram_correctable>0<", "<dram_correctable>N/A<"),
        ("<dram_uncorrectable>0<", "<dram_uncorrectable>N/A<"),
    )


@situation(LIGHT, "An agent of k3s has the card, and the tool runs on it")
def agent(box: Box) -> None:
    box.reads[UNITS]["stdout"] = (
        box.reads[UNITS]["stdout"]
        .replace(
            "Id=k3s.service\nLoadState=loaded\nActiveState=active\nSubState=running\nActiveEnterTimestamp=Mon 2026-06-01 09:01:55 UTC",
            "Id=k3s.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nActiveEnterTimestamp=",
        )
        .replace(
            "Id=k3s-agent.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nActiveEnterTimestamp=",
            "Id=k3s-agent.service\nLoadState=loaded\nActiveState=active\nSubState=running\nActiveEnterTimestamp=Mon 2026-06-01 09:01:55 UTC",
        )
    )


@situation(LIGHT, "A cluster of kubeadm: its own containerd, no file of k3s")
def kubeadm(box: Box) -> None:
    box.reads[UNITS]["stdout"] = (
        box.reads[UNITS]["stdout"]
        .replace(
            "Id=k3s.service\nLoadState=loaded\nActiveState=active\nSubState=running\nActiveEnterTimestamp=Mon 2026-06-01 09:01:55 UTC",
            "Id=k3s.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nActiveEnterTimestamp=",
        )
        .replace(
            "Id=containerd.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nActiveEnterTimestamp=",
            "Id=containerd.service\nLoadState=loaded\nActiveState=active\nSubState=running\nActiveEnterTimestamp=Mon 2026-06-01 06:00:55 UTC",
        )
    )
    missing(box, CONFIG)
    missing(box, "file:/etc/rancher/k3s/config.yaml")
    box.items(NODES)[0]["status"]["nodeInfo"] |= {
        "kubeletVersion": "v1.35.5",
        "containerRuntimeVersion": "containerd://2.2.3",
    }


@situation(OPERATOR, "One of two CoreDNS pods crash-loops; the other resolves")
def one_dns(box: Box) -> None:
    pod = box.clone_pod("coredns", "zz9pl")
    pod["status"]["containerStatuses"][0] |= {
        "ready": False,
        "restartCount": 20,
        "state": waits("CrashLoopBackOff", "back-off"),
    }
    for c in pod["status"]["conditions"]:
        if c["type"] in ("Ready", "ContainersReady"):
            c["status"] = "False"


@situation(
    LIGHT,
    "The kubelet evicted Ollama for memory and keeps pods away",
    "gpu",
    "host",
    says="memory",
    never=f"{DRIVER} | {PLUGIN}",
)
def evicted_memory(box: Box) -> None:
    for each in box.items(NODES)[0]["status"]["conditions"]:
        if each["type"] == "MemoryPressure":
            each |= {
                "status": "True",
                "reason": "KubeletHasInsufficientMemory",
                "message": "kubelet has insufficient memory available",
                "lastTransitionTime": "2026-06-15T11:50:00Z",
            }
    box.items(NODES)[0]["spec"]["taints"] = [
        {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
    ]
    box.event(
        "Pod",
        "llm",
        "ollama-5f7c96b8d4-tz8hk",
        "Evicted",
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. Container ollama was using 50Gi, request is 0, has larger consumption of memory.",
    )
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/memory-pressure: }.",
    )


@situation(LIGHT, "No systemd where the tool runs; the API says that k3s does")
def no_systemd(box: Box) -> None:
    box.reads[UNITS] = {
        "rc": 1,
        "stdout": "",
        "stderr": "System has not been booted with systemd as init system (PID 1). Can't operate.\nFailed to connect to bus: Host is down\n",
        "error": None,
        "took_s": 0.0,
    }


@situation(LIGHT, "A dead NFS share hangs df; all else is well")
def df_hangs(box: Box) -> None:
    box.reads[DF] = {"rc": None, "stdout": "", "stderr": "", "error": "timeout", "took_s": 10.0}


@situation(
    OPERATOR,
    "The driver wants a reset, and the cluster's DNS is down: two faults",
    "host",
    says="reset",
    never="restart the device plugin",
    also="gpu",
)
def reset_and_dns(box: Box) -> None:
    xid(
        box,
        154,
        "pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    )
    box.state(
        "coredns", waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=coredns"), restarts=21
    )


@situation(
    OPERATOR,
    "The device plugin is switched off in the ClusterPolicy",
    "gpu",
    says="device plugin",
    never=f"{DRIVER} | nouveau",
)
def policy_without_plugin(box: Box) -> None:
    box.items("api:/apis/nvidia.com/v1/clusterpolicies")[0]["spec"]["devicePlugin"]["enabled"] = False
    box.take(PODS, "nvidia-device-plugin")
    box.take(DAEMONSETS, "nvidia-device-plugin")
    for key in [k for k in box.reads if "/nvidia-device-plugin" in k]:
        del box.reads[key]
    offered(box, 0)


@situation(
    OPERATOR, "Several kinds of warnings of the past hour that are over: pulls, probes, sandboxes, scheduling"
)
def over(box: Box) -> None:
    for ns, name in (
        ("llm", "ollama-5f7c96b8d4-tz8hk"),
        ("gpu-operator", "nvidia-device-plugin-daemonset-lw6cj"),
        ("kube-system", "coredns-64fd4b4794-d9kfz"),
    ):
        for reason, msg in (
            ("FailedScheduling", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."),
            (
                "Failed",
                "Failed to pull image: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            ),
            ("BackOff", "Back-off restarting failed container"),
            (
                "FailedCreatePodSandBox",
                "Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            ),
            ("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503"),
        ):
            box.event("Pod", ns, name, reason, msg, at="2026-06-15T11:25:00Z")
    box.event(
        "Node",
        "",
        "edge-1",
        "NodeNotReady",
        "Node edge-1 status is now: NodeNotReady",
        at="2026-06-15T11:24:00Z",
    )


@situation(
    LIGHT,
    "The runtime class was renamed by hand; Ollama's new pod is refused",
    "gpu",
    "serving",
    says="runtimeclass | runtime class",
    never=f"{DRIVER} | {PLUGIN}",
)
def class_renamed(box: Box) -> None:
    box.item("api:/apis/node.k8s.io/v1/runtimeclasses", "nvidia")["metadata"]["name"] = "nvidia-legacy"
    box.take("api:/apis/node.k8s.io/v1/runtimeclasses", "nvidia-experimental")
    box.take_pod("ollama")
    rs = box.item(REPLICASETS, "ollama")
    rs["status"].setdefault("conditions", []).append(
        {
            "type": "ReplicaFailure",
            "status": "True",
            "reason": "FailedCreate",
            "message": 'pods "ollama-5f7c96b8d4-" is forbidden: pod rejected: RuntimeClass "nvidia" not found',
            "lastTransitionTime": "2026-06-15T11:30:00Z",
        }
    )


@situation(LIGHT, "An NVIDIA network card beside: class 0200, its own driver, no GPU")
def connectx(box: Box) -> None:
    box.reads[LSPCI]["stdout"] += (
        "0000:81:00.0 Ethernet controller [0200]: NVIDIA Corporation BlueField-3 [10de:a2dc] (rev 01)\n\tKernel driver in use: mlx5_core\n\tKernel modules: mlx5_core\n"
    )
