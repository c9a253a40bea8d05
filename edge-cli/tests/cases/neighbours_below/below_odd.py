"""Odd boxes that are sound: what looks like a fault to a strict reader and breaks no promise."""
# ruff: noqa: E501 - what kernels and drivers say stays one line, as it comes

import copy

from below import A100, CPU, DUAL, KERNEL, LIGHT, LSPCI, MODINFO, OPERATOR, in_report, missing, xid
from box import DMESG, NODES, PODS, SMI, Box, situation

LOADED = "file:/proc/driver/nvidia/version"


@situation(LIGHT, "A second node without any GPU")
def node_without_gpu(box: Box) -> None:
    node = copy.deepcopy(box.items(NODES)[0])
    node["metadata"] |= {"name": "edge-2", "uid": "00000000-0000-4000-8000-000000000002"}
    node["metadata"]["labels"] = {
        key: value
        for key, value in node["metadata"]["labels"].items()
        if "nvidia" not in key and "10de" not in key
    }
    for part in ("capacity", "allocatable"):
        node["status"][part] = {
            key: value for key, value in node["status"][part].items() if not key.startswith("nvidia.com/")
        }
    box.items(NODES).append(node)


@situation(LIGHT, "A second node without a GPU is cordoned and does not serve")
def spare_node_cordoned(box: Box) -> None:
    node_without_gpu(box)
    box.items(NODES)[1]["spec"] |= {
        "unschedulable": True,
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
    }


@situation(OPERATOR, "GB10: the card's memory is the system's")
def gb10_memory(box: Box) -> None:
    out = box.reads[SMI]["stdout"]
    head, tail = out.split("<fb_memory_usage>", 1)
    block, rest = tail.split("</fb_memory_usage>", 1)
    block = "<total>Not Supported</total><reserved>Not Supported</reserved><used>Not Supported</used><free>Not Supported</free>"
    box.reads[SMI]["stdout"] = (
        (head + "<fb_memory_usage>" + block + "</fb_memory_usage>" + rest)
        .replace("NVIDIA GeForce RTX 4090", "NVIDIA GB10")
        .replace("Ada Lovelace", "Blackwell")
    )
    box.reads[LSPCI]["stdout"] = (
        "000f:01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GB20B [GB10] [10de:2e12] (rev a1)\n\tSubsystem: NVIDIA Corporation Device [10de:21ec]\n\tKernel driver in use: nvidia\n\tKernel modules: nvidia_drm, nvidia\n"
    )
    box.reads[SMI]["stdout"] = box.reads[SMI]["stdout"].replace("00000000:01:00.0", "0000000F:01:00.0")
    box.reads[DMESG]["stdout"] = box.reads[DMESG]["stdout"].replace("0000:01:00.0", "000f:01:00.0")
    for name in ("USED", "FREE"):
        key = f"http:prometheus:/api/v1/query?query=DCGM_FI_DEV_FB_{name}"
        for each in box.reads[key]["body"]["data"]["result"]:
            each["value"][1] = "0"
    box.whole["target"]["profile"] = "gb10"


@situation(LIGHT, "A Jetson has no nvidia-smi and no PCI bus")
def jetson(box: Box) -> None:
    missing(box, SMI)
    box.reads[SMI]["stdout"] = ""
    box.reads[LSPCI] = {"rc": 0, "stdout": "", "stderr": "", "error": None, "took_s": 0.0}
    box.reads[KERNEL]["text"] = "5.15.148-tegra\n"
    missing(box, LOADED)
    missing(box, MODINFO)
    box.reads["file:/proc/modules"]["text"] = (
        "nvgpu 2654208 20 - Live 0x0000000000000000 (O)\nnvidia_modeset 1277952 3 - Live 0x0000000000000000 (OE)\nnvmap 192512 58 nvgpu, Live 0x0000000000000000 (O)\n"
    )
    box.reads["glob:/dev/nvidia*"]["paths"] = ["/dev/nvidiactl", "/dev/nvidia0"]
    box.reads[DMESG]["stdout"] = (
        "2026-06-01T06:00:00,000000+00:00 Linux version 5.15.148-tegra (buildbrain@mobile) (aarch64-buildroot-linux-gnu-gcc)\n2026-06-01T06:00:05,000000+00:00 nvgpu: 17000000.gpu nvgpu_nvlink_enumerate:112\n"
    )


@situation(LIGHT, "WSL2: no PCI device, no module, only /dev/dxg")
def wsl(box: Box) -> None:
    box.reads[LSPCI] = {"rc": 0, "stdout": "", "stderr": "", "error": None, "took_s": 0.0}
    box.reads[KERNEL]["text"] = "6.6.87.2-microsoft-standard-WSL2\n"
    missing(box, LOADED)
    missing(box, MODINFO)
    box.reads["file:/proc/modules"]["text"] = "overlay 217088 46 - Live 0x0000000000000000\n"
    box.reads["glob:/dev/nvidia*"]["paths"] = []
    box.reads[DMESG]["stdout"] = (
        "2026-06-01T06:00:00,000000+00:00 Linux version 6.6.87.2-microsoft-standard-WSL2 (root@builder)\n"
    )


@situation(OPERATOR, "The infoROM of the card is corrupted, says nvidia-smi, with exit code 14")
def inforom(box: Box) -> None:
    box.reads[SMI]["rc"] = 14
    box.reads[SMI]["stderr"] = "WARNING: infoROM is corrupted at gpu 0000:01:00.0\n"


@situation(A100, "Correctable errors and remapped rows, nothing pending")
def corrected_errors(box: Box) -> None:
    in_report(box, ("<remapped_row_corr>0<", "<remapped_row_corr>3<"))
    xid(
        box,
        63,
        "pid=48211, name=llama-server, Row Remapper: New row marked for remapping, reset gpu to activate.",
        at="2026-06-03T07:00:00,000000+00:00",
    )


@situation(A100, "A virtual GPU with its licence")
def licensed_vgpu(box: Box) -> None:
    in_report(
        box,
        ("<virtualization_mode>None<", "<virtualization_mode>VGPU<"),
        (
            "<gpu_recovery_action>",
            "<vgpu_software_licensed_product><product_name>NVIDIA Virtual Compute Server</product_name><license_status>Licensed (Expiry: 2027-1-1 0:0:0 GMT)</license_status></vgpu_software_licensed_product><gpu_recovery_action>",
        ),
    )


@situation(OPERATOR, "Time-slicing with the name kept: four of one card")
def sliced_same_name(box: Box) -> None:
    status = box.items(NODES)[0]["status"]
    for part in ("capacity", "allocatable"):
        status[part]["nvidia.com/gpu"] = "4"
    box.items(NODES)[0]["metadata"]["labels"] |= {
        "nvidia.com/gpu.replicas": "4",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
        "nvidia.com/gpu.product": "NVIDIA-GeForce-RTX-4090-SHARED",
    }


@situation(OPERATOR, "The driver comes from a container: no nvidia-smi, no modinfo on the host")
def driver_container(box: Box) -> None:
    missing(box, SMI)
    missing(box, MODINFO)
    toolkit = box.pods("nvidia-container-toolkit-daemonset")[0]
    pod = copy.deepcopy(toolkit)
    pod["metadata"] |= {
        "name": "nvidia-driver-daemonset-x8k2p",
        "uid": "00000000-0000-4000-8000-00000000d001",
    }
    pod["metadata"]["ownerReferences"][0]["name"] = "nvidia-driver-daemonset"
    for part in (pod["spec"]["containers"], pod["status"]["containerStatuses"]):
        part[0] |= {"name": "nvidia-driver-ctr", "image": "nvcr.io/nvidia/driver:570.195.03-ubuntu24.04"}
    box.items(PODS).append(pod)


@situation(OPERATOR, "An upgrade of the driver waits for its reboot; the loaded one answers")
def upgrade_pending(box: Box) -> None:
    box.reads[MODINFO]["stdout"] = "570.211.01\n"


@situation(DUAL, "A second vendor's card beside: not NVIDIA's, not counted")
def quadro_for_display(box: Box) -> None:
    box.reads[LSPCI]["stdout"] += (
        "0000:65:00.0 VGA compatible controller [0300]: NVIDIA Corporation GK208B [GeForce GT 710] [10de:128b] (rev a1)\n\tSubsystem: ZOTAC International (MCO) Ltd. Device [19da:6326]\n\tKernel driver in use: nouveau\n\tKernel modules: nvidiafb, nouveau\n"
    )


@situation(LIGHT, "A stranger's GPU pod waits for a card that is taken")
def stranger_waits(box: Box) -> None:
    pod = copy.deepcopy(box.pods("ollama")[0])
    pod["metadata"] |= {
        "name": "notebook-0",
        "namespace": "lab",
        "uid": "00000000-0000-4000-8000-00000000aa01",
        "labels": {"app": "notebook"},
        "ownerReferences": [
            {
                "kind": "StatefulSet",
                "name": "notebook",
                "apiVersion": "apps/v1",
                "uid": "1",
                "controller": True,
            }
        ],
    }
    pod["spec"].pop("nodeName", None)
    pod["spec"]["containers"][0] |= {
        "name": "notebook",
        "image": "quay.io/jupyter/pytorch-notebook:cuda12",
        "ports": [],
    }
    pod["status"] = {
        "phase": "Pending",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
            }
        ],
    }
    box.items(PODS).append(pod)


@situation(OPERATOR, "A PCIe error that the bus has corrected")
def corrected_bus_error(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 pcieport 0000:00:01.0: AER: Corrected error message received from 0000:01:00.0",
        "2026-06-15T11:20:11,000100+00:00 nvidia 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
        "2026-06-15T11:20:11,000200+00:00 nvidia 0000:01:00.0:    [ 0] RxErr                  (First)",
    )


@situation(OPERATOR, "Secure Boot is on, and the module is signed with an enrolled key")
def secure_boot_signed(box: Box) -> None:
    box.reads[DMESG]["stdout"] = box.reads[DMESG]["stdout"].replace(
        "Secure boot disabled", "Secure boot enabled"
    )
    box.kernel("2026-06-14T11:20:11,000000+00:00 Loading of module with unavailable key is rejected")


@situation(OPERATOR, "A kill at a container's own limit, and the container was a stranger's")
def stranger_killed(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:41:02,000000+00:00 Memory cgroup out of memory: Killed process 99120 (python3) total-vm:9044268kB, anon-rss:4044112kB"
    )


@situation(CPU, "A CPU box without lspci, nvidia-smi and modinfo")
def cpu_without_tools(box: Box) -> None:
    for key in (SMI, LSPCI, MODINFO):
        missing(box, key)


@situation(LIGHT, "The event of a sandbox that failed before k3s was started anew")
def past_sandbox_failure(box: Box) -> None:
    pod = box.pods("ollama")[0]
    box.event(
        "Pod",
        "llm",
        pod["metadata"]["name"],
        "FailedCreatePodSandBox",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured',
        at="2026-06-15T11:10:00Z",
    )


@situation(DUAL, "One card has a compute mode of its own, for one process at a time")
def exclusive_process(box: Box) -> None:
    in_report(box, ("<compute_mode>Default<", "<compute_mode>Exclusive_Process<"))


@situation(OPERATOR, "An application's Xid 13 an hour ago; the node offers its card")
def application_xid(box: Box) -> None:
    xid(
        box,
        13,
        "pid=99120, name=python3, Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address",
        at="2026-06-15T11:00:00,000000+00:00",
    )
