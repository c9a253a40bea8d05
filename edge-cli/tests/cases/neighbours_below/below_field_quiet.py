"""Reports of the field: noise, ghosts and odd machines that break no promise."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from below import (
    A100,
    CDI,
    CPU,
    DF,
    KERNEL,
    LIGHT,
    LSPCI,
    NO_DRIVER,
    OPERATOR,
    UNITS,
    in_report,
    smi,
    waits,
    windows,
    xid,
)
from box import DAEMONSETS, NODES, PODS, REPLICASETS, SMI, Box, situation


@situation(LIGHT, "WSL2: dxg ioctl errors of every boot, and all is well")
def wsl_noise(box: Box) -> None:
    windows(box)
    box.kernel(
        "2026-06-15T11:20:00,000000+00:00 misc dxg: dxgk: dxgkio_is_feature_enabled: Ioctl failed: -22",
        "2026-06-15T11:20:00,000001+00:00 misc dxg: dxgk: dxgkio_query_adapter_info: Ioctl failed: -22",
        "2026-06-15T11:20:01,000001+00:00 WSL (1 - init()) ERROR: CheckConnection: getaddrinfo() failed: -5",
    )
    in_report(
        box,
        ("<driver_version>570.195.03<", "<driver_version>591.74<"),
        ("<current_dm>N/A<", "<current_dm>WDDM<"),
        ("<persistence_mode>Enabled<", "<persistence_mode>Disabled<"),
    )


@situation(A100, "The NVLink fabric is complete")
def fabric_completed(box: Box) -> None:
    in_report(
        box,
        (
            "<fabric>\n\t\t\t<state>N/A</state>\n\t\t\t<status>N/A</status>",
            "<fabric>\n\t\t\t<state>Completed</state>\n\t\t\t<status>Success</status>",
        ),
    )


@situation(A100, "Xid 94: a contained memory error of nine days ago, nothing pending")
def contained_past(box: Box) -> None:
    box.kernel(
        "2026-06-06T11:20:11,000000+00:00 NVRM: Xid (PCI:0000:17:00): 94, pid='<unknown>', name=<unknown>, Contained: SM (0x1). RST: No, D-RST: No"
    )
    in_report(
        box,
        (
            "<aggregate>\n\t\t\t\t<sram_correctable>0</sram_correctable>\n\t\t\t\t<sram_uncorrectable_parity>0<",
            "<aggregate>\n\t\t\t\t<sram_correctable>0</sram_correctable>\n\t\t\t\t<sram_uncorrectable_parity>1<",
        ),
    )


@situation(LIGHT, "A browser's page fault on the card, Xid 31, an hour ago")
def xid31_browser(box: Box) -> None:
    xid(
        box,
        31,
        "pid=169800, name=chrome, Ch 00000023, intr 00000000. MMU Fault: ENGINE CE0 HUBCLIENT_HSCE0 faulted @ 0x0_0abe0000. Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_READ",
        at="2026-06-15T11:02:00,000000+00:00",
    )


@situation(LIGHT, "A game's context switch timeout, Xid 109, and nothing since")
def xid109_game(box: Box) -> None:
    xid(
        box,
        109,
        "pid=55914, name=re8.exe, Ch 00000046, errorString CTX SWITCH TIMEOUT, Info 0x2c02c",
        at="2026-06-15T09:02:00,000000+00:00",
    )


@situation(LIGHT, "A stranger's container brings an older library: API mismatch in the log, the host is well")
def api_mismatch_stranger(box: Box) -> None:
    box.kernel(
        "2026-06-15T10:20:11,000000+00:00 NVRM: API mismatch: the client 'frigate' (pid 77120)",
        "2026-06-15T10:20:11,000001+00:00 NVRM: has the version 535.183.01, but this kernel module has",
        "2026-06-15T10:20:11,000002+00:00 NVRM: the version 570.195.03. Please make sure that this kernel module and all NVIDIA driver components have the same version.",
    )


@situation(OPERATOR, "Snaps, a full /boot, a full NAS and a DVD: full file systems of no concern")
def full_elsewhere(box: Box) -> None:
    box.reads[DF]["stdout"] = box.reads[DF]["stdout"].replace(
        "1992552    210084   1661228      12% /boot\n", "1992552   1992552         0     100% /boot\n"
    ) + (
        "/dev/loop0                              65536     65536         0     100% /snap/core20/2318\n"
        "/dev/loop1                              39808     39808         0     100% /snap/snapd/21759\n"
        "/dev/sr0                              2690436   2690436         0     100% /media/cdrom\n"
        "nas.example:/volume1               3840000000 3840000000        0     100% /mnt/nas\n"
        "efivarfs                                  128       120         4      97% /sys/firmware/efi/efivars\n"
    )


@situation(LIGHT, "Errors of a CD drive and of a USB stick that is no part of the node")
def foreign_io_errors(box: Box) -> None:
    box.kernel(
        "2026-06-15T09:40:11,000000+00:00 usb 2-1: new SuperSpeed USB device number 4 using xhci_hcd",
        "2026-06-15T09:40:12,000000+00:00 sd 6:0:0:0: [sdb] Attached SCSI removable disk",
        "2026-06-15T11:40:11,000000+00:00 I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 0",
        "2026-06-15T11:40:11,000001+00:00 Buffer I/O error on dev sr0, logical block 0, async page read",
        "2026-06-15T11:42:11,000000+00:00 usb 2-1: USB disconnect, device number 4",
        "2026-06-15T11:42:11,000001+00:00 I/O error, dev sdb, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
        "2026-06-15T11:42:11,000002+00:00 Buffer I/O error on dev sdb1, logical block 0, lost async page write",
    )


@situation(OPERATOR, "A backup disk of the machine went read-only; nothing of the node is on it")
def backup_disk_readonly(box: Box) -> None:
    box.reads[DF]["stdout"] += (
        "/dev/sdc1                          3844510720 2844510720 999999999      75% /mnt/backup\n"
    )
    box.kernel(
        "2026-06-15T11:40:11,000000+00:00 EXT4-fs error (device sdc1): ext4_journal_check_start:83: comm rsync: Detected aborted journal",
        "2026-06-15T11:40:11,000001+00:00 EXT4-fs (sdc1): Remounting filesystem read-only",
    )


@situation(
    LIGHT,
    "A module signed by nobody, on a machine that does not mind, and other lines that taint nothing but the kernel",
)
def taint_noise(box: Box) -> None:
    box.kernel(
        "2026-06-01T06:00:05,101877+00:00 nvidia: module verification failed: signature and/or required key missing - tainting kernel",
        "2026-06-01T06:00:05,301877+00:00 [drm:nv_drm_load [nvidia_drm]] *ERROR* [nvidia-drm] [GPU ID 0x00000100] Failed to allocate NvKmsKapiDevice",
        "2026-06-01T06:00:05,301878+00:00 [drm:nv_drm_probe_devices [nvidia_drm]] *ERROR* [nvidia-drm] [GPU ID 0x00000100] Failed to register device",
        "2026-06-01T06:00:05,401878+00:00 NVRM: testIfDsmSubFunctionEnabled: GPS ACPI DSM called before _acpiDsmSupportedFuncCacheInit subfunction = 11.",
        "2026-06-15T11:30:05,401878+00:00 NVRM: nvAssertOkFailedNoLog: Assertion failed: Failure: Generic Error [NV_ERR_GENERIC] (0x0000FFFF) returned from status @ kernel_gsp_tu102.c:482",
        "2026-06-15T11:31:05,401878+00:00 snd_hda_intel 0000:01:00.1: CORB reset timeout#2, CORBRP = 65535",
        "2026-06-15T11:32:05,401878+00:00 mce: CPU0: Core temperature above threshold, cpu clock throttled (total events = 1)",
        "2026-06-15T11:33:05,401878+00:00 perf: interrupt took too long (2501 > 2500), lowering kernel.perf_event_max_sample_rate to 79750",
    )


@situation(LIGHT, "A card with USB-C: its bus shows four functions, three of them with drivers of their own")
def usb_c_functions(box: Box) -> None:
    box.reads[LSPCI]["stdout"] += (
        "0000:01:00.2 USB controller [0c03]: NVIDIA Corporation TU106 USB 3.1 Host Controller [10de:1ada] (rev a1)\n\tSubsystem: Gigabyte Technology Co., Ltd Device [1458:37d6]\n\tKernel driver in use: xhci_hcd\n\tKernel modules: xhci_pci\n"
        "0000:01:00.3 Serial bus controller [0c80]: NVIDIA Corporation TU106 USB Type-C UCSI Controller [10de:1adb] (rev a1)\n\tSubsystem: Gigabyte Technology Co., Ltd Device [1458:37d6]\n\tKernel driver in use: nvidia-gpu\n\tKernel modules: i2c_nvidia_gpu\n"
    )
    box.kernel(
        "2026-06-01T06:00:06,786715+00:00 nvidia-gpu 0000:01:00.3: i2c timeout error e0000000",
        "2026-06-01T06:00:06,786773+00:00 ucsi_ccg 1-0008: i2c_transfer failed -110",
        "2026-06-01T06:00:06,786818+00:00 ucsi_ccg 1-0008: ucsi_ccg_init failed - -110",
    )


@situation(A100, "Old errors of the card's lifetime, and many that it corrected")
def lifetime_errors(box: Box) -> None:
    in_report(
        box,
        (
            "<volatile>\n\t\t\t\t<sram_correctable>0</sram_correctable>",
            "<volatile>\n\t\t\t\t<sram_correctable>12345</sram_correctable>",
        ),
    )
    out = box.reads[SMI]["stdout"]
    head, tail = out.split("<aggregate>", 1)
    box.reads[SMI]["stdout"] = (
        head
        + "<aggregate>"
        + tail.replace("<dram_uncorrectable>0<", "<dram_uncorrectable>2<", 1).replace(
            "<remapped_row_unc>0<", "<remapped_row_unc>1<", 1
        )
    )


@situation(CPU, "A CPU box with an old card that no driver drives any more, and its Xids")
def cpu_dead_card(box: Box) -> None:
    box.reads[LSPCI]["stdout"] = (
        "0000:01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GF108 [GeForce GT 430] [10de:0de1] (rev a1)\n\tKernel modules: nvidiafb, nouveau\n"
    )
    smi(box, 9, NO_DRIVER)
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 NVRM: The NVIDIA GeForce GT 430 GPU installed in this system is\n",
        "2026-06-15T11:20:11,000001+00:00 NVRM:  supported through the NVIDIA 390.xx Legacy drivers. Please",
        "2026-06-15T11:20:11,000002+00:00 NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    )


@situation(LIGHT, "A laptop with a display on the card: Xorg, no persistence, no fan, no power reading")
def laptop(box: Box) -> None:
    in_report(
        box,
        ("<persistence_mode>Enabled<", "<persistence_mode>Disabled<"),
        ("<display_active>Disabled<", "<display_active>Enabled<"),
        ("<fan_speed>0 %<", "<fan_speed>N/A<"),
        ("<current_power_limit>450.00 W<", "<current_power_limit>N/A<"),
        ("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090 Laptop GPU"),
    )
    box.process(2211, "/usr/lib/xorg/Xorg", 210)


@situation(LIGHT, "A Jetson Thor: nvidia-smi works there, memory is not supported, and there is no PCI card")
def thor(box: Box) -> None:
    out = box.reads[SMI]["stdout"]
    head, tail = out.split("<fb_memory_usage>", 1)
    block, rest = tail.split("</fb_memory_usage>", 1)
    block = "<total>Not Supported</total><reserved>Not Supported</reserved><used>Not Supported</used><free>Not Supported</free>"
    box.reads[SMI]["stdout"] = (
        (head + "<fb_memory_usage>" + block + "</fb_memory_usage>" + rest)
        .replace("NVIDIA GeForce RTX 4090", "NVIDIA Thor")
        .replace("Ada Lovelace", "Blackwell")
    )
    box.reads[LSPCI] = {"rc": 0, "stdout": "", "stderr": "", "error": None, "took_s": 0.0}
    box.reads[KERNEL]["text"] = "6.8.12-tegra\n"
    for name in ("USED", "FREE"):
        key = f"http:prometheus:/api/v1/query?query=DCGM_FI_DEV_FB_{name}"
        for each in box.reads[key]["body"]["data"]["result"]:
            each["value"][1] = "0"
    box.whole["target"]["profile"] = "gb10"


@situation(OPERATOR, "The kubelet's usual warnings after a restart of k3s this morning")
def restart_warnings(box: Box) -> None:
    box.event(
        "Node",
        "",
        "edge-1",
        "InvalidDiskCapacity",
        "invalid capacity 0 on image filesystem",
        at="2026-06-15T11:10:00Z",
    )
    box.event(
        "Node",
        "",
        "edge-1",
        "Rebooted",
        "Node edge-1 has been rebooted, boot id: 64fe294f-69b2-4bc8-a042-2830991e7e03",
        at="2026-06-15T11:10:00Z",
    )
    box.event(
        "Pod",
        "llm",
        "ollama-5f7c96b8d4-tz8hk",
        "DNSConfigForming",
        "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 192.0.2.1 192.0.2.2 192.0.2.3",
    )
    box.event(
        "Pod",
        "llm",
        "ollama-5f7c96b8d4-tz8hk",
        "FailedMount",
        'MountVolume.SetUp failed for volume "kube-api-access-x2k" : object "llm"/"kube-root-ca.crt" not registered',
        at="2026-06-15T11:10:05Z",
    )
    box.event(
        "Pod",
        "llm",
        "open-webui-66d4b9c5f7-p5j2s",
        "Unhealthy",
        'Readiness probe failed: Get "http://10.42.0.19:8080/health": dial tcp 10.42.0.19:8080: connect: connection refused',
        at="2026-06-15T11:10:40Z",
    )
    box.event(
        "Pod",
        "gpu-operator",
        "nvidia-device-plugin-daemonset-lw6cj",
        "FailedCreatePodSandBox",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "8f0": plugin type="flannel" failed (add): loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: no such file or directory',
        at="2026-06-15T11:10:02Z",
    )
    box.event(
        "Node",
        "",
        "edge-1",
        "CIDRAssignmentFailed",
        "Node edge-1 status is now: CIDRAssignmentFailed",
        at="2026-06-15T11:10:00Z",
    )
    box.event(
        "Pod",
        "gpu-operator",
        "gpu-operator-7c9d8b6f5d-4kq2n",
        "FailedToRetrieveImagePullSecret",
        "Unable to retrieve some image pull secrets (ngc-secret); attempting to pull the image may not succeed.",
    )


@situation(
    LIGHT, "Ghosts of a graceful shutdown: terminated, affinity, status unknown, and each has its successor"
)
def shutdown_ghosts(box: Box) -> None:
    for suffix, reason, message in (
        ("gh1", "Terminated", "Pod was terminated in response to imminent node shutdown."),
        (
            "gh2",
            "NodeAffinity",
            "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        (
            "gh3",
            "OutOfnvidia.com/gpu",
            "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu, requested: 1, used: 1, capacity: 1",
        ),
        ("gh4", "NodeShutdown", "Pod was rejected: Pod was rejected as the node is shutting down."),
    ):
        pod = box.clone_pod("ollama", suffix)
        pod["status"] = {
            "phase": "Failed",
            "reason": reason,
            "message": message,
            "startTime": "2026-06-14T20:00:00Z",
        }
    pod = box.clone_pod("nvdp", "gh5")
    pod["status"] = {
        "phase": "Failed",
        "reason": "NodeShutdown",
        "message": "Pod was rejected as the node is shutting down.",
    }


@situation(LIGHT, "The old pod of the device plugin hangs in Terminating beside the new one")
def terminating_plugin(box: Box) -> None:
    pod = box.clone_pod("nvdp", "old99")
    pod["metadata"]["deletionTimestamp"] = "2026-06-15T11:40:00Z"
    for each in pod["status"]["containerStatuses"]:
        each["ready"] = False
    for c in pod["status"]["conditions"]:
        if c["type"] in ("Ready", "ContainersReady"):
            c["status"] = "False"


@situation(LIGHT, "Everything was restarted with the machine a while ago: restart counts, exit codes 255")
def restart_counts(box: Box) -> None:
    for pod in box.items(PODS):
        for each in pod["status"].get("containerStatuses", []):
            each["restartCount"] = 14
            each["lastState"] = {
                "terminated": {
                    "reason": "Unknown",
                    "exitCode": 255,
                    "startedAt": "2026-06-01T09:00:00Z",
                    "finishedAt": "2026-06-14T22:00:00Z",
                }
            }


@situation(LIGHT, "An Intel GPU beside: its plugin withdraws its device and a media server dies of it")
def intel_beside(box: Box) -> None:
    status = box.items(NODES)[0]["status"]
    status["capacity"] |= {"gpu.intel.com/i915": "1", "amd.com/gpu": "0"}
    status["allocatable"] |= {"gpu.intel.com/i915": "0", "amd.com/gpu": "0"}
    pod = box.clone_pod("open-webui", "jelly")
    pod["metadata"] |= {
        "name": "jellyfin-0",
        "namespace": "media",
        "labels": {"app": "jellyfin"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "name": "jellyfin",
                "uid": "0",
                "controller": True,
            }
        ],
    }
    pod["spec"]["containers"][0] |= {"name": "jellyfin", "image": "docker.io/jellyfin/jellyfin:10"}
    pod["status"] = {
        "phase": "Failed",
        "reason": "UnexpectedAdmissionError",
        "message": "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices gpu.intel.com/i915, which is unexpected",
    }
    box.event(
        "Pod",
        "media",
        "jellyfin-0",
        "UnexpectedAdmissionError",
        "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices gpu.intel.com/i915, which is unexpected",
    )
    plug = box.clone_pod("nvdp", "intel")
    plug["metadata"] |= {
        "name": "intel-gpu-plugin-x2k4m",
        "namespace": "inteldeviceplugins-system",
        "labels": {"app": "intel-gpu-plugin"},
    }
    plug["metadata"]["ownerReferences"][0] |= {"name": "intel-gpu-plugin", "uid": "1"}
    plug["spec"]["containers"][0] |= {
        "name": "intel-gpu-plugin",
        "image": "docker.io/intel/intel-gpu-plugin:0.32.0",
    }
    plug["spec"].pop("runtimeClassName", None)
    plug["status"]["containerStatuses"][0] |= {
        "name": "intel-gpu-plugin",
        "ready": False,
        "restartCount": 40,
        "state": waits("CrashLoopBackOff", "back-off 5m0s"),
    }
    for c in plug["status"]["conditions"]:
        if c["type"] in ("Ready", "ContainersReady"):
            c["status"] = "False"
    ds = copy.deepcopy(box.item(DAEMONSETS, "nvdp"))
    ds["metadata"] |= {
        "name": "intel-gpu-plugin",
        "namespace": "inteldeviceplugins-system",
        "uid": "1",
        "labels": {"app": "intel-gpu-plugin"},
    }
    ds["spec"]["template"]["spec"]["containers"][0] |= {
        "name": "intel-gpu-plugin",
        "image": "docker.io/intel/intel-gpu-plugin:0.32.0",
    }
    ds["status"] |= {"numberReady": 0, "numberAvailable": 0}
    box.items(DAEMONSETS).append(ds)


@situation(LIGHT, "Docker and its containerd beside k3s have failed: nobody here uses them")
def docker_failed(box: Box) -> None:
    out = box.reads[UNITS]["stdout"]
    box.reads[UNITS]["stdout"] = out.replace(
        "Id=containerd.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead",
        "Id=containerd.service\nLoadState=loaded\nActiveState=failed\nSubState=failed",
    ).replace(
        "Id=docker.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead",
        "Id=docker.service\nLoadState=loaded\nActiveState=failed\nSubState=failed",
    )


@situation(OPERATOR, "metrics-server and the ingress of k3s crash-loop: nothing promised stands on them")
def metrics_server(box: Box) -> None:
    box.state(
        "metrics-server",
        waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=metrics-server"),
        restarts=44,
    )
    job = box.clone_pod("metrics-server", "helm1")
    job["metadata"] |= {
        "name": "helm-install-traefik-x9k2m",
        "labels": {"helmcharts.helm.cattle.io/chart": "traefik"},
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": "helm-install-traefik",
                "uid": "7",
                "controller": True,
            }
        ],
    }


@situation(LIGHT, "A Raspberry Pi of the cluster is switched off; nothing promised runs on it")
def pi_off(box: Box) -> None:
    node = copy.deepcopy(box.items(NODES)[0])
    node["metadata"] |= {"name": "pi-2", "uid": "00000000-0000-4000-8000-000000000002"}
    node["metadata"]["labels"] = {
        k: v
        for k, v in node["metadata"]["labels"].items()
        if "nvidia" not in k and "10de" not in k and "control-plane" not in k
    } | {"kubernetes.io/arch": "arm64", "kubernetes.io/hostname": "pi-2"}
    for part in ("capacity", "allocatable"):
        node["status"][part] = {
            k: v for k, v in node["status"][part].items() if not k.startswith("nvidia.com/")
        }
    node["status"]["nodeInfo"] |= {"architecture": "arm64"}
    for c in node["status"]["conditions"]:
        c |= {
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastHeartbeatTime": "2026-06-10T11:58:31Z",
        }
    node["spec"] |= {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]}
    box.items(NODES).append(node)


@situation(
    OPERATOR,
    "A finished upgrade of the operator: an old replica set, an old validator that failed, a completed one",
)
def operator_upgraded(box: Box) -> None:
    pod = box.clone_pod("nvidia-cuda-validator", "old01")
    pod["status"] = {"phase": "Failed", "reason": "Error", "startTime": "2026-06-01T09:00:00Z"}
    rs = copy.deepcopy(box.item(REPLICASETS, "gpu-operator-7c9d8b6f5d"))
    rs["metadata"] |= {"name": "gpu-operator-55f8c6d4b9", "uid": "00000000-0000-4000-8000-0000000000aa"}
    rs["spec"]["replicas"] = 0
    rs["status"] = {"replicas": 0, "observedGeneration": 2}
    box.items(REPLICASETS).append(rs)


@situation(A100, "A MIG change of last week, done: labels of success and a slice in use by name")
def mig_done(box: Box) -> None:
    labels = box.items(NODES)[0]["metadata"]["labels"]
    labels |= {
        "nvidia.com/mig.config": "all-disabled",
        "nvidia.com/mig.config.state": "success",
        "nvidia.com/mig.capable": "true",
        "nvidia.com/gpu.deploy.mig-manager": "true",
    }


@situation(
    LIGHT, "A job of somebody asks for a card that is in use, and two of a resource that nobody offers"
)
def foreign_pending(box: Box) -> None:
    for suffix, said in (
        (
            "job01",
            "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
        ),
        ("job02", "0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.5gb."),
    ):
        pod = box.clone_pod("open-webui", suffix)
        pod["metadata"] |= {
            "name": f"train-{suffix}",
            "namespace": "research",
            "labels": {"job-name": "train"},
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "9", "controller": True}
            ],
            "creationTimestamp": "2026-06-15T10:00:00Z",
        }
        pod["spec"].pop("nodeName", None)
        pod["spec"]["containers"][0] |= {
            "name": "train",
            "image": "docker.io/pytorch/pytorch:2",
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
        }
        pod["status"] = {
            "phase": "Pending",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": said,
                    "lastTransitionTime": "2026-06-15T10:00:00Z",
                }
            ],
        }
        box.event("Pod", "research", f"train-{suffix}", "FailedScheduling", said)


@situation(LIGHT, "A bare CDI file in /etc, nothing in /var/run: containers get the card all the same")
def cdi_in_etc(box: Box) -> None:
    box.reads[CDI]["paths"] = []
