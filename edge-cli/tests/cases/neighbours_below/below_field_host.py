"""Reports of the field: cards and drivers that fail, and what must not be taken for it."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

from below import A100, DEVICES, DUAL, LIGHT, LSPCI, OPERATOR, blind, in_report, offered, smi, windows, xid
from box import SMI, Box, situation


@situation(
    OPERATOR,
    "Xid 62 of an idle card, its channels, then 154: GPU Reset Required",
    "host",
    says="154 | reset",
    never="reinstall the driver | restart the device plugin | num_ctx",
)
def xid62_reset(box: Box) -> None:
    xid(
        box,
        62,
        "pid='<unknown>', name=<unknown>, 2023b230 20238a3a 2023e8b6 2023eac4 2023ec3c 2023ea86 00000000 00000000",
    )
    for n in range(8, 14):
        xid(
            box,
            45,
            f"pid=48211, name=llama-server, channel 0x000000{n:02x}",
            at="2026-06-15T11:20:12,000000+00:00",
        )
    xid(
        box,
        154,
        "pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        at="2026-06-15T11:20:14,000000+00:00",
    )


@situation(
    LIGHT,
    "Xid 119 and 154: Node Reboot Required; nvidia-smi still answers",
    "host",
    says="reboot | 154 | 119 | gsp",
    never="reinstall the driver | restart the device plugin",
)
def xid119_reboot(box: Box) -> None:
    xid(
        box,
        119,
        "pid=48211, name=llama-server, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20800a4c 0x4).",
    )
    xid(
        box,
        154,
        "pid=48211, name=llama-server, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
        at="2026-06-15T11:20:14,000000+00:00",
    )


@situation(
    LIGHT,
    "The card died and cannot be attached again: osInitNvMapping",
    "host",
    says="bus | fallen | attach",
    never="reinstall the driver | runtimeclass | above 4g",
)
def cannot_attach(box: Box) -> None:
    xid(box, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
    for n in range(3):
        box.kernel(
            f"2026-06-15T11:2{n + 1}:10,000000+00:00 NVRM: osInitNvMapping: *** Cannot attach gpu",
            f"2026-06-15T11:2{n + 1}:10,000001+00:00 NVRM: RmInitAdapter: osInitNvMapping failed, bailing out of RmInitAdapter",
            f"2026-06-15T11:2{n + 1}:10,000002+00:00 NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:894)",
            f"2026-06-15T11:2{n + 1}:10,000003+00:00 NVRM: GPU 0000:01:00.0: rm_init_adapter failed, device minor number 0",
        )
    smi(box, 6, "No devices were found\n")
    blind(box)


@situation(
    OPERATOR,
    "A left-over GSP state: WPR2 already up",
    "host",
    says="gsp | wpr2 | firmware",
    never="nouveau | secure boot | runtimeclass",
)
def wpr2(box: Box) -> None:
    box.kernel(
        "2026-06-15T06:00:07,191010+00:00 NVRM: _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP",
        "2026-06-15T06:00:07,191011+00:00 NVRM: _kgspBootGspRm: (the GPU is likely in a bad state and may need to be reset)",
        "2026-06-15T06:00:07,191012+00:00 NVRM: RmInitAdapter: Cannot initialize GSP firmware RM",
        "2026-06-15T06:00:07,191013+00:00 NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x40:2168)",
        "2026-06-15T06:00:07,191014+00:00 NVRM: GPU 0000:01:00.0: rm_init_adapter failed, device minor number 0",
    )
    smi(box, 6, "No devices were found\n")
    blind(box)


@situation(
    LIGHT,
    "A card asleep for ever: no way from D3cold to D0",
    "host",
    says="d3cold | power state | inaccessible | bus",
    never="reinstall the driver | nouveau | runtimeclass",
)
def d3cold(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:20:01,000000+00:00 nvidia 0000:01:00.0: not ready 65535ms after resume; giving up",
        "2026-06-15T11:20:01,000001+00:00 nvidia 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible",
        "2026-06-15T11:20:01,100000+00:00 NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:667)",
        "2026-06-15T11:20:01,100001+00:00 NVRM: GPU 0000:01:00.0: rm_init_adapter failed, device minor number 0",
    )
    smi(box, 6, "No devices were found\n")
    blind(box)


@situation(
    DUAL,
    "One lost card of two makes nvidia-smi fail for all, and every pod's admission too",
    "host",
    says="lost",
    never="reinstall the driver | restart the device plugin | restart ollama",
)
def lost_blocks_all(box: Box) -> None:
    smi(
        box,
        15,
        "Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.  Reboot the system to recover this GPU\n",
    )
    offered(box, 1, capacity=2)
    pod = box.clone_pod("ollama", "ghost")
    pod["status"] = {
        "phase": "Failed",
        "reason": "UnexpectedAdmissionError",
        "message": "Pod was rejected: Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: rpc error: code = Unknown desc = error getting list of preferred allocation devices: unable to get device link information: error creating nvml.Device 1: nvml: GPU is lost, which is unexpected",
    }


@situation(
    DUAL,
    "The same seen without the host: pods refused for a lost card",
    "host",
    "gpu",
    says="lost",
    never="reinstall the driver | restart ollama",
)
def lost_by_events(box: Box) -> None:
    for key in list(box.reads):
        if key.startswith(("command:", "file:", "glob:")):
            del box.reads[key]
    offered(box, 1, capacity=2)
    said = "Pod Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: rpc error: code = Unknown desc = Unable to retrieve list of available devices: error creating nvml.Device 1: nvml: GPU is lost, which is unexpected"
    for pod in box.pods("ollama"):
        pod["status"] = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": said}
    box.dark("ollama")
    box.event("Pod", "llm", box.pods("ollama")[0]["metadata"]["name"], "UnexpectedAdmissionError", said)


@situation(
    LIGHT,
    "WSL2: Windows does not let its GPU through",
    "host",
    says="windows | blocked by the operating system",
    never="modprobe | nouveau | secure boot | apt install nvidia-driver | dkms",
)
def wsl_blocked(box: Box) -> None:
    windows(box)
    smi(
        box,
        255,
        "Failed to initialize NVML: GPU access blocked by the operating system\nFailed to properly shut down NVML: GPU access blocked by the operating system\n",
    )
    blind(box)


@situation(
    A100,
    "The NVLink fabric never completes: CUDA says 802",
    "host",
    says="fabric",
    never="reinstall the driver | restart the device plugin | num_ctx",
)
def fabric_in_progress(box: Box) -> None:
    in_report(
        box,
        ("<fabric>\n\t\t\t<state>N/A</state>", "<fabric>\n\t\t\t<state>In Progress</state>"),
        ("NVIDIA A100-PCIE-40GB", "NVIDIA A100-SXM4-40GB"),
    )
    box.reads[LSPCI]["stdout"] += (
        "0000:c4:00.0 Bridge [0680]: NVIDIA Corporation GA100 [A100 NVSwitch] [10de:1af1] (rev a1)\n\tKernel driver in use: nvidia-nvswitch\n\tKernel modules: nvidiafb, nouveau, nvidia_drm, nvidia\n"
    )
    box.logs(
        "ollama",
        'time=2026-06-15T11:40:00.000Z level=INFO source=gpu.go:612 msg="Unable to load cudart library /usr/lib/libcuda.so.580.126.20: cuda driver library init failure: 802"',
    )


@situation(
    A100,
    "Xid 95: an uncontained memory error, a reset is needed",
    "host",
    says="95 | uncontained",
    never="restart the device plugin | num_ctx",
)
def uncontained(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 NVRM: Xid (PCI:0000:17:00): 95, pid='<unknown>', name=<unknown>, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No"
    )


@situation(
    A100,
    "Xid 140: an unrecovered memory error",
    "host",
    says="140 | ecc",
    never="restart the device plugin | num_ctx",
)
def xid140(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 NVRM: Xid (PCI:0000:17:00): 140, pid='<unknown>', name=<unknown>, An uncorrectable ECC error detected (possible firmware handling failure) DRAM:0, LTC:0, MMU:0, PCIE:4"
    )


@situation(
    A100,
    "Xid 74: a fatal error on an NVLink",
    "host",
    says="74 | nvlink",
    never="restart the device plugin | num_ctx",
)
def xid74(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 NVRM: Xid (PCI:0000:17:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
    )


@situation(
    DUAL,
    "One of two cards was given to a virtual machine",
    "host",
    says="vfio",
    never="reinstall the driver | nouveau | restart the device plugin",
)
def one_vfio(box: Box) -> None:
    out = box.reads[SMI]["stdout"]
    start, end = out.rindex("<gpu id="), out.rindex("</gpu>") + len("</gpu>")
    box.reads[SMI]["stdout"] = (out[:start] + out[end:]).replace("<attached_gpus>2<", "<attached_gpus>1<")
    head, tail = box.reads[LSPCI]["stdout"].split("0000:41:00.0", 1)
    box.reads[LSPCI]["stdout"] = (
        head
        + "0000:41:00.0"
        + tail.replace("Kernel driver in use: nvidia\n", "Kernel driver in use: vfio-pci\n").replace(
            "snd_hda_intel\n\tKernel modules", "vfio-pci\n\tKernel modules"
        )
    )
    box.reads[DEVICES]["paths"].remove("/dev/nvidia1")
    offered(box, 1)


@situation(
    OPERATOR,
    "A fatal PCIe error took the card",
    "host",
    says="bus | aer | lost",
    never="reinstall the driver | runtimeclass | restart the device plugin",
)
def aer_fatal(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 pcieport 0000:00:01.1: AER: Uncorrectable (Fatal) error message received from 0000:01:00.0",
        "2026-06-15T11:20:11,000001+00:00 nvidia 0000:01:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Inaccessible, (Unregistered Agent ID)",
        "2026-06-15T11:20:11,000002+00:00 pcieport 0000:00:01.1: AER: Root Port link has been reset (0)",
        "2026-06-15T11:20:11,000003+00:00 nvidia 0000:01:00.0: AER: can't recover (no error_detected callback)",
        "2026-06-15T11:20:11,000004+00:00 pcieport 0000:00:01.1: AER: device recovery failed",
    )
    smi(box, 6, "No devices were found\n")
    offered(box, 0, capacity=1)


@situation(
    A100,
    "Pages of the card wait for their retirement",
    "host",
    says="retire | pending | reset",
    never="restart the device plugin | num_ctx",
)
def page_retirement(box: Box) -> None:
    in_report(box, ("<pending_retirement>N/A<", "<pending_retirement>Yes<"))


@situation(
    A100,
    "The on-chip memory of the card has passed its error threshold",
    "host",
    says="sram | threshold",
    never="restart the device plugin | num_ctx",
)
def sram_threshold(box: Box) -> None:
    in_report(
        box,
        (
            "<aggregate>\n\t\t\t\t<sram_correctable>0</sram_correctable>\n\t\t\t\t<sram_uncorrectable_parity>0</sram_uncorrectable_parity>",
            "<aggregate>\n\t\t\t\t<sram_correctable>0</sram_correctable>\n\t\t\t\t<sram_uncorrectable_parity>14</sram_uncorrectable_parity>\n\t\t\t\t<sram_threshold_exceeded>Yes</sram_threshold_exceeded>",
        ),
    )
