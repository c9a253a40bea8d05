"""Promises about k3s itself: service, API, nodes, pod network, DNS, storage."""

from datetime import timedelta

from edge_llm_tests import Result, contract, failed, passed, unknown

from k3s_nvidia_edge.gpu.cast import Role
from k3s_nvidia_edge.gpu.dns_fault import dns_fault
from k3s_nvidia_edge.gpu.node_fault import flapping_fault, node_fault
from k3s_nvidia_edge.gpu.observe import GpuState
from k3s_nvidia_edge.gpu.spec import GpuSpec
from k3s_nvidia_edge.gpu.storage_fault import lost_claim, provisioner_fault, waiting_claim_fault
from k3s_nvidia_edge.gpu.store_fault import store_refusal
from k3s_nvidia_edge.gpu.trouble import TroubleKind

__all__ = ["api", "cluster_dns", "cni", "node_ready", "service", "storage"]


@contract(
    "gpu.service",
    "the k3s service runs on the node",
    reasons=("ServiceFailed", "ServiceStopped", "ServiceRestarts", "ServiceStarting", "NoServiceUnit"),
    after=("host.memory-available", "host.disks-writable", "host.connections"),
)
def service(spec: GpuSpec, observed: GpuState) -> Result:
    """An API that answers is proof enough; where it does not, the unit tells why."""
    if observed.api.seen and observed.api.value.answered:
        return passed("the API answers, so the service runs")
    if observed.api.seen and observed.api.value.lets_nobody_in:
        return passed("the API answers, if only to refuse, so the service runs")
    silent = observed.units.unseen
    if silent is not None and silent.reason != "Malformed" and observed.api.seen:
        refusal = observed.api.value.refusal  # the way to the API can be mended, the silent unit need not be
        return unknown(refusal.reason, f"the API could not be looked at: {refusal.message}")
    units = observed.units.value
    ours = [unit for name in ("k3s", "k3s-agent") if (unit := units.get(name)) is not None and unit.loaded]
    if not ours:
        return unknown(
            "NoServiceUnit", "this host has neither a k3s nor a k3s-agent service, and no API answers"
        )
    unit = ours[0]
    if unit.runs:
        return passed(f"{unit.name}.service is {unit.active}")
    if unit.active == "failed":
        return failed(
            "ServiceFailed",
            f"{unit.name}.service has failed ({unit.sub}): k3s is not running",
            unit=unit.name,
        )
    if unit.sub == "auto-restart":
        said = f"{unit.name}.service ends and is started over and over ({unit.active}, {unit.sub})"
        return failed("ServiceRestarts", said, unit=unit.name)
    if unit.active in ("activating", "reloading"):
        said = f"{unit.name}.service is {unit.active} ({unit.sub}): it may answer in a moment"
        return unknown("ServiceStarting", said, unit=unit.name)
    return failed(
        "ServiceStopped",
        f"{unit.name}.service is {unit.active} ({unit.sub}): k3s is not running",
        unit=unit.name,
    )


@contract(
    "gpu.api",
    "the Kubernetes API is reachable, ready, and lets itself be read",
    reasons=("CertificatesExpired", "ClockBehindCertificates", "ApiNotReady", "StoreRefuses"),
    after=("gpu.service", "host.memory-available"),
)
def api(spec: GpuSpec, observed: GpuState) -> Result:
    """Not to be let in is no fault of the cluster; certificates that have run out are."""
    server = observed.api.value
    if early := server.not_yet_valid:
        return failed(
            "ClockBehindCertificates",
            f"a certificate of the API is not valid yet: the clock of tool or node is behind: {early}",
        )
    if expired := server.expired:
        return failed("CertificatesExpired", f"a certificate of the API has expired: {expired}")
    if not_ready := server.not_ready:
        return failed("ApiNotReady", f"the API server answers and is not ready: {not_ready}")
    if refuses := store_refusal(observed.recording):
        return failed("StoreRefuses", f"the store of k3s takes nothing new: {refuses}")
    if server.answered:
        refused = server.refused
        but = f"; {len(refused)} reads were refused, the first: {refused[0].message}" if refused else ""
        return passed(f"{server.answered} of {len(server.reads)} reads were answered{but}")
    refusal = server.refusal
    lifetime = timedelta(days=spec.certificate_lifetime_days)
    units = observed.units.or_else({}).values()
    ages = [
        observed.now - unit.since_about
        for unit in units
        if unit.name == "k3s" and unit.runs and unit.since_about is not None
    ]
    if refusal.reason == "NotTrusted" and ages and ages[0] >= lifetime:
        return failed(
            "CertificatesExpired",
            f"every read of the API fails in TLS, and k3s.service runs for {ages[0].days} days without a"
            f" restart: its certificates have expired after {spec.certificate_lifetime_days} days",
        )
    return unknown(refusal.reason, f"the API could not be looked at: {refusal.message}")


@contract(
    "gpu.node-ready",
    "the nodes are Ready, under no pressure, and take pods",
    reasons=(
        "NoNodes",
        "NodeNotReady",
        "NodeSilent",
        "NodeNetworkNotReady",
        "DiskPressure",
        "MemoryPressure",
        "PidPressure",
        "PressureFlaps",
        "NodeCordoned",
        "NoCondition",
    ),
    after=("gpu.api",),
)
def node_ready(spec: GpuSpec, observed: GpuState) -> Result:
    """Each node that has a GPU or serves; pressure that comes and goes is pressure."""
    nodes = observed.nodes
    if not nodes:
        return failed("NoNodes", "the cluster has no node")
    for node in nodes:
        if fault := node_fault(node):
            return fault.result
    if fault := flapping_fault(spec, nodes, observed.events, observed.now):
        return fault.result
    for node in nodes:
        if "Ready" not in node.conditions:
            return unknown("NoCondition", f"node {node.name} has no condition Ready")
    return passed(f"Ready, and under no pressure: {', '.join(node.name for node in nodes[:5])}")


@contract(
    "gpu.cni",
    "new pods get their sandbox and its network",
    reasons=("CniPluginMissing", "CniFails", "SandboxImageMissing", "ContainerRuntimeFails"),
    after=("gpu.node-ready",),
)
def cni(spec: GpuSpec, observed: GpuState) -> Result:
    """What looks like a network error in a pod's events is k3s's, whoever's pod it is."""
    for each in observed.troubles(TroubleKind.SANDBOX_IMAGE):
        return failed("SandboxImageMissing", f"pod {each.pod.path} gets no sandbox: {each.said[-220:]}")
    stuck = observed.troubles(TroubleKind.NETWORK)
    for each in () if stuck else observed.troubles(TroubleKind.RUNTIME, TroubleKind.OTHER_SANDBOX):
        runtime_class = each.pod.spec.runtime_class
        if each.of_its_own_wish or runtime_class not in ("", spec.runtime_class):
            continue  # the pod asks for what the node has not, or for a runtime of its own
        if each.is_vague and runtime_class:
            continue  # what fails is the NVIDIA runtime alone
        return failed(
            "ContainerRuntimeFails",
            f"containerd does not start or end pod {each.pod.path}: {each.said[-260:]}",
            namespace=each.pod.namespace,
            pod=each.pod.name,
        )
    if not stuck:
        return passed("no pod waits for its network")
    first = stuck[0]
    dirs = observed.containerd.value.cni_bin_dirs if observed.containerd.seen else ()
    where = f"; containerd looks for CNI plugins in {', '.join(dirs)}" if dirs else ""
    reason = "CniPluginMissing" if "failed to find plugin" in first.said else "CniFails"
    return failed(
        reason,
        f"{len(stuck)} pods get no sandbox, {first.pod.path} among them: {first.said[-200:]}{where}",
        namespace=first.pod.namespace,
        pod=first.pod.name,
    )


@contract(
    "gpu.cluster-dns",
    "names of Services resolve inside the cluster",
    reasons=("DnsDown", "NoClusterDns"),
    after=("gpu.node-ready", "gpu.cni"),
)
def cluster_dns(spec: GpuSpec, observed: GpuState) -> Result:
    """By the endpoints of the Service that every pod's resolver points to."""
    return dns_fault(observed.recording)


@contract(
    "gpu.storage",
    "claims for storage are met",
    reasons=("ProvisionerNotReady", "ProvisioningFailed", "NoProvisioner", "ClaimLost"),
    after=("gpu.node-ready", "gpu.cni"),
)
def storage(spec: GpuSpec, observed: GpuState) -> Result:
    """The provisioner runs, and has met what it was asked for."""
    provisioners = observed.cast.of(Role.PROVISIONER)
    if fault := provisioner_fault(provisioners):
        return fault.result
    claims = observed.claims
    if lost := lost_claim(claims, observed.recording):
        said = f"claim {lost.path} has lost its volume {lost.volume}"
        return failed("ClaimLost", said, namespace=lost.namespace, claim=lost.name)
    waiting = tuple(claim for claim in claims if claim.phase == "Pending")
    if waiting and (fault := waiting_claim_fault(waiting, observed.events, provisioner=bool(provisioners))):
        return fault.result
    running = provisioners[0].path if provisioners else "no provisioner of k3s"
    return passed(f"{len(claims) - len(waiting)} of {len(claims)} claims are met; {running}")
