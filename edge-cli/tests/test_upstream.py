"""The values that the owners give to charts of others: a misspelt key fails here, not in silence."""

import copy
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from edge_cli.lock import DIGEST, load_lock
from edge_cli.pinning import image_refs, pinned, unpinned
from edge_llm_tests import load_layers
from edge_llm_tests.layer import Release, UpstreamChart
from edge_llm_tests.profile import load_profile, profile_names
from edge_llm_tests.upstream import Upstream, load_upstream, upstream_names

LAYERS = load_layers()
PACKAGES = tuple(dict.fromkeys(layer.package for layer in LAYERS))
UPSTREAM = [(package, name) for package in PACKAGES for name in upstream_names(package)]
REAL = [name for name in profile_names(LAYERS) if not load_profile(name, LAYERS).simulated]


def schema(package: str, name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        (files(package) / "upstream" / f"{name}.schema.json").read_text("utf-8")
    )
    return loaded


def broken(package: str, name: str, values: Any) -> list[str]:
    errors = jsonschema.Draft202012Validator(schema(package, name)).iter_errors(values)
    return [error.message for error in errors]


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from mappings(each)
    elif isinstance(value, list):
        for each in value:
            yield from mappings(each)


def releases(profile: str) -> tuple[Release, ...]:
    loaded = load_profile(profile, LAYERS)
    return tuple(release for layer in LAYERS for release in layer.releases(loaded.values))


def test_each_owner_has_values_for_what_its_layers_may_install() -> None:
    assert {name for _, name in UPSTREAM} == {
        "gpu-operator",
        "nvidia-device-plugin",
        "kube-prometheus-stack",
        "open-webui",
    }


@pytest.mark.parametrize(("package", "name"), UPSTREAM)
def test_the_values_are_of_the_schema(package: str, name: str) -> None:
    assert broken(package, name, load_upstream(package, name).values) == []


@pytest.mark.parametrize(("package", "name"), UPSTREAM)
def test_a_misspelt_key_is_no_value_at_any_depth(package: str, name: str) -> None:
    values = load_upstream(package, name).values
    for place, mapping in enumerate(mappings(values)):
        if not mapping:
            continue
        mistaken = copy.deepcopy(values)
        spot = list(mappings(mistaken))[place]
        key = next(iter(spot))
        spot[f"{key}s"] = spot.pop(key)
        assert broken(package, name, mistaken), f"{key}s"


@pytest.mark.parametrize(("package", "name"), UPSTREAM)
def test_the_layer_of_an_upstream_release_is_its_owner_s(package: str, name: str) -> None:
    upstream: Upstream = load_upstream(package, name)
    layer = next(each for each in LAYERS if each.name == upstream.layer)
    assert layer.package == package
    made = layer.releases({name: {"extra": {"of": "the profile"}}})
    release = next(each for each in made if each.name == name)
    assert release.chart == upstream.chart
    assert release.values["extra"] == {"of": "the profile"}
    assert release.values.keys() > upstream.values.keys()


def test_the_profile_with_the_operators_installs_them_before_what_needs_them() -> None:
    names = [release.name for release in releases("a100-operator")]
    assert names == ["gpu", "gpu-operator", "serving", "kube-prometheus-stack", "telemetry"]
    values = {release.name: release.values for release in releases("a100-operator")}
    assert values["gpu"]["devicePlugin"]["enabled"] is False
    assert values["gpu"]["dcgmCounters"]["create"] is True
    assert values["gpu-operator"]["dcgmExporter"]["config"]["name"] == "dcgm-counters"
    assert values["telemetry"]["mode"] == "operator"
    assert values["telemetry"]["dcgm"]["enabled"] is False


def test_both_exporters_of_a_card_publish_the_same_counters() -> None:
    """One file in two charts of two owners, who may not import from each other."""
    first = files("k3s_nvidia_edge") / "charts/k3s-nvidia-edge/files/dcgm/counters.csv"
    second = files("llm_observability_stack") / "charts/edge-telemetry/files/dcgm/counters.csv"
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("profile", REAL)
def test_the_shipped_lock_files_have_an_entry_for_all_that_a_profile_installs(
    profile: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    lock = load_lock(LAYERS)
    for release in releases(profile):
        if isinstance(release.chart, UpstreamChart):
            assert lock.charts[release.chart.name].is_of(release.chart)
            assert set(lock.charts[release.chart.name].images) <= set(lock.images)
        else:
            wanted = {ref for ref, _ in image_refs(release.values) if not ref.startswith("localhost/")}
            assert wanted <= set(lock.images)
    held = pinned(load_profile(profile, LAYERS), lock)
    made = tuple(release for layer in LAYERS for release in layer.releases(held.values))
    charts, images = unpinned(made, lock)
    assert all(not lock.images[ref] for ref in images)
    assert len(set(charts)) == len(charts)
    assert all(not digest or DIGEST.fullmatch(digest) for digest in lock.images.values())
