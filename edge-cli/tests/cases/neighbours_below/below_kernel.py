"""Neighbours of the host rung that the kernel tells of: file systems, tables, denials, firmware, links."""
# ruff: noqa: E501 - what kernels and drivers say stays one line, as it comes

from below import (
    A100,
    CPU,
    DEVICES,
    LIGHT,
    LSPCI,
    OPERATOR,
    blind,
    in_report,
    offered,
    smi,
    stuck,
    unloaded_module,
    xid,
)
from box import DMESG, Box, situation

READ_ONLY = (
    "2026-06-15T11:31:07,120331+00:00 EXT4-fs error (device dm-0): ext4_journal_check_start:84: comm k3s-server: Detected aborted journal",
    "2026-06-15T11:31:07,120402+00:00 EXT4-fs (dm-0): Remounting filesystem read-only",
)


@situation(
    OPERATOR,
    "The root file system was remounted read-only after an I/O error; what runs runs on",
    "host",
    says="read-only",
    never="restart ollama | device plugin | reinstall",
)
def root_read_only(box: Box) -> None:
    box.kernel(*READ_ONLY)


@situation(
    CPU,
    "A read-only root on a CPU box: Ollama's pod cannot start, its volume cannot be written",
    "host",
    says="read-only",
    never="ollama pull | storage class",
)
def read_only_blocks_pods(box: Box) -> None:
    box.kernel(*READ_ONLY)
    stuck(
        box,
        "ollama",
        "Error: failed to create containerd task: failed to create shim task: mkdir /run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/8f0: read-only file system",
        reason="Failed",
    )


@situation(
    LIGHT,
    "The kernel log was not read, and pods complain of a read-only file system",
    "host",
    says="read-only",
    never="ollama pull",
)
def read_only_by_events(box: Box) -> None:
    box.reads[DMESG] = {
        "rc": 1,
        "stdout": "",
        "stderr": "dmesg: read kernel buffer failed: Operation not permitted\n",
        "error": None,
        "took_s": 0.0,
    }
    stuck(
        box,
        "ollama",
        'MountVolume.SetUp failed for volume "kube-api-access-x7" : write /var/lib/kubelet/pods/8f0/volumes/kubernetes.io~projected/kube-api-access-x7/..2026: read-only file system',
        reason="FailedMount",
    )


@situation(LIGHT, "A file system was read-only during the boot, before it was mounted for good")
def read_only_at_boot(box: Box) -> None:
    box.kernel(
        "2026-06-01T06:00:03,101877+00:00 EXT4-fs (dm-0): mounted filesystem ro with ordered data mode.",
        "2026-06-01T06:00:04,101877+00:00 EXT4-fs (dm-0): re-mounted 7a3c r/w. Quota mode: none.",
    )


@situation(
    LIGHT,
    "A disk read-only by an error, mended and mounted anew: past",
)
def read_only_mended(box: Box) -> None:
    box.kernel(
        *READ_ONLY, "2026-06-15T11:40:00,000000+00:00 EXT4-fs (dm-0): re-mounted 7a3c r/w. Quota mode: none."
    )


@situation(
    CPU,
    "The NVMe drive of the machine goes away: I/O errors on every access",
    "host",
    says="i/o error | disk",
    never="ollama pull | storage class",
)
def disk_fails(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:52:12,000000+00:00 nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
        "2026-06-15T11:52:14,000000+00:00 nvme nvme0: Disabling device after reset failure: -19",
        "2026-06-15T11:52:14,000100+00:00 I/O error, dev nvme0n1, sector 191822848 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2",
        "2026-06-15T11:52:14,000200+00:00 EXT4-fs error (device dm-0): __ext4_find_entry:1683: inode #2: comm k3s-server: reading directory lblock 0",
    )


@situation(
    OPERATOR,
    "The connection tracking table is full: connections between pods fail at random",
    "host",
    says="conntrack",
    never="restart ollama | device plugin | networkpolicy",
)
def conntrack_full(box: Box) -> None:
    for second in range(6):
        box.kernel(
            f"2026-06-15T11:58:0{second},000000+00:00 nf_conntrack: nf_conntrack: table full, dropping packet"
        )
    box.target_down("edge-exporter", 'Get "http://10.42.0.31:9835/metrics": context deadline exceeded')


@situation(LIGHT, "The connection tracking table was full once, days ago")
def conntrack_past(box: Box) -> None:
    box.kernel("2026-06-12T11:58:00,000000+00:00 nf_conntrack: nf_conntrack: table full, dropping packet")


@situation(
    LIGHT,
    "SELinux denies containers the card: the plugin finds nothing, the host's nvidia-smi is well",
    "host",
    says="selinux | denied",
    never="reinstall the driver | runtimeclassname nvidia",
)
def selinux_denies(box: Box) -> None:
    box.kernel(
        '2026-06-15T11:55:59,000000+00:00 audit: type=1400 audit(1781524559.001:811): avc:  denied  { read write } for  pid=8121 comm="nvidia-device-p" name="nvidiactl" dev="devtmpfs" ino=412 scontext=system_u:system_r:container_t:s0:c12,c88 tcontext=system_u:object_r:xserver_misc_device_t:s0 tclass=chr_file permissive=0',
    )
    box.logs(
        "nvdp-nvidia-device-plugin",
        "E0615 11:56:00.000000       1 factory.go:112] Incompatible strategy detected auto",
        "I0615 11:56:00.000000       1 main.go:381] No devices found. Waiting indefinitely.",
        replace=True,
    )
    offered(box, 0)


@situation(LIGHT, "AppArmor denies a stranger's program something of its own")
def apparmor_stranger(box: Box) -> None:
    box.kernel(
        '2026-06-15T11:55:59,000000+00:00 audit: type=1400 audit(1781524559.001:811): apparmor="DENIED" operation="open" class="file" profile="snap.firefox.firefox" name="/proc/pressure/cpu" pid=4211 comm="firefox" requested_mask="r" denied_mask="r"',
    )


@situation(
    A100,
    "Behind NVSwitches: the fabric manager was not started after an upgrade of the driver",
    "host",
    says="fabric",
    never="reinstall the driver | restart the device plugin | num_ctx",
)
def fabric_manager_stopped(box: Box) -> None:
    box.reads[LSPCI]["stdout"] += (
        "0000:07:00.0 Bridge [0680]: NVIDIA Corporation GA100 [A100 NVSwitch] [10de:1af1] (rev a1)\n\tKernel driver in use: nvidia\n"
    )
    in_report(box, ("<fabric>\n\t\t\t<state>N/A<", "<fabric>\n\t\t\t<state>In Progress<"))
    box.loaded(size_vram=0)


@situation(
    OPERATOR,
    "The card's auxiliary power cable came loose",
    "host",
    says="54 | power",
    never="restart the device plugin | num_ctx | reinstall",
)
def power_cable(box: Box) -> None:
    xid(box, 54, "Power Supply Unit: auxiliary power not connected")


@situation(
    OPERATOR,
    "The card fell off the bus, its driver says so and no Xid: PCIe link down",
    "host",
    says="bus",
    never="restart the device plugin | reinstall the driver",
)
def link_down(box: Box) -> None:
    smi(box, 255, "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error\n")
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 pcieport 0000:00:01.0: pciehp: Slot(1): Link Down",
        "2026-06-15T11:20:11,000000+00:00 pcieport 0000:00:01.0: pciehp: Slot(1): Card not present",
    )
    blind(box)


@situation(
    OPERATOR,
    "GSP firmware of the wrong release: the file is missing from /lib/firmware",
    "host",
    says="firmware",
    never="nouveau | runtimeclass | device plugin",
)
def gsp_file_missing(box: Box) -> None:
    smi(box, 6, "No devices were found\n")
    box.kernel(
        "2026-06-15T06:00:07,191010+00:00 nvidia 0000:01:00.0: Direct firmware load for nvidia/570.195.03/gsp_ga10x.bin failed with error -2",
        "2026-06-15T06:00:07,191011+00:00 NVRM: RmFetchGspRmImages: No firmware image found",
        "2026-06-15T06:00:07,191012+00:00 NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x61:0x56:1697)",
    )
    blind(box)


@situation(
    LIGHT,
    "DKMS built the module for the kernel of before: version magic",
    "host",
    says="another kernel | version magic | build",
    never="nouveau | runtimeclass",
)
def module_of_other_kernel(box: Box) -> None:
    unloaded_module(box, built=True)
    box.kernel(
        "2026-06-15T06:00:05,000000+00:00 nvidia: version magic '6.8.0-94-generic SMP preempt mod_unload modversions ' should be '6.8.0-101-generic SMP preempt mod_unload modversions '",
    )


@situation(
    OPERATOR,
    "Secure Boot was switched on by a firmware update: lockdown refuses the module",
    "host",
    says="secure boot | signature",
    never="nouveau | reinstall the driver | device plugin",
)
def lockdown_refuses(box: Box) -> None:
    unloaded_module(box, built=True)
    box.reads[DMESG]["stdout"] = box.reads[DMESG]["stdout"].replace(
        "Secure boot disabled", "Secure boot enabled"
    )
    box.kernel(
        "2026-06-15T06:00:05,000000+00:00 Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
    )


@situation(
    OPERATOR,
    "Correctable memory errors of the machine, an EDAC line and a harmless swap warning",
)
def harmless_lines(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0",
        "2026-06-15T11:20:12,000000+00:00 mce: [Hardware Error]: Machine check events logged",
        "2026-06-15T11:20:13,000000+00:00 Adding 8388604k swap on /swap.img.  Priority:-2 extents:5 across:8421376k",
    )
    box.event(
        "Node",
        "",
        "edge-1",
        "CgroupV1",
        "Cgroup v1 support is in maintenance mode, please migrate to Cgroup v2.",
    )
    box.event("Node", "", "edge-1", "InvalidDiskCapacity", "invalid capacity 0 on image filesystem")
    box.event(
        "Node", "", "edge-1", "PossibleMemoryBackedVolumesOnDisk", "The tmpfs noswap option is not supported."
    )


@situation(OPERATOR, "The kernel was told to reboot by nobody: a soft lockup long ago, all is well since")
def past_lockup(box: Box) -> None:
    box.kernel(
        "2026-06-02T11:20:11,000000+00:00 watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:219]"
    )


@situation(A100, "MIG is to be on after the next reset; until then the whole card is offered and used")
def mig_pending(box: Box) -> None:
    in_report(box, ("<pending_mig>Disabled<", "<pending_mig>Enabled<"))


@situation(
    OPERATOR,
    "The device nodes are there and the driver is an hour too new for its library: no reboot after unattended-upgrades",
    "host",
    says="mismatch | reload | reboot",
    never="restart ollama | device plugin",
)
def unattended_upgrade(box: Box) -> None:
    smi(
        box, 18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.211\n"
    )
    box.reads["command:modinfo -F version nvidia"]["stdout"] = "570.211.01\n"
    box.kernel(
        "2026-06-15T11:30:00,000000+00:00 NVRM: API mismatch: the client has the version 570.211.01, but",
        "                                 NVRM: this kernel module has the version 570.195.03.  Please",
    )


@situation(LIGHT, "The device nodes are made by udev with other numbers; all the same they are there")
def more_nodes(box: Box) -> None:
    box.reads[DEVICES]["paths"] += ["/dev/nvidia-nvswitchctl", "/dev/nvidia-caps-imex-channels"]
