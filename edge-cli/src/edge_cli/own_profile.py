"""A profile of the user's own: its file is not in the cluster, so what watches there gets it as a value."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
from edge_llm_tests.profile import Profile, is_file, merge

__all__ = ["carried"]

_RELEASE = "telemetry"  # its exporter judges the contracts from inside the cluster


def carried(profile: Profile) -> Profile:
    """The profile with its promises among the values, where the exporter looks; a shipped one unchanged."""
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
