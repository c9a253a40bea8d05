"""Reports of the field: device plugins, MIG managers and operators that do not bring the card."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from below import (
    A100,
    CDI,
    DRIVER,
    LIGHT,
    LSPCI,
    MODINFO,
    OPERATOR,
    PLUGIN,
    crash,
    gone_daemonset,
    in_report,
    missing,
    offered,
    plugin_name,
    unloaded_module,
    waits,
)
from box import DAEMONSETS, NODES, PODS, SMI, Box, situation


@situation(
    LIGHT,
    "No CDI file could be generated: libraries without a device node, and the plugin finds nothing",
    "gpu",
    says="cdi | no devices found",
    never=DRIVER,
)
def cdi_not_generated(box: Box) -> None:
    box.reads[CDI]["paths"] = []
    name = plugin_name(box)
    box.logs(
        name,
        "I0615 11:40:00.000000       1 main.go:367] Retrieving plugins.",
        "I0615 11:40:00.300000       1 main.go:381] No devices found. Waiting indefinitely.",
        replace=True,
    )
    offered(box, 0)


@situation(
    LIGHT, "Sharing by MPS is asked for and its control daemon does not run", "gpu", says="mps", never=DRIVER
)
def mps(box: Box) -> None:
    box.logs(
        plugin_name(box),
        "I0615 11:40:00.000000      39 main.go:279] Retrieving plugins.",
        "E0615 11:40:00.558122      39 main.go:301] Failed to start plugin: error waiting for MPS daemon: error checking MPS daemon health: failed to send command to MPS daemon: exit status 1",
        "I0615 11:40:00.558152      39 main.go:208] Failed to start one or more plugins. Retrying in 30s...",
        replace=True,
    )
    offered(box, 0)


@situation(
    A100,
    "mig-manager gave up half-way: its DaemonSets stay paused for a change that never ends",
    "gpu",
    says="mig",
    never=f"{DRIVER} | reboot",
)
def mig_paused(box: Box) -> None:
    labels = box.items(NODES)[0]["metadata"]["labels"]
    for what in ("device-plugin", "gpu-feature-discovery", "dcgm-exporter"):
        labels[f"nvidia.com/gpu.deploy.{what}"] = "paused-for-mig-change"
    labels |= {
        "nvidia.com/mig.config": "all-1g.5gb",
        "nvidia.com/mig.config.state": "pending",
        "nvidia.com/mig.capable": "true",
    }
    in_report(
        box,
        ("<current_mig>Disabled<", "<current_mig>Enabled<"),
        ("<pending_mig>Disabled<", "<pending_mig>Enabled<"),
    )
    box.take_pod("nvidia-dcgm-exporter")
    for name in ("nvidia-device-plugin-daemonset", "gpu-feature-discovery", "nvidia-dcgm-exporter"):
        gone_daemonset(box, name)
    for key in [k for k in box.reads if "device-plugin" in k and "/log" in k]:
        del box.reads[key]
    offered(box, 0)


@situation(A100, "mig-manager failed: a program holds the card", "gpu", says="mig", never=DRIVER)
def mig_failed(box: Box) -> None:
    labels = box.items(NODES)[0]["metadata"]["labels"]
    labels |= {
        "nvidia.com/mig.config": "all-1g.5gb",
        "nvidia.com/mig.config.state": "failed",
        "nvidia.com/mig.capable": "true",
    }
    in_report(box, ("<pending_mig>Disabled<", "<pending_mig>Enabled<"))
    offered(box, 0)


@situation(
    LIGHT,
    "An old device plugin on a GB10: it insists on the card's memory",
    "gpu",
    says="not supported | memory | version | upgrade",
    never=DRIVER,
)
def gb10_old_plugin(box: Box) -> None:
    for spec in [
        box.item(DAEMONSETS, "nvdp")["spec"]["template"]["spec"],
        *(p["spec"] for p in box.pods("nvdp")),
    ]:
        spec["containers"][0]["image"] = "nvcr.io/nvidia/k8s-device-plugin:v0.17.1"
    crash(
        box,
        "I0615 11:56:00.000000       1 main.go:356] Retrieving plugins.",
        "E0615 11:56:00.000001       1 main.go:173] error starting plugins: error getting plugins: failed to construct NVML resource managers: error building device map: error building device map from config.resources: error building GPU device map: error building Device: error getting device memory: Not Supported",
    )
    out = box.reads[SMI]["stdout"]
    head, tail = out.split("<fb_memory_usage>", 1)
    block, rest = tail.split("</fb_memory_usage>", 1)
    block = "<total>Not Supported</total><reserved>Not Supported</reserved><used>Not Supported</used><free>Not Supported</free>"
    box.reads[SMI]["stdout"] = (
        (head + "<fb_memory_usage>" + block + "</fb_memory_usage>" + rest)
        .replace("NVIDIA GeForce RTX 4090", "NVIDIA GB10")
        .replace("Ada Lovelace", "Blackwell")
    )
    box.whole["target"]["profile"] = "gb10"


@situation(
    OPERATOR,
    "Node feature discovery crash-loops, and the node has lost every label the operator goes by",
    "gpu",
    says="label | feature",
    never=DRIVER,
)
def nfd_down(box: Box) -> None:
    meta = box.items(NODES)[0]["metadata"]
    meta["labels"] = {
        k: v for k, v in meta["labels"].items() if "nvidia" not in k and "feature.node" not in k
    }
    box.state(
        "gpu-operator-node-feature-discovery-worker",
        waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=worker"),
        last={"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "2026-06-15T11:56:00Z"}},
        restarts=40,
    )
    box.take_pod("nvidia-dcgm-exporter")
    for name in (
        "nvidia-device-plugin-daemonset",
        "gpu-feature-discovery",
        "nvidia-dcgm-exporter",
        "nvidia-container-toolkit-daemonset",
        "nvidia-operator-validator",
    ):
        gone_daemonset(box, name)
    for key in [k for k in box.reads if "device-plugin" in k and "/log" in k]:
        del box.reads[key]
    offered(box, 0)


@situation(
    OPERATOR,
    "A proxy of the company signs nvcr.io with a certificate that the node does not trust",
    "gpu",
    says="certificate | x509 | registry | pull",
    never=f"{DRIVER} | rotate",
)
def plugin_pull_x509(box: Box) -> None:
    said = 'Failed to pull image "nvcr.io/nvidia/k8s-device-plugin:v0.20.0": failed to resolve image: failed to do request: Head "https://nvcr.io/v2/nvidia/k8s-device-plugin/manifests/v0.20.0": tls: failed to verify certificate: x509: certificate signed by unknown authority'
    box.state(
        "nvidia-device-plugin",
        waits(
            "ImagePullBackOff",
            'Back-off pulling image "nvcr.io/nvidia/k8s-device-plugin:v0.20.0": ErrImagePull: ' + said,
        ),
    )
    box.pods("nvidia-device-plugin")[0]["status"]["phase"] = "Pending"
    box.event("Pod", "gpu-operator", box.pods("nvidia-device-plugin")[0]["metadata"]["name"], "Failed", said)
    offered(box, 0)


@situation(
    LIGHT,
    "The registry has had enough of this address: toomanyrequests",
    "gpu",
    says="toomanyrequests | rate | pull",
    never=f"{DRIVER}",
)
def plugin_pull_rate(box: Box) -> None:
    said = 'Failed to pull image "docker.io/nvidia/k8s-device-plugin:v0.20.0": failed to copy: httpReadSeeker: failed open: unexpected status code https://registry-1.docker.io/v2/nvidia/k8s-device-plugin/manifests/sha256:11: 429 Too Many Requests - Server message: toomanyrequests: You have reached your unauthenticated pull rate limit. https://www.docker.com/increase-rate-limit'
    box.state("nvdp", waits("ErrImagePull", said))
    box.event("Pod", "nvidia-device-plugin", box.pods("nvdp")[0]["metadata"]["name"], "Failed", said)
    offered(box, 0)


@situation(
    LIGHT,
    "The device plugin finds no room: the node has all the pods that it takes",
    "gpu",
    says="too many pods | pods",
    never=f"{DRIVER}",
)
def too_many_pods(box: Box) -> None:
    said = "0/1 nodes are available: 1 Too many pods. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    box.pending("nvdp", said)
    for d in box.items(DAEMONSETS):
        if d["metadata"]["name"].startswith("nvdp"):
            d["status"] |= {"numberReady": 0, "numberAvailable": 0}
    offered(box, 0)


@situation(
    LIGHT,
    "A node that waits for a cloud that does not exist",
    "gpu",
    says="uninitialized | taint",
    never=f"{DRIVER} | {PLUGIN}",
)
def uninitialized(box: Box) -> None:
    box.items(NODES)[0]["spec"]["taints"] = [
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
    ]
    said = "0/1 nodes are available: 1 node(s) had untolerated taint {node.cloudprovider.kubernetes.io/uninitialized: true}. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    for what in ("ollama", "nvdp"):
        box.pending(what, said)
    offered(box, 0)


@situation(
    LIGHT,
    "The plugin cannot register: k3s was given another kubelet directory",
    "gpu",
    says="regist | kubelet",
    never=f"{DRIVER}",
)
def cannot_register(box: Box) -> None:
    box.logs(
        plugin_name(box),
        "I0615 11:40:00.311840       1 server.go:198] Starting GRPC server for 'nvidia.com/gpu'",
        "I0615 11:40:00.312906       1 server.go:142] Starting to serve 'nvidia.com/gpu' on /var/lib/kubelet/device-plugins/nvidia-gpu.sock",
        "E0615 11:40:05.312906       1 server.go:150] Could not register device plugin: context deadline exceeded",
        "I0615 11:40:05.313906       1 server.go:185] Stopping to serve 'nvidia.com/gpu' on /var/lib/kubelet/device-plugins/nvidia-gpu.sock",
        "E0615 11:40:05.314906       1 main.go:301] Failed to start plugin: failed to register with kubelet: context deadline exceeded",
        "I0615 11:40:05.315906       1 main.go:208] Failed to start one or more plugins. Retrying in 30s...",
        replace=True,
    )
    offered(box, 0)


@situation(
    OPERATOR,
    "The operator was told to give the card to virtual machines",
    "gpu",
    "host",
    says="vfio | vm-passthrough | virtual machine",
    never="nouveau | reinstall the driver",
)
def vm_passthrough(box: Box) -> None:
    unloaded_module(box, built=True)
    box.reads[LSPCI]["stdout"] = box.reads[LSPCI]["stdout"].replace(
        "\tKernel modules: nvidiafb", "\tKernel driver in use: vfio-pci\n\tKernel modules: nvidiafb", 1
    )
    labels = box.items(NODES)[0]["metadata"]["labels"]
    labels |= {
        "nvidia.com/gpu.workload.config": "vm-passthrough",
        "nvidia.com/gpu.deploy.vfio-manager": "true",
    }


@situation(
    OPERATOR,
    "The operator's driver container finds no headers for the kernel",
    "host",
    "gpu",
    says="kernel | driver",
    never="nouveau | secure boot",
)
def driver_container_kernel(box: Box) -> None:
    unloaded_module(box, built=False)
    missing(box, SMI)
    missing(box, MODINFO)
    box.items("api:/apis/nvidia.com/v1/clusterpolicies")[0]["spec"]["driver"] = {
        "enabled": True,
        "version": "570.195.03",
    }
    box.items("api:/apis/nvidia.com/v1/clusterpolicies")[0]["status"]["state"] = "notReady"
    box.items(NODES)[0]["metadata"]["labels"]["nvidia.com/gpu.deploy.driver"] = "true"
    pod = copy.deepcopy(box.pods("nvidia-container-toolkit")[0])
    pod["metadata"] |= {
        "name": "nvidia-driver-daemonset-xk2p9",
        "uid": "00000000-0000-4000-8000-00000000d001",
        "labels": {"app": "nvidia-driver-daemonset"},
    }
    pod["metadata"]["ownerReferences"][0]["name"] = "nvidia-driver-daemonset"
    pod["spec"]["initContainers"] = []
    pod["spec"]["containers"][0] |= {
        "name": "nvidia-driver-ctr",
        "image": "nvcr.io/nvidia/driver:570.195.03-ubuntu24.04",
    }
    pod["status"]["initContainerStatuses"] = []
    pod["status"]["containerStatuses"][0] |= {"name": "nvidia-driver-ctr"}
    box.items(PODS).append(pod)
    box.state(
        "nvidia-driver-daemonset",
        waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=nvidia-driver-ctr"),
        last={
            "terminated": {
                "reason": "Error",
                "exitCode": 1,
                "finishedAt": "2026-06-15T11:56:00Z",
                "message": "Resolving Linux kernel version...\nCould not resolve Linux kernel version\n",
            }
        },
        restarts=31,
    )


@situation(
    OPERATOR,
    "Two slices of a shared card are asked for where one is the most",
    "serving",
    "gpu",
    says="too large | shared | time-slic",
    never=f"{DRIVER} | {PLUGIN}",
)
def slices_too_many(box: Box) -> None:
    labels = box.items(NODES)[0]["metadata"]["labels"]
    labels |= {
        "nvidia.com/gpu.replicas": "4",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
        "nvidia.com/gpu.product": "NVIDIA-GeForce-RTX-4090-SHARED",
    }
    offered(box, 4)
    for spec in box.templates("ollama"):
        for part in ("limits", "requests"):
            spec["containers"][0]["resources"].setdefault(part, {})["nvidia.com/gpu"] = "2"
    said = "Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = request for 'nvidia.com/gpu: 2' too large: maximum request size for shared resources is 1, which is unexpected"
    for pod in box.pods("ollama"):
        pod["status"] = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": said}
    box.dark("ollama")
    box.event("Pod", "llm", box.pods("ollama")[0]["metadata"]["name"], "UnexpectedAdmissionError", said)
