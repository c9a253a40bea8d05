"""Each line is one thing that happens to a host, and the promise that it breaks - or does not."""

from collections.abc import Callable
from typing import Any

import pytest
from k3s_nvidia_edge.host import HostSpec

SMI = "command:nvidia-smi -q -x"
DMESG = "command:dmesg --time-format iso"
LSPCI = "command:lspci -Dnnk -d 10de:"
MODINFO = "command:modinfo -F version nvidia"
MISSING = "modinfo: ERROR: Module nvidia not found in directory /lib/modules/6.8.0-95-generic.\n"
LIGHT, DUAL, A100, CPU = "rtx-4090-light-k3s", "dual-4090-k3s", "a100-k3s", "cpu-k3s"
MODULE = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.195.03  Release Build"

World = Any
Change = Callable[[World], object]


def fell_off(w: World) -> None:
    w.smi(
        "Unable to determine the device handle for GPU0000:01:00.0: GPU is lost.  Reboot the system.\n", rc=15
    )
    w.kernel("NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")


def fell_off_quietly(w: World) -> None:
    w.smi("No devices were found\n", rc=6)
    w.kernel(
        "NVRM: GPU at PCI:0000:01:00: GPU-3f0f5f2e", "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus."
    )


def probe_failed(w: World) -> None:
    w.unload()
    w.kernel("NVRM: The NVIDIA probe routine failed for 1 device(s).")


def no_window(w: World) -> None:
    probe_failed(w)
    w.kernel("NVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)")


def no_window_loaded(w: World) -> None:
    w.smi("No devices were found\n", rc=6)
    w.kernel(
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
        "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)",
    )


def unplugged(w: World) -> None:
    w.smi("No devices were found\n", rc=6)
    w.command(LSPCI, "")
    w.kernel("pcieport 0000:00:01.0: pciehp: Slot(1): Link Down")


def old_kernel_module(w: World) -> None:
    w.unload()
    w.command(MODINFO, "", rc=1, stderr=MISSING)


def not_installed(w: World) -> None:
    old_kernel_module(w)
    w.smi(rc=None, error="not-found")


def unrelated_refusal(w: World) -> None:
    not_installed(w)
    w.kernel("Loading of module with unavailable key is rejected")


def refused_key(w: World) -> None:
    w.unload()
    w.edit(DMESG, ("secureboot: Secure boot disabled", "secureboot: Secure boot enabled"))
    w.kernel("nvidia: Loading of module with unavailable key is rejected", "Key was rejected by service")


def refused_and_nouveau(w: World) -> None:
    refused_key(w)
    w.edit(
        LSPCI, ("\tKernel modules: nvidiafb", "\tKernel driver in use: nouveau\n\tKernel modules: nvidiafb")
    )


def vfio(w: World) -> None:
    w.unload()
    w.edit(
        LSPCI, ("\tKernel modules: nvidiafb", "\tKernel driver in use: vfio-pci\n\tKernel modules: nvidiafb")
    )


def dkms_for_another_kernel(w: World) -> None:
    w.unload()
    w.kernel("nvidia: version magic '6.8.0-90-generic SMP' should be '6.8.0-94-generic SMP'")


def open_module_on_pascal(w: World) -> None:
    w.smi("No devices were found\n", rc=6)
    w.kernel(
        "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:1b38) NVRM: installed in this system is not"
        " supported by"
        " open nvidia.ko because it does not include the required GPU System Processor (GSP)."
    )


def proprietary_module_on_blackwell(w: World) -> None:
    w.smi("No devices were found\n", rc=6)
    w.kernel("NVRM: installed in this system requires use of the NVIDIA open kernel modules.")


def driver_before_the_card(w: World) -> None:
    w.unload()
    w.kernel(
        "NVRM: The NVIDIA GPU 0000:01:00.0 installed in this system is not supported by the NVIDIA"
        " 535.54 driver release."
    )


def one_of_two_missing(w: World) -> None:
    text = w.reads[SMI]["stdout"]
    start = text.index("<gpu id=", text.index("<gpu id=") + 1)
    w.reads[SMI]["stdout"] = text[:start] + text[text.index("</nvidia_smi_log>") :]
    w.kernel("NVRM: GPU 0000:02:00.0: RmInitAdapter failed! (0x23:0x65:1438)")


def one_of_two_gone_from_the_bus(w: World) -> None:
    one_of_two_missing(w)
    text = w.reads[LSPCI]["stdout"]
    blocks = text.split("\n0000:")
    second = next(i for i, block in enumerate(blocks) if i and "VGA" in block)
    w.reads[LSPCI]["stdout"] = "\n0000:".join(blocks[:second])


def second_card_for_the_screen(w: World) -> None:
    w.reads[LSPCI]["stdout"] += (
        "0000:05:00.0 VGA compatible controller [0300]: NVIDIA Corporation GK208B [GeForce GT 710]"
        " [10de:128b]\n"
        "\tKernel driver in use: nouveau\n\tKernel modules: nvidiafb, nouveau\n"
    )


def jetson(w: World) -> None:
    w.file("/proc/sys/kernel/osrelease", "5.15.148-tegra\n")
    w.command(LSPCI, "")
    w.smi(rc=None, error="not-found")
    w.command(MODINFO, "", rc=1, stderr=MISSING)
    w.file("/proc/driver/nvidia/version", None, error="not-found")
    w.file("/proc/modules", "nvgpu 2658304 25 - Live 0x0000000000000000 (O)\n")
    w.reads["glob:/dev/nvidia*"] = {"paths": []}


def jetson_without_module(w: World) -> None:
    jetson(w)
    w.file("/proc/modules", "ext4 1134592 2 - Live 0x0000000000000000\n")


def wsl(w: World) -> None:
    w.file("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
    w.command(LSPCI, "")
    w.command(MODINFO, "", rc=1, stderr=MISSING)
    w.file("/proc/driver/nvidia/version", None, error="not-found")
    w.file("/proc/modules", "ext4 1134592 2 - Live 0x0000000000000000\n")
    w.reads["glob:/dev/nvidia*"] = {"paths": []}


def driver_container(w: World, *, ready: bool = True) -> None:
    w.smi(rc=None, error="not-found")
    w.command(MODINFO, "", rc=1, stderr=MISSING)
    pod = {
        "metadata": {
            "name": "nvidia-driver-daemonset-b6xkq",
            "namespace": "gpu-operator",
            "ownerReferences": [{"kind": "DaemonSet", "name": "nvidia-driver-daemonset", "controller": True}],
        },
        "spec": {
            "nodeName": "edge-1",
            "containers": [
                {"name": "nvidia-driver-ctr", "image": "nvcr.io/nvidia/driver:570.195.03-ubuntu24.04"}
            ],
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }
    w.items("/api/v1/pods").append(pod)


def smi_not_on_the_path(w: World) -> None:
    w.smi(rc=None, error="not-found")


def no_programs(w: World) -> None:
    w.smi(rc=None, error="not-found")
    w.offer({"nvidia.com/gpu": "0"})


def xid(number: int, *, at: str = "2026-06-15T09:00:00") -> Change:
    return lambda w: w.kernel(
        f"NVRM: Xid (PCI:0000:01:00): {number}, pid=4711, name=python3, Ch 00000008", at=at
    )


def idle_after(number: int) -> Change:
    def change(w: World) -> None:
        xid(number)(w)
        w.edit(SMI, ("<process_info>", "<gone>"), ("</process_info>", "</gone>"))

    return change


def unseen_report_after(number: int) -> Change:
    def change(w: World) -> None:
        xid(number)(w)
        w.drop(SMI)

    return change


def blocked_by_windows(w: World) -> None:
    wsl(w)
    w.smi("Failed to initialize NVML: GPU access blocked by the operating system\n", rc=255)


def one_given_away(w: World) -> None:
    out = w.reads[SMI]["stdout"]
    start, end = out.rindex("<gpu id="), out.rindex("</gpu>") + len("</gpu>")
    w.reads[SMI]["stdout"] = out[:start] + out[end:]
    head, _, tail = w.reads[LSPCI]["stdout"].rpartition("in use: nvidia\n")
    w.reads[LSPCI]["stdout"] = f"{head}in use: vfio-pci\n{tail}"


def full_disk(w: World, *, silent: bool = True) -> None:
    w.edit("command:df -Pk", ("599048340      35% /", "0     100% /"))
    if silent:
        w.every_api(error="unreachable")


def blocked_writer(w: World, *, silent: bool = True) -> None:
    w.kernel("INFO: task jbd2/dm-0-8:512 blocked for more than 122 seconds.", at="2026-06-15T11:50:00")
    if silent:
        w.every_api(error="timeout")


def mounted(w: World, device: str, point: str) -> None:
    w.reads["command:df -Pk"]["stdout"] += f"/dev/{device} 1000 500 500 50% {point}\n"


def read_only_at(point: str, *, settings: str = "", host_path: str = "/var/log") -> Change:
    def change(w: World) -> None:
        mounted(w, "sdc1", point)
        w.file("/etc/rancher/k3s/config.yaml", settings)
        w.pod("ollama")["spec"].setdefault("volumes", []).append(
            {"name": "x", "hostPath": {"path": host_path}}
        )
        w.kernel("EXT4-fs (sdc1): Remounting filesystem read-only", at="2026-06-15T11:40:00")

    return change


def failing_stick(point: str) -> Change:
    def change(w: World) -> None:
        w.kernel("sd 6:0:0:0: [sdb] Attached SCSI removable disk")
        w.edit("command:df -Pk", ("/dev/mapper/ubuntu--vg-ubuntu--lv", "/dev/nvme0n1p3"))
        mounted(w, "sdb1", point)
        w.kernel("I/O error, dev sdb, sector 2048 op 0x0:(READ)", at="2026-06-15T11:40:00")

    return change


RESET_STATUS = (
    "<gpu_reset_status><reset_required>{}</reset_required>"
    "<drain_and_reset_recommended>{}</drain_and_reset_recommended></gpu_reset_status>"
)


def suspended_pool(source: str) -> Change:
    def change(w: World) -> None:
        w.edit("command:df -Pk", ("/dev/mapper/ubuntu--vg-ubuntu--lv", source))
        w.kernel(
            "WARNING: Pool 'rpool' has encountered an uncorrectable I/O failure and has been suspended.",
            at="2026-06-15T11:40:00",
        )

    return change


def told_out_of_memory(victim: str) -> Change:
    def change(w: World) -> None:
        w.command(DMESG, rc=1, stderr="dmesg: read kernel buffer failed: Operation not permitted")
        w.event("SystemOOM", f"System OOM encountered, victim process: {victim}, pid: 4711", node="edge-1")

    return change


def reloaded_after(number: int) -> Change:
    def change(w: World) -> None:
        xid(number)(w)
        w.kernel(MODULE, at="2026-06-15T10:00:00")

    return change


def still_withdrawn(number: int, later: int | None = None) -> Change:
    def change(w: World) -> None:
        xid(number, at="2026-06-12T09:00:00")(w)
        if later:
            xid(later, at="2026-06-13T09:00:00")(w)
        w.offer({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "0"})

    return change


def plugin_says(number: int) -> Change:
    def change(w: World) -> None:
        w.drop("command:", "file:", "glob:")
        w.offer({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "0"})
        w.log(
            "nvidia-device-plugin-daemonset",
            f"I0613 17:02:44.601120 1 health.go:159] XidCriticalError: Xid={number} on Device=GPU-3f0f5f2e;"
            " marking device as unhealthy.\n",
        )

    return change


def ecc(**values: str) -> Change:
    def change(w: World) -> None:
        text = w.reads[SMI]["stdout"]
        for name, value in values.items():
            text = text.replace(f"<{name}>No</{name}>", f"<{name}>{value}</{name}>")
            text = text.replace(f"<{name}>0</{name}>", f"<{name}>{value}</{name}>", 1)
        w.reads[SMI]["stdout"] = text

    return change


def smi_edit(*pairs: tuple[str, str]) -> Change:
    return lambda w: w.edit(SMI, *pairs)


def vgpu(status: str) -> Change:
    return smi_edit(
        (
            "<virtualization_mode>None</virtualization_mode>",
            "<virtualization_mode>VGPU</virtualization_mode>",
        ),
        (
            "<fan_speed>",
            (
                f"<vgpu_software_licensed_product><license_status>{status}</license_status>"
                "</vgpu_software_licensed_product><fan_speed>"
            ),
        ),
    )


def switches(fabric: str, *, busy: bool = True) -> Change:
    def change(w: World) -> None:
        w.reads[LSPCI]["stdout"] += (
            "0000:83:00.0 Bridge [0680]: NVIDIA Corporation GA100 [A100 NVSwitch] [10de:1af1]\n"
        )
        text = w.reads[SMI]["stdout"]
        start = text.index("<state>", text.index("<fabric>"))
        w.reads[SMI]["stdout"] = (
            f"{text[:start]}<state>{fabric}</state>{text[text.index('</state>', start) + 8 :]}"
        )
        if not busy:
            text = w.reads[SMI]["stdout"]
            start, end = text.index("<processes>"), text.index("</processes>")
            w.reads[SMI]["stdout"] = text[: start + 11] + text[end:]

    return change


def no_cuda(words: str) -> Change:
    def change(w: World) -> None:
        w.log("ollama", f"ggml_cuda_init: failed to initialize CUDA: {words}\n")

    return change


def old_driver(version: str, ollama: str = "0.33.0") -> Change:
    def change(w: World) -> None:
        w.edit(SMI, ("570.195.03", version))
        w.reads["http:ollama:/api/version"] = {"status": 200, "body": {"version": ollama}, "error": None}

    return change


def old_driver_and_only_the_tag(w: World) -> None:
    old_driver("545.29.06")(w)
    w.drop("http:")


def kepler(w: World) -> None:
    old_driver("470.256.02")(w)
    w.edit(SMI, ("Ada Lovelace", "Kepler"))


def slow(*reasons: str, clock: str = "480", load: str = "99") -> Change:
    pairs = [
        (
            f"_{reason}>Not Active</clocks_event_reason_{reason}>",
            f"_{reason}>Active</clocks_event_reason_{reason}>",
        )
        for reason in reasons
    ]
    return smi_edit(
        *pairs,
        ("<graphics_clock>210 MHz</graphics_clock>", f"<graphics_clock>{clock} MHz</graphics_clock>"),
        ("<gpu_util>0 %</gpu_util>", f"<gpu_util>{load} %</gpu_util>"),
    )


def little_memory(w: World) -> None:
    w.edit("file:/proc/meminfo", ("MemAvailable:   47347378 kB", "MemAvailable:     204800 kB"))


def killed(who: str, *, at: str = "2026-06-15T11:40:00") -> Change:
    return lambda w: w.kernel(
        f"Out of memory: Killed process 31190 ({who}) total-vm:41822104kB, UID:0", at=at
    )


def resumed_without_cuda(w: World) -> None:
    w.kernel("PM: suspend entry (deep)", "PM: suspend exit")
    no_cuda("unknown error")(w)


def no_watches(w: World) -> None:
    w.unready(
        "nvidia-device-plugin-daemonset",
        "CrashLoopBackOff",
        last="failed to create FS watcher for /var/lib/kubelet/device-plugins/: too many open files",
    )


def newer_image(w: World) -> None:
    w.unready(
        "ollama",
        "CrashLoopBackOff",
        last="nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.9",
    )


def mismatch_in_an_event(w: World) -> None:
    w.drop("command:", "file:", "glob:")
    w.unready("nvidia-device-plugin-daemonset", "CrashLoopBackOff")
    w.event(
        "Failed",
        "Error: nvidia-container-cli: initialization error: nvml error: driver/library version"
        " mismatch: unknown",
        pod="nvidia-device-plugin-daemonset",
    )


def mismatch_in_a_log(w: World) -> None:
    w.drop("command:", "file:", "glob:")
    w.unready("nvidia-device-plugin-daemonset", "CrashLoopBackOff")
    w.log("nvidia-device-plugin-daemonset", "Failed to initialize NVML: ERROR_LIB_RM_VERSION_MISMATCH\n")


def lost_in_a_log(w: World) -> None:
    mismatch_in_a_log(w)
    w.log("nvidia-device-plugin-daemonset", "nvml: ERROR_GPU_IS_LOST\n")


def no_driver_in_an_event(w: World) -> None:
    mismatch_in_an_event(w)
    w.items("/api/v1/events")[-1]["message"] = "nvidia-container-cli: nvml error: driver not loaded: unknown"


def old_events(w: World) -> None:
    mismatch_in_an_event(w)
    w.items("/api/v1/events")[-1]["lastTimestamp"] = "2026-06-15T09:00:00Z"


def mismatch_without_programs(w: World) -> None:
    w.smi(rc=None, error="not-found")
    w.unready(
        "nvidia-device-plugin-daemonset", "CrashLoopBackOff", last="driver/library version mismatch (nvml)"
    )


def hangs_after(number: int) -> Change:
    def change(w: World) -> None:
        w.smi(rc=None, error="timeout")
        xid(number)(w)

    return change


def no_device_and(*lines: str) -> Change:
    def change(w: World) -> None:
        w.smi("No devices were found\n", rc=6)
        w.kernel(*lines)

    return change


def nouveau_beside_the_module(w: World) -> None:
    w.smi("No devices were found\n", rc=6)
    w.edit(LSPCI, ("Kernel driver in use: nvidia", "Kernel driver in use: nouveau"))


def two_promised_under_wsl(w: World) -> None:
    wsl(w)
    w.host_spec = HostSpec(gpus=2)


def modinfo_unread(w: World) -> None:
    w.unload()
    w.drop(MODINFO)


def double_bit(w: World) -> None:
    text = w.reads[SMI]["stdout"]
    start, end = text.index("<volatile>"), text.index("</volatile>")
    w.reads[SMI]["stdout"] = f"{text[:start]}<volatile><double_bit><total>2</total></double_bit>{text[end:]}"


def without_ecc(w: World) -> None:
    text = w.reads[SMI]["stdout"]
    start, end = text.index("<ecc_errors>"), text.index("</ecc_errors>")
    w.reads[SMI]["stdout"] = text[:start] + text[end + len("</ecc_errors>") :]


def report_without_a_card(w: World) -> None:
    text = w.reads[SMI]["stdout"]
    start, end = text.index("<gpu id="), text.index("</gpu>")
    w.reads[SMI]["stdout"] = text[:start] + text[end + len("</gpu>") :]


def no_library_in_an_event(w: World) -> None:
    mismatch_in_an_event(w)
    w.items("/api/v1/events")[-1]["message"] = (
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot"
        " open shared object"
    )


def engine_unknown(w: World) -> None:
    old_driver_and_only_the_tag(w)
    for path in ("/api/v1/pods", "/apis/apps/v1/deployments"):
        for each in w.items(path):
            spec = each["spec"] if path.endswith("pods") else each["spec"]["template"]["spec"]
            for container in spec["containers"]:
                container["image"] = container["image"].replace("ollama:0.33.0", "ollama:latest")


def power_limits_elsewhere(w: World) -> None:
    slow("sw_power_cap")(w)
    text = w.reads[SMI]["stdout"]
    for old, new in (("gpu_power_readings", "power_readings"), ("current_power_limit", "power_limit")):
        text = text.replace(f"<{old}>", f"<{new}>").replace(f"</{old}>", f"</{new}>")
    w.reads[SMI]["stdout"] = text


def no_power_limits(w: World) -> None:
    slow("sw_power_cap")(w)
    w.reads[SMI]["stdout"] = w.reads[SMI]["stdout"].replace("power_limit", "power_something")


BROKEN: tuple[tuple[str, str, Change, str, str], ...] = (
    (
        "compute prohibited",
        LIGHT,
        smi_edit(("<compute_mode>Default", "<compute_mode>Prohibited")),
        "host.device-nodes",
        "ComputeProhibited",
    ),
    ("slowed down by itself", LIGHT, slow("hw_slowdown"), "host.not-throttled", "ThermalSlowdown"),
    (
        "no nvidia-smi, and a mismatch told by a container",
        "rtx-4090-k3s",
        mismatch_without_programs,
        "host.driver-answers",
        "DriverMismatch",
    ),
    (
        "a module of no version",
        LIGHT,
        lambda w: (
            w.smi(rc=None, error="timeout"),
            w.drop("file:/proc/modules"),
            w.file("/proc/driver/nvidia/version", "hello"),
        ),
        "host.driver-answers",
        "DriverTimedOut",
    ),
    (
        "no module listed at all",
        LIGHT,
        lambda w: (w.unload(), w.file("/proc/modules", "")),
        "host.driver-answers",
        "DriverDoesNotAnswer",
    ),
    ("hangs on its firmware", LIGHT, hangs_after(119), "host.driver-answers", "FirmwareHangs"),
    ("hangs after a halt", LIGHT, hangs_after(62), "host.driver-answers", "DriverTimedOut"),
    (
        "GSP does not boot",
        LIGHT,
        no_device_and("NVRM: GPU0 RmInitAdapter: Cannot initialize GSP firmware RM"),
        "host.driver-answers",
        "FirmwareFailed",
    ),
    (
        "cannot be initialised",
        LIGHT,
        no_device_and("NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)"),
        "host.driver-answers",
        "InitialisationFailed",
    ),
    ("a report without a card", LIGHT, report_without_a_card, "host.driver-answers", "NoDevicesFound"),
    (
        "a legacy card",
        LIGHT,
        no_device_and(
            "NVRM: The NVIDIA Tesla P40 is supported through the NVIDIA 580.xx Legacy drivers. The"
            " 595 NVIDIA driver will ignore this GPU."
        ),
        "host.driver-loaded",
        "CardNeedsLegacyBranch",
    ),
    (
        "nouveau has the card beside a loaded module",
        LIGHT,
        nouveau_beside_the_module,
        "host.driver-loaded",
        "NouveauBound",
    ),
    ("not loaded, and modinfo not read", LIGHT, modinfo_unread, "host.driver-loaded", "ModuleNotLoaded"),
    ("two promised under WSL2, one listed", LIGHT, two_promised_under_wsl, "host.card-on-bus", "FewerCards"),
    ("errors by an older driver's names", LIGHT, double_bit, "host.card-healthy", "UncorrectableEcc"),
    (
        "a field asks for a reset",
        LIGHT,
        smi_edit(("<gpu_util>0 %", "<gpu_util>GPU requires reset")),
        "host.card-healthy",
        "ResetRequired",
    ),
    (
        "no library told by an event alone",
        "rtx-4090-k3s",
        no_library_in_an_event,
        "host.driver-answers",
        "DriverDoesNotAnswer",
    ),
    ("the card fell off the bus", LIGHT, fell_off, "host.driver-answers", "CardFellOffBus"),
    (
        "the card fell off the bus without an Xid",
        LIGHT,
        fell_off_quietly,
        "host.driver-answers",
        "CardFellOffBus",
    ),
    ("the card is gone from its slot", LIGHT, unplugged, "host.card-on-bus", "CardFellOffBus"),
    (
        "ones are read from the bus",
        LIGHT,
        lambda w: w.edit(LSPCI, ("(rev a1)", "(rev ff)")),
        "host.card-on-bus",
        "CardFellOffBus",
    ),
    ("no card", LIGHT, lambda w: (w.command(LSPCI, ""), w.unload()), "host.card-on-bus", "NoCardOnBus"),
    ("two promised, one on the bus", DUAL, one_of_two_gone_from_the_bus, "host.card-on-bus", "FewerCards"),
    ("two on the bus, one listed", DUAL, one_of_two_missing, "host.cards-complete", "CardNotListed"),
    ("a kernel without a module", LIGHT, old_kernel_module, "host.driver-loaded", "ModuleNotBuilt"),
    ("a module for another kernel", LIGHT, dkms_for_another_kernel, "host.driver-loaded", "ModuleNotBuilt"),
    ("nothing installed", LIGHT, not_installed, "host.driver-loaded", "DriverNotInstalled"),
    (
        "nothing installed, and another module refused",
        LIGHT,
        unrelated_refusal,
        "host.driver-loaded",
        "DriverNotInstalled",
    ),
    ("built and not loaded", LIGHT, lambda w: w.unload(), "host.driver-loaded", "ModuleNotLoaded"),
    ("the key is refused", LIGHT, refused_key, "host.driver-loaded", "SignatureRefused"),
    (
        "the key is refused, so nouveau has the card",
        LIGHT,
        refused_and_nouveau,
        "host.driver-loaded",
        "SignatureRefused",
    ),
    ("passed through to a virtual machine", LIGHT, vfio, "host.driver-loaded", "OtherDriverBound"),
    (
        "an open module on an old card",
        LIGHT,
        open_module_on_pascal,
        "host.driver-loaded",
        "CardNeedsOtherModule",
    ),
    (
        "a closed module on a new card",
        LIGHT,
        proprietary_module_on_blackwell,
        "host.driver-loaded",
        "CardNeedsOtherModule",
    ),
    (
        "a driver older than the card",
        LIGHT,
        driver_before_the_card,
        "host.driver-loaded",
        "CardTooNewForDriver",
    ),
    ("a Jetson without its module", LIGHT, jetson_without_module, "host.driver-loaded", "ModuleNotLoaded"),
    ("no memory window for the card", LIGHT, no_window, "host.driver-loaded", "ProbeFailed"),
    ("the probe fails, no reason told", LIGHT, probe_failed, "host.driver-loaded", "ProbeFailed"),
    ("no window, module loaded", LIGHT, no_window_loaded, "host.driver-answers", "InitialisationFailed"),
    (
        "hangs without a word",
        LIGHT,
        lambda w: w.smi(rc=None, error="timeout"),
        "host.driver-answers",
        "DriverTimedOut",
    ),
    (
        "no device and no word why",
        LIGHT,
        lambda w: w.smi("No devices were found\n", rc=6),
        "host.driver-answers",
        "NoDevicesFound",
    ),
    (
        "NVML fails on the host",
        LIGHT,
        lambda w: w.smi("Failed to initialize NVML: Unknown Error\n", rc=255),
        "host.driver-answers",
        "DriverDoesNotAnswer",
    ),
    (
        "no library beside the module",
        LIGHT,
        lambda w: w.smi("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n", rc=12),
        "host.driver-answers",
        "DriverProgramsMissing",
    ),
    ("no programs, and nothing offered", LIGHT, no_programs, "host.driver-answers", "DriverProgramsMissing"),
    (
        "mismatch told by an event alone",
        "rtx-4090-k3s",
        mismatch_in_an_event,
        "host.driver-answers",
        "DriverMismatch",
    ),
    (
        "mismatch told by a log alone",
        "rtx-4090-k3s",
        mismatch_in_a_log,
        "host.driver-answers",
        "DriverMismatch",
    ),
    (
        "a lost card told by a log alone",
        "rtx-4090-k3s",
        lost_in_a_log,
        "host.driver-answers",
        "CardFellOffBus",
    ),
    (
        "no driver told by an event alone",
        "rtx-4090-k3s",
        no_driver_in_an_event,
        "host.driver-answers",
        "DriverDoesNotAnswer",
    ),
    *(
        (f"Xid {number} today", LIGHT, xid(number), "host.card-healthy", "HardwareXid")
        for number in (46, 48, 54, 61, 62, 64, 74, 79, 95, 119, 140, 145, 155, 158, 167, 171, 172, 173)
    ),
    (
        "a hardware Xid of a MIG instance",
        A100,
        lambda w: w.kernel("NVRM: Xid (PCI:0000:17:00 GPU-I:05): 95, pid=1, name=x, Uncontained"),
        "host.card-healthy",
        "HardwareXid",
    ),
    (
        "the second card's device node is gone",
        DUAL,
        lambda w: w.reads["glob:/dev/nvidia*"]["paths"].remove("/dev/nvidia1"),
        "host.device-nodes",
        "DeviceNodeMissing",
    ),
    ("Xid 109 just now", LIGHT, xid(109, at="2026-06-15T11:40:00"), "host.card-healthy", "HardwareXid"),
    ("Xid 109, and the card is idle since", LIGHT, idle_after(109), "host.card-healthy", "HardwareXid"),
    (
        "Xid 109, of a report that is not there",
        LIGHT,
        unseen_report_after(109),
        "host.card-healthy",
        "HardwareXid",
    ),
    (
        "Windows does not lend its card",
        LIGHT,
        blocked_by_windows,
        "host.driver-answers",
        "WindowsDriverFails",
    ),
    ("one card of two is given away", DUAL, one_given_away, "host.cards-complete", "CardGivenAway"),
    (
        "the memory on the chip is worn",
        A100,
        smi_edit(("<aggregate>", "<aggregate><sram_threshold_exceeded>Yes</sram_threshold_exceeded>")),
        "host.card-healthy",
        "SramThresholdExceeded",
    ),
    (
        "a pool is suspended",
        LIGHT,
        suspended_pool("rpool/ROOT/ubuntu"),
        "host.disks-writable",
        "DiskFailing",
    ),
    (
        "the kubelet tells of a machine out of memory",
        LIGHT,
        told_out_of_memory("llama-server"),
        "host.memory-available",
        "KernelKilledForMemory",
    ),
    (
        "an older driver's field",
        A100,
        smi_edit(("<gpu_recovery_action>None</gpu_recovery_action>", RESET_STATUS.format("Yes", "No"))),
        "host.card-healthy",
        "ResetRequired",
    ),
    (
        "an older driver's advice",
        A100,
        smi_edit(("<gpu_recovery_action>None</gpu_recovery_action>", RESET_STATUS.format("No", "Yes"))),
        "host.card-healthy",
        "ResetRequired",
    ),
    (
        "a thin pool without space",
        LIGHT,
        lambda w: w.kernel(
            "device-mapper: thin: 253:4: switching pool to out-of-data-space (queue IO) mode",
            at="2026-06-15T11:40:00",
        ),
        "host.disks-writable",
        "DiskStalls",
    ),
    ("a writer is blocked, and no API", LIGHT, blocked_writer, "host.disks-writable", "DiskStalls"),
    ("a full disk, and no API", LIGHT, full_disk, "host.disks-writable", "DiskFull"),
    (
        "a disk of k3s's settings is read-only",
        LIGHT,
        read_only_at("/mnt/data", settings="data-dir: /mnt/data/k3s\n"),
        "host.disks-writable",
        "FilesystemReadOnly",
    ),
    (
        "a disk of a pod is read-only",
        LIGHT,
        read_only_at("/mnt/data", host_path="/mnt/data/models"),
        "host.disks-writable",
        "FilesystemReadOnly",
    ),
    ("a stick that the machine boots from", LIGHT, failing_stick("/"), "host.disks-writable", "DiskFailing"),
    (
        "Xid 48 three days ago, still withdrawn",
        LIGHT,
        still_withdrawn(48),
        "host.card-healthy",
        "HardwareXid",
    ),
    (
        "the driver asks for a reset",
        LIGHT,
        lambda w: w.kernel(
            "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1"
            " (GPU Reset Required)"
        ),
        "host.card-healthy",
        "ResetRequired",
    ),
    (
        "nvidia-smi asks for a reset",
        LIGHT,
        smi_edit(("<gpu_recovery_action>None", "<gpu_recovery_action>Reset")),
        "host.card-healthy",
        "ResetRequired",
    ),
    ("the plugin alone tells of Xid 79", "rtx-4090-k3s", plugin_says(79), "host.card-healthy", "HardwareXid"),
    (
        "a listed card is lost",
        LIGHT,
        smi_edit(("<gpu_util>0 %", "<gpu_util>GPU is lost")),
        "host.card-healthy",
        "CardLost",
    ),
    ("uncorrectable errors", A100, ecc(dram_uncorrectable="3"), "host.card-healthy", "UncorrectableEcc"),
    ("a remap waits", A100, ecc(remapped_row_pending="Yes"), "host.card-healthy", "RowRemapPending"),
    ("a remap failed", A100, ecc(remapped_row_failure="Yes"), "host.card-healthy", "RowRemapFailed"),
    (
        "no uvm node",
        LIGHT,
        lambda w: w.reads["glob:/dev/nvidia*"].update(paths=["/dev/nvidia0", "/dev/nvidiactl"]),
        "host.device-nodes",
        "UvmMissing",
    ),
    (
        "no control node",
        LIGHT,
        lambda w: w.reads["glob:/dev/nvidia*"].update(paths=["/dev/nvidia0", "/dev/nvidia-uvm"]),
        "host.device-nodes",
        "DeviceNodeMissing",
    ),
    ("CUDA gone after a suspend", LIGHT, resumed_without_cuda, "host.device-nodes", "LostInSuspend"),
    ("the fabric is not up", A100, switches("In Progress"), "host.fabric", "FabricNotReady"),
    (
        "the fabric manager does not run",
        A100,
        lambda w: (switches("N/A")(w), no_cuda("system not yet initialized")(w)),
        "host.fabric",
        "FabricNotReady",
    ),
    ("an unlicensed vGPU", LIGHT, vgpu("Unlicensed (Unrestricted)"), "host.vgpu-licence", "VgpuUnlicensed"),
    ("an expired licence", LIGHT, vgpu("Expired"), "host.vgpu-licence", "VgpuUnlicensed"),
    (
        "a driver too old by its number",
        LIGHT,
        old_driver("545.29.06"),
        "host.driver-fit",
        "DriverTooOldForEngine",
    ),
    (
        "the same, the engine known by its image",
        LIGHT,
        old_driver_and_only_the_tag,
        "host.driver-fit",
        "DriverTooOldForEngine",
    ),
    (
        "a driver too old by the engine's word",
        LIGHT,
        lambda w: w.log("ollama", "CUDA driver version is insufficient for CUDA runtime version\n"),
        "host.driver-fit",
        "DriverTooOldForEngine",
    ),
    ("no branch for card and engine", LIGHT, kepler, "host.driver-fit", "NoBranchFits"),
    ("an image that wants more", LIGHT, newer_image, "host.driver-fit", "DriverTooOldForImage"),
    (
        "slowed down by the driver for heat",
        LIGHT,
        slow("sw_thermal_slowdown"),
        "host.not-throttled",
        "ThermalSlowdown",
    ),
    (
        "slowed down by the power supply",
        LIGHT,
        slow("hw_power_brake_slowdown"),
        "host.not-throttled",
        "PowerBrake",
    ),
    ("no memory left", CPU, little_memory, "host.memory-available", "MemoryExhausted"),
    (
        "the kernel killed the model's server",
        CPU,
        killed("llama-server"),
        "host.memory-available",
        "KernelKilledForMemory",
    ),
    ("no inotify instance left", "rtx-4090-k3s", no_watches, "host.file-watches", "InotifyExhausted"),
)

SOUND: tuple[tuple[str, str, Change], ...] = (
    ("a card without ECC counters at all", LIGHT, without_ecc),
    ("an unknown kernel", LIGHT, lambda w: w.file("/proc/sys/kernel/osrelease", "")),
    *((f"healthy {base}", base, lambda w: None) for base in ("rtx-4090-k3s", LIGHT, DUAL, A100, CPU)),
    ("a Jetson", LIGHT, jetson),
    ("WSL2", LIGHT, wsl),
    ("Xid 109 this morning, and a program computes", LIGHT, xid(109)),
    ("a writer was blocked, and the API answers", LIGHT, lambda w: blocked_writer(w, silent=False)),
    ("a full disk, and the API answers", LIGHT, lambda w: full_disk(w, silent=False)),
    (
        "device nodes whose numbers are not told",
        LIGHT,
        smi_edit(("<minor_number>0</minor_number>", "<minor_number>N/A</minor_number>")),
    ),
    ("a backup disk that is read-only", LIGHT, read_only_at("/mnt/backup")),
    ("a stick that fails", LIGHT, failing_stick("/media/stick")),
    ("a pool of another machine's", LIGHT, suspended_pool("/dev/nvme0n1p3")),
    ("the driver in a container", "rtx-4090-k3s", driver_container),
    ("the driver in a container, validated", "rtx-4090-k3s", lambda w: driver_container(w, ready=False)),
    ("another card for the screen", LIGHT, second_card_for_the_screen),
    ("no lspci on the host", LIGHT, lambda w: w.command(LSPCI, rc=None, error="not-found")),
    (
        "the driver lists what the bus does not",
        LIGHT,
        lambda w: w.edit(LSPCI, ("VGA compatible controller [0300]", "Something [0800]")),
    ),
    ("a corrupted infoROM", LIGHT, lambda w: w.reads[SMI].update(rc=14)),
    (
        "module taints the kernel",
        LIGHT,
        lambda w: w.kernel(
            "nvidia: module verification failed: signature and/or required key missing - tainting kernel"
        ),
    ),
    *(
        (f"Xid {number} now", LIGHT, xid(number, at="2026-06-15T11:59:00"))
        for number in (11, 13, 25, 31, 43, 45, 68, 69, 80, 94, 63, 92, 137, 157, 160)
    ),
    (
        "an NVLink event that calls itself harmless",
        LIGHT,
        lambda w: w.kernel(
            "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT  Nonfatal   XC0 i0 Link 17 (0x004505c6 0x0000)"
        ),
    ),
    ("Xid 79 before the driver was loaded anew", LIGHT, reloaded_after(79)),
    ("Xid 48 three days ago, and no mark", LIGHT, xid(48, at="2026-06-12T09:00:00")),
    ("Xid 48, then a program's: withdrawn for that", LIGHT, still_withdrawn(48, 13)),
    (
        "recovery action None",
        LIGHT,
        lambda w: w.kernel(
            "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x1 (GPU Reset"
            " Required) to 0x0 (None)"
        ),
    ),
    ("a licensed vGPU", LIGHT, vgpu("Licensed (Expiry: 2026-12-1 0:0:0 GMT)")),
    ("the fabric is up", A100, switches("Completed")),
    ("NVSwitches that do not report, and a busy card", A100, switches("N/A")),
    ("old driver, older engine", LIGHT, old_driver("535.309.01", "0.24.0")),
    ("slow and idle", LIGHT, slow("hw_thermal_slowdown", load="0")),
    ("hot at nearly full clock", LIGHT, slow("sw_thermal_slowdown", clock="2800")),
    ("clocks that are not told", LIGHT, smi_edit(("<graphics_clock>210 MHz", "<graphics_clock>N/A"))),
    ("somebody else's program killed", CPU, killed("chrome")),
    ("killed last night", CPU, killed("ollama", at="2026-06-14T11:40:00")),
    ("suspended, and CUDA works", LIGHT, lambda w: w.kernel("PM: suspend exit")),
    ("errors of CUDA without a suspend", LIGHT, no_cuda("unknown error")),
    (
        "no device model: Not Supported memory",
        LIGHT,
        smi_edit(("<total>24564 MiB</total>", "<total>Not Supported</total>")),
    ),
)


def another_machine(w: World) -> None:
    w.unload()
    w.smi(rc=None, error="not-found")
    w.command(LSPCI, "")
    w.command("command:modinfo -F version nvidia", rc=1, stderr="modinfo: ERROR: Module nvidia not found.")


UNSEEN: tuple[tuple[str, str, Change, str, str], ...] = (
    ("old driver, unknown engine", LIGHT, engine_unknown, "host.driver-fit", "Unavailable"),
    (
        "nothing of the host",
        LIGHT,
        lambda w: w.drop("command:", "file:", "glob:"),
        "host.memory-available",
        "NotObserved",
    ),
    ("only old events", "rtx-4090-k3s", old_events, "host.memory-available", "NotObserved"),
    ("nvidia-smi not read", LIGHT, lambda w: w.drop(SMI), "host.driver-answers", "NotObserved"),
    ("the bus not read", LIGHT, lambda w: w.drop(LSPCI), "host.card-on-bus", "NotObserved"),
    (
        "another machine than the node with the card",
        LIGHT,
        another_machine,
        "host.card-on-bus",
        "OtherHostRead",
    ),
    ("the kernel log not read", LIGHT, lambda w: w.drop(DMESG), "host.card-healthy", "NotObserved"),
    (
        "the kernel log is root's",
        LIGHT,
        lambda w: w.command(DMESG, rc=1, stderr="dmesg: read kernel buffer failed: Operation not permitted"),
        "host.card-healthy",
        "PermissionDenied",
    ),
    (
        "the kernel log was cleared",
        LIGHT,
        lambda w: w.command(DMESG, ""),
        "host.card-healthy",
        "Unavailable",
    ),
    ("device nodes not read", LIGHT, lambda w: w.drop("glob:/dev"), "host.device-nodes", "NotObserved"),
    (
        "nvidia-smi is root's",
        LIGHT,
        lambda w: w.smi("Insufficient Permissions\n", rc=4),
        "host.driver-answers",
        "PermissionDenied",
    ),
    (
        "a truncated report",
        LIGHT,
        lambda w: w.reads[SMI].update(stdout=w.reads[SMI]["stdout"][:900]),
        "host.driver-answers",
        "Malformed",
    ),
    ("exit code 0 and no report", LIGHT, lambda w: w.smi("hello"), "host.driver-answers", "Malformed"),
    (
        "entities in the report",
        LIGHT,
        smi_edit(('<?xml version="1.0" ?>', '<!ENTITY a "b">')),
        "host.driver-answers",
        "Malformed",
    ),
    (
        "a report without a version",
        LIGHT,
        smi_edit(("<driver_version>570.195.03</driver_version>", "")),
        "host.driver-answers",
        "Malformed",
    ),
    (
        "another program's bus",
        LIGHT,
        lambda w: w.command(LSPCI, "usage: lspci\n"),
        "host.card-on-bus",
        "Malformed",
    ),
    ("nvidia-smi not on the path", LIGHT, smi_not_on_the_path, "host.driver-answers", "NvidiaSmiMissing"),
    (
        "NVSwitches, and nothing that shows their state",
        A100,
        switches("N/A", busy=False),
        "host.fabric",
        "FabricUnseen",
    ),
    ("memory not read", CPU, lambda w: w.drop("file:/proc/meminfo"), "host.memory-available", "NotObserved"),
    ("inotify not read", CPU, lambda w: w.drop("file:/proc/sys/fs"), "host.file-watches", "NotObserved"),
)

ADVISORY: tuple[tuple[str, str, Change, str, str | None], ...] = (
    (
        "an upgrade waits for its reboot",
        LIGHT,
        lambda w: w.command(MODINFO, "580.126.20\n"),
        "host.driver-current",
        "UpgradePending",
    ),
    (
        "power limit by an older driver's names",
        LIGHT,
        power_limits_elsewhere,
        "host.power-limit",
        "PowerLimited",
    ),
    ("power limit of a board that tells none", LIGHT, no_power_limits, "host.power-limit", "PowerLimited"),
    (
        "narrow link",
        LIGHT,
        smi_edit(("<current_link_width>16x", "<current_link_width>4x")),
        "host.link-width",
        "LinkNarrow",
    ),
    ("power limit", LIGHT, slow("sw_power_cap"), "host.power-limit", "PowerLimited"),
    ("corrupted infoROM", LIGHT, lambda w: w.reads[SMI].update(rc=14), "host.inforom", "InforomCorrupted"),
    (
        "little memory",
        CPU,
        lambda w: w.edit("file:/proc/meminfo", ("MemAvailable:   47347378", "MemAvailable:    2047378")),
        "host.memory-headroom",
        "MemoryLow",
    ),
    (
        "filling disk",
        CPU,
        lambda w: w.edit("command:df -Pk", ("35% /", "91% /")),
        "host.disk-space",
        "DiskFilling",
    ),
    (
        "few inotify instances",
        CPU,
        lambda w: w.file("/proc/sys/fs/inotify/max_user_instances", "128\n"),
        "host.inotify-instances",
        "InotifyLow",
    ),
    (
        "clock ahead",
        LIGHT,
        smi_edit(("Mon Jun 15 12:00:00 2026", "Mon Jun 15 12:07:00 2026")),
        "host.clock",
        "ClockSkewed",
    ),
    (
        "another time zone",
        LIGHT,
        smi_edit(("Mon Jun 15 12:00:00 2026", "Mon Jun 15 17:30:04 2026")),
        "host.clock",
        None,
    ),
    ("no clock told", CPU, lambda w: None, "host.clock", "NoClockSeen"),
    (
        "a stamp that is none",
        LIGHT,
        smi_edit(("Mon Jun 15 12:00:00 2026", "today")),
        "host.clock",
        "NoClockSeen",
    ),
    (
        "no disk listed",
        CPU,
        lambda w: w.command("command:df -Pk", "Filesystem\n"),
        "host.disk-space",
        "Malformed",
    ),
)


@pytest.mark.parametrize(
    ("base", "change", "contract", "reason"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_broken(world: Callable[..., World], base: str, change: Change, contract: str, reason: str) -> None:
    w = world(base)
    change(w)
    findings = w.judge()
    failing = [f for f in findings.values() if f.contract.required and f.outcome == "fail"]
    assert (failing[0].contract.id, failing[0].result.reason) == (contract, reason), failing[0].result.message
    assert reason in failing[0].contract.reasons


@pytest.mark.parametrize(("base", "change"), [case[1:] for case in SOUND], ids=[case[0] for case in SOUND])
def test_odd_is_not_broken(world: Callable[..., World], base: str, change: Change) -> None:
    w = world(base)
    change(w)
    host = {key: f for key, f in w.judge().items() if key.startswith("host.") and f.contract.required}
    assert {
        key: (f.outcome, f.result.reason, f.result.message) for key, f in host.items() if f.outcome != "pass"
    } == {}


@pytest.mark.parametrize(
    ("base", "change", "contract", "reason"), [case[1:] for case in UNSEEN], ids=[case[0] for case in UNSEEN]
)
def test_not_seen_is_not_passed(
    world: Callable[..., World], base: str, change: Change, contract: str, reason: str
) -> None:
    w = world(base)
    change(w)
    findings = [f for key, f in w.judge().items() if key.startswith("host.") and f.contract.required]
    assert not [f for f in findings if f.outcome == "fail"]
    unseen = [f for f in findings if f.outcome == "unknown"]
    assert (unseen[0].contract.id, unseen[0].result.reason) == (contract, reason), unseen[0].result.message


@pytest.mark.parametrize(
    ("base", "change", "contract", "reason"),
    [case[1:] for case in ADVISORY],
    ids=[case[0] for case in ADVISORY],
)
def test_advice_closes_no_gate(
    world: Callable[..., World], base: str, change: Change, contract: str, reason: str | None
) -> None:
    w = world(base)
    change(w)
    finding = w.judge()[contract]
    assert (finding.result.reason, finding.contract.required) == (reason, False)


def test_a_cpu_profile_needs_no_card(world: Callable[..., World]) -> None:
    from k3s_nvidia_edge.host import LAYER

    w = world(CPU)
    reads = LAYER.reads(w.host_spec, w.recording)
    assert not [key for key in reads if "nvidia" in key or "lspci" in key]
    assert "host.driver-answers" not in w.judge()


def test_versions_of_a_mismatch_come_from_the_kernel_log(world: Callable[..., World]) -> None:
    w = world(LIGHT)
    w.smi(
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.211\n", rc=18
    )
    printed = w.judge()["host.driver-answers"].result.message
    assert "570.211 (as printed, which may be cut short)" in printed
    w.kernel(
        "NVRM: API mismatch: the client has the version 570.211.01, but NVRM: this kernel module has"
        " 570.195.03."
    )
    assert "570.211.01:" in w.judge()["host.driver-answers"].result.message
