"""Builds the sandbox's programs and images from pinned upstream sources, into a cache.

`plan` tells what a build would do, `build` does what is missing of it and returns `Artifacts`.
"""

from k3s_nvidia_edge.sandbox.build.artifacts import Artifacts
from k3s_nvidia_edge.sandbox.build.errors import BuildBusyError, BuildError, UnknownComponentError
from k3s_nvidia_edge.sandbox.build.image import ImageArchive
from k3s_nvidia_edge.sandbox.build.pipeline import Planned, build, plan
from k3s_nvidia_edge.sandbox.build.progress import BuildProgress, OnBuildProgress

__all__ = [
    "Artifacts",
    "BuildBusyError",
    "BuildError",
    "BuildProgress",
    "ImageArchive",
    "OnBuildProgress",
    "Planned",
    "UnknownComponentError",
    "build",
    "plan",
]
