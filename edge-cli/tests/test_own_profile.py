"""A profile of the user's own goes into the cluster with what it installs; a shipped one is there already."""

from pathlib import Path

import pytest
from edge_cli.own_profile import carried, require_known_releases
from edge_llm_tests import load_layers
from edge_llm_tests.errors import ProfileError
from edge_llm_tests.profile import load_profile, profile_names


def test_the_exporter_gets_what_a_file_promises(tmp_path: Path) -> None:
    layers = load_layers()
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: cpu\nspec: {host: {disk_free_min_percent: 7}}\n")
    found = carried(load_profile(str(mine), layers), layers)
    there = tmp_path / "profile.yaml"
    there.write_text(found.values["telemetry"]["exporter"]["profileDocument"])
    assert load_profile(str(there), layers).specs == found.specs
    assert found.specs["host"].disk_free_min_percent == 7
    assert carried(found, layers) == found


def test_a_shipped_profile_is_named(tmp_path: Path) -> None:
    shipped = load_profile("cpu", load_layers())
    assert carried(shipped, load_layers()) is shipped


def test_a_document_that_the_user_gave_stays(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: cpu\nvalues: {telemetry: {exporter: {profileDocument: 'extends: cpu'}}}\n")
    profile = load_profile(str(mine), load_layers())
    assert carried(profile, load_layers()) is profile


def test_without_telemetry_there_is_nobody_to_tell(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("description: bare\n")
    profile = load_profile(str(mine), load_layers())
    assert carried(profile, load_layers()) is profile


def test_every_shipped_profile_names_releases_that_exist() -> None:
    layers = load_layers()
    for name in profile_names(layers):
        require_known_releases(load_profile(name, layers), layers)


def test_a_release_that_nobody_has_is_named(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: cpu\nvalues: {servng: {models: []}}\n")
    layers = load_layers()
    with pytest.raises(ProfileError, match=r"unknown release `values\.servng`.*did you mean `serving`"):
        carried(load_profile(str(mine), layers), layers)
