"""Reports of the field: what hangs, what waits, odd boards, several nodes, several faults."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy
from typing import Any

from below import (
    A100,
    CONFIG,
    CPU,
    DEVICES,
    DF,
    DRIVER,
    DUAL,
    KERNEL,
    LIGHT,
    LOADED,
    LSPCI,
    MODINFO,
    MODULES,
    NO_DRIVER,
    OPERATOR,
    PLUGIN,
    blind,
    crash,
    gone_daemonset,
    missing,
    offered,
    plugin_name,
    ready,
    smi,
    stuck,
    unloaded_module,
    waits,
    windows,
    xid,
)
from box import DMESG, NODES, SMI, Box, situation


def _more_nodes(box: Box, count: int) -> list[dict[str, Any]]:
    made = []
    for number in range(count):
        node = copy.deepcopy(box.items(NODES)[0])
        node["metadata"] |= {
            "name": f"edge-{number + 2}",
            "uid": f"00000000-0000-4000-8000-0000000001{number:02d}",
        }
        box.items(NODES).append(node)
        made.append(node)
    return made


@situation(
    CPU,
    "The disk hangs: k3s and the journal are blocked, the API answers nothing in time",
    "host",
    says="disk | blocked | hang",
    never="nvidia | rotate | renew",
)
def disk_stalls(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:50:11,000000+00:00 INFO: task jbd2/dm-0-8:512 blocked for more than 122 seconds.",
        "2026-06-15T11:50:11,000001+00:00       Not tainted 6.8.0-94-generic #96-Ubuntu",
        "2026-06-15T11:50:11,000002+00:00 INFO: task k3s-server:1201 blocked for more than 122 seconds.",
    )
    box.unanswered("api:", "timeout")
    box.unanswered("http:", "timeout")


@situation(CPU, "The kernel counted a blocked task once, an hour ago; all answers")
def blocked_once(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:10:11,000000+00:00 INFO: task k3s-server:1201 blocked for more than 122 seconds."
    )


@situation(
    LIGHT,
    "A thin pool of LVM has no data space left",
    "host",
    says="thin | space | disk",
    never="restart the device plugin | reinstall",
)
def thin_pool(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:40:11,000000+00:00 device-mapper: thin: 253:4: reached low water mark for data device: sending event.",
        "2026-06-15T11:40:12,000000+00:00 device-mapper: thin: 253:4: switching pool to out-of-data-space (queue IO) mode",
        "2026-06-15T11:41:12,000000+00:00 device-mapper: thin: 253:4: switching pool to read-only mode",
    )


@situation(
    LIGHT,
    "The old pod cannot be killed, for containerd does not answer; the new one waits for its card",
    "gpu",
    "serving",
    says="kill | terminat | containerd",
    never=f"{DRIVER}",
)
def cannot_kill(box: Box) -> None:
    pod = box.clone_pod("ollama", "newer")
    old = box.pods("ollama")[0]
    old["metadata"]["deletionTimestamp"] = "2026-06-15T11:15:00Z"
    for c in old["status"]["conditions"]:
        if c["type"] in ("Ready", "ContainersReady"):
            c["status"] = "False"
    for each in old["status"]["containerStatuses"]:
        each["ready"] = False
    pod["spec"].pop("nodeName", None)
    said = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    pod["metadata"]["creationTimestamp"] = "2026-06-15T11:15:00Z"
    pod["status"] = {
        "phase": "Pending",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": said,
                "lastTransitionTime": "2026-06-15T11:15:00Z",
            }
        ],
    }
    box.event(
        "Pod",
        "llm",
        old["metadata"]["name"],
        "FailedKillPod",
        'error killing pod: [failed to "KillContainer" for "ollama" with KillContainerError: "rpc error: code = DeadlineExceeded desc = context deadline exceeded", failed to "KillPodSandbox" for "8f0" with KillPodSandboxError: "rpc error: code = DeadlineExceeded desc = context deadline exceeded"]',
    )
    box.event("Pod", "llm", pod["metadata"]["name"], "FailedScheduling", said)
    box.dark("ollama")


@situation(
    LIGHT,
    "Everything of the cluster times out, and the machine has memory, disk and a sound card",
    "gpu",
    outcome="unknown",
    says="timed out | time",
    never=f"{DRIVER} | {PLUGIN}",
)
def timeouts(box: Box) -> None:
    box.unanswered("api:", "timeout")
    box.unanswered("http:", "timeout")


@situation(
    LIGHT,
    "A processor core is stuck for minutes: the kubelet was late, the node is not ready",
    "gpu",
    "host",
    says="not ready | lockup | stuck",
    never=f"{PLUGIN} | reinstall",
)
def lockup(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:58:11,000000+00:00 watchdog: BUG: soft lockup - CPU#3 stuck for 82s! [llama-server:48211]"
    )
    ready(
        box,
        "False",
        "KubeletNotReady",
        "PLEG is not healthy: pleg was last seen active 4m2.1s ago; threshold is 3m0s",
    )


@situation(OPERATOR, "The network card of the machine lost its link for a second; the node stayed")
def link_flap(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:48:11,000000+00:00 r8169 0000:04:00.0 enp4s0: Link is Down",
        "2026-06-15T11:48:13,000000+00:00 r8169 0000:04:00.0 enp4s0: Link is Up - 1Gbps/Full - flow control rx/tx",
    )


@situation(
    LIGHT,
    "Ollama's runner was killed at the container's own limit, ten minutes ago, by the kernel's words",
    "serving",
    "profile",
    says="memory",
    never=f"{DRIVER} | {PLUGIN}",
)
def cgroup_kill(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:50:11,000000+00:00 Memory cgroup out of memory: Killed process 48211 (llama-server) total-vm:39044268kB, anon-rss:24044112kB, file-rss:0kB, shmem-rss:0kB, UID:0"
    )
    box.state(
        "ollama",
        waits("CrashLoopBackOff", "back-off 5m0s"),
        last={"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-06-15T11:50:11Z"}},
        restarts=5,
    )


@situation(
    LIGHT,
    "WSL2: the driver of Windows is there and nvidia-smi speaks of no driver",
    "host",
    says="windows | wsl",
    never="modprobe | dkms | apt install nvidia-driver | secure boot | nouveau",
)
def wsl_no_driver(box: Box) -> None:
    windows(box)
    smi(box, 9, NO_DRIVER)
    blind(box)


@situation(
    LIGHT,
    "WSL2: a Linux driver was installed inside: the library is of another version",
    "host",
    says="windows | wsl | mismatch",
    never="reboot the machine | modprobe nvidia | secure boot",
)
def wsl_mismatch(box: Box) -> None:
    windows(box)
    smi(
        box, 18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.126\n"
    )
    blind(box)


@situation(
    LIGHT,
    "A Jetson without its GPU module after an upgrade of the kernel package",
    "host",
    says="nvgpu | nvidia | jetson | module",
    never="lspci | nouveau | secure boot | pci",
)
def jetson_no_module(box: Box) -> None:
    missing(box, SMI)
    box.reads[SMI]["stdout"] = ""
    box.reads[LSPCI] = {"rc": 0, "stdout": "", "stderr": "", "error": None, "took_s": 0.0}
    box.reads[KERNEL]["text"] = "5.15.148-tegra\n"
    missing(box, LOADED)
    missing(box, MODINFO)
    box.reads[MODULES]["text"] = "overlay 217088 46 - Live 0x0000000000000000\n"
    box.reads[DEVICES]["paths"] = []
    box.reads[DMESG]["stdout"] = (
        "2026-06-01T06:00:00,000000+00:00 Linux version 5.15.148-tegra (buildbrain@mobile)\n"
    )
    blind(box)


@situation(
    LIGHT,
    "A Jetson whose plugin takes it for a machine with NVML",
    "gpu",
    says="plugin | nvml | see the gpu",
    never=f"{DRIVER} | nouveau | lspci",
)
def thor_plugin(box: Box) -> None:
    missing(box, SMI)
    box.reads[SMI]["stdout"] = ""
    box.reads[LSPCI] = {"rc": 0, "stdout": "", "stderr": "", "error": None, "took_s": 0.0}
    box.reads[KERNEL]["text"] = "6.8.12-tegra\n"
    missing(box, LOADED)
    missing(box, MODINFO)
    box.reads[MODULES]["text"] = "nvgpu 2654208 20 - Live 0x0000000000000000 (O)\n"
    box.reads[DEVICES]["paths"] = ["/dev/nvidiactl", "/dev/nvidia0"]
    box.reads[DMESG]["stdout"] = (
        "2026-06-01T06:00:00,000000+00:00 Linux version 6.8.12-tegra (buildbrain@mobile)\n"
    )
    crash(
        box,
        "I0814 09:35:39.851780       1 plugin-manager.go:100] Detected platform: unknown",
        "W0814 09:35:39.851796       1 plugin-manager.go:107] Unsupported platform detected; defaulting to nvml",
        "E0814 09:35:39.851839       1 factory.go:99] Failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND.",
        "E0814 09:35:39.851845       1 factory.go:100] If this is a GPU node, did you set the docker default runtime to `nvidia`?",
    )


@situation(LIGHT, "GB10: fan, power limit, BAR and fabric are not there; the log has its platform's warnings")
def gb10_more(box: Box) -> None:
    out = box.reads[SMI]["stdout"]
    head, tail = out.split("<fb_memory_usage>", 1)
    block, rest = tail.split("</fb_memory_usage>", 1)
    block = "<total>Not Supported</total><reserved>Not Supported</reserved><used>Not Supported</used><free>Not Supported</free>"
    out = (
        (head + "<fb_memory_usage>" + block + "</fb_memory_usage>" + rest)
        .replace("NVIDIA GeForce RTX 4090", "NVIDIA GB10")
        .replace("Ada Lovelace", "Blackwell")
        .replace("00000000:01:00.0", "0000000F:01:00.0")
    )
    for a, b in (
        ("<fan_speed>0 %<", "<fan_speed>N/A<"),
        ("<current_power_limit>450.00 W<", "<current_power_limit>N/A<"),
        ("<max_link_width>16x<", "<max_link_width>16x<"),
        ("<current_link_width>16x<", "<current_link_width>1x<"),
    ):
        out = out.replace(a, b)
    box.reads[SMI]["stdout"] = out
    box.reads[LSPCI]["stdout"] = (
        "000f:01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GB20B [GB10] [10de:2e12] (rev a1)\n\tSubsystem: NVIDIA Corporation Device [10de:21ec]\n\tKernel driver in use: nvidia\n\tKernel modules: nvidia_drm, nvidia\n000f:00:00.0 PCI bridge [0604]: NVIDIA Corporation Device [10de:22d1]\n\tKernel driver in use: pcieport\n0000:00:00.0 PCI bridge [0604]: NVIDIA Corporation Device [10de:22ce] (rev 01)\n\tKernel driver in use: pcieport\n"
    )
    box.kernel(
        "2026-06-01T06:00:03,000000+00:00 mlx5_core 0000:01:00.0: E-Switch: Disable: mode(LEGACY), nvfs(0)",
        "2026-06-15T11:20:03,000000+00:00 mlx5_core 0002:01:00.1: mlx5_pcie_event:301:(pid 118): Detected insufficient power on the PCIe slot (27W).",
    )
    for name in ("USED", "FREE"):
        key = f"http:prometheus:/api/v1/query?query=DCGM_FI_DEV_FB_{name}"
        for each in box.reads[key]["body"]["data"]["result"]:
            each["value"][1] = "0"
    box.whole["target"]["profile"] = "gb10"


@situation(
    LIGHT,
    "Three nodes, one with a card; the others hold other pods, one of them is cordoned and has a full disk's pressure",
)
def three_nodes(box: Box) -> None:
    for node in _more_nodes(box, 2):
        node["metadata"]["labels"] = {
            k: v for k, v in node["metadata"]["labels"].items() if "nvidia" not in k
        }
        for part in ("capacity", "allocatable"):
            node["status"][part] = {
                k: v for k, v in node["status"][part].items() if not k.startswith("nvidia.com/")
            }
    last = box.items(NODES)[2]
    last["spec"] |= {
        "unschedulable": True,
        "taints": [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}],
    }
    for c in last["status"]["conditions"]:
        if c["type"] == "DiskPressure":
            c |= {"status": "True", "reason": "KubeletHasDiskPressure"}


@situation(
    LIGHT,
    "Two GPU nodes; the plugin of the second crash-loops, for it has no runtime class's handler",
    "gpu",
    says="edge-2 | zz2 | crash | plugin | see the gpu",
    never=DRIVER,
)
def second_plugin(box: Box) -> None:
    node = _more_nodes(box, 1)[0]
    for part in ("capacity", "allocatable"):
        node["status"][part]["nvidia.com/gpu"] = "0"
    pod = box.clone_pod("nvdp", "zz2aa")
    pod["spec"]["nodeName"] = "edge-2"
    pod["status"]["containerStatuses"][0] |= {
        "ready": False,
        "restartCount": 40,
        "state": waits("CrashLoopBackOff", "back-off 5m0s"),
        "lastState": {"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "2026-06-15T11:56:00Z"}},
    }
    for c in pod["status"]["conditions"]:
        if c["type"] in ("Ready", "ContainersReady"):
            c["status"] = "False"
    box.reads[box.log_key(pod)] = {
        "status": 200,
        "body": "E0615 11:56:00.000000       1 main.go:132] error starting plugins: nvml init failed: ERROR_LIBRARY_NOT_FOUND\n",
        "error": None,
    }


@situation(OPERATOR, "Sixteen strangers' pods crash, wait and fail in every way; nothing promised is theirs")
def strangers(box: Box) -> None:
    for i, (state, why) in enumerate(
        (
            ("CrashLoopBackOff", "back-off 5m0s restarting failed container"),
            ("ImagePullBackOff", 'Back-off pulling image "ghcr.io/x/y:z": toomanyrequests'),
            ("CreateContainerConfigError", 'secret "x" not found'),
            ("ErrImageNeverPull", "Container image is not present with pull policy of Never"),
            ("InvalidImageName", "Failed to apply default image tag"),
        )
    ):
        pod = box.clone_pod("open-webui", f"str{i}")
        pod["metadata"] |= {
            "name": f"stranger-{i}",
            "namespace": "shop",
            "labels": {"app": "shop"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "shop",
                    "uid": "5",
                    "controller": True,
                }
            ],
        }
        pod["spec"]["containers"][0] |= {"name": "shop", "image": "ghcr.io/x/y:z"}
        pod["status"]["containerStatuses"][0] |= {
            "name": "shop",
            "ready": False,
            "restartCount": 9,
            "state": waits(state, why),
            "lastState": {
                "terminated": {
                    "reason": "Error",
                    "exitCode": 1,
                    "message": "nvml: could not connect to database: no space left on device; context deadline exceeded",
                }
            },
        }
        for c in pod["status"]["conditions"]:
            if c["type"] in ("Ready", "ContainersReady"):
                c["status"] = "False"
        box.event("Pod", "shop", f"stranger-{i}", "BackOff", why)


@situation(
    LIGHT, "The kubelet's own device manager restarted: a minute of zero, a fresh registration, one ghost"
)
def reregistered(box: Box) -> None:
    box.logs(
        plugin_name(box),
        "I0615 11:40:00.000000       1 main.go:200] inotify: /var/lib/kubelet/device-plugins/kubelet.sock created, restarting.",
        "I0615 11:40:00.100000       1 main.go:315] Stopping plugins.",
        "I0615 11:40:00.500000       1 server.go:198] Starting GRPC server for 'nvidia.com/gpu'",
        "I0615 11:40:00.600000       1 server.go:149] Registered device plugin for 'nvidia.com/gpu' with Kubelet (1 device(s))",
    )
    pod = box.clone_pod("ollama", "ghost")
    pod["status"] = {
        "phase": "Failed",
        "reason": "UnexpectedAdmissionError",
        "message": "Pod was rejected: Allocate failed due to can't allocate unregistered device nvidia.com/gpu, which is unexpected",
        "startTime": "2026-06-15T11:39:50Z",
    }


@situation(
    DUAL,
    "One card's device file is gone from a machine of two, and CUDA misses it",
    "host",
    says="/dev/nvidia1",
    never="reinstall the driver | runtimeclass",
)
def second_node_missing(box: Box) -> None:
    box.reads[DEVICES]["paths"].remove("/dev/nvidia1")


@situation(
    OPERATOR,
    "nouveau has the card after a kernel upgrade, and k3s's certificates ran out meanwhile",
    "host",
    says="nouveau",
    never="restart the device plugin | rotate",
    also="gpu",
)
def nouveau_and_certs(box: Box) -> None:
    unloaded_module(box, built=True)
    box.reads[LSPCI]["stdout"] = box.reads[LSPCI]["stdout"].replace(
        "\tKernel modules: nvidiafb", "\tKernel driver in use: nouveau\n\tKernel modules: nvidiafb", 1
    )
    for key in box.reads:
        if key.startswith("api:"):
            box.reads[key] = {
                "status": None,
                "body": 'Get "https://127.0.0.1:6443/": tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-06-15T12:00:00Z is after 2026-06-14T10:00:00Z',
                "error": "tls",
            }


@situation(
    DUAL,
    "A card lost, and the other's memory rows wait for a reset: two faults of two cards",
    "host",
    says="lost | bus | remap",
    never="restart the device plugin | reinstall",
)
def two_cards(box: Box) -> None:
    out = box.reads[SMI]["stdout"]
    i = out.rindex("<gpu id=")
    box.reads[SMI]["stdout"] = out[:i] + out[i:].replace(
        "<product_name>NVIDIA GeForce RTX 4090</product_name>", "<product_name>Unknown Error</product_name>"
    ).replace("<uuid>GPU", "<uuid>GPU is lost", 1)
    xid(box, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")


@situation(
    OPERATOR,
    "The toolkit container crash-loops after a k3s upgrade: the configuration's version is newer than it knows",
    "gpu",
    says="toolkit",
    never=f"{DRIVER} | ollama pull",
)
def toolkit_chain(box: Box) -> None:
    box.state(
        "nvidia-container-toolkit",
        waits("CrashLoopBackOff", "back-off 5m0s restarting failed container"),
        last={
            "terminated": {
                "reason": "Error",
                "exitCode": 1,
                "message": 'time="2026-06-15T11:56:00Z" level=error msg="error running nvidia-toolkit: unable to setup runtime: unable to load config: unsupported config version: 4"',
                "finishedAt": "2026-06-15T11:56:00Z",
            }
        },
        restarts=12,
    )
    box.reads[CONFIG]["text"] = box.reads[CONFIG]["text"].split(
        "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.'nvidia']"
    )[0]
    stuck(
        box,
        "nvidia-device-plugin",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured',
    )
    stuck(
        box,
        "ollama",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured',
    )
    offered(box, 0)
    box.items(NODES)[0]["status"]["capacity"]["nvidia.com/gpu"] = "1"


@situation(
    A100,
    "MIG asked for by label and being made right now: the manager works, its DaemonSets wait for seconds",
    "gpu",
    says="mig",
    never=f"{DRIVER}",
)
def mig_in_progress(box: Box) -> None:
    labels = box.items(NODES)[0]["metadata"]["labels"]
    labels |= {
        "nvidia.com/mig.config": "all-1g.5gb",
        "nvidia.com/mig.config.state": "rebooting",
        "nvidia.com/gpu.deploy.device-plugin": "paused-for-mig-change",
    }
    gone_daemonset(box, "nvidia-device-plugin-daemonset")
    for key in [k for k in box.reads if "device-plugin" in k and "/log" in k]:
        del box.reads[key]
    offered(box, 0)


@situation(LIGHT, "A full /var of its own, k3s silent", "host", says="/var", never="reinstall | rotate")
def var_full(box: Box) -> None:
    box.reads[DF]["stdout"] += (
        "/dev/nvme0n1p5                      98302824  98302824         0     100% /var\n"
    )
    box.unanswered("api:")
    box.unanswered("http:")


@situation(LIGHT, "A full disk for models alone, and k3s answers")
def models_full(box: Box) -> None:
    box.reads[DF]["stdout"] += (
        "/dev/sdd1                          1922728752 1922728752         0     100% /srv/models\n"
    )


@situation(
    OPERATOR,
    "The card has fallen off the bus; the plugin, the validator, the exporter and Ollama all say so in their ways",
    "host",
    says="bus | lost",
    never="restart the device plugin | reinstall | restart ollama",
)
def lost_everywhere(box: Box) -> None:
    xid(box, 79, "pid=48211, name=llama-server, GPU has fallen off the bus.")
    smi(
        box,
        15,
        "Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost.  Reboot the system to recover this GPU\n",
    )
    box.logs(
        plugin_name(box),
        "I0615 11:20:15.000000       1 health.go:159] XidCriticalError: Xid=79 on Device=GPU-3f0f5f2e-7a0d-4c1b-9c55-1d2e3f405162; marking device as unhealthy.",
        "I0615 11:20:15.000001       1 server.go:247] 'nvidia.com/gpu' device marked unhealthy: GPU-3f0f5f2e-7a0d-4c1b-9c55-1d2e3f405162",
    )
    offered(box, 0, capacity=1)
    box.state(
        "nvidia-dcgm-exporter",
        waits("CrashLoopBackOff", "back-off"),
        last={
            "terminated": {
                "reason": "Error",
                "exitCode": 1,
                "message": "Error getting device information: GPU is lost",
                "finishedAt": "2026-06-15T11:56:00Z",
            }
        },
        restarts=9,
    )
