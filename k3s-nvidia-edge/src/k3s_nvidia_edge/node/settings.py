"""Settings of k3s on the node: what a profile says of it under `values.k3s`."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal

import msgspec
from edge_llm_tests.errors import ProfileError

from k3s_nvidia_edge.node.release import pinned_versions

__all__ = ["SECTION", "NodeSettings", "node_settings"]

SECTION = "k3s"
_CRON = re.compile(r"(?:[\d*?/,-]+\s+){3}(?:[\d*?/,-]|[A-Za-z]{3})+\s+(?:[\d*?/,-]|[A-Za-z]{3})+")

Runtime = Literal["", "runc", "crun", "nvidia", "nvidia-cdi", "nvidia-experimental"]
"""Runtime handlers that k3s finds by itself; with another one no pod would start."""
Component = Literal["coredns", "local-storage", "metrics-server", "servicelb", "traefik"]


class NodeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What a profile asks of k3s.

    Attributes:
        version: The release, one of those pinned; the newest of them unless given.
        default_runtime: Runtime handler of pods that name no RuntimeClass; empty for k3s's own, runc.
        snapshot_schedule: When etcd is written to a snapshot, as cron has it.
        snapshot_retention: How many snapshots are kept.
        audit_days: How long audit logs are kept.
        audit_file_mib: Size at which an audit log is closed and the next begins.
        audit_files: How many closed audit logs are kept.
        disable: Components of k3s that are not wanted.
    """

    version: str = ""
    default_runtime: Runtime = ""
    snapshot_schedule: str = "0 */6 * * *"
    snapshot_retention: Annotated[int, msgspec.Meta(ge=1)] = 28
    audit_days: Annotated[int, msgspec.Meta(ge=1)] = 30
    audit_file_mib: Annotated[int, msgspec.Meta(ge=1)] = 100
    audit_files: Annotated[int, msgspec.Meta(ge=1)] = 10
    disable: tuple[Component, ...] = ()

    @property
    def wanted_version(self) -> str:
        """The version to install."""
        return self.version or pinned_versions()[0]


def node_settings(profile: str, values: Mapping[str, Mapping[str, Any]]) -> NodeSettings:
    """The settings in the `values` of the profile of that name; the defaults where it says nothing.

    Raises:
        ProfileError: A key is unknown, a value is wrong, or the version is not pinned.
    """
    raw = values.get(SECTION, {})
    known = msgspec.structs.fields(NodeSettings)
    names = [each.encode_name for each in known]
    for key in raw:
        if key not in names:
            near = get_close_matches(str(key), names, n=1)
            raise ProfileError(
                f"profile {profile}: unknown key `values.{SECTION}.{key}`",
                f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(names)}",
            )
    try:
        settings = msgspec.convert(raw, NodeSettings)
    except msgspec.ValidationError as error:
        where = str(error).replace("$", f"values.{SECTION}")
        raise ProfileError(f"profile {profile}: {where}", "correct the value") from None
    if settings.version and settings.version not in pinned_versions():
        near = get_close_matches(settings.version, pinned_versions(), n=1)
        raise ProfileError(
            f"profile {profile}: `values.{SECTION}.version`: no checksums are pinned for "
            f"{settings.version!r}",
            f"did you mean {near[0]}?" if near else f"pinned: {', '.join(pinned_versions())}",
        )
    if not _CRON.fullmatch(settings.snapshot_schedule):
        raise ProfileError(
            f"profile {profile}: `values.{SECTION}.snapshotSchedule`: "
            f"{settings.snapshot_schedule!r} is no cron schedule",
            'write five fields, such as "0 */6 * * *"',
        )
    return settings
