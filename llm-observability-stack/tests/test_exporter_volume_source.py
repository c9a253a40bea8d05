"""Volumes as their file system tells them."""

import os
from pathlib import Path

import pytest
from edge_llm_tests.errors import UsageError
from llm_observability_stack.exporter.settings import parse_settings
from llm_observability_stack.exporter.volume_source import volume_families, volume_source


def test_size_and_free_room_are_those_of_the_file_system(tmp_path: Path) -> None:
    size, available = volume_families({"metrics": str(tmp_path)})
    told = os.statvfs(tmp_path)
    assert [(each.labels, each.value) for each in size.samples] == [
        ({"volume": "metrics"}, told.f_blocks * told.f_frsize)
    ]
    [free] = available.samples
    assert 0 <= free.value <= size.samples[0].value


def test_a_volume_that_is_not_there_fails_the_source(tmp_path: Path) -> None:
    source = volume_source({"metrics": str(tmp_path), "models": str(tmp_path / "gone")}, 30)
    with pytest.raises(FileNotFoundError):
        source.collect()


def test_volumes_are_named_on_the_command_line() -> None:
    given = ["--profile", "x", "--volumes", "metrics=/volumes/metrics,models=/volumes/models"]
    assert parse_settings(given, {}).volumes == {"metrics": "/volumes/metrics", "models": "/volumes/models"}
    assert parse_settings(["--profile", "x"], {}).volumes == {}


@pytest.mark.parametrize("wrong", ["metrics", "metrics=relative", "=/path", "a=/x,a=/y", "a b=/x"])
def test_a_wrong_list_of_volumes_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="NAME=/PATH"):
        parse_settings(["--profile", "x", "--volumes", wrong], {})
