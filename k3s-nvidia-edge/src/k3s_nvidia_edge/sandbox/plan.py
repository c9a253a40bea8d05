"""The plan that `up` hands to the node's first process, and the two words that they exchange."""

from pathlib import Path
from typing import Final

import msgspec

__all__ = ["GO", "READY", "CgroupMount", "LaunchPlan", "RootPlan"]

GO: Final = b"go\n"  # the pid is on record and the cable is there: build the node
READY: Final = b"ready\n"  # the next thing is the supervisor


class CgroupMount(msgspec.Struct, frozen=True):
    """One v1 hierarchy in the node: its directory name below /sys/fs/cgroup and its mount options."""

    name: str
    options: str


class RootPlan(msgspec.Struct, frozen=True):
    """What the node's root file system is made from.

    Attributes:
        models: model files offered to pods in a directory with a fixed path.
        overlaid: system directories that the host mounts from elsewhere, given a scratch layer of their own.
        same_path: directories of the host that the node sees read-only at their own paths (Python, image
            archives).
        cgroup_v1: hierarchies to mount; empty on a unified machine.
    """

    state_dir: Path
    bin_dir: Path
    cni_dir: Path
    models: tuple[Path, ...]
    overlaid: tuple[Path, ...]
    same_path: tuple[Path, ...]
    cgroup_v1: tuple[CgroupMount, ...]


class LaunchPlan(msgspec.Struct, frozen=True):
    """What the first process has to know.

    Attributes:
        cgroups: directories to enter before the cgroup namespace is made: they become its roots.
        raise_limits: whether this machine lets root raise its own limits.
    """

    cgroups: tuple[Path, ...]
    raise_limits: bool
    root: RootPlan
