"""Block devices that are no part of the node: a stick, a drive for media, a disk for backups."""

import re

from edge_llm_tests import Recording
from edge_llm_tests.fields import text
from edge_llm_tests.objects import pods

from k3s_nvidia_edge.host.kernel_log import KernelLog
from k3s_nvidia_edge.host.memory import mount_points

__all__ = ["is_spare", "spare_devices"]

_SETTINGS_PATH = "/etc/rancher/k3s/config.yaml"
_FOR_GUESTS = ("/mnt/", "/media/", "/run/media/")
_NO_DISK = re.compile(r"(?:sr|fd|loop|zram)\d+$")
_PARTITION = re.compile(r"(sd[a-z]+)\d*$")
_REMOVABLE = re.compile(r"\[(sd[a-z]+)\] Attached SCSI removable disk")


def spare_devices(log: KernelLog, recording: Recording) -> frozenset[str]:
    """Names of the disks and partitions whose loss the node would not feel.

    A removable one counts where nothing but a guest's mount point is on it; so does one that is mounted where
    guests are, unless k3s's settings or a volume of a pod lead there.
    """
    places = recording.view(mount_points).or_else({})
    guests = {device for device, point in places.items() if _is_guest(point, recording)}
    removable = {found[1] for line in log.lines if (found := _REMOVABLE.search(line.text))}
    spare = guests | removable | {found[1] for each in guests if (found := _PARTITION.match(each))}
    return frozenset(spare - {_whole(device) for device in places if device not in guests})


def is_spare(device: str, spare: frozenset[str]) -> bool:
    """Whether a device, or the disk that it is a part of, is one of `spare`; what is no disk is too."""
    return _NO_DISK.match(device) is not None or device in spare or _whole(device) in spare


def _whole(device: str) -> str:
    found = _PARTITION.match(device)
    return found[1] if found else device


def _is_guest(point: str, recording: Recording) -> bool:
    if not point.startswith(_FOR_GUESTS):
        return False
    volumes = (each for pod in recording.view(pods).or_else(()) for each in pod.spec.volumes)
    paths = (text(volume, "hostPath", "path") for volume in volumes)
    inside = f"{point}/"
    return inside not in f"{recording.view(_settings).or_else('')}/" and not any(
        f"{path}/".startswith(inside) for path in paths
    )


def _settings(recording: Recording) -> str:
    return recording.file(_SETTINGS_PATH).content
