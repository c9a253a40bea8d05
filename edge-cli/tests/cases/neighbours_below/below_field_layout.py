"""Reports of the field: other plugins, runtimes, names and layouts than the usual ones."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from below import (
    A100,
    CONFIG,
    CPU,
    DRIVER,
    DUAL,
    LIGHT,
    LSPCI,
    OPERATOR,
    PLUGIN,
    UNITS,
    crash,
    missing,
    offered,
    plugin_name,
    ready,
    stuck,
    waits,
)
from box import DAEMONSETS, DEPLOYMENTS, NODES, SMI, Box, situation


def _mirrored(box: Box) -> None:
    for spec in [
        box.item(DAEMONSETS, "nvdp")["spec"]["template"]["spec"],
        *(each["spec"] for each in box.pods("nvdp")),
    ]:
        spec["containers"][0]["image"] = "registry.example:5000/mirror/nvidia/k8s-device-plugin:v0.17.1"


@situation(LIGHT, "The device plugin comes from a mirror of the house, in kube-system")
def mirror(box: Box) -> None:
    _mirrored(box)


@situation(LIGHT, "The same, and it is blind", "gpu", says="see the gpu | nvml | runtime", never=DRIVER)
def mirror_blind(box: Box) -> None:
    _mirrored(box)
    for spec in [
        box.item(DAEMONSETS, "nvdp")["spec"]["template"]["spec"],
        *(p["spec"] for p in box.pods("nvdp")),
    ]:
        spec.pop("runtimeClassName", None)
    crash(
        box,
        "E0615 11:56:00.000000       1 factory.go:87] Failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND.",
        "E0615 11:56:00.000001       1 factory.go:88] If this is a GPU node, did you configure the NVIDIA Container Toolkit?",
        "E0615 11:56:00.000002       1 main.go:132] error starting plugins: error creating plugin manager: unable to create plugin manager: nvml init failed: ERROR_LIBRARY_NOT_FOUND",
    )


@situation(LIGHT, "Another maker's plugin shares the card in ten parts, by memory too")
def hami(box: Box) -> None:
    for spec in [
        box.item(DAEMONSETS, "nvdp")["spec"]["template"]["spec"],
        *(p["spec"] for p in box.pods("nvdp")),
    ]:
        spec["containers"][0] |= {
            "name": "device-plugin",
            "image": "docker.io/projecthami/hami:v2.6.1",
            "command": ["nvidia-device-plugin", "--device-split-count=10"],
        }
    status = box.items(NODES)[0]["status"]
    for part in ("capacity", "allocatable"):
        status[part] |= {"nvidia.com/gpu": "10"}
    box.items(NODES)[0]["metadata"]["annotations"]["hami.io/node-nvidia-register"] = (
        "GPU-3f0f5f2e,10,24564,100,NVIDIA-NVIDIA GeForce RTX 4090,0,true:"
    )


@situation(LIGHT, "lspci sees no bus in the container where the tool runs; the driver lists the card")
def no_bus(box: Box) -> None:
    box.reads[LSPCI] = {
        "rc": 1,
        "stdout": "",
        "stderr": "pcilib: Cannot open /proc/bus/pci\nlspci: Cannot find any working access method.\n",
        "error": None,
        "took_s": 0.0,
    }


@situation(
    A100,
    "An uncontained error inside a MIG instance",
    "host",
    says="95 | uncontained",
    never="restart the device plugin | num_ctx",
)
def mig_xid(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 NVRM: Xid (PCI:0000:17:00 GPU-I:05): 95, pid=48211, name=llama-server, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No"
    )


@situation(A100, "A program's fault inside a MIG instance")
def mig_xid_app(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 NVRM: Xid (PCI:0000:17:00 GPU-I:05 GPU-CI:00): 43, pid=99100, name=python3, Ch 00000009"
    )


@situation(OPERATOR, "The IOMMU complains of the card's accesses; all works")
def iommu(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:20:11,000000+00:00 nvidia 0000:01:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000e address=0xfffffffdf8000000 flags=0x0000]",
        "2026-06-15T11:20:12,000000+00:00 DMAR: [DMA Read NO_PASID] Request device [01:00.0] fault addr 0xd4000000 [fault reason 0x06] PTE Read access is not set",
    )


@situation(LIGHT, "CRI-O instead of containerd")
def crio(box: Box) -> None:
    box.reads[UNITS]["stdout"] = box.reads[UNITS]["stdout"].replace(
        "Id=k3s.service\nLoadState=loaded\nActiveState=active\nSubState=running\nActiveEnterTimestamp=Mon 2026-06-01 09:01:55 UTC",
        "Id=k3s.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nActiveEnterTimestamp=",
    )
    missing(box, CONFIG)
    missing(box, "file:/etc/rancher/k3s/config.yaml")
    box.items(NODES)[0]["status"]["nodeInfo"] |= {
        "kubeletVersion": "v1.35.5",
        "containerRuntimeVersion": "cri-o://1.35.1",
    }


@situation(
    LIGHT,
    "k3s's kubelet has its folder elsewhere, and the plugin's mount finds none",
    "gpu",
    says="kubelet | hostpath | device-plugins",
    never=DRIVER,
)
def kubelet_dir(box: Box) -> None:
    box.state("nvdp", waits("ContainerCreating"))
    box.event(
        "Pod",
        "nvidia-device-plugin",
        plugin_name(box),
        "FailedMount",
        'MountVolume.SetUp failed for volume "device-plugin" : hostPath type check failed: /var/lib/kubelet/device-plugins is not a directory',
    )
    for key in [k for k in box.reads if "/nvdp-" in k]:
        box.reads[key] = {"status": 400, "body": {"kind": "Status", "code": 400}, "error": None}
    offered(box, 0)


@situation(
    LIGHT,
    "A node that was renamed: the old name is silent, the new one has everything but the plugin's registration",
    "gpu",
    says="edge-old | not ready | silent | stopped",
    never=DRIVER,
)
def renamed(box: Box) -> None:
    node = copy.deepcopy(box.items(NODES)[0])
    node["metadata"] |= {"name": "edge-old", "uid": "00000000-0000-4000-8000-000000000009"}
    for c in node["status"]["conditions"]:
        c |= {
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastHeartbeatTime": "2026-06-14T11:58:31Z",
            "lastTransitionTime": "2026-06-14T12:00:00Z",
        }
    node["spec"]["taints"] = [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
    box.items(NODES).append(node)


@situation(LIGHT, "A taint for GPU work alone, which plugin and Ollama tolerate")
def gpu_taint(box: Box) -> None:
    box.items(NODES)[0]["spec"]["taints"] = [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    ]
    for what, key in (("ollama", DEPLOYMENTS), ("nvdp", DAEMONSETS)):
        for spec in box.templates(what, key):
            spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


@situation(A100, "MIG of the strategy single: whole names, each a slice of its own")
def mig_single(box: Box) -> None:
    labels = box.items(NODES)[0]["metadata"]["labels"]
    labels |= {
        "nvidia.com/mig.strategy": "single",
        "nvidia.com/gpu.product": "NVIDIA-A100-PCIE-40GB-MIG-3g.20gb",
        "nvidia.com/gpu.count": "2",
        "nvidia.com/mig.capable": "true",
    }
    device = "<mig_device><index>{}</index><gpu_instance_id>{}</gpu_instance_id><compute_instance_id>0</compute_instance_id><fb_memory_usage><total>19968 MiB</total><reserved>0 MiB</reserved><used>{} MiB</used><free>{} MiB</free></fb_memory_usage></mig_device>"
    out = box.reads[SMI]["stdout"]
    a, b = out.index("<mig_devices>"), out.index("</mig_devices>")
    out = (
        out[:a]
        + "<mig_devices>"
        + device.format(0, 1, 5683, 14285)
        + device.format(1, 2, 25, 19943)
        + out[b:]
    )
    box.reads[SMI]["stdout"] = out.replace("<current_mig>Disabled<", "<current_mig>Enabled<").replace(
        "<pending_mig>Disabled<", "<pending_mig>Enabled<"
    )
    status = box.items(NODES)[0]["status"]
    for part in ("capacity", "allocatable"):
        status[part]["nvidia.com/gpu"] = "2"


@situation(
    OPERATOR,
    "The API of the server answers, and the agent's kubelet is told that its certificate is of another authority",
    "gpu",
    says="not ready | certificate | stopped posting",
    never=f"{DRIVER} | {PLUGIN}",
)
def agent_ca(box: Box) -> None:
    ready(
        box,
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
        beat="2026-06-15T09:44:00Z",
    )
    box.items(NODES)[0]["spec"]["taints"] = [
        {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
    ]
    box.reads[UNITS]["stdout"] = (
        box.reads[UNITS]["stdout"]
        .replace(
            "Id=k3s-agent.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nActiveEnterTimestamp=",
            "Id=k3s-agent.service\nLoadState=loaded\nActiveState=activating\nSubState=auto-restart\nActiveEnterTimestamp=",
        )
        .replace(
            "Id=k3s.service\nLoadState=loaded\nActiveState=active\nSubState=running\nActiveEnterTimestamp=Mon 2026-06-01 09:01:55 UTC",
            "Id=k3s.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nActiveEnterTimestamp=",
        )
    )


@situation(
    LIGHT,
    "A library of the driver is of another version than the module, told by the plugin alone; the host cannot be read",
    "host",
    "gpu",
    says="mismatch",
    never="reinstall | restart the device plugin",
)
def mismatch_by_plugin(box: Box) -> None:
    for key in list(box.reads):
        if key.startswith(("command:", "file:", "glob:")):
            del box.reads[key]
    crash(
        box,
        "E0615 11:56:00.000000       1 factory.go:112] Failed to initialize NVML: ERROR_LIB_RM_VERSION_MISMATCH",
        "E0615 11:56:00.000002       1 main.go:132] error starting plugins: nvml init failed: ERROR_LIB_RM_VERSION_MISMATCH",
    )


@situation(
    OPERATOR,
    "The overlay file system refuses new containers",
    "gpu",
    "host",
    says="overlay | mount | containerd",
    never=f"{DRIVER} | {PLUGIN}",
)
def overlay(box: Box) -> None:
    said = "failed to create containerd task: failed to mount rootfs component: failed to mount overlay: invalid argument: unknown"
    stuck(box, "open-webui", "Failed to create pod sandbox: rpc error: code = Unknown desc = " + said)
    stuck(box, "edge-exporter", "Failed to create pod sandbox: rpc error: code = Unknown desc = " + said)


@situation(
    CPU,
    "systemd gives runc no scope: the bus is full",
    "gpu",
    "host",
    says="systemd | cgroup | dbus | containerd",
    never=f"{DRIVER} | nvidia",
)
def systemd_scope(box: Box) -> None:
    stuck(
        box,
        "ollama",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to start sandbox: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: unable to apply cgroup configuration: unable to start unit "cri-containerd-8f0.scope": Message recipient disconnected from message bus without replying: unknown',
    )


@situation(
    LIGHT,
    "A host port of the exporter is taken: that pod alone waits, nothing of the GPU",
    "telemetry",
    says="port",
    never=f"{DRIVER} | {PLUGIN}",
)
def host_port(box: Box) -> None:
    box.pending(
        "dcgm-exporter",
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    )


@situation(DUAL, "The second card is in the report twice as slow in link and lanes; both are listed")
def narrow(box: Box) -> None:
    out = box.reads[SMI]["stdout"]
    i = out.rindex("<gpu id=")
    box.reads[SMI]["stdout"] = out[:i] + out[i:].replace(
        "<current_link_width>16x<", "<current_link_width>4x<", 1
    )
