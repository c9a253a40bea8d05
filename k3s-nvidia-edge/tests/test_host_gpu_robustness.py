"""Whatever is dropped, truncated or retyped: no exception, no pass of the unseen, no accusation by a gap."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from edge_llm_tests.reads import READ_REASONS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

World = Any
SYSTEMCTL = (
    "command:systemctl show k3s k3s-agent containerd docker "
    "--property=Id,LoadState,ActiveState,SubState,ActiveEnterTimestamp"
)
STANDS_ON = {
    "command:nvidia-smi -q -x": (
        "host.driver-answers",
        "host.card-healthy",
        "host.not-throttled",
        "host.cards-complete",
    ),
    "command:lspci -Dnnk -d 10de:": ("host.card-on-bus", "host.cards-complete"),
    "command:dmesg --time-format iso": ("host.card-healthy",),
    "glob:/dev/nvidia*": ("host.device-nodes",),
    "file:/proc/meminfo": ("host.memory-available", "host.memory-headroom"),
    "file:/proc/sys/fs/inotify/max_user_instances": ("host.file-watches", "host.inotify-instances"),
    "command:df -Pk": ("host.disk-space",),
    "api:/api/v1/nodes": ("gpu.node-ready", "gpu.allocatable"),
    "api:/api/v1/pods": ("gpu.cni", "gpu.toolkit", "gpu.sandboxes", "gpu.storage", "gpu.driver-owner"),
    "api:/api/v1/events": ("gpu.node-ready", "gpu.cni", "gpu.sandboxes", "gpu.cdi"),
    "api:/api/v1/services": ("gpu.cluster-dns",),
    "api:/apis/discovery.k8s.io/v1/endpointslices": ("gpu.cluster-dns",),
    "api:/api/v1/persistentvolumeclaims": ("gpu.storage",),
    "api:/apis/node.k8s.io/v1/runtimeclasses": ("gpu.runtime-class",),
    "api:/apis/nvidia.com/v1/clusterpolicies": ("gpu.operator",),
    "file:/var/lib/rancher/k3s/agent/etc/containerd/config.toml": (
        "gpu.runtime-handler",
        "gpu.cgroup-driver",
    ),
    "glob:/usr/local/nvidia/toolkit/nvidia-container-runtime*": ("gpu.runtime-handler",),
}
DAMAGES: tuple[Any, ...] = (
    None,
    7,
    [],
    {},
    "text",
    {"status": 200, "body": "", "error": None},
    {"status": 200, "body": "<html>", "error": None},
    {"status": 200, "body": [], "error": None},
    {"status": 200, "body": {"kind": "PodList", "items": [None]}, "error": None},
    {"status": 200, "body": {"kind": "PodList", "items": {"a": 1}}, "error": None},
    {"status": 500, "body": "boom", "error": None},
    {"status": 403, "body": {"message": "forbidden"}, "error": None},
    {"status": None, "body": None, "error": "timeout"},
    {"status": None, "body": None, "error": "tls"},
    {"status": "200", "body": {}, "error": 7},
    {"rc": 0, "stdout": 5, "stderr": "", "error": None},
    {"rc": None, "stdout": "", "stderr": "", "error": "permission-denied"},
    {"text": None, "error": "permission-denied"},
    {"paths": "none"},
    {"paths": [1]},
)
BASES = ("rtx-4090-k3s", "rtx-4090-light-k3s", "dual-4090-k3s", "a100-k3s", "cpu-k3s")


def sane(w: World) -> dict[str, Any]:
    found: dict[str, Any] = w.judge()
    for finding in found.values():
        result = finding.result
        assert result.reason != "JudgeFault", result.message
        assert result.message
        if finding.outcome == "pass":
            assert result.reason is None
        else:
            assert result.reason in (*finding.contract.reasons, *READ_REASONS), finding.contract.id
    return found


@pytest.mark.parametrize("damage", ["dropped", *DAMAGES], ids=str)
@pytest.mark.parametrize("key", STANDS_ON)
def test_a_damaged_read_passes_nothing_that_stands_on_it(
    world: Callable[..., World], key: str, damage: Any
) -> None:
    w = world()
    if damage == "dropped":
        del w.reads[key]
    else:
        w.reads[key] = damage
    found = sane(w)
    passed = [each for each in STANDS_ON[key] if found[each].outcome == "pass"]
    assert passed == []


@pytest.mark.parametrize("base", BASES)
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_missing_accuses_nobody(world: Callable[..., World], base: str, data: st.DataObject) -> None:
    w = world(base)
    for key in data.draw(st.sets(st.sampled_from(sorted(w.reads)), min_size=1)):
        del w.reads[key]
    assert [key for key, finding in sane(w).items() if finding.outcome == "fail"] == []


@pytest.mark.parametrize("base", BASES)
@given(data=st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_survived(world: Callable[..., World], base: str, data: st.DataObject) -> None:
    w = world(base)
    for key in data.draw(st.sets(st.sampled_from(sorted(w.reads)), max_size=6)):
        w.reads[key] = copy.deepcopy(data.draw(st.sampled_from(DAMAGES)))
    for key in data.draw(st.sets(st.sampled_from(sorted(w.reads)), max_size=3)):
        truncate(w.reads[key], data.draw(st.integers(0, 400)))
    for key in data.draw(st.sets(st.sampled_from(sorted(w.reads)), max_size=4)):
        retype(w.reads[key], data)
    sane(w)


def truncate(entry: Any, length: int) -> None:
    if isinstance(entry, dict):
        for name in ("stdout", "text", "body"):
            if isinstance(entry.get(name), str):
                entry[name] = entry[name][:length]


def retype(entry: Any, data: st.DataObject) -> None:
    """Replace one value deep inside by one of another type."""
    for _ in range(12):
        if isinstance(entry, dict) and entry:
            key: Any = data.draw(st.sampled_from(sorted(entry, key=str)))
        elif isinstance(entry, list) and entry:
            key = data.draw(st.integers(0, len(entry) - 1))
        else:
            return
        if not isinstance(entry[key], (dict, list)) or data.draw(st.booleans()):
            entry[key] = data.draw(
                st.sampled_from([None, 7, "x", True, -1.5, [], [3], {}, {"a": 1}]).map(copy.deepcopy)
            )
            return
        entry = entry[key]
