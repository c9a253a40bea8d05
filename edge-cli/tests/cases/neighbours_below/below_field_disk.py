"""Reports of the field: full and broken disks, a hung kernel, several faults at once."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

from below import CPU, DF, LIGHT, MODINFO, OPERATOR, UNITS, smi, stuck, xid
from box import NODES, SMI, Box, situation


@situation(
    CPU,
    "XFS has shut itself down after a log error",
    "host",
    says="xfs | file system | disk | i/o",
    never="nvidia | delete pod",
)
def xfs_shutdown(box: Box) -> None:
    box.reads[DF]["stdout"] = box.reads[DF]["stdout"]
    box.kernel(
        "2026-06-15T11:40:11,000000+00:00 XFS (dm-0): log I/O error -5",
        "2026-06-15T11:40:11,000001+00:00 XFS (dm-0): Filesystem has been shut down due to log error (0x2).",
        "2026-06-15T11:40:11,000002+00:00 XFS (dm-0): Please unmount the filesystem and rectify the problem(s).",
    )


@situation(
    LIGHT,
    "btrfs forces its root file system read-only",
    "host",
    says="read-only | btrfs",
    never="nvidia-driver | restart the device plugin",
)
def btrfs_readonly(box: Box) -> None:
    box.reads[DF]["stdout"] = box.reads[DF]["stdout"].replace(
        "/dev/mapper/ubuntu--vg-ubuntu--lv", "/dev/nvme0n1p3                    "
    )
    box.kernel(
        "2026-06-15T11:40:11,000000+00:00 BTRFS: error (device nvme0n1p3 state A) in btrfs_finish_ordered_io:3346: errno=-5 IO failure",
        "2026-06-15T11:40:11,000001+00:00 BTRFS info (device nvme0n1p3 state EA): forced readonly",
    )


@situation(
    OPERATOR,
    "The root disk is full to the last block: k3s cannot write and comes and goes",
    "host",
    "gpu",
    says="disk | full | space",
    never="reinstall the driver | rotate",
)
def root_full(box: Box) -> None:
    box.reads[DF]["stdout"] = box.reads[DF]["stdout"].replace(
        "960302824 312400116 599048340      35% /\n", "960302824 911448456         0     100% /\n"
    )
    box.reads[UNITS]["stdout"] = box.reads[UNITS]["stdout"].replace(
        "ActiveState=active\nSubState=running\nActiveEnterTimestamp=Mon 2026-06-01 09:01:55 UTC",
        "ActiveState=activating\nSubState=auto-restart\nActiveEnterTimestamp=",
        1,
    )
    box.unanswered("api:")
    box.unanswered("http:")


@situation(
    OPERATOR,
    "The kernel oopsed inside the driver: nvidia-smi hangs for ever",
    "host",
    says="timed out | hang | in time",
    never="reinstall the driver | restart the device plugin",
)
def oops_hang(box: Box) -> None:
    box.reads[SMI] = {"rc": None, "stdout": "", "stderr": "", "error": "timeout", "took_s": 10.0}
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 BUG: unable to handle page fault for address: ffffb1d0c4a01000",
        "2026-06-15T11:20:11,000001+00:00 RIP: 0010:_nv042330rm+0x1f/0x40 [nvidia]",
        "2026-06-15T11:25:11,000001+00:00 INFO: task nvidia-smi:99100 blocked for more than 122 seconds.",
        "2026-06-15T11:25:11,000002+00:00 INFO: task llama-server:48211 blocked for more than 122 seconds.",
    )


@situation(
    OPERATOR,
    "A card with uncorrectable errors, on a node that somebody has cordoned for it",
    "host",
    says="remap | reset | ecc",
    never="uncordon | restart the device plugin",
    also="gpu",
)
def two_ecc_and_dns(box: Box) -> None:
    xid(
        box,
        48,
        "pid=48211, name=llama-server, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 6, subpartition 0.",
    )
    box.items(NODES)[0]["spec"] |= {
        "unschedulable": True,
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
    }


@situation(
    LIGHT,
    "Driver mismatch after an unattended upgrade, and the disk is nearly full as well",
    "host",
    says="mismatch",
    never="restart ollama | restart the device plugin | reinstall the driver",
    also="gpu",
)
def two_mismatch_and_pressure(box: Box) -> None:
    smi(
        box, 18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.126\n"
    )
    box.reads[MODINFO]["stdout"] = "580.126.09\n"
    for each in box.items(NODES)[0]["status"]["conditions"]:
        if each["type"] == "DiskPressure":
            each |= {
                "status": "True",
                "reason": "KubeletHasDiskPressure",
                "message": "kubelet has disk pressure",
                "lastTransitionTime": "2026-06-15T11:20:00Z",
            }
    box.items(NODES)[0]["spec"]["taints"] = [
        {
            "key": "node.kubernetes.io/disk-pressure",
            "effect": "NoSchedule",
            "timeAdded": "2026-06-15T11:20:00Z",
        }
    ]
    box.reads[DF]["stdout"] = box.reads[DF]["stdout"].replace(
        "960302824 312400116 599048340      35% /\n", "960302824 864270000  47178500      95% /\n"
    )


@situation(
    OPERATOR,
    "A hardware Xid and a broken pod network at once",
    "host",
    says="xid | 48",
    never="restart the device plugin",
    also="gpu",
)
def two_xid_and_cni(box: Box) -> None:
    xid(
        box,
        48,
        "pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 6, subpartition 0.",
    )
    stuck(
        box,
        "open-webui",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "8f0": plugin type="flannel" failed (add): failed to delegate add: failed to set bridge addr: "cni0" already has an IP address different from 10.42.0.1/24',
    )
