"""Layer 0: the host, its driver and its cards. Fixed by its administrator; nothing here installs anything."""

from k3s_nvidia_edge.host.layer import LAYER
from k3s_nvidia_edge.host.spec import HostSpec

__all__ = ["LAYER", "HostSpec"]
