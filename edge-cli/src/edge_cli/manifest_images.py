"""The images that a manifest makes a cluster pull: of pods, and of what operators are told to run. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["manifest_images"]

_REFERENCE = re.compile(
    r"[a-z0-9][a-z0-9.-]*(?::\d+)?(?:/[a-z0-9._-]+)+:[A-Za-z0-9_][A-Za-z0-9._-]*(?:@sha256:[0-9a-f]{64})?"
)
# an operator is given images in arguments too: `--prometheus-config-reloader=quay.io/...`
_ARGUMENT = re.compile(rf"--[a-z-]*reloader[a-z-]*=({_REFERENCE.pattern})")
# parts of the GPU operator's policy that only machines for virtual machines run
_OF_VIRTUAL_MACHINES = ("sandboxDevicePlugin", "kataSandboxDevicePlugin", "vfioManager", "ccManager")


def manifest_images(manifest: str) -> tuple[str, ...]:
    """References with tags, each once, in the order of the manifest; hooks and tests included."""
    import yaml  # noqa: PLC0415 - 40 ms that only who lists images pays

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: list[str] = []
    for document in yaml.load_all(manifest, Loader=loader):
        if isinstance(document, Mapping):
            found += _images(document)
    return tuple(dict.fromkeys(found))


def _images(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if value.get("enabled") is False:
            return  # a part that an operator is told to leave out
        image, repository, version = (value.get(key) for key in ("image", "repository", "version"))
        if isinstance(image, str) and isinstance(repository, str) and isinstance(version, str):
            if image and repository and version:
                yield f"{repository}/{image}:{version}"
        elif isinstance(image, str) and _REFERENCE.fullmatch(image):
            yield image
        virtual = value.get("sandboxWorkloads")
        bare = isinstance(virtual, Mapping) and virtual.get("enabled") is False
        for key, each in value.items():
            if not (bare and key in _OF_VIRTUAL_MACHINES):
                yield from _images(each)
    elif isinstance(value, list):
        for each in value:
            yield from _images(each)
    elif isinstance(value, str) and (found := _ARGUMENT.fullmatch(value)):
        yield found[1]
