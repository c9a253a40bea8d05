"""A profile of the user's own: whether it names releases that exist, and how it gets into the cluster."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import msgspec
from edge_llm_tests.errors import ProfileError
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile, is_file, load_profile, merge, profile_names
from msgspec.structs import replace

__all__ = ["carried", "require_known_releases"]

_RELEASE = "telemetry"  # its exporter judges the contracts from inside the cluster


def require_known_releases(profile: Profile, layers: tuple[Layer, ...]) -> None:
    """See that each key of `values` is a release of a layer, or is about k3s.

    Raises:
        ProfileError: One is neither: what stands below it would be read by nobody.
    """
    from k3s_nvidia_edge.node.settings import SECTION  # noqa: PLC0415 - a shipped profile need not pay

    for key in profile.values:
        named = {release.name for layer in layers for release in layer.releases({key: profile.values[key]})}
        if key not in (*named, SECTION):
            shipped = (load_profile(name, layers) for name in profile_names(layers))
            known = sorted({SECTION, *(other for each in shipped for other in each.values)})
            near = get_close_matches(key, known, n=1)
            raise ProfileError(
                f"profile {profile.name}: unknown release `values.{key}`",
                f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}",
            )


def carried(profile: Profile, layers: tuple[Layer, ...]) -> Profile:
    """The profile with its promises among the values, where the exporter looks; a shipped one unchanged."""
    require_known_releases(profile, layers)
    release = profile.values.get(_RELEASE)
    exporter = release.get("exporter") if release is not None else None
    if not is_file(profile.name) or not isinstance(exporter, Mapping) or exporter.get("profileDocument"):
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
