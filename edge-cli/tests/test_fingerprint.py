"""A fingerprint changes with what would be installed, and with nothing else."""

from pathlib import Path
from typing import Any

import pytest
from edge_cli.fingerprint import described, fingerprint, fingerprint_of
from edge_cli.revision import Revision
from edge_llm_tests.layer import Release


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("name: demo")
    (tmp_path / "templates" / "all.yaml").write_text("kind: Service")
    return tmp_path


def release(chart: Path, **values: Any) -> Release:
    return Release("demo", "demo-namespace", "gpu", chart, values)


def test_is_the_same_for_the_same_content(chart: Path) -> None:
    assert fingerprint(release(chart, a=1, b=[1, 2])) == fingerprint(release(chart, b=[1, 2], a=1))


@pytest.mark.parametrize("values", [{"a": 2}, {"a": [1]}, {"a": "1"}, {"b": 1}, {}])
def test_changes_with_the_values(chart: Path, values: dict[str, Any]) -> None:
    assert fingerprint(release(chart, **values)) != fingerprint(release(chart, a=1))


def test_changes_with_a_file_its_name_and_its_place(chart: Path) -> None:
    seen = {fingerprint(release(chart))}
    (chart / "templates" / "all.yaml").write_text("kind: Secret")
    seen.add(fingerprint(release(chart)))
    (chart / "templates" / "all.yaml").rename(chart / "templates" / "other.yaml")
    seen.add(fingerprint(release(chart)))
    (chart / "templates" / "other.yaml").rename(chart / "other.yaml")
    seen.add(fingerprint(release(chart)))
    assert len(seen) == 4


def test_compiled_python_is_no_part_of_a_chart(chart: Path) -> None:
    before = fingerprint(release(chart))
    (chart / "__pycache__").mkdir()
    (chart / "__pycache__" / "a.pyc").write_bytes(b"\0")
    assert fingerprint(release(chart)) == before


def test_a_description_carries_it(chart: Path) -> None:
    digest = fingerprint(release(chart))
    assert fingerprint_of(described(release(chart), digest)) == digest


@pytest.mark.parametrize("description", ["", "Upgrade complete", "Rollback to 2", "sha256:12"])
def test_other_descriptions_carry_none(description: str) -> None:
    assert fingerprint_of(description) is None


def test_a_revision_is_of_a_release_only_if_deployed_from_the_same_content(chart: Path) -> None:
    wanted = release(chart, a=1)
    description = described(wanted, fingerprint(wanted))
    assert Revision(3, "deployed", description).is_of(wanted)
    assert not Revision(3, "failed", description).is_of(wanted)
    assert not Revision(3, "deployed", "Upgrade complete").is_of(wanted)
    assert not Revision(3, "deployed", description).is_of(release(chart, a=2))


@pytest.mark.parametrize(
    ("status", "pending"),
    [
        ("pending-install", True),
        ("pending-upgrade", True),
        ("pending-rollback", True),
        ("uninstalling", True),
        ("deployed", False),
        ("failed", False),
    ],
)
def test_knows_an_operation_that_never_ended(status: str, pending: bool) -> None:
    assert Revision(1, status).pending is pending
