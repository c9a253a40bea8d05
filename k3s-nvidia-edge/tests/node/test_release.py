"""The pinned releases: what is in the list, and what is refused."""

import pytest
from edge_llm_tests.errors import UsageError
from k3s_nvidia_edge.node.release import pinned_release, pinned_versions


def test_each_pinned_version_has_four_different_files() -> None:
    for version in pinned_versions():
        found = [pinned_release(version, machine) for machine in ("x86_64", "aarch64")]
        sums = {sha for each in found for sha in (each.binary.sha256, each.images.sha256)}
        assert len(sums) == 4


def test_the_page_has_the_plus_of_the_version_escaped() -> None:
    release = pinned_release("v1.36.4+k3s1", "x86_64")
    assert release.url == "https://github.com/k3s-io/k3s/releases/download/v1.36.4%2Bk3s1"
    assert (release.binary.name, release.images.name) == ("k3s", "k3s-airgap-images-amd64.tar.zst")


def test_arm_has_its_own_files() -> None:
    release = pinned_release("v1.36.4+k3s1", "aarch64")
    assert (release.binary.name, release.images.name) == ("k3s-arm64", "k3s-airgap-images-arm64.tar.zst")


def test_a_version_that_is_not_pinned_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no checksums are pinned.*did you mean v1\.36\.4\+k3s1"):
        pinned_release("v1.36.5+k3s1", "x86_64")


def test_a_machine_without_files_is_named() -> None:
    with pytest.raises(UsageError, match=r"machine 'riscv64'.*amd64, arm64"):
        pinned_release("v1.36.4+k3s1", "riscv64")
