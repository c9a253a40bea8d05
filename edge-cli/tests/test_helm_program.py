"""The helm program is the one given, else the one on PATH."""

from pathlib import Path

import pytest
from edge_cli.helm_program import find_helm
from edge_llm_tests.errors import ExitCode, UsageError


@pytest.fixture
def helm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    helm = tmp_path / "helm"
    helm.touch(mode=0o755)
    return helm


def test_the_one_given_comes_first(helm: Path, tmp_path: Path) -> None:
    built = tmp_path / "built"
    built.touch()
    assert find_helm(built) == built
    assert find_helm(tmp_path / "absent") == helm
    assert find_helm() == helm


def test_no_helm_is_an_error_with_a_next_step(helm: Path) -> None:
    helm.unlink()
    with pytest.raises(UsageError, match="helm is not on PATH") as raised:
        find_helm()
    assert "install Helm" in raised.value.next_step
    assert raised.value.exit_code is ExitCode.USAGE
