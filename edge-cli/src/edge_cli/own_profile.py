"""A profile of the user's own: whether all that it says is known, and how it gets into the cluster."""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import msgspec
from edge_llm_tests.errors import ProfileError
from edge_llm_tests.layer import Layer, Release, UpstreamChart
from edge_llm_tests.profile import Profile, is_file, load_profile, merge, profile_names
from edge_llm_tests.redact import redact_text
from edge_llm_tests.yamldoc import load_yaml
from msgspec.structs import replace

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

__all__ = ["carried", "require_known_releases", "require_known_values", "right_profile"]

_SAID_LIMIT = 200  # characters: some errors quote the whole value
_RELEASE = "telemetry"  # its exporter judges the contracts from inside the cluster


def right_profile(name: str, layers: tuple[Layer, ...]) -> Profile:
    """The profile, its values held to the schemas of what they are given to; a shipped one is, by its tests.

    Raises:
        ProfileError: It is unknown, or has a key or value that nothing takes.
    """
    found = load_profile(name, layers)
    if is_file(name):
        require_known_values(found, layers)
    return found


def require_known_values(profile: Profile, layers: tuple[Layer, ...]) -> None:
    """See that each key of `values` is a release and holds what its chart takes, or is about k3s.

    What a chart of somebody else takes, that chart says when it is installed.

    Raises:
        ProfileError: A key is known to nobody, or a value is none that may stand there.
    """
    from k3s_nvidia_edge.node.settings import node_settings  # noqa: PLC0415 - a shipped profile need not pay

    require_known_releases(profile, layers)
    node_settings(profile.name, profile.values)
    for key in profile.values:
        for release in _releases(profile, layers, key):
            if not isinstance(release.chart, UpstreamChart):
                _hold_to_schema(profile, release, release.chart)


def require_known_releases(profile: Profile, layers: tuple[Layer, ...]) -> None:
    """See that each key of `values` is a release of a layer, or is about k3s.

    Raises:
        ProfileError: One is neither: what stands below it would be read by nobody.
    """
    from k3s_nvidia_edge.node.settings import SECTION  # noqa: PLC0415 - a shipped profile need not pay

    for key in profile.values:
        if key != SECTION and not _releases(profile, layers, key):
            shipped = (load_profile(name, layers) for name in profile_names(layers))
            known = sorted({SECTION, *(other for each in shipped for other in each.values)})
            raise ProfileError(
                f"profile {profile.name}: unknown release `values.{key}`", _nearest(key, known, "known")
            )


def _releases(profile: Profile, layers: tuple[Layer, ...], key: str) -> list[Release]:
    """The releases that stand under a key of `values`."""
    found = (each for layer in layers for each in layer.releases({key: profile.values[key]}))
    return [release for release in found if release.name == key]


def _hold_to_schema(profile: Profile, release: Release, chart: Traversable) -> None:
    """As Helm will: the values over the chart's own, held to its `values.schema.json`."""
    from jsonschema.exceptions import best_match  # noqa: PLC0415 - 100 ms that only a user's own file pays
    from jsonschema.validators import validator_for  # noqa: PLC0415 - as above

    schema = json.loads((chart / "values.schema.json").read_bytes())
    values = _without_nulls(merge(load_yaml((chart / "values.yaml").read_bytes()), release.values))
    error = best_match(validator_for(schema)(schema).iter_errors(values))
    if error is None:
        return
    place = ".".join(("values", release.name, *(str(each) for each in error.absolute_path)))
    unknown, known = _unknown_key(error)
    if known:
        raise ProfileError(
            f"profile {profile.name}: unknown key `{place}.{unknown}`", _nearest(unknown, known, "known here")
        )
    said, _ = redact_text(f"`{place}`: {error.message[:_SAID_LIMIT]}")
    raise ProfileError(
        f"profile {profile.name}: {said}",
        "correct the value; `edge profile show` prints what holds",
    )


def _unknown_key(error: "ValidationError") -> tuple[str, list[str]]:
    """The key that is wrong and those that are right, where it is a key that is wrong."""
    schema: Mapping[str, Any] = error.schema if isinstance(error.schema, Mapping) else {}
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = sorted(schema.get("properties", ()))
        return min(set(error.instance) - set(known)), known
    if "propertyNames" in error.absolute_schema_path:
        return str(error.instance), [
            name for each in schema.get("anyOf", ()) for name in each.get("enum", ())
        ]
    return "", []


def _without_nulls(value: Any) -> Any:
    """Without the keys that a null takes out of a chart's own values."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return value


def _nearest(key: str, known: list[str], word: str) -> str:
    near = get_close_matches(key, known, n=1)
    return f"did you mean `{near[0]}`?" if near else f"{word}: {', '.join(known)}"


def carried(profile: Profile, layers: tuple[Layer, ...]) -> Profile:
    """The profile with its promises among the values, where the exporter looks; a shipped one unchanged.

    Raises:
        ProfileError: It has a key or value that nothing takes.
    """
    if not is_file(profile.name):
        return profile
    require_known_values(profile, layers)
    release = profile.values.get(_RELEASE)
    exporter = release.get("exporter") if release is not None else None
    if not isinstance(exporter, Mapping) or exporter.get("profileDocument"):
        return profile
    import yaml  # noqa: PLC0415 - 40 ms that a shipped profile need not pay

    document: dict[str, Any] = {
        "schema": "edge.profile/v1",
        "description": profile.description,
        "simulated": profile.simulated,
        "spec": {layer: msgspec.to_builtins(spec) for layer, spec in profile.specs.items()},
    }
    text = yaml.safe_dump(document, sort_keys=True, allow_unicode=True)
    return replace(profile, values=merge(profile.values, {_RELEASE: {"exporter": {"profileDocument": text}}}))
