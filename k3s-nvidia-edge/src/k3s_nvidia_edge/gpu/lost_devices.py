"""Running containers that have lost access to the GPU they were given."""

import re

from edge_llm_tests import Recording
from edge_llm_tests.objects import pods
from edge_llm_tests.reads import UnseenError

from k3s_nvidia_edge.fault import Fault
from k3s_nvidia_edge.gpu.observe import GpuState
from k3s_nvidia_edge.host.nvidia_smi import nvidia_smi

__all__ = ["lost_devices"]

_LOG = re.compile(r"api:(/api/v1/namespaces/([^/]+)/pods/([^/]+)/log\?container=[^&]+&tailLines=200)$")
_UNKNOWN_ERROR = re.compile(r"(?:nvml|NVML)[^\n]*unknown error", re.IGNORECASE)
_NO_DEVICE = re.compile(r"failed to initialize cuda: no cuda-capable device is detected", re.IGNORECASE)
_ON_DEVICE = re.compile(r"inference compute.*library=cuda|cuda\d+ model buffer", re.IGNORECASE)
"""What an engine says that has its device: only what was there can be lost, and what is back is not."""


def lost_devices(observed: GpuState) -> Fault | None:
    """Containers that had the device and find it no more, while the host's own driver works.

    Raises:
        UnseenError: Pods were not seen; or one complains, and the host's own driver was not asked.
    """
    found = observed.recording.view(_complaining).value
    if not found or not observed.recording.view(nvidia_smi).value.lists_cards:
        return None
    names = ", ".join(f"{namespace}/{name}" for namespace, name, _ in found)
    namespace, name, said = found[-1]
    return Fault(
        "DevicesLost",
        f"{names}: {_what(said)} in the container while the host's nvidia-smi is fine: access to the device"
        f" is lost, as a systemd daemon-reload does to its cgroup; the last words: {said.strip()[-200:]}",
        {"namespace": namespace, "pod": name},
    )


def _what(said: str) -> str:
    return "no CUDA device any more" if "cuda-capable" in said.lower() else "NVML Unknown Error"


def _complaining(recording: Recording) -> tuple[tuple[str, str, str], ...]:
    found = []
    for key in recording.matching("api:/api/v1/namespaces/"):
        match = _LOG.match(key)
        if match is None:
            continue
        try:
            body = recording.api(match[1]).answer
        except UnseenError:
            continue
        lines = _lost(str(body))
        if lines and _runs(recording, match[2], match[3]):
            found.append((match[2], match[3], lines[-1]))
    return tuple(found)


def _lost(log: str) -> list[str]:
    """Lines that tell of a lost device: NVML's own, else CUDA's after the engine had had its device."""
    unknown: list[str] = []
    gone: list[str] = []
    had = False
    for line in log.splitlines():
        if _ON_DEVICE.search(line):
            had, gone = True, []
        elif _UNKNOWN_ERROR.search(line):
            unknown.append(line)
        elif had and _NO_DEVICE.search(line):
            gone.append(line)
    return unknown or gone


def _runs(recording: Recording, namespace: str, name: str) -> bool:
    return any(
        pod.name == name and pod.namespace == namespace and pod.ready and not pod.terminating
        for pod in recording.view(pods).value
    )
