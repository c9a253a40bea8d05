"""What was seen of k3s: each read parsed once, looked at when a contract asks."""

from dataclasses import dataclass

from edge_llm_tests import Recording
from edge_llm_tests.objects import Node, nodes
from edge_llm_tests.reads import Sight
from k3s_nvidia_edge.gpu.api_server import ApiServer, api_server
from k3s_nvidia_edge.gpu.service_unit import Unit, units
from k3s_nvidia_edge.gpu.spec import GpuSpec

__all__ = ["GpuState", "observe"]


@dataclass(frozen=True)
class GpuState:
    """k3s and its GPU parts, as the reads show them."""

    recording: Recording

    @property
    def units(self) -> Sight[dict[str, Unit]]:
        """systemd units of the node."""
        return self.recording.view(units)

    @property
    def api(self) -> Sight[ApiServer]:
        """State of the API."""
        return self.recording.view(api_server)

    @property
    def nodes(self) -> Sight[tuple[Node, ...]]:
        """All nodes."""
        return self.recording.view(nodes)


def observe(spec: GpuSpec, recording: Recording) -> GpuState:
    """k3s as the recording shows it."""
    return GpuState(recording)
