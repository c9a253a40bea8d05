"""States of the machine and of young or refused plugins: file systems, tables, denials, clocks, templates."""

from collections.abc import Callable
from typing import Any

import pytest

DMESG = "command:dmesg --time-format iso"
CONTAINERD = "file:/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
LIGHT, OPERATOR, CPU = "rtx-4090-light-k3s", "rtx-4090-k3s", "cpu-k3s"
MOUNTS = "/proc/mounts"
COUNT, LIMIT = "/proc/sys/net/netfilter/nf_conntrack_count", "/proc/sys/net/netfilter/nf_conntrack_max"
READ_ONLY = "EXT4-fs (dm-0): Remounting filesystem read-only"
SOUND = "/dev/sda2 / ext4 rw,relatime 0 0\ntmpfs /run tmpfs ro 0 0\n/dev/sda1 /boot ext4 ro 0 0\n"
PLUGIN = "nvdp"
NO_RUNTIME = 'no runtime for "nvidia" is configured'

World = Any
Change = Callable[[World], object]


def denied_log(w: World) -> None:
    w.command(DMESG, rc=1, stderr="dmesg: read kernel buffer failed: Operation not permitted")


def no_cluster(w: World) -> None:
    w.every_api(status=None, body=None, error="unreachable")


def silent_node(w: World) -> None:
    for condition in w.node()["status"]["conditions"]:
        condition["lastHeartbeatTime"] = "2026-06-15T10:00:00Z"


def tracked(count: str, limit: str) -> Change:
    def change(w: World) -> None:
        w.file(COUNT, count)
        w.file(LIMIT, limit)

    return change


def plain_disk(w: World) -> None:
    w.command(
        "command:df -Pk", "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda2 9 3 6 34% /\n"
    )


def all_of(*changes: Change) -> Change:
    def change(w: World) -> None:
        for each in changes:
            each(w)

    return change


@pytest.mark.parametrize(
    ("change", "contract", "expected"),
    [
        (lambda w: w.kernel(READ_ONLY), "host.disks-writable", ("fail", "FilesystemReadOnly")),
        (
            all_of(lambda w: w.kernel(READ_ONLY), lambda w: w.file(MOUNTS, SOUND)),
            "host.disks-writable",
            ("pass", None),
        ),
        (
            lambda w: w.file(MOUNTS, "/dev/sda2 / ext4 ro,relatime 0 0\n"),
            "host.disks-writable",
            ("fail", "FilesystemReadOnly"),
        ),
        (
            lambda w: w.file(MOUNTS, "/dev/sda3 /var/lib/rancher/k3s ext4 ro 0 0\n"),
            "host.disks-writable",
            ("fail", "FilesystemReadOnly"),
        ),
        (all_of(denied_log, lambda w: w.file(MOUNTS, SOUND)), "host.disks-writable", ("pass", None)),
        (denied_log, "host.disks-writable", ("pass", None)),  # the node's report was kept on that disk
        (all_of(denied_log, no_cluster), "host.disks-writable", ("unknown", "PermissionDenied")),
        (all_of(denied_log, silent_node), "host.disks-writable", ("unknown", "PermissionDenied")),
        (
            all_of(denied_log, no_cluster, lambda w: w.file(MOUNTS, "?")),
            "host.disks-writable",
            ("unknown", "PermissionDenied"),
        ),
        (
            lambda w: w.kernel("XFS (sda2): Filesystem has been shut down due to log error (0x2)."),
            "host.disks-writable",
            ("fail", "FilesystemReadOnly"),
        ),
        (
            all_of(
                plain_disk,
                lambda w: w.kernel("I/O error, dev sda, sector 8 op 0x1:(WRITE)", at="2026-06-15T11:50:00"),
            ),
            "host.disks-writable",
            ("fail", "DiskFailing"),
        ),
        (
            all_of(
                plain_disk,
                lambda w: w.kernel("I/O error, dev sdb, sector 8 op 0x0:(READ)", at="2026-06-15T11:50:00"),
            ),
            "host.disks-writable",
            ("pass", None),
        ),
        (tracked("262100", "262144"), "host.connections", ("fail", "ConntrackFull")),
        (tracked("100", "262144"), "host.connections", ("pass", None)),
        (all_of(denied_log, tracked("100", "262144")), "host.connections", ("pass", None)),
        (
            all_of(
                denied_log,
                lambda w: w.file(COUNT, None, error="not-found"),
                lambda w: w.file(LIMIT, None, error="not-found"),
            ),
            "host.connections",
            ("pass", None),
        ),
        (denied_log, "host.connections", ("pass", None)),  # the API server answered a new one
        (all_of(denied_log, no_cluster), "host.connections", ("unknown", "PermissionDenied")),
        (
            lambda w: w.kernel(
                "nf_conntrack: nf_conntrack: table full, dropping packet", at="2026-06-15T11:50:00"
            ),
            "host.connections",
            ("fail", "ConntrackFull"),
        ),
        (
            lambda w: w.kernel("neighbour: arp_cache: neighbor table overflow!", at="2026-06-15T11:50:00"),
            "host.connections",
            ("fail", "NeighbourTableFull"),
        ),
    ],
)
def test_the_machine(
    world: Callable[..., World], change: Change, contract: str, expected: tuple[str, str | None]
) -> None:
    w = world(CPU)
    change(w)
    found = w.judge()[contract]
    assert (found.outcome, found.result.reason) == expected, found.result.message


def test_a_path_of_the_node_that_cannot_be_written(world: Callable[..., World]) -> None:
    w = world(CPU)
    denied_log(w)
    w.unready("ollama", "ContainerCreating")
    w.event("FailedMount", "mkdir /var/lib/kubelet/pods/8f0/volumes: read-only file system", pod="ollama")
    assert w.judge()["host.disks-writable"].result.reason == "FilesystemReadOnly"


def test_the_rootfs_of_a_container_is_read_only_on_purpose(world: Callable[..., World]) -> None:
    w = world(CPU)
    w.unready("ollama", "CrashLoopBackOff")
    w.event(
        "Failed",
        "mkdirat /run/k3s/containerd/io.containerd.runtime.v2.task/8f0/rootfs/x: read-only file system",
        pod="ollama",
    )
    assert w.judge()["host.disks-writable"].outcome == "pass"


DENIAL = 'audit: type=1400 audit(1.2:3): avc:  denied  { read } for  pid=1 comm="nvidia-dev" name="nvidiactl"'


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ([lambda w: w.kernel(DENIAL)], "pass"),
        ([lambda w: w.kernel(DENIAL), lambda w: w.offer({"nvidia.com/gpu": "0"})], "fail"),
        ([lambda w: w.kernel(f"{DENIAL} permissive=1"), lambda w: w.offer({"nvidia.com/gpu": "0"})], "pass"),
    ],
)
def test_a_denial_counts_where_its_effect_shows(
    world: Callable[..., World], changes: list[Change], outcome: str
) -> None:
    w = world(LIGHT)
    all_of(*changes)(w)
    assert w.judge()["host.device-nodes"].outcome == outcome


def young_plugin(w: World, seconds: int, *, restarts: int = 0, waiting: bool = False, log: str = "") -> None:
    status = w.pod(PLUGIN)["status"]["containerStatuses"][0]
    started = f"2026-06-15T11:59:{60 - seconds:02d}Z"
    status["restartCount"] = restarts
    if waiting:
        w.unready(PLUGIN, restarts=restarts)
        ended = {"exitCode": 1, "reason": "Error", "startedAt": started, "finishedAt": started}
        status["state"] = {"terminated": ended}
    else:
        status["state"] = {"running": {"startedAt": started}}
    w.log(PLUGIN, log)


def refused_plugin(w: World) -> None:
    w.remove_pod(PLUGIN)
    w.offer({"nvidia.com/gpu": "0"})
    w.items("/api/v1/events").append(
        {
            "metadata": {"name": "e"},
            "type": "Warning",
            "reason": "FailedCreate",
            "message": 'pods "nvdp-" is forbidden: exceeded quota: pods',
            "lastTimestamp": "2026-06-15T11:58:00Z",
            "involvedObject": {
                "kind": "DaemonSet",
                "namespace": w.daemonset(PLUGIN)["metadata"]["namespace"],
                "name": w.daemonset(PLUGIN)["metadata"]["name"],
            },
        }
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda w: young_plugin(w, 4), ("unknown", "PluginStarting")),
        (lambda w: young_plugin(w, 40), ("pass", None)),
        (lambda w: young_plugin(w, 4, log="x Registered device plugin for 'nvidia.com/gpu'"), ("pass", None)),
        (
            lambda w: young_plugin(w, 4, log="registered nvidia.com/gpu with 1 device(s): SIMULATED"),
            ("pass", None),
        ),
        (
            lambda w: young_plugin(w, 4, waiting=True, log="error: starting plugins"),
            ("unknown", "PluginStarting"),
        ),
        (lambda w: young_plugin(w, 4, waiting=True, restarts=3, log="error: x"), ("fail", "PluginCrashes")),
        (
            all_of(
                lambda w: w.offer({"nvidia.com/gpu": "0"}),
                lambda w: young_plugin(w, 4, log="No devices found."),
            ),
            ("unknown", "PluginStarting"),
        ),
        (
            all_of(
                lambda w: w.offer({"nvidia.com/gpu": "0"}),
                lambda w: young_plugin(w, 40, log="No devices found."),
            ),
            ("fail", "PluginBlind"),
        ),
        (lambda w: w.drop("api:/api/v1/namespaces/nvidia-device-plugin"), ("unknown", "NotObserved")),
        (refused_plugin, ("fail", "PluginRefused")),
    ],
)
def test_the_plugin(world: Callable[..., World], change: Change, expected: tuple[str, str | None]) -> None:
    w = world(LIGHT)
    change(w)
    found = w.judge()["gpu.device-plugin"]
    assert (found.outcome, found.result.reason) == expected, found.result.message


INVALID = "failed to verify certificate: x509: certificate has expired or is not yet valid"


def early(w: World) -> None:
    w.every_api(error="tls", body=f"tls: {INVALID}: current time 2026-05-01T00:00:00Z is before 2026-06-01")


def expired(w: World) -> None:
    w.every_api(error="tls", body=f"tls: {INVALID}: current time 2026-06-15T12:00:00Z is after 2026-06-01")


@pytest.mark.parametrize(
    ("change", "reason"), [(early, "ClockBehindCertificates"), (expired, "CertificatesExpired")]
)
def test_a_certificate_that_is_early_is_a_clock_that_is_late(
    world: Callable[..., World], change: Change, reason: str
) -> None:
    w = world(CPU)
    change(w)
    assert w.judge()["gpu.api"].result.reason == reason


def without_handler(w: World, *, header: bool) -> None:
    text = w.reads[CONTAINERD]["text"]
    start = text.index("[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.'nvidia']")
    end = text.index("[plugins.'io.containerd.cri.v1.images'.registry]")
    kept = [line for line in (text[:start] + text[end:]).splitlines() if not line.startswith("imports")]
    if not header:
        kept = [line for line in kept if not line.startswith("#")]
    w.reads[CONTAINERD]["text"] = "\n".join(kept) + "\n"
    w.unready("ollama", "ContainerCreating")
    w.event("FailedCreatePodSandBox", f"failed to get sandbox runtime: {NO_RUNTIME}", pod="ollama")


@pytest.mark.parametrize(("header", "reason"), [(True, "HandlerMissing"), (False, "TemplateReplaced")])
def test_a_template_that_hides_the_handler(world: Callable[..., World], header: bool, reason: str) -> None:
    w = world(LIGHT)
    without_handler(w, header=header)
    assert w.judge()["gpu.runtime-handler"].result.reason == reason


def test_cdi_that_containerd_may_not_use(world: Callable[..., World]) -> None:
    w = world(OPERATOR)
    w.edit(CONTAINERD, ("enable_cdi = true", "enable_cdi = false"))
    assert w.judge()["gpu.cdi"].outcome == "pass"  # the serving pod has the runtime class
    w.pod("ollama")["spec"].pop("runtimeClassName")
    assert w.judge()["gpu.cdi"].result.reason == "CdiDisabled"


def test_a_slice_that_waits_for_a_reset(world: Callable[..., World]) -> None:
    w = world("a100-k3s")
    w.edit("command:nvidia-smi -q -x", ("<pending_mig>Disabled<", "<pending_mig>Enabled<"))
    for part in ("limits", "requests"):
        asked = w.pod("ollama")["spec"]["containers"][0]["resources"][part]
        asked["nvidia.com/mig-3g.20gb"] = asked.pop("nvidia.com/gpu")
    assert w.judge()["gpu.allocatable"].result.reason == "MigPending"


def test_a_container_that_lost_its_card_while_the_host_was_not_asked(world: Callable[..., World]) -> None:
    w = world(LIGHT)
    w.drop("command:nvidia-smi")
    w.log("ollama", "Failed to initialize NVML: Unknown Error\n")
    assert w.judge()["gpu.sandboxes"].outcome in ("unknown", "blocked")


def test_the_offer_is_not_passed_where_the_serving_pod_was_not_seen(world: Callable[..., World]) -> None:
    w = world(LIGHT)
    w.drop("api:/api/v1/pods")
    assert w.judge()["gpu.allocatable"].outcome in ("unknown", "blocked")


def test_the_handler_is_not_passed_where_its_class_was_not_seen(world: Callable[..., World]) -> None:
    w = world(LIGHT)
    w.drop("api:/apis/node.k8s.io")
    assert w.judge()["gpu.runtime-handler"].outcome == "unknown"


def test_an_image_that_may_still_come(world: Callable[..., World]) -> None:
    w = world(LIGHT)
    w.offer({"nvidia.com/gpu": "0"})
    w.unready(PLUGIN, "ImagePullBackOff", message="dial tcp: lookup nvcr.io: no such host")
    assert w.judge()["gpu.device-plugin"].result.reason == "PluginImageUnreachable"


def test_a_version_that_breaks_off_is_no_upgrade(world: Callable[..., World]) -> None:
    w = world(LIGHT)
    w.command("command:modinfo -F version nvidia", "570.195\n")
    found = w.judge()["host.driver-current"]
    assert (found.outcome, found.result.reason) == ("unknown", "Malformed")
