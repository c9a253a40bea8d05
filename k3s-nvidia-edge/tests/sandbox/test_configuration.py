import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from k3s_nvidia_edge.sandbox import configuration
from k3s_nvidia_edge.sandbox.configuration import Choices
from k3s_nvidia_edge.sandbox.images import Archive
from k3s_nvidia_edge.sandbox.layout import Layout

IMAGES = {
    "pause": "registry.example/pause:1",
    "coredns": "registry.example/coredns:2",
    "local-path-provisioner": "registry.example/local-path-provisioner:3",
    "base": "localhost/base:4",
}
CHOICES = Choices(may_raise_limits=False, network_policy=True, images=IMAGES)
LAYOUT = Layout(Path("/state"))


def runtimes(text: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(text)["plugins"]["io.containerd.cri.v1.runtime"]["containerd"][
        "runtimes"
    ]
    return found


def test_containerd_has_both_runtimes_and_the_built_pause_image() -> None:
    text = configuration.containerd(CHOICES)
    assert runtimes(text)["nvidia"]["options"]["BinaryName"] == "/usr/bin/nvidia-container-runtime"
    assert runtimes(text)["runc"]["options"]["BinaryName"] == "/opt/edge/bin/runc"
    images = tomllib.loads(text)["plugins"]["io.containerd.cri.v1.images"]
    assert images["pinned_images"]["sandbox"] == IMAGES["pause"]
    assert "SIMULATED" in text.splitlines()[0]


def test_without_the_handler_only_the_handler_is_gone() -> None:
    without = configuration.containerd(CHOICES, nvidia=False)
    assert set(runtimes(without)) == {"runc"}
    assert configuration.containerd(CHOICES).startswith(without)


@pytest.mark.parametrize("may", [True, False])
def test_runc_lowers_oom_score_adj_only_where_it_may(may: bool) -> None:
    choices = Choices(may_raise_limits=may, network_policy=False, images=IMAGES)
    runtime = tomllib.loads(configuration.containerd(choices))["plugins"]["io.containerd.cri.v1.runtime"]
    assert runtime["restrict_oom_score_adj"] is not may


def test_every_file_is_whole_and_parses() -> None:
    files = configuration.render(LAYOUT, CHOICES)
    for path, text in files.items():
        assert "$" not in text.replace('"$VOL_DIR"', ""), path
        if path.suffix == ".yaml":
            documents = [one for one in yaml.safe_load_all(text) if one is not None]
            assert all("kind" in one and "apiVersion" in one for one in documents), path
            assert documents, path
        if path.suffix == ".conflist":
            assert json.loads(text)["plugins"][0]["ipam"]["ranges"] == [[{"subnet": "10.244.0.0/24"}]]


def objects(name: str, choices: Choices = CHOICES) -> list[dict[str, Any]]:
    text = configuration.render(LAYOUT, choices)[LAYOUT.manifests / name]
    return [one for one in yaml.safe_load_all(text) if one is not None]


def test_manifests_name_the_built_images() -> None:
    images = {
        container["image"]
        for name in ("coredns.yaml", "local-path.yaml")
        for one in objects(name)
        if one["kind"] == "Deployment"
        for container in one["spec"]["template"]["spec"]["containers"]
    }
    assert images == {IMAGES["coredns"], IMAGES["local-path-provisioner"]}


def test_volumes_lie_in_the_state_directory_and_their_class_is_the_default() -> None:
    by_kind = {one["kind"]: one for one in objects("local-path.yaml")}
    data = by_kind["ConfigMap"]["data"]
    assert json.loads(data["config.json"])["nodePathMap"][0]["paths"] == ["/var/lib/rancher/k3s/storage"]
    assert data["setup"].splitlines()[-1] == 'mkdir -m 0777 -p "$VOL_DIR"'
    assert yaml.safe_load(data["helperPod.yaml"])["spec"]["containers"][0]["image"] == IMAGES["base"]
    annotations = by_kind["StorageClass"]["metadata"]["annotations"]
    assert annotations["storageclass.kubernetes.io/is-default-class"] == "true"


def test_what_was_not_built_is_not_deployed() -> None:
    small = Choices(
        may_raise_limits=False,
        network_policy=False,
        images={name: IMAGES[name] for name in ("pause", "coredns")},
    )
    names = {path.name for path in configuration.render(LAYOUT, small) if path.parent == LAYOUT.manifests}
    assert names == {"coredns.yaml"}
    assert {path.name for path in configuration.own_manifests(LAYOUT)} == {
        "coredns.yaml",
        "kube-router.yaml",
        "local-path.yaml",
    }


def test_audit_leaves_out_no_person_and_no_write_but_the_components_leases() -> None:
    text = configuration.render(LAYOUT, CHOICES)[LAYOUT.config / "audit-policy.yaml"]
    rules = yaml.safe_load(text)["rules"]
    assert rules[-1] == {"level": "Metadata"}
    for rule in rules[:-1]:
        assert rule["level"] == "None"
        users = rule.get("users", rule.get("userGroups"))
        assert users, "a rule without users would silence impersonated readers"
        assert all(user.startswith("system:") for user in users)
        reads_only = set(rule.get("verbs", [])) <= {"get", "list", "watch"} and rule.get("verbs")
        leases = rule.get("resources") == [{"group": "coordination.k8s.io", "resources": ["leases"]}]
        assert reads_only or leases or users == ["system:anonymous"]


def test_choices_and_images_come_back(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.config.mkdir()
    configuration.save_choices(layout, CHOICES)
    assert configuration.read_choices(layout) == CHOICES
    listed = json.loads(configuration.image_list((Archive("a:1", Path("/x/a.tar"), "sha256:1"),)))
    assert listed == [{"ref": "a:1", "path": "/x/a.tar", "digest": "sha256:1"}]
