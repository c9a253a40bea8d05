"""Neighbours of the gpu rung: pods that the API server or the runtime refuses, images that do not come."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

from below import A100, CONFIG, CPU, DRIVER, LIGHT, OPERATOR, in_report, offered, waits
from box import DAEMONSETS, PODS, Box, situation

LIGHT_PLUGIN = "nvdp-nvidia-device-plugin"
OPERATOR_PLUGIN = "nvidia-device-plugin-daemonset"


def _plugin_refused(box: Box, name: str, said: str) -> None:
    pod = box.pods(name)[0]
    namespace = pod["metadata"]["namespace"]
    box.reads.pop(box.log_key(pod), None)
    box.take(PODS, name)
    status = box.item(DAEMONSETS, name)["status"]
    status |= {"currentNumberScheduled": 0, "numberReady": 0, "numberAvailable": 0, "numberUnavailable": 1}
    box.event(
        "DaemonSet", namespace, name, "FailedCreate", f'Error creating: pods "{name}-" is forbidden: {said}'
    )
    offered(box, 0, capacity=1)


@situation(
    LIGHT,
    "PodSecurity of the namespace refuses the device plugin's host path",
    "gpu",
    says="podsecurity",
    never=f"{DRIVER} | runtimeclassname",
)
def plugin_pod_security(box: Box) -> None:
    _plugin_refused(
        box,
        LIGHT_PLUGIN,
        'violates PodSecurity "restricted:latest": privileged (container "nvidia-device-plugin-ctr" must not set securityContext.privileged=true), hostPath volumes',
    )


@situation(
    LIGHT,
    "A quota on pods of a priority class refuses the device plugin",
    "gpu",
    says="quota",
    never=f"{DRIVER} | runtimeclassname",
)
def plugin_quota(box: Box) -> None:
    _plugin_refused(
        box, LIGHT_PLUGIN, "exceeded quota: pods, requested: pods=1, used: pods=0, limited: pods=0"
    )


@situation(
    OPERATOR,
    "The service account of the device plugin was deleted",
    "gpu",
    says="serviceaccount",
    never=DRIVER,
)
def plugin_service_account(box: Box) -> None:
    _plugin_refused(
        box,
        OPERATOR_PLUGIN,
        'error looking up service account gpu-operator/nvidia-device-plugin: serviceaccount "nvidia-device-plugin" not found',
    )


@situation(
    LIGHT,
    "An admission webhook that is down refuses the device plugin's pod",
    "gpu",
    says="webhook",
    never=DRIVER,
)
def plugin_webhook(box: Box) -> None:
    _plugin_refused(
        box,
        LIGHT_PLUGIN,
        'Internal error occurred: failed calling webhook "validate.kyverno.svc-fail": failed to call webhook: Post "https://kyverno-svc.kyverno.svc:443/validate/fail?timeout=10s": no endpoints available for service "kyverno-svc"',
    )


def _plugin_image(box: Box, reason: str, said: str) -> None:
    box.state(LIGHT_PLUGIN, waits(reason, said))
    offered(box, 0)


@situation(
    LIGHT,
    "The registry's name does not resolve on the node: the device plugin's image does not come",
    "gpu",
    says="lookup nvcr.io",
    never=f"{DRIVER} | right tag",
)
def plugin_registry_dns(box: Box) -> None:
    _plugin_image(
        box,
        "ImagePullBackOff",
        'Back-off pulling image "nvcr.io/nvidia/k8s-device-plugin:v0.20.0": ErrImagePull: failed to pull and unpack image: failed to resolve reference "nvcr.io/nvidia/k8s-device-plugin:v0.20.0": dial tcp: lookup nvcr.io on 127.0.0.53:53: server misbehaving',
    )


@situation(
    LIGHT,
    "The device plugin's image is made for another processor",
    "gpu",
    says="no match for platform",
    never=DRIVER,
)
def plugin_platform(box: Box) -> None:
    _plugin_image(
        box,
        "ErrImagePull",
        'failed to pull and unpack image "nvcr.io/nvidia/k8s-device-plugin:v0.20.0": no match for platform in manifest: not found',
    )


@situation(
    LIGHT,
    "The disk of the node is full in the middle of the pull of the device plugin",
    "gpu",
    "host",
    says="no space left",
    never=DRIVER,
)
def plugin_disk_full(box: Box) -> None:
    _plugin_image(
        box,
        "ErrImagePull",
        'failed to pull and unpack image "nvcr.io/nvidia/k8s-device-plugin:v0.20.0": failed to extract layer: write /var/lib/rancher/k3s/agent/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/77/fs/usr/bin/nvidia-device-plugin: no space left on device',
    )


@situation(
    LIGHT,
    "The plugin was restarted four seconds ago and has not registered; the node still shows the offer of before",
    "gpu",
    outcome="unknown",
    says="registered",
    never=DRIVER,
)
def plugin_just_restarted(box: Box) -> None:
    pod = box.pods(LIGHT_PLUGIN)[0]
    pod["status"]["containerStatuses"][0]["state"] = {"running": {"startedAt": "2026-06-15T11:59:56Z"}}
    box.logs(
        LIGHT_PLUGIN, "I0615 11:59:56.004211       1 main.go:246] Starting NVIDIA Device Plugin", replace=True
    )


@situation(LIGHT, "The plugin was restarted four seconds ago and has registered")
def plugin_registered_again(box: Box) -> None:
    pod = box.pods(LIGHT_PLUGIN)[0]
    pod["status"]["containerStatuses"][0]["state"] = {"running": {"startedAt": "2026-06-15T11:59:56Z"}}
    box.logs(
        LIGHT_PLUGIN,
        "I0615 11:59:56.315120       1 server.go:149] Registered device plugin for 'nvidia.com/gpu' with Kubelet (1 device(s))",
        replace=True,
    )


@situation(
    LIGHT,
    "The log of the device plugin may not be read; everything else is well",
    "gpu",
    outcome="unknown",
    says="log",
    never=DRIVER,
)
def plugin_log_forbidden(box: Box) -> None:
    box.refuse(box.log_key(box.pods(LIGHT_PLUGIN)[0]))


@situation(
    LIGHT,
    "containerd's template was replaced by one without the base: k3s renders no NVIDIA handler, however often it is restarted",
    "gpu",
    says="template",
    never=DRIVER,
)
def template_replaced(box: Box) -> None:
    text = box.reads[CONFIG]["text"]
    start = text.index("[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.'nvidia']")
    end = text.index("[plugins.'io.containerd.cri.v1.images'.registry]")
    header = text.index("root = ")
    box.reads[CONFIG]["text"] = "version = 3\n" + text[header:start] + text[end:]
    for name in ("ollama", LIGHT_PLUGIN):
        box.state(name, waits("ContainerCreating"))
        pod = box.pods(name)[0]
        box.event(
            "Pod",
            pod["metadata"]["namespace"],
            pod["metadata"]["name"],
            "FailedCreatePodSandBox",
            'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured',
        )
    offered(box, 0)


@situation(
    OPERATOR,
    "CDI is switched off in containerd while the device plugin hands the card over by CDI alone",
    "gpu",
    says="cdi",
    never=f"{DRIVER} | num_ctx",
)
def cdi_switched_off(box: Box) -> None:
    box.reads[CONFIG]["text"] = box.reads[CONFIG]["text"].replace("enable_cdi = true", "enable_cdi = false")
    for spec in box.templates("ollama"):
        spec.pop("runtimeClassName", None)
    box.logs(
        "ollama",
        'time=2026-06-15T11:40:00.000Z level=INFO source=types.go:60 msg="inference compute" id=cpu library=cpu compute="" name=cpu',
    )
    box.loaded(size_vram=0)


@situation(
    A100,
    "MIG is to be on after a reset that nobody made: the slices that Ollama asks for are not there",
    "gpu",
    says="reset | pending",
    never=DRIVER,
)
def mig_half_configured(box: Box) -> None:
    in_report(box, ("<pending_mig>Disabled<", "<pending_mig>Enabled<"))
    for spec in box.templates("ollama"):
        for part in ("limits", "requests"):
            found = spec["containers"][0]["resources"][part]
            found.pop("nvidia.com/gpu", None)
            found["nvidia.com/mig-3g.20gb"] = "1"
    box.pending("ollama", "0/1 nodes are available: 1 Insufficient nvidia.com/mig-3g.20gb.")


@situation(
    CPU,
    "The clock of the machine jumped back before its certificates were made",
    "gpu",
    "host",
    says="clock",
    never="renew | rotate",
)
def clock_before_certificates(box: Box) -> None:
    for key in box.reads:
        if key.startswith("api:"):
            box.reads[key] = {
                "status": None,
                "body": "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-05-11T12:00:00Z is before 2026-06-01T05:19:40Z",
                "error": "tls",
            }


@situation(OPERATOR, "k3s tells that its certificates run out in some weeks")
def certificates_warned(box: Box) -> None:
    box.event(
        "Node",
        "",
        "edge-1",
        "CertificateExpirationWarning",
        "Node certificates require attention - restart k3s on this node to trigger automatic rotation: k3s-server/serving-kube-apiserver.crt: certificate CN=kube-apiserver will expire within 120 days at 2026-09-30T05:19:40Z",
    )


@situation(
    OPERATOR,
    "Inodes ran out: the kubelet is under disk pressure while df shows space",
    "gpu",
    "host",
    says="inode | disk",
    never=DRIVER,
)
def inodes_gone(box: Box) -> None:
    for each in box.items("api:/api/v1/nodes")[0]["status"]["conditions"]:
        if each["type"] == "DiskPressure":
            each |= {
                "status": "True",
                "reason": "KubeletHasDiskPressure",
                "message": "kubelet has disk pressure",
            }
    box.event("Node", "", "edge-1", "EvictionThresholdMet", "Attempting to reclaim inodes")


@situation(
    LIGHT,
    "A quota refuses the GPU exporter",
    "telemetry",
    says="quota",
    never=DRIVER,
)
def exporter_quota(box: Box) -> None:
    box.take_pod("dcgm-exporter")
    status = box.item(DAEMONSETS, "dcgm-exporter")["status"]
    status |= {"currentNumberScheduled": 0, "numberReady": 0}
    box.event(
        "DaemonSet",
        "monitoring",
        "dcgm-exporter",
        "FailedCreate",
        'Error creating: pods "dcgm-exporter-" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=20, limited: pods=20',
    )
