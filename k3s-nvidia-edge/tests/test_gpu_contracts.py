"""Each line is one thing that happens to k3s or its GPU parts, and the promise that it breaks, if any."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

SMI = "command:nvidia-smi -q -x"
SYSTEMCTL = (
    "command:systemctl show k3s k3s-agent containerd docker "
    "--property=Id,LoadState,ActiveState,SubState,ActiveEnterTimestamp"
)
CONTAINERD = "file:/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
CONTAINERD_PATH = CONTAINERD.removeprefix("file:")
OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
PLUGIN = {OPERATOR: "nvidia-device-plugin-daemonset", LIGHT: "nvdp"}
BINARY = "/usr/bin/nvidia-container-runtime"
NO_RUNTIME = (
    'Failed to create pod sandbox: failed to get sandbox runtime: no runtime for "nvidia" is configured'
)

World = Any
Change = Callable[[World], object]


def both(*changes: Change) -> Change:
    def change(w: World) -> None:
        for each in changes:
            each(w)

    return change


def k3s_is(active: str, sub: str = "dead") -> Change:
    def change(w: World) -> None:
        w.every_api(error="unreachable")
        w.edit(SYSTEMCTL, ("ActiveState=active\nSubState=running", f"ActiveState={active}\nSubState={sub}"))

    return change


def no_unit(w: World) -> None:
    w.every_api(error="unreachable")
    w.edit(
        SYSTEMCTL, ("LoadState=loaded", "LoadState=not-found"), ("ActiveState=active", "ActiveState=inactive")
    )


def expired_in_words(w: World) -> None:
    w.every_api(
        error="tls",
        body="x509: certificate has expired or is not yet valid: current time is after 2026-06-13",
    )


def old_certificates(w: World) -> None:
    w.every_api(error="tls")
    w.edit(SYSTEMCTL, ("Mon 2026-06-01 09:01:55 UTC", "Fri 2025-06-13 08:20:11 CEST"))


def strangers_probe(w: World) -> None:
    w.every_api(status=401, body={"message": "Unauthorized"})
    w.api("/version", status=200, body={"gitVersion": "v1.35.5+k3s1"})
    w.api("/readyz", status=200, body="ok")


def not_ready_at_all(w: World) -> None:
    w.every_api(status=503, body={"message": "apiserver not ready"})


def agent_only(w: World) -> None:
    text = w.reads[SYSTEMCTL]["stdout"].replace("Id=k3s.service", "Id=k3s-x.service")
    w.reads[SYSTEMCTL]["stdout"] = text.replace(
        "Id=k3s-agent.service\nLoadState=not-found\nActiveState=inactive",
        "Id=k3s-agent.service\nLoadState=loaded\nActiveState=failed",
    )
    w.every_api(error="unreachable")


def flaps(event: str, count: int) -> Change:
    return lambda w: w.event(event, "Node edge-1 status is now", node="edge-1", count=count, warning=False)


def evicted(w: World) -> None:
    flaps("NodeHasInsufficientMemory", 1)(w)
    w.event("Evicted", "The node was low on resource: memory.", pod="ollama")


def evicted_by_itself(w: World) -> None:
    flaps("NodeHasDiskPressure", 1)(w)
    w.event(
        "Evicted",
        "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.",
        pod="ollama",
    )


def second_node(w: World, *, gpu: bool) -> None:
    node = {
        "metadata": {"name": "edge-2", "labels": {"nvidia.com/gpu.present": "true"} if gpu else {}},
        "spec": {},
        "status": {
            "conditions": [
                {
                    "type": "Ready",
                    "status": "False",
                    "reason": "KubeletNotReady",
                    "message": "PLEG is not healthy",
                }
            ]
        },
    }
    w.items("/api/v1/nodes").append(node)


def no_sandbox(message: str, start: str = "") -> Change:
    def change(w: World) -> None:
        name = start or "nv"
        w.unready(name, "ContainerCreating", restarts=0)
        w.event("FailedCreatePodSandBox", message, pod=name)

    return change


def settled(message: str) -> Change:
    """The event is there, and the pod has started since."""
    return lambda w: w.event("FailedCreatePodSandBox", message, pod="nv")


def no_endpoints(w: World) -> None:
    for each in w.items("/apis/discovery.k8s.io/v1/endpointslices"):
        if each["metadata"]["name"].startswith("kube-dns"):
            each["endpoints"] = []


def no_dns(w: World) -> None:
    services = w.items("/api/v1/services")
    services[:] = [each for each in services if each["metadata"]["name"] != "kube-dns"]


def driver_pod(w: World) -> None:
    w.items("/api/v1/pods").append(
        {
            "metadata": {
                "name": "nvidia-driver-daemonset-b6xkq",
                "namespace": "gpu-operator",
                "ownerReferences": [
                    {"kind": "DaemonSet", "name": "nvidia-driver-daemonset", "controller": True}
                ],
            },
            "spec": {
                "nodeName": "edge-1",
                "containers": [
                    {"name": "nvidia-driver-ctr", "image": "nvcr.io/nvidia/driver:580-ubuntu24.04"}
                ],
            },
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]},
        }
    )


def driver_pod_alone(w: World) -> None:
    driver_pod(w)
    w.smi(rc=None, error="not-found")


def toolkit(waiting: str, *, log: str = "", last: str = "", init: bool = False) -> Change:
    def change(w: World) -> None:
        w.unready("nvidia-container-toolkit", waiting, last=last, init=init)
        if log:
            w.log("nvidia-container-toolkit", log)

    return change


def no_handler(w: World) -> None:
    text = w.reads[CONTAINERD]["text"]
    head, _, tail = text.partition("[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.'nvidia']")
    w.reads[CONTAINERD]["text"] = (
        head + tail[tail.index("[plugins.'io.containerd.cri.v1.images'.registry]") :]
    )


def class_unused(w: World) -> None:
    """No pod and no controller asks for the class any more."""
    for path in ("/api/v1/pods", "/apis/apps/v1/daemonsets", "/apis/apps/v1/deployments"):
        for each in w.items(path):
            spec = each["spec"] if path.endswith("pods") else each["spec"]["template"]["spec"]
            spec.pop("runtimeClassName", None)


def no_classes(w: World) -> None:
    w.items("/apis/node.k8s.io/v1/runtimeclasses").clear()


def started_again(w: World) -> None:
    """k3s was restarted after all pods had started."""
    w.edit(SYSTEMCTL, ("Mon 2026-06-01 09:01:55 UTC", "Mon 2026-06-15 09:30:12 UTC"))


def other_handler(w: World) -> None:
    for each in w.items("/apis/node.k8s.io/v1/runtimeclasses"):
        if each["metadata"]["name"] == "nvidia":
            each["handler"] = "nvidia-container-runtime"


def no_programs(w: World) -> None:
    for key in w.reads:
        if key.startswith("glob:/usr/"):
            w.reads[key] = {"paths": []}


def docker(w: World) -> None:
    w.node()["status"]["nodeInfo"]["containerRuntimeVersion"] = "docker://28.5.1"


def default_nvidia(w: World) -> None:
    w.reads[CONTAINERD]["text"] += (
        "\n[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = \"nvidia\"\n"
    )


def cgroupfs(w: World) -> None:
    text = w.reads[CONTAINERD]["text"]
    at = text.index("SystemdCgroup", text.index("runtimes.'nvidia'.options"))
    w.reads[CONTAINERD]["text"] = (
        text[:at] + "SystemdCgroup = false" + text[at + len("SystemdCgroup = true") :]
    )


def start_error(message: str, start: str = "ollama", waiting: str = "CrashLoopBackOff") -> Change:
    return lambda w: w.unready(start, waiting, last=message)


def sandbox_of_another_class(w: World) -> None:
    no_sandbox("failed to launch qemu: exit status 1", "open")(w)
    w.pod("open")["spec"]["runtimeClassName"] = "kata-qemu"


def leftover_plugin(w: World) -> None:
    pod = copy.deepcopy(w.pod("nvdp"))
    pod["metadata"]["name"] = "nvdp-old"
    w.items("/api/v1/pods").append(pod)
    w.reads[
        next(key for key in w.reads if "/nvdp-" in key).replace(w.pod("nvdp")["metadata"]["name"], "nvdp-old")
    ] = {
        "status": 200,
        "body": "could not load NVML library",
        "error": None,
    }
    for each in pod["status"]["conditions"]:
        each["status"] = "False" if each["type"] == "Ready" else each["status"]


STORE_FULL = "Error creating: etcdserver: mvcc: database space exceeded"


def store_full_by_condition(w: World) -> None:
    status = w.items("/apis/apps/v1/replicasets")[0]["status"]
    status["conditions"] = [{"type": "ReplicaFailure", "status": "True", "message": STORE_FULL}]


def damaged_store(w: World) -> None:
    w.api("/readyz", status=500, body="[-]etcd failed: reason withheld\n")
    w.api("/api/v1/nodes", status=500, body={"message": "database disk image is malformed"})


def paused_plugin(w: World) -> None:
    w.remove_pod("nvidia-device-plugin")
    w.offer({"nvidia.com/gpu": "0"})
    w.node()["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"] = "paused-for-driver-upgrade"


def waiting_for_mps(w: World) -> None:
    w.offer({"nvidia.com/gpu": "0"})
    key = next(key for key in w.reads if "device-plugin" in key and "/log?" in key)
    w.reads[key]["body"] = (
        "E0423 06:04:56.558122 39 main.go:301] Failed to start plugin: error waiting for MPS daemon\n"
        "I0423 06:04:56.558152 39 main.go:208] Failed to start one or more plugins. Retrying in 30s...\n"
    )


def mig_gave_up(w: World) -> None:
    w.offer({"nvidia.com/gpu": "0"})
    w.node()["metadata"]["labels"]["nvidia.com/mig.config.state"] = "failed"


def k3s_just_restarted(w: World) -> None:
    w.edit(SYSTEMCTL, ("Mon 2026-06-01 09:01:55 UTC", "Mon 2026-06-15 11:59:00 UTC"))


def zone_ahead(w: World) -> None:
    w.edit(SYSTEMCTL, ("Mon 2026-06-01 09:01:55 UTC", "Mon 2026-06-15 13:01:55 CEST"))


def machine_just_started(w: World) -> None:
    w.file("/proc/uptime", "61.00 300.00\n")


def plugin(waiting: str, *, log: str = "", base: str = LIGHT, **kwargs: Any) -> Change:
    def change(w: World) -> None:
        w.unready(PLUGIN[base], waiting, **kwargs)
        w.offer({})
        if log:
            w.log(PLUGIN[base], log)

    return change


def blind(log: str) -> Change:
    def change(w: World) -> None:
        w.offer({})
        w.log("nvdp", log)

    return change


def plugin_gone(w: World) -> None:
    w.remove_pod("nvdp")
    w.offer({})


def no_plugin(w: World) -> None:
    plugin_gone(w)
    w.items("/apis/apps/v1/daemonsets").remove(w.daemonset("nvdp"))


def other_plugin(w: World) -> None:
    """A plugin that nobody knows offers the card."""
    w.remove_pod("nvdp")
    w.items("/apis/apps/v1/daemonsets").remove(w.daemonset("nvdp"))


def amd_plugin(w: World) -> None:
    no_plugin(w)
    w.items("/apis/apps/v1/daemonsets").append(
        {
            "metadata": {"name": "amdgpu-device-plugin", "namespace": "kube-system"},
            "spec": {
                "template": {
                    "spec": {
                        "containers": [{"name": "amdgpu", "image": "docker.io/rocm/k8s-device-plugin:1.31"}]
                    }
                }
            },
        }
    )


def tainted(key: str, value: str = "", effect: str = "NoSchedule") -> Change:
    def change(w: World) -> None:
        plugin_gone(w)
        w.node()["spec"]["taints"] = [{"key": key, "value": value, "effect": effect}]

    return change


def selects(labels: dict[str, str]) -> Change:
    def change(w: World) -> None:
        plugin_gone(w)
        w.daemonset("nvdp")["spec"]["template"]["spec"]["nodeSelector"] = labels

    return change


def affinity(*terms: dict[str, Any]) -> Change:
    def change(w: World) -> None:
        plugin_gone(w)
        w.daemonset("nvdp")["spec"]["template"]["spec"]["affinity"] = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [term]} for term in terms]
                }
            }
        }

    return change


def withdrawn(log: str) -> Change:
    def change(w: World) -> None:
        w.offer({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "0"})
        w.log("nvidia-device-plugin-daemonset", log)

    return change


def ollama_asks(resource: str) -> Change:
    def change(w: World) -> None:
        for each in (w.pod("ollama")["spec"], w.items("/apis/apps/v1/deployments")):
            specs = (
                [each]
                if isinstance(each, dict)
                else [one["spec"]["template"]["spec"] for one in each if one["metadata"]["name"] == "ollama"]
            )
            for spec in specs:
                for container in spec["containers"]:
                    for quantities in container["resources"].values():
                        if "nvidia.com/gpu" in quantities:
                            quantities[resource] = quantities.pop("nvidia.com/gpu")

    return change


def mig(devices: int = 0, *, offered: dict[str, str]) -> Change:
    def change(w: World) -> None:
        w.edit(SMI, ("<current_mig>Disabled", "<current_mig>Enabled"))
        if devices:
            w.edit(
                SMI,
                (
                    "None\n\t\t</mig_devices>",
                    "<mig_device><index>0</index></mig_device>" * devices + "</mig_devices>",
                ),
            )
        w.offer(offered)

    return change


def policy(state: str, message: str = "", *, on: str = "Error") -> Change:
    def change(w: World) -> None:
        item = w.items("/apis/nvidia.com/v1/clusterpolicies")[0]
        item["status"] = {"state": state, "conditions": [{"type": on, "status": "True", "message": message}]}

    return change


def recycled(*names: str, at: str = "2026-06-15T11:59:40Z", count: int = 97) -> Change:
    def change(w: World) -> None:
        for name in names:
            w.event(
                "SandboxChanged",
                "Pod sandbox changed, it will be killed",
                pod=name,
                count=count,
                at=at,
                warning=False,
            )

    return change


def unknown_error(w: World) -> None:
    w.log(
        "ollama",
        'level=WARN msg="unable to refresh free memory" error="Failed to initialize NVML: Unknown Error"\n',
    )


def claim_waits(message: str = "", reason: str = "ProvisioningFailed") -> Change:
    def change(w: World) -> None:
        claim = w.items("/api/v1/persistentvolumeclaims")[0]
        claim["status"] = {"phase": "Pending"}
        claim["spec"].pop("volumeName", None)
        if message:
            w.event(reason, message)
            meta = claim["metadata"]
            w.items("/api/v1/events")[-1]["involvedObject"] = {
                "kind": "PersistentVolumeClaim",
                "namespace": meta["namespace"],
                "name": meta["name"],
            }

    return change


def unsatisfied_claim_without_provisioner(w: World) -> None:
    claim_waits()(w)
    w.remove_pod("local-path-provisioner")


def operator_wants_a_kind(w: World) -> None:
    w.unready("gpu-operator-7", "CrashLoopBackOff")
    w.log(
        "gpu-operator-7",
        'level=error no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"\n',
    )


def claim_of_nobody(w: World) -> None:
    """A claim without its volume that no pod uses."""
    claim = {"metadata": {"name": "old", "namespace": "team-a"}, "spec": {}, "status": {"phase": "Lost"}}
    w.items("/api/v1/persistentvolumeclaims").append(claim)


def no_device_any_more(w: World) -> None:
    w.log("ollama", f"{FOUND_CARD}{NO_DEVICE}")


def no_device_from_the_start(w: World) -> None:
    w.log("ollama", NO_DEVICE)


def device_came_back(w: World) -> None:
    w.log("ollama", f"{FOUND_CARD}{NO_DEVICE}load_tensors:        CUDA0 model buffer size =  4168.09 MiB\n")


FOUND_CARD = 'level=INFO msg="inference compute" id=GPU-3f library=CUDA compute=8.9 name=CUDA0\n'
NO_DEVICE = "ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected\n"


def lost_claim(w: World) -> None:
    w.items("/api/v1/persistentvolumeclaims")[0]["status"] = {"phase": "Lost"}


FLANNEL = (
    'failed to setup network for sandbox "6b": plugin type="flannel" failed (add): open'
    " /run/flannel/subnet.env: no such file"
)
STALE = (
    "OCI runtime create failed: open /usr/lib/x86_64-linux-gnu/libcuda.so.565.57.01: no such file or"
    " directory: unknown"
)
CDI = "OCI runtime create failed: unresolvable CDI devices nvidia.com/gpu=all"
HOOK = (
    "OCI runtime create failed: nvidia-container-cli: ldcache error: open failed:"
    " /sbin/ldconfig.real: no such file"
)
PROGRAM = 'exec: "/usr/local/nvidia/toolkit/nvidia-container-runtime": stat: no such file or directory'
MISMATCH = "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown"
PARTS = "ClusterPolicy is not ready, states not ready: [{}]"
UNHEALTHY = "health.go:159] XidCriticalError: Xid=43 on Device=GPU-3f; marking device as unhealthy.\n"

BROKEN: tuple[tuple[str, str, Change, str, str], ...] = (
    (
        "refused, on a host of another time zone",
        LIGHT,
        both(no_sandbox(NO_RUNTIME), zone_ahead),
        "gpu.runtime-handler",
        "HandlerMissing",
    ),
    (
        "k3s restarts over and over",
        LIGHT,
        k3s_is("activating", "auto-restart"),
        "gpu.service",
        "ServiceRestarts",
    ),
    (
        "a part of the GPU is not ready",
        OPERATOR,
        policy("notReady", PARTS.format("state-operator-validation")),
        "gpu.operator-parts",
        "OperatorPartsNotReady",
    ),
    (
        "the operator crashes for want of a kind",
        OPERATOR,
        operator_wants_a_kind,
        "gpu.operator",
        "OperatorNeedsMonitoringCrds",
    ),
    (
        "the plugin gets another driver's library",
        OPERATOR,
        plugin("CrashLoopBackOff", base=OPERATOR, log="nvml init failed: ERROR_LIB_RM_VERSION_MISMATCH\n"),
        "gpu.cdi",
        "ContainerDriverMismatch",
    ),
    (
        "a library of the loaded driver is missing",
        LIGHT,
        start_error(STALE.replace("565.57.01", "570.195.03")),
        "gpu.sandboxes",
        "SandboxesFail",
    ),
    ("a claim lost its volume", CPU, lost_claim, "gpu.storage", "ClaimLost"),
    ("k3s has not been restarted for a year", LIGHT, old_certificates, "gpu.api", "CertificatesExpired"),
    (
        "the API answers 503, /readyz not asked",
        LIGHT,
        both(not_ready_at_all, lambda w: w.drop("api:/readyz")),
        "gpu.api",
        "ApiNotReady",
    ),
    (
        "an affinity that forbids",
        LIGHT,
        affinity(
            {"key": "nvidia.com/gpu.present", "operator": "NotIn", "values": ["true"]},
            {"key": "nvidia.com/gpu.present", "operator": "DoesNotExist"},
        ),
        "gpu.device-plugin",
        "PluginLabelMissing",
    ),
    (
        "an affinity by number, and no pod",
        LIGHT,
        affinity({"key": "nvidia.com/gpu.count", "operator": "Gt", "values": ["0"]}),
        "gpu.device-plugin",
        "PluginNotScheduled",
    ),
    (
        "a label that is met, and no pod",
        LIGHT,
        selects({"kubernetes.io/os": "linux"}),
        "gpu.device-plugin",
        "PluginNotScheduled",
    ),
    (
        "a taint that is tolerated, and no pod",
        LIGHT,
        tainted("nvidia.com/gpu", "present"),
        "gpu.device-plugin",
        "PluginNotScheduled",
    ),
    (
        "a taint that only prefers",
        LIGHT,
        tainted("x", effect="PreferNoSchedule"),
        "gpu.device-plugin",
        "PluginNotScheduled",
    ),
    (
        "the plugin has the default runtime",
        LIGHT,
        both(class_unused, blind("Failed to initialize NVML: could not load NVML library\n")),
        "gpu.device-plugin",
        "PluginBlind",
    ),
    (
        "a stale library, host not read",
        OPERATOR,
        both(start_error(STALE), lambda w: w.drop("command:nvidia-smi")),
        "gpu.cdi",
        "StaleCdi",
    ),
    ("k3s failed", CPU, k3s_is("failed", "failed"), "gpu.service", "ServiceFailed"),
    ("k3s stopped", LIGHT, k3s_is("inactive"), "gpu.service", "ServiceStopped"),
    ("the agent failed", LIGHT, agent_only, "gpu.service", "ServiceFailed"),
    ("expired, by the error's own words", LIGHT, expired_in_words, "gpu.api", "CertificatesExpired"),
    (
        "the API is not ready",
        LIGHT,
        lambda w: w.api("/readyz", status=500, body="[+]ping ok\n[-]etcd failed: reason withheld\n"),
        "gpu.api",
        "ApiNotReady",
    ),
    ("the API answers 503 to all", LIGHT, not_ready_at_all, "gpu.api", "ApiNotReady"),
    ("no node", LIGHT, lambda w: w.items("/api/v1/nodes").clear(), "gpu.node-ready", "NoNodes"),
    (
        "not ready",
        CPU,
        lambda w: w.condition("Ready", "False", "KubeletNotReady", "PLEG is not healthy"),
        "gpu.node-ready",
        "NodeNotReady",
    ),
    (
        "silent",
        LIGHT,
        lambda w: w.condition(
            "Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
        ),
        "gpu.node-ready",
        "NodeSilent",
    ),
    (
        "no CNI on the node",
        LIGHT,
        lambda w: w.condition(
            "Ready",
            "False",
            "KubeletNotReady",
            "container runtime network not ready: cni plugin not initialized",
        ),
        "gpu.node-ready",
        "NodeNetworkNotReady",
    ),
    (
        "network unavailable",
        LIGHT,
        lambda w: w.condition("NetworkUnavailable", "True"),
        "gpu.node-ready",
        "NodeNetworkNotReady",
    ),
    ("disk pressure", CPU, lambda w: w.condition("DiskPressure", "True"), "gpu.node-ready", "DiskPressure"),
    (
        "memory pressure",
        LIGHT,
        lambda w: w.condition("MemoryPressure", "True"),
        "gpu.node-ready",
        "MemoryPressure",
    ),
    ("PID pressure", LIGHT, lambda w: w.condition("PIDPressure", "True"), "gpu.node-ready", "PidPressure"),
    (
        "cordoned",
        LIGHT,
        lambda w: w.node()["spec"].update(unschedulable=True),
        "gpu.node-ready",
        "NodeCordoned",
    ),
    (
        "memory pressure comes and goes",
        LIGHT,
        flaps("NodeHasInsufficientMemory", 3),
        "gpu.node-ready",
        "PressureFlaps",
    ),
    ("memory pressure once, with an eviction", LIGHT, evicted, "gpu.node-ready", "PressureFlaps"),
    (
        "the second GPU node is not ready",
        OPERATOR,
        lambda w: second_node(w, gpu=True),
        "gpu.node-ready",
        "NodeNotReady",
    ),
    ("flannel has no subnet", LIGHT, no_sandbox(FLANNEL, "ollama"), "gpu.cni", "CniFails"),
    (
        "a CPU box without CNI plugins",
        CPU,
        no_sandbox('failed to find plugin "loopback" in path [/opt/cni/bin]', "ollama"),
        "gpu.cni",
        "CniPluginMissing",
    ),
    (
        "no sandbox image",
        CPU,
        no_sandbox(
            (
                'failed to get sandbox image "rancher/mirrored-pause:3.6": failed to pull image:'
                " dial tcp: timeout"
            ),
            "ollama",
        ),
        "gpu.cni",
        "SandboxImageMissing",
    ),
    ("DNS without endpoints", CPU, no_endpoints, "gpu.cluster-dns", "DnsDown"),
    ("two owners of the driver", OPERATOR, driver_pod, "gpu.driver-owner", "TwoDriverOwners"),
    ("the driver's container fails", OPERATOR, driver_pod_alone, "gpu.driver-owner", "DriverContainerFails"),
    ("toolkit image missing", OPERATOR, toolkit("ImagePullBackOff"), "gpu.toolkit", "ToolkitImageMissing"),
    ("toolkit waits for validation", OPERATOR, toolkit("", init=True), "gpu.toolkit", "ToolkitWaits"),
    (
        "toolkit without a socket",
        OPERATOR,
        toolkit(
            "CrashLoopBackOff",
            log="level=fatal dial unix /runtime/sock-dir/containerd.sock: connect: no such file or directory",
        ),
        "gpu.toolkit",
        "ToolkitSocketMissing",
    ),
    (
        "toolkit too old, by its last words",
        OPERATOR,
        toolkit("CrashLoopBackOff", last="unable to load config: unsupported config version: 3"),
        "gpu.toolkit",
        "ToolkitTooOld",
    ),
    (
        "toolkit fails for another reason",
        OPERATOR,
        toolkit("CrashLoopBackOff", last="permission denied"),
        "gpu.toolkit",
        "ToolkitFails",
    ),
    (
        "no handler, and events long gone",
        LIGHT,
        both(no_handler, started_again),
        "gpu.runtime-handler",
        "HandlerMissing",
    ),
    (
        "no handler and no toolkit",
        LIGHT,
        both(no_handler, started_again, no_programs),
        "gpu.runtime-handler",
        "ToolkitMissing",
    ),
    (
        "no handler by an event alone",
        LIGHT,
        both(no_sandbox(NO_RUNTIME), lambda w: w.drop("file:")),
        "gpu.runtime-handler",
        "HandlerMissing",
    ),
    (
        "the class names another handler",
        LIGHT,
        both(other_handler, started_again),
        "gpu.runtime-handler",
        "HandlerMissing",
    ),
    ("the handler's program is gone", LIGHT, no_programs, "gpu.runtime-handler", "RuntimeBinaryMissing"),
    (
        "the handler's program is gone, by an event",
        LIGHT,
        no_sandbox(PROGRAM),
        "gpu.runtime-handler",
        "RuntimeBinaryMissing",
    ),
    ("Docker", LIGHT, docker, "gpu.runtime-handler", "DockerRuntime"),
    ("another cgroup driver", LIGHT, cgroupfs, "gpu.cgroup-driver", "CgroupDriverDiffers"),
    ("no runtime class", LIGHT, no_classes, "gpu.runtime-class", "RuntimeClassMissing"),
    ("a stale library", OPERATOR, start_error(STALE), "gpu.cdi", "StaleCdi"),
    ("a device in no specification", OPERATOR, start_error(CDI), "gpu.cdi", "CdiDeviceUnknown"),
    ("a mismatch in containers alone", OPERATOR, start_error(MISMATCH), "gpu.cdi", "ContainerDriverMismatch"),
    ("no plugin", LIGHT, no_plugin, "gpu.device-plugin", "NoDevicePlugin"),
    ("another vendor's plugin", LIGHT, amd_plugin, "gpu.device-plugin", "NoDevicePlugin"),
    ("a taint", LIGHT, tainted("dedicated", "gpu"), "gpu.device-plugin", "PluginNotTolerating"),
    (
        "a taint that evicts",
        LIGHT,
        tainted("maintenance", "", "NoExecute"),
        "gpu.device-plugin",
        "PluginNotTolerating",
    ),
    (
        "a label that the node lacks",
        LIGHT,
        selects({"nvidia.com/gpu.deploy.device-plugin": "true"}),
        "gpu.device-plugin",
        "PluginLabelMissing",
    ),
    (
        "an affinity that the node does not meet",
        LIGHT,
        affinity(
            {"key": "feature.node.kubernetes.io/pci-10de.present", "operator": "In", "values": ["true"]},
            {"key": "nvidia.com/other", "operator": "Exists"},
        ),
        "gpu.device-plugin",
        "PluginLabelMissing",
    ),
    ("no pod and no reason to be seen", LIGHT, plugin_gone, "gpu.device-plugin", "PluginNotScheduled"),
    (
        "an affinity that is met, and no pod",
        LIGHT,
        affinity({"key": "nvidia.com/gpu.present", "operator": "Exists"}),
        "gpu.device-plugin",
        "PluginNotScheduled",
    ),
    (
        "plugin image missing",
        LIGHT,
        plugin("ErrImagePull", message="manifest unknown"),
        "gpu.device-plugin",
        "PluginImageMissing",
    ),
    (
        "plugin waits in an init container",
        OPERATOR,
        plugin("CrashLoopBackOff", base=OPERATOR, init=True, last="toolkit is not ready"),
        "gpu.device-plugin",
        "PluginWaits",
    ),
    (
        "plugin being created",
        LIGHT,
        plugin("ContainerCreating", restarts=0),
        "gpu.device-plugin",
        "PluginNotStarted",
    ),
    (
        "plugin crashes",
        LIGHT,
        plugin("CrashLoopBackOff", last="panic: runtime error"),
        "gpu.device-plugin",
        "PluginCrashes",
    ),
    (
        "plugin crashes, blind by its log",
        LIGHT,
        plugin("CrashLoopBackOff", log="E0615 main.go:180] nvml init failed: ERROR_LIBRARY_NOT_FOUND\n"),
        "gpu.device-plugin",
        "PluginBlind",
    ),
    (
        "plugin runs and sees nothing",
        LIGHT,
        blind("I0601 main.go:381] No devices found. Waiting indefinitely.\n"),
        "gpu.device-plugin",
        "PluginBlind",
    ),
    ("plugin runs and is not ready", LIGHT, plugin(""), "gpu.device-plugin", "PluginNotStarted"),
    ("nothing offered", LIGHT, lambda w: w.offer({}), "gpu.allocatable", "NoAllocatableGpu"),
    (
        "zero offered",
        LIGHT,
        lambda w: w.offer({"nvidia.com/gpu": "0"}),
        "gpu.allocatable",
        "NoAllocatableGpu",
    ),
    (
        "one of two offered",
        DUAL,
        lambda w: w.offer({"nvidia.com/gpu": "1"}),
        "gpu.allocatable",
        "FewerGpusOffered",
    ),
    (
        "one of two unhealthy",
        DUAL,
        lambda w: w.offer({"nvidia.com/gpu": "2"}, {"nvidia.com/gpu": "1"}),
        "gpu.allocatable",
        "GpuMarkedUnhealthy",
    ),
    (
        "unhealthy for a program's Xid",
        OPERATOR,
        withdrawn(UNHEALTHY),
        "gpu.allocatable",
        "GpuMarkedUnhealthy",
    ),
    ("unhealthy, the log rotated", OPERATOR, withdrawn("nothing\n"), "gpu.allocatable", "GpuMarkedUnhealthy"),
    (
        "shared, and asked for by the plain name",
        OPERATOR,
        lambda w: w.offer({"nvidia.com/gpu.shared": "8"}),
        "gpu.allocatable",
        "OtherResourceName",
    ),
    (
        "another MIG size than asked for",
        A100,
        both(ollama_asks("nvidia.com/mig-1g.5gb"), lambda w: w.offer({"nvidia.com/mig-3g.20gb": "2"})),
        "gpu.allocatable",
        "OtherResourceName",
    ),
    (
        "a whole GPU beside its slices",
        A100,
        mig(7, offered={"nvidia.com/gpu": "1", "nvidia.com/mig-1g.5gb": "7"}),
        "gpu.allocatable",
        "WholeGpuUnderMig",
    ),
    (
        "MIG without a device",
        A100,
        mig(offered={"nvidia.com/gpu": "0"}),
        "gpu.allocatable",
        "MigWithoutDevices",
    ),
    ("a hook fails", LIGHT, start_error(HOOK), "gpu.sandboxes", "SandboxesFail"),
    (
        "containerd keeps a name",
        LIGHT,
        no_sandbox('failed to reserve sandbox name "a_b_0": name "a_b_0" is reserved for "1"', "ollama"),
        "gpu.cni",
        "ContainerRuntimeFails",
    ),
    (
        "containerd answers late, to any pod",
        LIGHT,
        no_sandbox("context deadline exceeded", "open-webui"),
        "gpu.cni",
        "ContainerRuntimeFails",
    ),
    (
        "no pod gets a sandbox, for a reason that is not known",
        LIGHT,
        no_sandbox("failed to mount overlay: invalid argument", "open-webui"),
        "gpu.cni",
        "ContainerRuntimeFails",
    ),
    ("the store is full, by a condition", LIGHT, store_full_by_condition, "gpu.api", "StoreRefuses"),
    (
        "the store is full, by an event",
        LIGHT,
        lambda w: w.event("FailedCreate", STORE_FULL, pod="ollama"),
        "gpu.api",
        "StoreRefuses",
    ),
    ("a damaged store", LIGHT, damaged_store, "gpu.api", "ApiNotReady"),
    ("a plugin is paused", OPERATOR, paused_plugin, "gpu.device-plugin", "PluginPaused"),
    ("a plugin waits for MPS", LIGHT, waiting_for_mps, "gpu.device-plugin", "PluginRetries"),
    ("the MIG manager gave up", A100, mig_gave_up, "gpu.allocatable", "MigConfigFailed"),
    (
        "a sandbox fails for an unknown reason",
        LIGHT,
        no_sandbox("context deadline exceeded", "ollama"),
        "gpu.sandboxes",
        "SandboxesFail",
    ),
    (
        "sandboxes of the class are recycled",
        LIGHT,
        recycled("nvdp", "ollama"),
        "gpu.sandboxes",
        "SandboxesRecycled",
    ),
    (
        "the runtime's own words at a start",
        LIGHT,
        lambda w: w.unready("open-webui", "RunContainerError", message="ttrpc: closed: unknown"),
        "gpu.cni",
        "ContainerRuntimeFails",
    ),
    ("a container lost its device", LIGHT, unknown_error, "gpu.sandboxes", "DevicesLost"),
    ("CUDA finds no device any more", LIGHT, no_device_any_more, "gpu.sandboxes", "DevicesLost"),
    (
        "the operator crashes",
        OPERATOR,
        lambda w: w.unready("gpu-operator-7", "CrashLoopBackOff"),
        "gpu.operator",
        "OperatorCrashes",
    ),
    (
        "the operator wants a kind",
        OPERATOR,
        policy("notReady", 'no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"'),
        "gpu.operator",
        "OperatorNeedsMonitoringCrds",
    ),
    ("two policies", OPERATOR, policy("ignored"), "gpu.operator", "PolicyIgnored"),
    (
        "the provisioner crashes",
        CPU,
        lambda w: w.unready("local-path-provisioner", "CrashLoopBackOff", last="no such config"),
        "gpu.storage",
        "ProvisionerNotReady",
    ),
    (
        "a volume cannot be made",
        CPU,
        claim_waits("failed to provision volume: create process timeout after 120 seconds"),
        "gpu.storage",
        "ProvisioningFailed",
    ),
    ("nobody makes volumes", CPU, unsatisfied_claim_without_provisioner, "gpu.storage", "NoProvisioner"),
)

SOUND: tuple[tuple[str, str, Change], ...] = (
    (
        "a program whose own database is damaged",
        LIGHT,
        lambda w: w.event(
            "Unhealthy", "Readiness probe failed: database disk image is malformed", pod="open"
        ),
    ),
    (
        "a program that ends for a deadline of its own",
        LIGHT,
        lambda w: w.unready("open-webui", "CrashLoopBackOff", last="context deadline exceeded"),
    ),
    ("a left-over plugin beside one that works", LIGHT, leftover_plugin),
    ("a runtime of somebody else's", LIGHT, no_sandbox('no runtime for "spin" is configured', "open")),
    ("another vendor's device", LIGHT, no_sandbox("unresolvable CDI devices amd.com/gpu=0", "open")),
    ("a sandbox of another class", LIGHT, sandbox_of_another_class),
    ("a pod asks for a profile that is not there", LIGHT, no_sandbox("cannot load seccomp profile", "open")),
    ("refused before k3s was restarted", LIGHT, both(no_sandbox(NO_RUNTIME, "ollama"), k3s_just_restarted)),
    (
        "refused before the machine was started",
        LIGHT,
        both(no_sandbox(NO_RUNTIME, "ollama"), machine_just_started),
    ),
    ("an end that is past", LIGHT, start_error(MISMATCH, "ollama", "")),
    ("no part named, and the GPU is offered", OPERATOR, policy("notReady", "reconciling")),
    ("a part that no GPU needs", OPERATOR, policy("notReady", PARTS.format("state-node-status-exporter"))),
    (
        "no Ollama at all",
        LIGHT,
        lambda w: w.items("/apis/apps/v1/deployments").clear() or w.remove_pod("ollama"),
    ),
    ("an Ollama that asks for no GPU", LIGHT, ollama_asks("example.com/none")),
    ("a failure of another pod's container", LIGHT, start_error("exec format error", "coredns")),
    *((f"healthy {base}", base, lambda w: None) for base in (OPERATOR, LIGHT, DUAL, A100, CPU)),
    ("host not read, API answers", CPU, lambda w: w.drop("command:systemctl")),
    (
        "one list forbidden",
        CPU,
        lambda w: w.api("/apis/nvidia.com/v1/clusterpolicies", status=403, body={"message": "no"}),
    ),
    ("another node, without a GPU, is not ready", OPERATOR, lambda w: second_node(w, gpu=False)),
    ("a CPU box with a second node that serves nothing", CPU, lambda w: second_node(w, gpu=False)),
    ("pressure once, and gone", LIGHT, flaps("NodeHasDiskPressure", 1)),
    ("a pod evicted for its own limit", LIGHT, evicted_by_itself),
    ("an old sandbox event of a pod that runs", LIGHT, settled(NO_RUNTIME)),
    ("a CPU box whose pod asks for the class", CPU, no_sandbox(NO_RUNTIME, "ollama")),
    ("no handler, and none needed", OPERATOR, both(no_handler, class_unused)),
    ("a handler from a drop-in file", OPERATOR, no_handler),
    ("NVIDIA as the default runtime", LIGHT, both(no_handler, default_nvidia)),
    ("another containerd than k3s's", LIGHT, lambda w: w.file(CONTAINERD_PATH, None, error="not-found")),
    (
        "a handler in an unknown folder",
        LIGHT,
        lambda w: w.edit(CONTAINERD, (f'"{BINARY}"', '"/opt/nvidia/bin/nvidia-container-runtime"')),
    ),
    ("no runtime class, and none needed", OPERATOR, both(class_unused, no_classes)),
    (
        "a blind word in an old log, and the card offered",
        LIGHT,
        lambda w: w.log("nvdp", "No devices found\n"),
    ),
    ("a plugin of an unknown name", LIGHT, other_plugin),
    (
        "an error before the plugin registered",
        LIGHT,
        lambda w: w.log(
            "nvdp", "E0601 Failed to initialize NVML\nRegistered device plugin for 'nvidia.com/gpu'\n"
        ),
    ),
    ("time-slicing under the plain name", LIGHT, lambda w: w.offer({"nvidia.com/gpu": "8"})),
    (
        "shared, and asked for so",
        OPERATOR,
        both(
            ollama_asks("nvidia.com/gpu.shared"),
            lambda w: w.offer({"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "4"}),
        ),
    ),
    ("MIG, strategy single", A100, mig(7, offered={"nvidia.com/gpu": "7"})),
    (
        "MIG, asked for by name",
        A100,
        both(
            ollama_asks("nvidia.com/mig-3g.20gb"),
            mig(2, offered={"nvidia.com/gpu": "0", "nvidia.com/mig-3g.20gb": "2"}),
        ),
    ),
    ("all sandboxes changed: a restart of the node", LIGHT, recycled("nvdp", "coredns")),
    ("sandboxes changed an hour ago", LIGHT, recycled("nvdp", at="2026-06-15T11:10:00Z")),
    ("a sandbox changed twice", LIGHT, recycled("nvdp", count=2)),
    (
        "only the exporter is not ready",
        OPERATOR,
        policy("notReady", "ClusterPolicy is not ready, states not ready: [state-dcgm-exporter]"),
    ),
    ("operator disabled", OPERATOR, policy("disabled")),
    ("a claim that waits for its first consumer", CPU, claim_waits()),
    ("a claim without its volume that nobody uses", CPU, claim_of_nobody),
    (
        "a claim that asks for what the class does not have",
        CPU,
        claim_waits("NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes"),
    ),
    ("an engine that never had a device", LIGHT, no_device_from_the_start),
    ("an engine whose device came back", LIGHT, device_came_back),
    (
        "a claim for a class that is not there",
        CPU,
        claim_waits('storageclass.storage.k8s.io "fast" not found'),
    ),
)

UNSEEN: tuple[tuple[str, str, Change, str, str], ...] = (
    ("k3s is starting", LIGHT, k3s_is("activating", "start"), "gpu.service", "ServiceStarting"),
    ("an error of an unknown kind", LIGHT, lambda w: w.every_api(error="weird"), "gpu.api", "Malformed"),
    (
        "units of nothing",
        LIGHT,
        both(lambda w: w.every_api(error="unreachable"), lambda w: w.command(SYSTEMCTL, "\n\nFoo=bar\n")),
        "gpu.service",
        "Malformed",
    ),
    (
        "the API does not answer, and systemd was not asked",
        LIGHT,
        both(lambda w: w.every_api(error="unreachable"), lambda w: w.drop("command:systemctl")),
        "gpu.service",
        "Unreachable",
    ),
    ("no API read", LIGHT, lambda w: w.drop("api:"), "gpu.api", "NotObserved"),
    (
        "no API read, no host",
        CPU,
        lambda w: w.drop("api:", "command:systemctl"),
        "gpu.service",
        "NotObserved",
    ),
    ("neither unit nor API", LIGHT, no_unit, "gpu.service", "NoServiceUnit"),
    ("refused while k3s runs", LIGHT, lambda w: w.every_api(error="unreachable"), "gpu.api", "Unreachable"),
    ("timeouts while k3s runs", LIGHT, lambda w: w.every_api(error="timeout"), "gpu.api", "TimedOut"),
    ("a name that does not resolve", LIGHT, lambda w: w.every_api(error="dns"), "gpu.api", "NameNotResolved"),
    ("another authority", LIGHT, lambda w: w.every_api(error="tls"), "gpu.api", "NotTrusted"),
    (
        "401",
        LIGHT,
        lambda w: w.every_api(status=401, body={"message": "Unauthorized"}),
        "gpu.api",
        "Unauthorised",
    ),
    ("401, though strangers may probe", LIGHT, strangers_probe, "gpu.api", "Unauthorised"),
    ("403", LIGHT, lambda w: w.every_api(status=403, body={"message": "forbidden"}), "gpu.api", "Forbidden"),
    (
        "a web page",
        LIGHT,
        lambda w: w.every_api(status=200, body="<html>sign on</html>"),
        "gpu.api",
        "Malformed",
    ),
    (
        "damaged reads",
        LIGHT,
        lambda w: w.reads.update({key: 7 for key in w.reads if key.startswith("api:")}),
        "gpu.api",
        "Malformed",
    ),
    (
        "nodes forbidden",
        LIGHT,
        lambda w: w.api("/api/v1/nodes", status=403, body={}),
        "gpu.node-ready",
        "Forbidden",
    ),
    ("pods forbidden", LIGHT, lambda w: w.api("/api/v1/pods", status=403, body={}), "gpu.cni", "Forbidden"),
    ("events not read", LIGHT, lambda w: w.drop("api:/api/v1/events"), "gpu.node-ready", "NotObserved"),
    (
        "a node without conditions",
        LIGHT,
        lambda w: w.node()["status"].update(conditions=[]),
        "gpu.node-ready",
        "NoCondition",
    ),
    ("no DNS Service", LIGHT, no_dns, "gpu.cluster-dns", "NoClusterDns"),
    (
        "containerd's configuration not read",
        LIGHT,
        lambda w: w.drop(CONTAINERD),
        "gpu.runtime-handler",
        "NotObserved",
    ),
    (
        "containerd's configuration is no TOML",
        LIGHT,
        lambda w: w.file(CONTAINERD_PATH, "{{ template"),
        "gpu.runtime-handler",
        "Malformed",
    ),
    (
        "containerd's configuration without a runtime",
        LIGHT,
        lambda w: w.file(CONTAINERD_PATH, "version = 3\n"),
        "gpu.runtime-handler",
        "Malformed",
    ),
    (
        "containerd's configuration is root's",
        LIGHT,
        lambda w: w.file(CONTAINERD_PATH, None, error="permission-denied"),
        "gpu.runtime-handler",
        "PermissionDenied",
    ),
    ("programs not read", LIGHT, lambda w: w.drop("glob:/usr"), "gpu.runtime-handler", "NotObserved"),
    (
        "runtime classes not read",
        LIGHT,
        lambda w: w.drop("api:/apis/node.k8s.io"),
        "gpu.runtime-handler",
        "NotObserved",
    ),
    ("policies not read", OPERATOR, lambda w: w.drop("api:/apis/nvidia.com"), "gpu.operator", "NotObserved"),
    (
        "claims not read",
        CPU,
        lambda w: w.drop("api:/api/v1/persistentvolumeclaims"),
        "gpu.storage",
        "NotObserved",
    ),
    (
        "a count that is none",
        LIGHT,
        lambda w: w.offer({"nvidia.com/gpu": "many"}),
        "gpu.device-plugin",
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
    assert failing, [(f.contract.id, f.result.reason) for f in findings.values() if f.outcome != "pass"]
    assert (failing[0].contract.id, failing[0].result.reason) == (contract, reason), failing[0].result.message
    assert reason in failing[0].contract.reasons


@pytest.mark.parametrize(("base", "change"), [case[1:] for case in SOUND], ids=[case[0] for case in SOUND])
def test_odd_is_not_broken(world: Callable[..., World], base: str, change: Change) -> None:
    w = world(base)
    change(w)
    found = {key: f for key, f in w.judge().items() if key.startswith("gpu.") and f.contract.required}
    assert {
        key: (f.outcome, f.result.reason, f.result.message) for key, f in found.items() if f.outcome != "pass"
    } == {}


@pytest.mark.parametrize(
    ("base", "change", "contract", "reason"), [case[1:] for case in UNSEEN], ids=[case[0] for case in UNSEEN]
)
def test_not_seen_is_not_passed(
    world: Callable[..., World], base: str, change: Change, contract: str, reason: str
) -> None:
    w = world(base)
    change(w)
    findings = [f for key, f in w.judge().items() if key.startswith("gpu.") and f.contract.required]
    assert [(f.contract.id, f.result.reason) for f in findings if f.outcome == "fail"] == []
    unseen = [f for f in findings if f.outcome == "unknown"]
    assert (unseen[0].contract.id, unseen[0].result.reason) == (contract, reason), unseen[0].result.message


def test_the_exporters_stale_library_is_the_runtimes(world: Callable[..., World]) -> None:
    w = world(LIGHT)
    start_error(STALE, "dcgm-exporter")(w)
    assert w.first() == ("gpu.cdi", "StaleCdi")


def test_consequences_are_blocked(world: Callable[..., World]) -> None:
    w = world(LIGHT)
    both(no_handler, started_again, no_sandbox(NO_RUNTIME), lambda v: v.offer({}))(w)
    findings = w.judge()
    assert [key for key, f in findings.items() if f.outcome == "fail"] == ["gpu.runtime-handler"]
    assert findings["gpu.device-plugin"].blocked_by == "gpu.runtime-handler"
    assert findings["gpu.allocatable"].blocked_by == "gpu.runtime-handler"


def test_a_cpu_profile_asks_for_no_gpu_contract(world: Callable[..., World]) -> None:
    assert [key for key in world(CPU).judge() if key.startswith("gpu.")] == [
        "gpu.service",
        "gpu.api",
        "gpu.node-ready",
        "gpu.cni",
        "gpu.cluster-dns",
        "gpu.storage",
    ]
