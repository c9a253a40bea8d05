"""The driver's kernel module: built for the running kernel, loaded, and of which version."""

import re

import msgspec
from edge_llm_tests import Recording
from edge_llm_tests.reads import Sight, UnseenError, see

__all__ = ["MODINFO_KEY", "DriverModule", "driver_module", "loaded_modules"]

MODINFO_KEY = "modinfo -F version nvidia"
_VERSION = re.compile(r"\s(\d{3,}\.\d+(?:\.\d+)?)\s")
_NOT_FOUND = "not found"


class DriverModule(msgspec.Struct, frozen=True):
    """The module, from three reads that can each be missing.

    Attributes:
        loaded_version: Version of the loaded module; empty where none is loaded.
        modules: Names of all loaded modules.
        built_version: Version of the module that was built for the running kernel; empty where there is none.
    """

    loaded_version: Sight[str]
    modules: Sight[frozenset[str]]
    built_version: Sight[str]

    @property
    def loaded(self) -> bool:
        """Whether the module is loaded: either read can say yes, a no needs the list of modules.

        Raises:
            UnseenError: Neither read decides.
        """
        if self.loaded_version.seen and self.loaded_version.value:
            return True
        return "nvidia" in self.modules.value


def loaded_modules(recording: Recording) -> frozenset[str]:
    """Names of the loaded kernel modules. Use as `recording.view(loaded_modules)`.

    A kernel that was built without loadable modules has no such file, and none loaded.
    """
    read = recording.file("/proc/modules")
    if read.error == "not-found":
        return frozenset()
    names = frozenset(line.split()[0] for line in read.content.splitlines() if line.strip())
    if not names:
        raise ValueError("no module at all")
    return names


def driver_module(recording: Recording) -> DriverModule:
    """The module. Use as `recording.view(driver_module)`."""
    return DriverModule(
        see(_loaded_version, recording), recording.view(loaded_modules), see(_built_version, recording)
    )


def _loaded_version(recording: Recording) -> str:
    read = recording.file("/proc/driver/nvidia/version")
    if read.error == "not-found":
        return ""
    found = _VERSION.search(read.content.partition("\n")[0])
    if found is None:
        raise ValueError("names no version")
    return found[1]


def _built_version(recording: Recording) -> str:
    read = recording.command(MODINFO_KEY)
    if read.error is None and read.rc != 0 and _NOT_FOUND in (read.stderr + read.stdout).lower():
        return ""
    version = read.output.strip()
    if not version:
        raise UnseenError(read.key, "Malformed", f"{read.key}: empty")
    return version.split()[0]
