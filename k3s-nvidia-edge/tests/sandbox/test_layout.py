from pathlib import Path

import pytest
from k3s_nvidia_edge.sandbox.layout import Layout


def test_the_default_follows_the_xdg_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/xdg")
    assert Layout.of().state_dir == Path("/xdg/edge/sandbox")
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", "/home/me")
    assert Layout.of().state_dir == Path("/home/me/.local/state/edge/sandbox")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert Layout.of().state_dir == Path("/home/me/.local/state/edge/sandbox")


def test_a_given_directory_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert Layout.of("here").state_dir == tmp_path / "here"


def test_everything_lies_in_the_state_directory() -> None:
    layout = Layout(Path("/state"))
    assert all(Path("/state") in path.parents for path in layout.directories())
    # the node sees k3s's places at k3s's paths
    assert layout.containerd_config == Path("/state/k3s/agent/etc/containerd/config.toml")
