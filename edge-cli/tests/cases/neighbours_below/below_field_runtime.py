"""Reports of the field: containerd, CDI, the hook, the pod network, the store behind the API."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

from below import CPU, DRIVER, LIGHT, OPERATOR, PLUGIN, failing, offered, plugin_name, ready, stuck
from box import NODES, REPLICASETS, Box, situation


@situation(
    OPERATOR,
    "The toolkit's CDI file has `all` and no card by its UUID",
    "gpu",
    says="cdi",
    never=f"{DRIVER} | restart ollama",
)
def cdi_management(box: Box) -> None:
    failing(
        box,
        "ollama",
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: could not apply required modification to OCI specification: error modifying OCI spec: failed to inject CDI devices: unresolvable CDI devices management.nvidia.com/gpu=GPU-3f0f5f2e-7a0d-4c1b-9c55-1d2e3f405162",
    )


@situation(
    LIGHT,
    "A CDI file names a render node that the kernel numbers otherwise now",
    "gpu",
    says="cdi | renderd129",
    never=f"{DRIVER} | reinstall",
)
def cdi_render_node(box: Box) -> None:
    failing(
        box,
        "ollama",
        'failed to create containerd container: CDI device injection failed: failed to inject devices: failed to stat CDI host device "/dev/dri/renderD129": no such file or directory',
        reason="CreateContainerError",
    )


@situation(
    LIGHT,
    "A node inside an LXC container: its cgroup takes no device rules",
    "gpu",
    "host",
    says="bpf | cgroup | device rules",
    never=f"{DRIVER} | nouveau",
)
def lxc_bpf(box: Box) -> None:
    failing(
        box,
        plugin_name(box),
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: mount error: failed to add device rules: unable to find any existing device filters attached to the cgroup: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted: unknown",
    )
    offered(box, 0)


@situation(
    LIGHT,
    "The hook looks for a cgroup hierarchy that this host has not",
    "gpu",
    "host",
    says="cgroup",
    never=f"{DRIVER} | nouveau",
)
def cgroup_devices(box: Box) -> None:
    failing(
        box,
        plugin_name(box),
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running hook #0: exit status 1, stdout: , stderr: nvidia-container-cli.real: container error: cgroup subsystem devices not found: unknown",
    )
    offered(box, 0)


@situation(
    LIGHT,
    "NVML refuses the plugin's container: insufficient permissions",
    "gpu",
    "host",
    says="permission",
    never=f"{DRIVER}",
)
def nvml_permissions(box: Box) -> None:
    failing(
        box,
        plugin_name(box),
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: initialization error: nvml error: insufficient permissions: unknown",
    )
    offered(box, 0)


@situation(
    LIGHT,
    "The hook finds no libnvidia-ml though the host's own nvidia-smi does",
    "gpu",
    says="libnvidia-ml | librar",
    never="reinstall the driver | reboot",
)
def hook_no_library(box: Box) -> None:
    failing(
        box,
        plugin_name(box),
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown",
    )
    offered(box, 0)


@situation(
    OPERATOR,
    "The kubelet has said nothing for a quarter of an hour, k3s still counts as active",
    "gpu",
    says="stopped posting | not ready | kubelet",
    never=f"{DRIVER} | {PLUGIN}",
)
def kubelet_silent(box: Box) -> None:
    ready(
        box,
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
        beat="2026-06-15T11:44:00Z",
    )
    box.items(NODES)[0]["spec"]["taints"] = [
        {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
    ]


@situation(LIGHT, "PLEG is not healthy", "gpu", says="pleg | not ready", never=f"{DRIVER} | {PLUGIN}")
def pleg(box: Box) -> None:
    ready(
        box,
        "False",
        "KubeletNotReady",
        "PLEG is not healthy: pleg was last seen active 3m3.928932625s ago; threshold is 3m0s",
    )


@situation(
    LIGHT,
    "containerd keeps the name of a container that it failed to make",
    "gpu",
    "serving",
    says="reserve | containerd",
    never=f"{DRIVER} | ollama pull",
)
def reserved_name(box: Box) -> None:
    failing(
        box,
        "ollama",
        'failed to reserve container name "ollama_ollama-5f7c96b8d4-tz8hk_llm_86f3c3a8-f813-43b0-a5ef-5c07c9f060f6_215": name "ollama_ollama-5f7c96b8d4-tz8hk_llm_86f3c3a8-f813-43b0-a5ef-5c07c9f060f6_215" is reserved for "c43f936666ca171d3a7fc6b15bf6c33c38c3813b3fd9b1cfa992124f971ef1fd"',
        reason="CreateContainerError",
    )


@situation(
    OPERATOR,
    "Sandboxes time out: containerd answers late, for every pod",
    "gpu",
    says="deadline | containerd | sandbox",
    never=f"{DRIVER} | {PLUGIN}",
)
def sandbox_deadline(box: Box) -> None:
    stuck(
        box,
        "open-webui",
        "Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    )
    stuck(
        box,
        "edge-exporter",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to reserve sandbox name "edge-exporter-84c6f9d7b5-mm4rx_llm_0": name "edge-exporter-84c6f9d7b5-mm4rx_llm_0" is reserved for "62d706b0"',
    )


@situation(
    CPU,
    "The shim dies at once: ttrpc closed",
    "gpu",
    says="ttrpc | shim | sandbox",
    never=f"{DRIVER} | nvidia",
)
def ttrpc(box: Box) -> None:
    stuck(
        box,
        "ollama",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to start sandbox container task "05db483a6ac6a7cd58867c61e79ddeb0a3ea22b1c407361be948b3f60d68bf9d": ttrpc: closed: unknown',
    )


@situation(
    OPERATOR,
    "etcd is full: nothing new can be written",
    "gpu",
    says="etcd | space | data store | datastore",
    never=f"{DRIVER} | {PLUGIN} | delete pod",
)
def etcd_full(box: Box) -> None:
    box.take_pod("open-webui")
    rs = box.item(REPLICASETS, "open-webui")
    rs["status"].setdefault("conditions", []).append(
        {
            "type": "ReplicaFailure",
            "status": "True",
            "reason": "FailedCreate",
            "message": "etcdserver: mvcc: database space exceeded",
            "lastTransitionTime": "2026-06-15T11:30:00Z",
        }
    )
    box.event(
        "ReplicaSet",
        "llm",
        rs["metadata"]["name"],
        "FailedCreate",
        "Error creating: etcdserver: mvcc: database space exceeded",
    )


@situation(
    LIGHT,
    "The SQLite file of k3s is damaged: the API answers 500",
    "gpu",
    says="malformed | data store | datastore | database",
    never=f"{DRIVER} | {PLUGIN}",
)
def sqlite_malformed(box: Box) -> None:
    for key in list(box.reads):
        if key.startswith("api:/api"):
            box.reads[key] = {
                "status": 500,
                "body": {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "metadata": {},
                    "status": "Failure",
                    "message": "rpc error: code = Unknown desc = database disk image is malformed",
                    "code": 500,
                },
                "error": None,
            }
    box.reads["api:/readyz"] = {
        "status": 500,
        "body": "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\nreadyz check failed",
        "error": None,
    }


@situation(
    OPERATOR,
    "The pod network has given out its last address",
    "gpu",
    says="ip address | network | range",
    never=f"{DRIVER} | {PLUGIN}",
)
def no_addresses(box: Box) -> None:
    stuck(
        box,
        "open-webui",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "1a2": plugin type="flannel" failed (add): failed to delegate add: failed to allocate for range 0: no IP addresses available in range set: 10.42.0.1-10.42.0.254',
    )


@situation(
    LIGHT,
    "The bridge of an earlier installation has another address",
    "gpu",
    says="cni0 | bridge | network",
    never=f"{DRIVER} | {PLUGIN}",
)
def bridge_address(box: Box) -> None:
    stuck(
        box,
        "ollama",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "1a2": plugin type="flannel" failed (add): failed to delegate add: failed to set bridge addr: "cni0" already has an IP address different from 10.42.0.1/24',
    )


@situation(
    LIGHT,
    "Ollama is given the UUID of a card that was swapped",
    "gpu",
    "serving",
    says="unknown device | gpu-00000000",
    never=f"{DRIVER} | {PLUGIN}",
)
def unknown_device(box: Box) -> None:
    box.env("ollama", NVIDIA_VISIBLE_DEVICES="GPU-00000000-1111-2222-3333-444444444444")
    failing(
        box,
        "ollama",
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: device error: GPU-00000000-1111-2222-3333-444444444444: unknown device: unknown",
    )
