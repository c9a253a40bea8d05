"""Containers that get files of another driver than the loaded one, or a device that nobody describes."""

import re

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.gpu.cast import Role
from k3s_nvidia_edge.gpu.observe import GpuState
from k3s_nvidia_edge.gpu.trouble import Trouble, TroubleKind

__all__ = ["cdi_fault", "is_stale"]

_OTHER_VENDOR = re.compile(r"CDI devices (?!\S*nvidia)[\w.-]+\.\w+/")
_MISMATCH = ("driver/library version mismatch", "lib_rm_version_mismatch")


def cdi_fault(observed: GpuState) -> Fault | None:
    """The fault, or None where no container fails on what is mounted into it.

    Raises:
        UnseenError: Pods or events were not seen.
    """
    for each in observed.troubles(TroubleKind.STALE_LIBRARY):
        if is_stale(each, observed):
            return Fault(
                "StaleCdi",
                f"pod {each.pod.path} does not start: it wants a library of driver {each.version},"
                f" the loaded driver is {observed.driver_version or 'another'}: a stale CDI specification"
                f" names it: {each.said[-200:]}",
                {**_about(each), "version": each.version},
            )
    for each in observed.troubles(TroubleKind.CDI_DEVICE):
        if _OTHER_VENDOR.search(each.said):
            continue
        return Fault(
            "CdiDeviceUnknown",
            f"pod {each.pod.path} does not start, no CDI specification has its device: {each.said[-220:]}",
            _about(each),
        )
    return _disabled(observed) or (_mismatch(observed) if observed.host_driver_works else None)


def _disabled(observed: GpuState) -> Fault | None:
    """Devices are handed over by CDI, containerd may not use it, and the serving pod has no other way."""
    config = observed.containerd
    if not config.seen or config.value.cdi is not False or config.value.default_is_nvidia:
        return None
    if not observed.cdi_plugin or (pod := observed.classless_pod) is None:
        return None
    return Fault(
        "CdiDisabled",
        f"the device plugin hands the card over by CDI, containerd has enable_cdi = false, and pod {pod.path}"
        " has no runtime class of NVIDIA's: it is given the card and does not get it",
        {"namespace": pod.namespace, "pod": pod.name},
    )


def is_stale(trouble: Trouble, observed: GpuState) -> bool:
    """Whether the missing library is of another driver than the loaded one."""
    return trouble.version != observed.driver_version


def _mismatch(observed: GpuState) -> Fault | None:
    """The host's own driver answers: whatever mismatches is what the runtime brings into containers."""
    for each in observed.troubles(TroubleKind.DRIVER):
        if _says_mismatch(each.said):
            return _foreign(f"pod {each.pod.path}", each.said, _about(each), observed)
    for pod in observed.of(Role.PLUGIN):
        said = next((line for line in reversed(observed.logs(pod).splitlines()) if _says_mismatch(line)), "")
        if said and not pod.ready:
            about = {"namespace": pod.namespace, "pod": pod.name}
            return _foreign(f"device plugin {pod.path}", said, about, observed)
    return None


def _foreign(who: str, said: str, about: dict[str, str], observed: GpuState) -> Fault:
    return Fault(
        "ContainerDriverMismatch",
        f"{who} gets libraries of another driver than the host's {observed.driver_version}, which works:"
        f" {said.strip()[-200:]}",
        about,
    )


def _says_mismatch(said: str) -> bool:
    return any(word in said.lower() for word in _MISMATCH)


def _about(trouble: Trouble) -> dict[str, str]:
    return {"namespace": trouble.pod.namespace, "pod": trouble.pod.name}
