"""`edge profile`: list, show and check."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

Edge = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")


def test_list_names_every_profile_and_what_is_simulated(edge: Edge) -> None:
    code, out, _ = edge("profile", "list")
    names = [line.split()[0] for line in out.splitlines()]
    assert code == 0
    assert {"rtx-4090", "a100", "dual-4090", "gb10", "geforce-940m", "cpu", "sandbox"} <= set(names)
    simulated = [line.split()[0] for line in out.splitlines() if line.endswith("SIMULATED")]
    assert simulated == ["sandbox"]


def test_show_prints_a_whole_profile_that_is_a_profile_again(edge: Edge, tmp_path: Path) -> None:
    code, out, _ = edge("profile", "show", "cpu")
    shown = yaml.safe_load(out)
    assert code == 0
    assert shown["schema"] == "edge.profile/v1"
    assert {"host", "gpu", "serving", "telemetry", "profile"} <= set(shown["spec"])
    (tmp_path / "mine.yaml").write_text(out)
    assert yaml.safe_load(edge("profile", "show", tmp_path / "mine.yaml")[1]) == shown


def test_check_says_what_applies_or_what_is_wrong(edge: Edge, tmp_path: Path) -> None:
    code, out, _ = edge("profile", "check", "rtx-4090")
    assert (code, out.startswith("profile rtx-4090 is right: ")) == (0, True)
    (tmp_path / "mine.yaml").write_text("extends: cpu\nvalues: {x: 1}\n")
    code, _, err = edge("profile", "check", tmp_path / "mine.yaml")
    assert (code, err.count("\n")) == (2, 1)
    assert "`values.x` is not a mapping" in err


@pytest.mark.parametrize(
    "said",
    [
        "gpu: {gpus: -3}",
        "gpu: {gpus: 99999999999999999999999}",
        "gpu: {events_recent_minutes: 99999999999999}",
        "gpu: {certificate_lifetime_days: 0}",
        "host: {disk_free_min_percent: 300}",
        "host: {clock_skew_max_s: -1}",
        "serving: {gpu: {count: -1}}",
        "profile: {gpu_share: 3}",
        "profile: {gpu_share: .nan}",
        "profile: {vram_ceiling_mib: -1}",
    ],
)
def test_a_number_that_cannot_be_meant_is_refused(said: str, edge: Edge, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(f"extends: rtx-4090\nspec: {{{said}}}\n")
    code, _, err = edge("profile", "check", own)
    assert (code, err.count("\n")) == (2, 1)
    assert f"`spec.{said.partition(':')[0]}." in err
