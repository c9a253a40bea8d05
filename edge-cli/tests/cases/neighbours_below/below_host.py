"""Neighbours of the host rung: the driver, the cards and the machine."""
# ruff: noqa: E501 - what kernels and drivers say stays one line, as it comes

from below import (
    A100,
    DEVICES,
    DUAL,
    KERNEL,
    LIGHT,
    LSPCI,
    MODINFO,
    OPERATOR,
    blind,
    in_report,
    missing,
    offered,
    smi,
    unloaded_module,
    xid,
)
from box import SMI, Box, situation


@situation(
    OPERATOR,
    "A kernel upgrade, and DKMS had no headers to build the module with",
    "host",
    says="6.8.0-101 | build | kernel",
    never="nouveau | runtimeclass",
)
def kernel_without_module(box: Box) -> None:
    box.reads[KERNEL]["text"] = "6.8.0-101-generic\n"
    unloaded_module(box, built=False)


@situation(
    LIGHT,
    "A machine without any NVIDIA driver",
    "host",
    says="driver",
    never="reboot the | runtimeclass | device plugin",
)
def no_driver_at_all(box: Box) -> None:
    unloaded_module(box, built=False)
    missing(box, SMI)


@situation(
    OPERATOR,
    "The module is built and was not loaded: it is on a deny list of modprobe",
    "host",
    says="not loaded | modprobe",
    never="reinstall the driver | nouveau",
)
def module_denied(box: Box) -> None:
    unloaded_module(box, built=True)


@situation(
    OPERATOR,
    "The card is bound to vfio-pci, for a virtual machine",
    "host",
    says="vfio",
    never="nouveau | secure boot | reinstall the driver",
)
def card_given_away(box: Box) -> None:
    unloaded_module(box, built=True)
    box.reads[LSPCI]["stdout"] = box.reads[LSPCI]["stdout"].replace(
        "\tKernel modules: nvidiafb", "\tKernel driver in use: vfio-pci\n\tKernel modules: nvidiafb", 1
    )


@situation(
    OPERATOR,
    "The BIOS gave the card no room for its memory window",
    "host",
    says="bar1 | above 4g | bios",
    never="reinstall the driver | nouveau | secure boot",
)
def no_room_for_bar(box: Box) -> None:
    unloaded_module(box, built=True)
    box.kernel(
        "2026-06-15T06:00:05,101877+00:00 nvidia: loading out-of-tree module taints kernel.",
        "2026-06-15T06:00:05,191004+00:00 NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
        "2026-06-15T06:00:05,191005+00:00 NVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)",
        "2026-06-15T06:00:05,191010+00:00 nvidia: probe of 0000:01:00.0 failed with error -1",
        "2026-06-15T06:00:05,191012+00:00 NVRM: The NVIDIA probe routine failed for 1 device(s).",
        "2026-06-15T06:00:05,191013+00:00 NVRM: None of the NVIDIA devices were initialized.",
    )


@situation(
    OPERATOR,
    "A card of a newer generation than the proprietary module drives",
    "host",
    says="open",
    never="nouveau | secure boot | bios",
)
def needs_open_module(box: Box) -> None:
    smi(box, 6, "No devices were found\n")
    box.kernel(
        "2026-06-15T06:00:07,191010+00:00 NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)",
        "2026-06-15T06:00:07,191011+00:00 NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
        "2026-06-15T06:00:07,191012+00:00 NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)",
    )
    blind(box)


@situation(
    LIGHT,
    "nvidia-smi cannot determine the device handle: the card was lost at run time",
    "host",
    says="lost | bus",
    never="reinstall the driver | runtimeclass",
)
def handle_undetermined(box: Box) -> None:
    smi(
        box,
        255,
        "Unable to determine the device handle for GPU0: 0000:01:00.0: Unknown Error\nNo devices were found\n",
    )
    xid(box, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
    blind(box)


@situation(
    OPERATOR,
    "An NVML that fails for a reason it does not know",
    "host",
    says="nvml | unknown error",
    never="runtimeclass | device plugin",
)
def nvml_unknown_error(box: Box) -> None:
    smi(box, 255, "Failed to initialize NVML: Unknown Error\n")
    blind(box)


@situation(OPERATOR, "nvidia-smi crashes", "host", says="nvidia-smi | 139", never="runtimeclass")
def smi_crashes(box: Box) -> None:
    smi(box, 139, "")
    box.reads[SMI]["stderr"] = "Segmentation fault (core dumped)\n"
    blind(box)


@situation(
    DUAL,
    "One of two cards has fallen off the bus; the other serves on",
    "host",
    says="bus | 02:00 | missing | lists 1",
    never="reinstall the driver | restart the device plugin",
)
def one_of_two_lost(box: Box) -> None:
    out = box.reads[SMI]["stdout"]
    start, end = out.rindex("<gpu id="), out.rindex("</gpu>") + len("</gpu>")
    address = out[start + len('<gpu id="0000') : out.index('"', start + 9)].lower()
    box.reads[SMI]["stdout"] = (out[:start] + out[end:]).replace("<attached_gpus>2<", "<attached_gpus>1<")
    box.kernel(
        f"2026-06-15T11:20:11,000000+00:00 NVRM: Xid (PCI:{address[:-2]}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        f"2026-06-15T11:20:11,000100+00:00 NVRM: GPU {address}: GPU has fallen off the bus.",
    )
    offered(box, 1, capacity=2)


@situation(
    DUAL,
    "The second card has no power cable: the bus shows one",
    "host",
    says="1 nvidia card | profile says 2 | fewer",
    never="reinstall the driver | restart the device plugin | cut up",
)
def second_card_not_seated(box: Box) -> None:
    out = box.reads[SMI]["stdout"]
    start, end = out.rindex("<gpu id="), out.rindex("</gpu>") + len("</gpu>")
    box.reads[SMI]["stdout"] = (out[:start] + out[end:]).replace("<attached_gpus>2<", "<attached_gpus>1<")
    lines = box.reads[LSPCI]["stdout"].splitlines(keepends=True)
    heads = [index for index, line in enumerate(lines) if "VGA compatible" in line]
    box.reads[LSPCI]["stdout"] = "".join(lines[: heads[1]])
    box.reads[DEVICES]["paths"].remove("/dev/nvidia1")
    offered(box, 1)


@situation(
    A100,
    "Rows wait for a reset to be remapped",
    "host",
    says="remap | reset",
    never="restart the device plugin | replace the card",
)
def remap_pending(box: Box) -> None:
    in_report(box, ("<remapped_row_pending>No<", "<remapped_row_pending>Yes<"))


@situation(
    A100,
    "A double-bit error in the kernel log, an hour ago",
    "host",
    says="48 | ecc",
    never="restart the device plugin | num_ctx",
)
def double_bit_error(box: Box) -> None:
    xid(
        box,
        48,
        "pid=48211, name=llama-server, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 2, subpartition 0.",
    )


@situation(
    OPERATOR,
    "The driver asks for a reset of the card by Xid 154",
    "host",
    says="reset | 154",
    never="replace the card | reinstall the driver",
)
def reset_asked_for(box: Box) -> None:
    xid(box, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")


@situation(
    OPERATOR,
    "Xid 61: the micro-controller of the card stopped at a breakpoint",
    "host",
    says="61",
    never="restart the device plugin | num_ctx",
)
def micro_controller_breakpoint(box: Box) -> None:
    xid(box, 61, "pid=1203, name=nvidia-smi, 1066(1e40) 00000000 00000000")
    box.logs(
        "nvidia-device-plugin",
        "W0615 11:20:11.100000       1 health.go:151] XidCriticalError: Xid=61 on Device=GPU-3f0f5f2e-7a0d-4c1b-9c55-1d2e3f405162; marking device as unhealthy.",
        "I0615 11:20:11.100100       1 server.go:222] 'nvidia.com/gpu' device marked unhealthy: GPU-3f0f5f2e-7a0d-4c1b-9c55-1d2e3f405162",
    )
    offered(box, 0, capacity=1)


@situation(
    OPERATOR,
    "The device node of the card was not made after the boot",
    "host",
    says="/dev/nvidia0",
    never="reinstall the driver | runtimeclass",
)
def no_device_node(box: Box) -> None:
    box.reads[DEVICES]["paths"].remove("/dev/nvidia0")


@situation(
    A100,
    "A virtual GPU without its licence",
    "host",
    says="licen",
    never="reinstall the driver | restart the device plugin",
)
def unlicensed_vgpu(box: Box) -> None:
    in_report(
        box,
        ("<virtualization_mode>None<", "<virtualization_mode>VGPU<"),
        (
            "<gpu_recovery_action>",
            "<vgpu_software_licensed_product><product_name>NVIDIA Virtual Compute Server</product_name><license_status>Unlicensed (Unrestricted)</license_status></vgpu_software_licensed_product><gpu_recovery_action>",
        ),
    )


@situation(
    OPERATOR,
    "A module of another version was loaded than the programs are: the mismatch by its NVML text alone",
    "host",
    says="mismatch",
    never="restart the device plugin",
)
def mismatch_by_text(box: Box) -> None:
    smi(box, 18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95\n")
    box.reads[MODINFO]["stdout"] = "580.95.05\n"
