"""Reports of the field, a second reading: host and cluster, faults and noise."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from below import (
    A100,
    CONFIG,
    CPU,
    DF,
    DRIVER,
    DUAL,
    KERNEL,
    LIGHT,
    LOADED,
    LSPCI,
    MODINFO,
    NO_DRIVER,
    OPERATOR,
    PLUGIN,
    UNITS,
    blind,
    crash,
    failing,
    in_report,
    plugin_name,
    ready,
    smi,
    stuck,
    unloaded_module,
    waits,
    xid,
)
from box import DAEMONSETS, DEPLOYMENTS, DMESG, SMI, Box, situation


@situation(
    A100,
    "An older driver's field asks for a reset",
    "host",
    says="reset",
    never="restart the device plugin | reinstall",
)
def reset_required_field(box: Box) -> None:
    in_report(
        box,
        (
            "<gpu_recovery_action>None</gpu_recovery_action>",
            "<gpu_reset_status><reset_required>Yes</reset_required><drain_and_reset_recommended>N/A</drain_and_reset_recommended></gpu_reset_status>",
        ),
    )


@situation(A100, "An older driver's fields ask for nothing")
def reset_not_required(box: Box) -> None:
    in_report(
        box,
        (
            "<gpu_recovery_action>None</gpu_recovery_action>",
            "<gpu_reset_status><reset_required>No</reset_required><drain_and_reset_recommended>No</drain_and_reset_recommended></gpu_reset_status>",
        ),
    )


@situation(
    LIGHT,
    "The GSP's heartbeat stops, no Xid, nvidia-smi hangs",
    "host",
    says="gsp | hang | timed out",
    never="reinstall the driver | restart the device plugin",
)
def gsp_heartbeat(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:42:01,000000+00:00 NVRM: GPU0 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 322227881 heartbeat 0 heartbeatWithOffsetMs 318098841 diff 4129040 timeout 5200",
        "2026-06-15T11:42:01,000001+00:00 NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out",
    )
    box.reads[SMI] = {"rc": None, "stdout": "", "stderr": "", "error": "timeout", "took_s": 10.0}
    failing(
        box,
        "ollama",
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running hook #0: error running hook: exit status 1, stdout: , stderr: nvidia-container-cli: detection error: driver error: timed out: unknown",
    )


@situation(
    A100,
    "A Hopper's security processor does not answer at the start",
    "host",
    says="fsp | firmware",
    never="nouveau | secure boot | runtimeclass",
)
def fsp(box: Box) -> None:
    box.kernel(
        "2026-06-15T06:00:07,045903+00:00 NVRM: kfspPollForResponse_IMPL: FSP command timed out",
        "2026-06-15T06:00:07,045908+00:00 NVRM: kfspSendBootCommands_GH100: Sent following content to FSP: ",
        "2026-06-15T06:00:08,045908+00:00 NVRM: RmInitAdapter: Cannot initialize GSP firmware RM",
        "2026-06-15T06:00:08,045909+00:00 NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x62:0x65:1860)",
    )
    smi(box, 6, "No devices were found\n")
    blind(box)


@situation(
    OPERATOR,
    "A kernel of the hardware-enablement stack came, and DKMS has failed on it",
    "host",
    says="6.17.0-14 | build | kernel",
    never="nouveau | device plugin | bios",
)
def dkms(box: Box) -> None:
    box.reads[KERNEL]["text"] = "6.17.0-14-generic\n"
    unloaded_module(box, built=False)
    smi(
        box,
        9,
        "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.17.0-14-generic\n" + NO_DRIVER,
    )


@situation(
    CPU, "A ZFS pool is suspended", "host", says="zfs | pool | disk | i/o", never="nvidia | delete pod"
)
def zfs(box: Box) -> None:
    box.reads[DF]["stdout"] = box.reads[DF]["stdout"].replace(
        "/dev/mapper/ubuntu--vg-ubuntu--lv", "rpool/ROOT/ubuntu_8x2k1m         "
    )
    box.kernel(
        "2026-06-15T11:40:11,000000+00:00 WARNING: Pool 'rpool' has encountered an uncorrectable I/O failure and has been suspended."
    )


@situation(OPERATOR, "The machine slept over the weekend, and CUDA came back with it")
def slept_well(box: Box) -> None:
    box.kernel(
        "2026-06-14T20:00:00,000000+00:00 PM: suspend entry (deep)",
        "2026-06-15T07:00:00,000000+00:00 PM: suspend exit",
    )


@situation(LIGHT, "A killed program's Xids, minutes ago; the card is offered and used")
def killed_program(box: Box) -> None:
    xid(box, 43, "pid=99100, name=python3, Ch 00000008", at="2026-06-15T11:55:00,000000+00:00")
    xid(box, 45, "pid=99100, name=python3, Ch 00000008", at="2026-06-15T11:55:00,000000+00:00")


@situation(LIGHT, "Debian's own proprietary driver, 550, and a kernel log with seconds alone")
def debian(box: Box) -> None:
    in_report(box, ("570.195.03", "550.163.01"), ("<cuda_version>12.8<", "<cuda_version>12.4<"))
    box.reads[MODINFO]["stdout"] = "550.163.01\n"
    box.reads[LOADED]["text"] = (
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8 12:41:17 UTC 2025\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1) \n"
    )
    box.reads[DMESG]["stdout"] = (
        "[    0.000000] Linux version 6.1.0-37-amd64 (debian-kernel@lists.debian.org)\n[    5.191004] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8 12:41:17 UTC 2025\n[    7.003311] nvidia-uvm: Loaded the UVM driver, major device number 508.\n"
    )


@situation(OPERATOR, "The operator has lost its leadership six times this month; it leads")
def leader(box: Box) -> None:
    for each in box.pods("gpu-operator-7c9d8b6f5d")[0]["status"]["containerStatuses"]:
        each["restartCount"] = 6
        each["lastState"] = {
            "terminated": {
                "reason": "Error",
                "exitCode": 1,
                "finishedAt": "2026-06-15T03:00:00Z",
                "message": "leader election lost",
            }
        }


@situation(
    LIGHT,
    "The node was renamed, and the volume stays with the old name",
    "serving",
    "gpu",
    says="volume | affinity",
    never=f"{DRIVER} | {PLUGIN}",
)
def volume_affinity(box: Box) -> None:
    box.pending(
        "ollama",
        "0/1 nodes are available: 1 node(s) had volume node affinity conflict. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    )


@situation(LIGHT, "An evicted pod of the device plugin lies about; its successor works")
def evicted_plugin(box: Box) -> None:
    pod = box.clone_pod("nvdp", "evict")
    pod["status"] = {
        "phase": "Failed",
        "reason": "Evicted",
        "message": "The node was low on resource: ephemeral-storage. Threshold quantity: 10737418240, available: 9112492Ki.",
    }
    box.event(
        "Node",
        "",
        "edge-1",
        "ImageGCFailed",
        "failed to garbage collect required amount of images. Wanted to free 15152714547 bytes, but freed 0 bytes",
        at="2026-06-15T11:10:00Z",
    )


@situation(
    LIGHT,
    "The kernel log is denied, and the node tells of a system that ran out of memory",
    "host",
    says="memory",
    never=f"{DRIVER} | {PLUGIN}",
)
def system_oom(box: Box) -> None:
    box.reads[DMESG] = {
        "rc": 1,
        "stdout": "",
        "stderr": "dmesg: read kernel buffer failed: Operation not permitted\n",
        "error": None,
        "took_s": 0.0,
    }
    box.event(
        "Node", "", "edge-1", "SystemOOM", "System OOM encountered, victim process: llama-server, pid: 48211"
    )


@situation(
    OPERATOR,
    "A second device plugin, left over from before the operator, crash-loops beside the one that works",
)
def leftover_plugin(box: Box) -> None:
    pod = box.clone_pod("nvidia-device-plugin", "old77")
    pod["metadata"] |= {"name": "nvidia-device-plugin-daemonset-old77", "namespace": "kube-system"}
    pod["metadata"]["ownerReferences"][0]["uid"] = "00000000-0000-4000-8000-00000000bbbb"
    pod["spec"].pop("runtimeClassName", None)
    pod["spec"]["initContainers"] = []
    pod["spec"]["containers"][0]["image"] = "nvcr.io/nvidia/k8s-device-plugin:v0.14.0"
    pod["status"]["initContainerStatuses"] = []
    pod["status"]["containerStatuses"][0] |= {
        "ready": False,
        "restartCount": 400,
        "state": waits("CrashLoopBackOff", "back-off 5m0s"),
        "lastState": {"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "2026-06-15T11:56:00Z"}},
    }
    for c in pod["status"]["conditions"]:
        if c["type"] in ("Ready", "ContainersReady"):
            c["status"] = "False"
    ds = copy.deepcopy(box.item(DAEMONSETS, "nvidia-device-plugin"))
    ds["metadata"] |= {"namespace": "kube-system", "uid": "00000000-0000-4000-8000-00000000bbbb"}
    ds["status"] |= {"numberReady": 0, "numberAvailable": 0}
    box.items(DAEMONSETS).append(ds)
    box.reads[box.log_key(pod)] = {
        "status": 200,
        "body": "2026/06/15 11:56:00 Failed to initialize NVML: could not load NVML library.\n",
        "error": None,
    }


@situation(
    OPERATOR, "GPU feature discovery crash-loops, the operator is not ready for it, and the card is in use"
)
def gfd(box: Box) -> None:
    box.state(
        "gpu-feature-discovery",
        waits("CrashLoopBackOff", "back-off 5m0s restarting failed container"),
        restarts=30,
    )
    policy = box.items("api:/apis/nvidia.com/v1/clusterpolicies")[0]
    policy["status"] |= {
        "state": "notReady",
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "OperandNotReady",
                "message": "ClusterPolicy is not ready, states not ready: [gpu-feature-discovery]",
                "lastTransitionTime": "2026-06-15T10:02:45Z",
            }
        ],
    }


@situation(OPERATOR, "The worker of node feature discovery crash-loops; its labels stand and all works")
def nfd_worker(box: Box) -> None:
    box.state(
        "gpu-operator-node-feature-discovery-worker",
        waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=worker"),
        restarts=40,
    )


@situation(LIGHT, "NVIDIA's runtime is k3s's default: no pod names a class")
def default_runtime(box: Box) -> None:
    box.reads["file:/etc/rancher/k3s/config.yaml"]["text"] += "default-runtime: nvidia\n"
    box.reads[CONFIG]["text"] = box.reads[CONFIG]["text"].replace(
        "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]",
        "[plugins.'io.containerd.cri.v1.runtime'.containerd]\n  default_runtime_name = \"nvidia\"\n\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]",
        1,
    )
    for what, key in (("ollama", DEPLOYMENTS), ("nvdp", DAEMONSETS), ("dcgm-exporter", DAEMONSETS)):
        for spec in box.templates(what, key):
            spec.pop("runtimeClassName", None)


@situation(
    OPERATOR,
    "Cilium's agent does not answer the plugin",
    "gpu",
    says="cilium | network",
    never=f"{DRIVER} | {PLUGIN}",
)
def cilium(box: Box) -> None:
    stuck(
        box,
        "open-webui",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "1a2": plugin type="cilium-cni" failed (add): unable to create endpoint: Put "http:///var/run/cilium/cilium.sock/v1/endpoint": context deadline exceeded',
    )


@situation(
    LIGHT,
    "No inode is left for a new snapshot",
    "host",
    "gpu",
    says="space | disk | inode",
    never=f"{DRIVER} | {PLUGIN}",
)
def no_inodes(box: Box) -> None:
    stuck(
        box,
        "open-webui",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to create containerd container: failed to create snapshot: mkdir /var/lib/rancher/k3s/agent/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/new-1234: no space left on device",
    )


@situation(
    CPU,
    "The node can start no more processes",
    "gpu",
    "host",
    says="process | pid | resource | fork",
    never=f"{DRIVER} | nvidia",
)
def fork(box: Box) -> None:
    stuck(
        box,
        "ollama",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to start sandbox: failed to create containerd task: failed to start shim: fork/exec /var/lib/rancher/k3s/data/current/bin/containerd-shim-runc-v2: resource temporarily unavailable: unknown",
    )


@situation(
    LIGHT,
    "The kubelet waits for the runtime's first status",
    "gpu",
    says="runtime | not ready",
    never=f"{DRIVER} | {PLUGIN}",
)
def runtime_status(box: Box) -> None:
    ready(box, "False", "KubeletNotReady", "container runtime status check may not have completed yet")


@situation(
    LIGHT,
    "The host was not read, and the cluster's DNS has no pod",
    "gpu",
    says="dns",
    never=f"{DRIVER} | {PLUGIN}",
)
def unread_dns(box: Box) -> None:
    for key in list(box.reads):
        if key.startswith(("command:", "file:", "glob:")):
            del box.reads[key]
    box.state(
        "coredns", waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=coredns"), restarts=21
    )


@situation(
    OPERATOR,
    "Driver mismatch, and k3s has failed: the driver is the lower one",
    "host",
    says="mismatch",
    never="reinstall the driver | restart the device plugin",
    also="gpu",
)
def mismatch_and_k3s(box: Box) -> None:
    smi(
        box, 18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.126\n"
    )
    box.reads[MODINFO]["stdout"] = "580.126.09\n"
    box.reads[UNITS]["stdout"] = box.reads[UNITS]["stdout"].replace(
        "ActiveState=active\nSubState=running", "ActiveState=failed\nSubState=failed", 1
    )
    box.unanswered("api:")
    box.unanswered("http:")


@situation(DUAL, "Both cards are there, one shows less memory than its twin: another product, no fault")
def mixed_cards(box: Box) -> None:
    out = box.reads[SMI]["stdout"]
    head, tail = out.rsplit("NVIDIA GeForce RTX 4090", 1)
    box.reads[SMI]["stdout"] = head + "NVIDIA GeForce RTX 3090" + tail
    box.reads[LSPCI]["stdout"] = box.reads[LSPCI]["stdout"][::-1].replace(
        "AD102 [GeForce RTX 4090] [10de:2684]"[::-1], "GA102 [GeForce RTX 3090] [10de:2204]"[::-1], 1
    )[::-1]


@situation(
    LIGHT,
    "A vGPU of a hypervisor whose licence has been given back",
    "host",
    says="licen",
    never=f"{PLUGIN} | reinstall",
)
def vgpu_restricted(box: Box) -> None:
    in_report(
        box,
        ("<virtualization_mode>None<", "<virtualization_mode>VGPU<"),
        (
            "<gpu_recovery_action>",
            "<vgpu_software_licensed_product><product_name>NVIDIA RTX Virtual Workstation</product_name><license_status>Unlicensed (Restricted)</license_status></vgpu_software_licensed_product><gpu_recovery_action>",
        ),
    )


@situation(LIGHT, "A whole card passed through to this virtual machine: no licence is asked")
def pass_through(box: Box) -> None:
    in_report(box, ("<virtualization_mode>None<", "<virtualization_mode>Pass-Through<"))


@situation(
    LIGHT,
    "The plugin takes a pod's start for its own: it was killed by its liveness probe",
    "gpu",
    says="plugin",
    never=f"{DRIVER} | nouveau",
)
def plugin_liveness(box: Box) -> None:
    crash(
        box,
        "I0615 11:55:00.000000       1 main.go:356] Retrieving plugins.",
        "E0615 11:55:10.000000       1 main.go:173] error starting plugins: error getting plugins: failed to construct resource managers: context canceled",
    )
    box.event(
        "Pod",
        "nvidia-device-plugin",
        plugin_name(box),
        "Unhealthy",
        "Liveness probe failed: command timed out",
    )


@situation(OPERATOR, "The card has two functions of another vendor's bridge in front, all with drivers")
def oculink(box: Box) -> None:
    box.kernel(
        "2026-06-01T06:00:03,000000+00:00 pcieport 0000:00:1c.0: AER: Multiple Correctable error message received from 0000:00:1c.0",
        "2026-06-15T11:50:03,000000+00:00 pcieport 0000:00:1c.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)",
        "2026-06-15T11:50:03,000001+00:00 pcieport 0000:00:1c.0:   device [8086:7ab8] error status/mask=00000001/00002000",
    )


@situation(
    A100,
    "A card in the report is Unknown Error, its fields too; the other reads well",
    "host",
    says="lost | reset | unknown error | answer",
    never=PLUGIN,
)
def unknown_error_card(box: Box) -> None:
    in_report(
        box,
        ("<uuid>GPU-8a4c1b70-52d1-4be3-8f0e-6b5a49382716</uuid>", "<uuid>Unknown Error</uuid>"),
        ("<total>40960 MiB</total>", "<total>Unknown Error</total>"),
    )
