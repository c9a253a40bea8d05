"""A profile's `values.k3s`: what is taken, and what is refused with the key named."""

from typing import Any

import pytest
import yaml
from edge_llm_tests import load_layers
from edge_llm_tests.errors import ProfileError
from edge_llm_tests.profile import load_profile, profile_names
from k3s_nvidia_edge.node.configuration import AUDIT_RULES, config_text
from k3s_nvidia_edge.node.settings import NodeSettings, node_settings


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"defaultRuntme": "nvidia"}, "values.k3s.defaultRuntme.*did you mean `defaultRuntime`"),
        ({"version": "v1.36.3+k3s1"}, r"no checksums are pinned.*did you mean v1\.36\.4\+k3s1"),
        ({"version": 1}, r"values\.k3s\.version"),
        ({"snapshotSchedule": "hourly"}, "no cron schedule"),
        ({"snapshotRetention": 0}, r">= 1.*values\.k3s\.snapshotRetention"),
        ({"disable": ["etcd"]}, r"values\.k3s\.disable"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ProfileError, match=words):
        node_settings("mine.yaml", {"k3s": values})


def test_every_shipped_profile_has_settings_that_hold() -> None:
    layers = load_layers()
    for name in profile_names(layers):
        profile = load_profile(name, layers)
        settings = node_settings(name, profile.values)
        by_host = profile.specs["gpu"].has_gpu and "gpu-operator" not in profile.values
        assert settings.default_runtime == ("nvidia" if by_host and not profile.simulated else "")


def test_the_configuration_is_what_the_settings_say() -> None:
    text = config_text(NodeSettings(default_runtime="nvidia", snapshot_retention=7, disable=("traefik",)))
    config = yaml.safe_load(text)
    assert config["cluster-init"] is True  # embedded etcd: k3s takes snapshots of nothing else
    assert config["secrets-encryption"] is True
    assert config["write-kubeconfig-mode"] == "0600"
    assert config["default-runtime"] == "nvidia"
    assert (config["etcd-snapshot-schedule-cron"], config["etcd-snapshot-retention"]) == ("0 */6 * * *", 7)
    assert config["disable"] == ["traefik"]
    assert "audit-policy-file=/etc/rancher/k3s/audit-policy.yaml" in config["kube-apiserver-arg"]
    assert "audit-log-maxage=30" in config["kube-apiserver-arg"]


def test_runc_stays_the_default_where_the_profile_names_no_runtime() -> None:
    assert "default-runtime" not in yaml.safe_load(config_text(NodeSettings()))


def test_the_audit_log_never_holds_contents() -> None:
    rules = yaml.safe_load(AUDIT_RULES)["rules"]
    assert {rule["level"] for rule in rules} == {"None", "Metadata"}
    assert rules[-1] == {"level": "None"}
